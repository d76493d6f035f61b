"""Calls of a client under way: answers at once what it can, runs calls side by side, asks their client, cancels and stops them.

Owns the calls by the id of the request that waits for them, and how often a waiting client is told something: at most ten sentences a
second, and one at least every ten seconds. Lines come in by `receive` and go out by `write` (`control/standard_streams.py`); the protocol
is `dialogue.py`'s, and what is offered and done is given in. A cancelled call is never answered; one that is under way when the server
stops is, at once.

A client is asked only what it declared. Up to 2025-11-25 that is a request of ours (`client_requests.py`). In 2026-07-28 it is the answer
to the client's own: the call stays here, parked (`rounds.py`), until the client makes the request again with its answers. What ends it
then is that request's cancellation, or that it never comes: cancelling a request that was answered means nothing.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypedDict, TypeVar

import msgspec
from msgspec import Raw

from openclaw.content import to_json
from openclaw.errors import UsageError
from openclaw.mcp_server.client_requests import ClientRequest, SentRequests, value_of
from openclaw.mcp_server.dialogue import Ability, Cancel, Dialogue, Placed, ResultAnswer, Service, Unsupported
from openclaw.protocol.eras import MODERN
from openclaw.protocol.framing import Oversized
from openclaw.protocol.jsonrpc import (
    INVALID_PARAMS,
    Failure,
    Notification,
    RequestId,
    Result,
    encode_error,
    encode_notification,
    encode_result,
)
from openclaw.protocol.peer import PROGRESS
from openclaw.protocol.strict_lines import Batch, ErrorAnswer, Message, read

if TYPE_CHECKING:
    from openclaw.mcp_server.rounds import ParkedCalls

# Orders at once: each may hold hundreds of megabytes of attachments and a conversation with a model.
MOST_ORDERS = 64
# Seconds in which cancelled orders may write down what was said, when the server stops.
LAST_WORDS = 1.0
# Seconds between two notifications.
LEAST_PAUSE = 0.1
# Clients that give up on a silent call wait for a minute, most of them.
LONGEST_SILENCE = 10.0
# How often the same question is put to a client that comes back without an answer to it.
MOST_ROUNDS = 10

_log = logging.getLogger(__name__)

W = TypeVar("W")
# Takes the answer to one request; None when there will be none.
Reply = Callable[[bytes | None], None]

_NO_OBJECT = "Invalid params: inputResponses must be an object."
_NO_STATE = "Invalid params: inputResponses belong to a requestState. Nothing was run."


class Journal(Protocol):
    """Hears of every message, every answer and what is asked of the client, for `--verbose`."""

    def received(self, message: Message | Batch) -> None: ...

    def asked(self, line: bytes) -> None: ...

    def answered(self, id: RequestId | None, line: bytes) -> None: ...


def failure(sentence: str) -> dict[str, Any]:
    """An error as tools report it."""
    return {"content": [{"type": "text", "text": f"Error: {sentence}"}], "isError": True}


class CallServer(Generic[W]):
    """`write` takes one line without its newline and never waits.

    `carry_out` gives the result of a call. It raises nothing but CancelledError: what went wrong is in the result. `early_answers` takes
    answers to what was not asked yet, for a service whose questions are always the same.
    """

    def __init__(
        self,
        write: Callable[[bytes], None],
        service: Service[W],
        carry_out: "Callable[[W, UnderWay], Awaitable[dict[str, Any]]]",
        journal: Journal | None = None,
        *,
        early_answers: bool = False,
    ) -> None:
        self._write = write
        self._service = service
        self._carry_out = carry_out
        self._journal = journal
        self._early_answers = early_answers
        self._dialogue = Dialogue(service)
        self._sent = SentRequests(self._ask)
        self._parked: ParkedCalls[UnderWay] | None = None
        self._calls: dict[UnderWay, asyncio.Task[None]] = {}

    def receive(self, line: bytes | Oversized) -> None:
        """Take a line: answer it, or start what it asks for. Never raises and never waits."""
        message = read(line)
        if message is None:
            return
        if self._journal is not None:
            self._journal.received(message)
        if isinstance(message, Result | Failure):
            self._sent.receive(message)
        elif not isinstance(message, Batch):
            self._handle(message, self._send)
        elif refusal := self._dialogue.refuse_batch():
            self._handle(refusal, self._send)
        else:
            answers = _Answers(sum(not isinstance(item, Notification) for item in message.messages), self._send)
            for item in message.messages:
                self._handle(item, answers.take, in_batch=True)

    async def stop(self) -> None:
        """Answer and cancel every call, and wait for them, a second at most."""
        calls = dict(self._calls)
        for call, task in calls.items():
            call.close(failure("The order was cancelled because the server is stopping."))
            call.leave()
            task.cancel()
        if calls:
            await asyncio.wait(calls.values(), timeout=LAST_WORDS)

    def _send(self, line: bytes | None) -> None:
        if line is not None:
            self._write(line)

    def _ask(self, line: bytes) -> None:
        if self._journal is not None:
            self._journal.asked(line)
        self._write(line)

    def _handle(self, message: Message, reply: Reply, *, in_batch: bool = False) -> None:
        if isinstance(message, Result | Failure):
            return
        outcome = message if isinstance(message, ErrorAnswer) else self._dialogue.receive(message)
        match outcome:
            case ResultAnswer(id, told):
                self._reply(reply, id, encode_result(id, told))
            case ErrorAnswer(id, code, sentence):
                self._reply(reply, id, encode_error(id, code, sentence))
            case Unsupported(id):
                self._reply(reply, id, encode_error(id, **outcome.error))
            case Placed(id):
                # A batch is answered as a whole: nobody waits with one answer for another.
                placed = msgspec.structs.replace(outcome, declared=frozenset()) if in_batch else outcome
                try:
                    self._place(placed, lambda line: self._reply(reply, id, line))
                except UsageError as error:
                    self._reply(reply, id, encode_error(id, INVALID_PARAMS, str(error)))
            case Cancel(id):
                for call, task in self._calls.items():
                    # `"1"` is another id than `1`, and so is `true`, which Python takes for 1.
                    if call.id == id and type(call.id) is type(id):
                        call.close(None)
                        task.cancel()
            case None:
                pass

    def _place(self, placed: Placed[W], reply: Reply) -> None:
        """Raises UsageError, with what to tell the client, for one that comes back with what we cannot take."""
        if placed.state:
            self._take_up(placed, reply)
            return
        early = memoryview(placed.responses).nbytes > 0
        if early and not self._early_answers:
            raise UsageError(_NO_STATE)
        call = UnderWay(self._service, self._sent, self._park)
        if placed.version in MODERN and placed.declared and placed.work is not None:
            from openclaw.mcp_server.rounds import digest_of

            # Now: attachments are forgotten when they are used.
            call.digest = digest_of(self._service.pieces(placed.work))
        if early:
            call.answer_early(placed.responses)
        self._attach(call, placed, reply)
        if placed.work is None:
            call.close(failure(placed.fault))
        elif len(self._calls) >= MOST_ORDERS:
            call.close(failure(f"{MOST_ORDERS} orders are under way. Wait for one of them, and order again."))
        else:
            task = asyncio.get_running_loop().create_task(self._run(placed.work, call))
            self._calls[call] = task
            task.add_done_callback(lambda _: self._end(call))

    def _attach(self, call: "UnderWay", placed: Placed[W], reply: Reply) -> None:
        progress = CallProgress(placed.token, self._write) if memoryview(placed.token).nbytes else None
        call.attach(placed, reply, progress)

    def _take_up(self, placed: Placed[W], reply: Reply) -> None:
        """A client that comes back: its call goes on, with this request to answer."""
        from openclaw.mcp_server.rounds import digest_of

        digest = None if placed.work is None else digest_of(self._service.pieces(placed.work))
        handle, call = self._parking().find(placed.state, digest)
        responses = call.read_responses(placed.responses)
        self._parking().forget(handle)
        self._attach(call, placed, reply)
        call.take(responses)
        self._end(call)

    def _parking(self) -> "ParkedCalls[UnderWay]":
        if self._parked is None:
            from openclaw.mcp_server.rounds import ParkedCalls

            self._parked = ParkedCalls(asyncio.get_running_loop().time)
        return self._parked

    def _park(self, call: "UnderWay") -> tuple[str, asyncio.TimerHandle]:
        """The state to tell its client, and what ends it when the client does not come back."""
        from openclaw.mcp_server.rounds import LIFE

        handle, state = self._parking().park(call, call.digest)

        def expire() -> None:
            self._parking().forget(handle)
            call.leave()
            if task := self._calls.get(call):
                task.cancel()
                self._end(call)

        return state, asyncio.get_running_loop().call_later(LIFE, expire)

    def _end(self, call: "UnderWay") -> None:
        """Forget a call that is done and answered. One that ended while nobody waited is kept for its client to come back."""
        task = self._calls.get(call)
        if task is not None and task.done() and call.is_over:
            del self._calls[call]

    async def _run(self, work: W, call: "UnderWay") -> None:
        try:
            call.close(await self._carry_out(work, call))
        except Exception as error:
            # A fault of ours. The traceback is for the log.
            _log.error("an order failed: %s", type(error).__name__, exc_info=error)
            call.close(failure(f"OpenClaw failed ({type(error).__name__}). Its log says more: try --verbose."))
        except asyncio.CancelledError:
            # Whoever did that has closed it already, or nobody comes back to it.
            call.close(None)
            raise

    def _reply(self, reply: Reply, id: RequestId | None, line: bytes | None) -> None:
        if self._journal is not None and line is not None:
            self._journal.answered(id, line)
        reply(line)


class _Asked:
    """A request to the client that has no answer yet, and how often it was put."""

    def __init__(self, request: ClientRequest, params: Raw) -> None:
        self.request = request
        self.params = params
        self.rounds = 0
        self.value: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def put(self) -> dict[str, Any]:
        self.rounds += 1
        return {"method": self.request.method, "params": self.params}

    def answer(self, value: Any) -> None:
        if not self.value.done():
            self.value.set_result(value)


class UnderWay:
    """One call under way, as whoever carries it out knows it. It is answered once: what comes after the first `close` is dropped.

    `id` is that of the request that waits for the answer, None while the call is parked; `declared` is what that request's client can be
    asked. `digest` tells the call from others.
    """

    def __init__(
        self, service: Service[Any], sent: SentRequests, park: "Callable[[UnderWay], tuple[str, asyncio.TimerHandle]]"
    ) -> None:
        self.id: RequestId | None = None
        self.version = ""
        self.declared: frozenset[Ability] = frozenset()
        self.digest = b""
        self._expiry: asyncio.TimerHandle | None = None
        self._service = service
        self._sent = sent
        self._park = park
        self._reply: Reply | None = None
        self._progress: CallProgress | None = None
        self._told = ""
        self._asked: dict[str, _Asked] = {}
        self._early: Raw | None = None
        self._answer: dict[str, Any] | None = None
        self._is_closed = False

    @property
    def is_over(self) -> bool:
        """Whether it is answered, as far as it ever will be."""
        return self._is_closed and self._answer is None

    def tell(self, text: str) -> None:
        """Show a sentence to the client that waits."""
        self._told = text
        if self._progress is not None:
            self._progress.tell(text)

    async def ask(self, request: ClientRequest) -> Any:
        """The value of what the client answers; None when it does not, or cannot be asked."""
        if request.needs not in self.declared:
            return None
        if self.version not in MODERN:
            return await self._sent.ask(request)
        try:
            asked = self._asked[request.key] = _Asked(request, Raw(to_json(request.params)))
        except (TypeError, ValueError, RecursionError) as error:
            _log.error("a question to the client cannot be sent: %s", error)
            return None
        self._take_early(asked)
        # What is asked in the same moment goes out together.
        asyncio.get_running_loop().call_soon(self._put)
        try:
            return await asked.value
        finally:
            self._asked.pop(request.key, None)

    def attach(self, placed: Placed[Any], reply: Reply, progress: "CallProgress | None") -> None:
        """Let this request wait for the answer."""
        self.id, self.version, self.declared = placed.id, placed.version, placed.declared
        self._reply, self._progress = reply, progress
        if self._expiry is not None:
            self._expiry.cancel()
        if self._answer is not None:
            answer, self._answer = self._answer, None
            self._send(answer)
        elif progress is not None and self._told:
            progress.tell(self._told)

    def answer_early(self, responses: Raw) -> None:
        """Keep these for what will be asked first. Raises UsageError."""
        _read_responses(responses, ())
        self._early = responses

    def read_responses(self, responses: Raw) -> dict[str, Raw]:
        """What a client answers of what it was asked; the rest is passed over. Raises UsageError."""
        return _read_responses(responses, self._asked) if memoryview(responses).nbytes else {}

    def take(self, responses: dict[str, Raw]) -> None:
        """The client came back. What it did not answer is asked again, a few times."""
        for key, asked in self._asked.items():
            value = value_of(asked.request, responses[key]) if key in responses else None
            gives_up = asked.rounds >= MOST_ROUNDS or asked.request.needs not in self.declared
            if value is not None or gives_up:
                asked.answer(value)
        asyncio.get_running_loop().call_soon(self._put)

    def close(self, answer: dict[str, Any] | None) -> None:
        """Send the answer, or none at all. With nobody waiting for it, keep it until somebody does."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._reply is not None:
            self._send(answer)
        else:
            self._answer = answer

    def leave(self) -> None:
        """Nobody will come back to it."""
        self._is_closed, self._answer = True, None
        if self._expiry is not None:
            self._expiry.cancel()

    def _take_early(self, asked: _Asked) -> None:
        if self._early is not None:
            given = _read_responses(self._early, (asked.request.key,))
            if asked.request.key in given:
                value = value_of(asked.request, given[asked.request.key])
                if value is not None:
                    asked.answer(value)

    def _put(self) -> None:
        """Answer the request that waits with what is asked, if anything still is."""
        # What comes with a later request answers what was asked then.
        self._early = None
        waiting = {key: asked for key, asked in self._asked.items() if not asked.value.done()}
        if not waiting or self._reply is None:
            return
        requests = {key: asked.put() for key, asked in waiting.items()}
        state, self._expiry = self._park(self)
        self._send({"resultType": "input_required", "inputRequests": requests, "requestState": state})

    def _send(self, answer: dict[str, Any] | None) -> None:
        reply, id = self._reply, self.id
        self._reply, self.id = None, None
        if self._progress is not None:
            self._progress.close()
            self._progress = None
        if reply is None or id is None:
            return
        if answer is None:
            reply(None)
            return
        try:
            line = encode_result(id, self._service.result(answer, self.version))
        except UsageError as error:
            _log.error("%s", error)
            told = self._service.result(failure("The answer cannot be written as JSON."), self.version)
            line = encode_result(id, told)
        reply(line)


