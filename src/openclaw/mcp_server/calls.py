"""Calls of a client under way: answers at once what it can, runs calls side by side, asks their client, cancels and stops them.

Owns the calls by the id of the request that waits for them (`under_way.py` has one). Lines come in by `receive` and go out by `write`
(`control/standard_streams.py`); the protocol is `dialogue.py`'s, and what is offered and done is given in. A cancelled call is never
answered; one that is under way when the server stops is, at once.

A client is asked only what it declared. Up to 2025-11-25 that is a request of ours (`client_requests.py`). In 2026-07-28 it is the answer
to the client's own: the call stays here, parked (`rounds.py`), until the client makes the request again with its answers. What ends it
then is that request's cancellation, or that it never comes: cancelling a request that was answered means nothing.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import msgspec

from openclaw.errors import UsageError
from openclaw.mcp_server.client_requests import SentRequests
from openclaw.mcp_server.dialogue import (
    Cancel,
    Dialogue,
    Placed,
    ResultAnswer,
    Service,
    Unsupported,
    failure,
)
from openclaw.mcp_server.progress import CallProgress
from openclaw.mcp_server.under_way import Reply, UnderWay
from openclaw.protocol.eras import MODERN
from openclaw.protocol.framing import Oversized
from openclaw.protocol.jsonrpc import (
    INVALID_PARAMS,
    Failure,
    Notification,
    RequestId,
    Result,
    encode_error,
    encode_result,
)
from openclaw.protocol.strict_lines import Batch, ErrorAnswer, Message, read

if TYPE_CHECKING:
    from openclaw.mcp_server.rounds import ParkedCalls

# Orders at once: each may hold hundreds of megabytes of attachments and a conversation with a model.
MOST_ORDERS = 64
# Seconds in which cancelled orders may write down what was said, when the server stops.
LAST_WORDS = 1.0

_log = logging.getLogger(__name__)

W = TypeVar("W")
_NO_STATE = "Invalid params: inputResponses belong to a requestState. Nothing was run."


class Journal(Protocol):
    """Hears of every message, every answer and what is asked of the client, for `--verbose`."""

    def received(self, message: Message | Batch) -> None: ...

    def asked(self, line: bytes) -> None: ...

    def answered(self, id: RequestId | None, line: bytes) -> None: ...


class CallServer(Generic[W]):
    """`write` takes one line without its newline and never waits.

    `carry_out` gives the result of a call. It raises nothing but CancelledError: what went wrong is in the result. `early_answers` takes
    answers to what was not asked yet, for a service whose questions are always the same.
    """

    def __init__(
        self,
        write: Callable[[bytes], None],
        service: Service[W],
        carry_out: Callable[[W, UnderWay], Awaitable[dict[str, Any]]],
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

    def _attach(self, call: UnderWay, placed: Placed[W], reply: Reply) -> None:
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

    def _park(self, call: UnderWay) -> tuple[str, asyncio.TimerHandle]:
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

    def _end(self, call: UnderWay) -> None:
        """Forget a call that is done and answered. One that ended while nobody waited is kept for its client to come back."""
        task = self._calls.get(call)
        if task is not None and task.done() and call.is_over:
            del self._calls[call]

    async def _run(self, work: W, call: UnderWay) -> None:
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