def _read_responses(responses: Raw, keys: Any) -> dict[str, Raw]:
    """Those of the keys that are there; what else is in it is passed over, which takes no memory. Raises UsageError."""
    known: Any = TypedDict("_Responses", dict.fromkeys(keys, Raw), total=False)  # type: ignore[misc]
    try:
        found: dict[str, Raw] = msgspec.json.decode(responses, type=known)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise UsageError(_NO_OBJECT) from None
    return found


class _Answers:
    """The answers to a batch, sent together when the last of them is there."""

    def __init__(self, expected: int, reply: Reply) -> None:
        self._missing = expected
        self._lines: list[bytes] = []
        self._reply = reply

    def take(self, line: bytes | None) -> None:
        self._missing -= 1
        if line is not None:
            self._lines.append(line)
        if not self._missing and self._lines:
            self._reply(b"[" + b",".join(self._lines) + b"]")


class CallProgress:
    """Progress of one request. Its steps are counted; how many there will be nobody knows."""

    def __init__(self, token: Raw, write: Callable[[bytes], None]) -> None:
        self._token = token
        self._write = write
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._last = self._started - LEAST_PAUSE
        self._steps = 0
        self._text = ""
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def tell(self, text: str) -> None:
        """Say this as soon as the pace allows; of several that come too fast the last is said."""
        if text != self._text and not self._closed:
            self._text = text
            self._at(self._last + LEAST_PAUSE, self._say)

    def close(self) -> None:
        """The request is over: nothing more is said about it."""
        self._closed = True
        self._cancel_timer()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _at(self, when: float, action: Callable[[], None]) -> None:
        self._cancel_timer()
        if when <= self._loop.time():
            action()
        else:
            self._timer = self._loop.call_at(when, action)

    def _say(self) -> None:
        self._send(self._text)

    def _remind(self) -> None:
        self._send(f"{self._text} ({self._loop.time() - self._started:.0f} s)")

    def _send(self, text: str) -> None:
        self._steps += 1
        self._last = self._loop.time()
        told = {"progressToken": self._token, "progress": self._steps, "message": text}
        self._write(encode_notification(PROGRESS, told))
        self._at(self._last + LONGEST_SILENCE, self._remind)
