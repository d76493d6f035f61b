"""The server between a client's lines and an agent: answers at once what it can, runs orders side by side, cancels and stops them.

Owns the orders under way, by the id of their request, and how often a waiting client is told something: at most ten sentences a second,
and one at least every ten seconds. Lines come in by `receive` and go out by `write` (`control/standard_streams.py`); the protocol is
`dialogue.py`'s, and an order is carried out by `orders.py`. A cancelled order is never answered; one that is under way when the server
stops is, at once.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec
from msgspec import Raw

from openclaw.conversation import Asker, Nobody
from openclaw.errors import UsageError
from openclaw.mcp_server.dialogue import Cancel, Dialogue, Placed, ResultAnswer, Unsupported, result
from openclaw.mcp_server.order import Order
from openclaw.protocol.framing import Oversized
from openclaw.protocol.jsonrpc import (
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

# Orders at once: each may hold hundreds of megabytes of attachments and a conversation with a model.
MOST_ORDERS = 64
# Seconds in which cancelled orders may write down what was said, when the server stops.
LAST_WORDS = 1.0
# Seconds between two notifications.
LEAST_PAUSE = 0.1
# Clients that give up on a silent call wait for a minute, most of them.
LONGEST_SILENCE = 10.0

_log = logging.getLogger(__name__)

# Takes the answer to one request; None when there will be none.
Reply = Callable[[bytes | None], None]


class OrderListener(msgspec.Struct, frozen=True):
    """Who hears of an order while it runs: `tell` shows a sentence to the client, `joined` learns which conversation it is part of, by
    the short hash that logs and audit records know it by. `asker` is who ordered, as whoever carries the order out may ask them."""

    tell: Callable[[str], None]
    joined: Callable[[str], None]
    asker: Asker = msgspec.field(default_factory=Nobody)


# Carries out an order: the result of the tool call, as the MCP revision that is named knows it. Raises nothing but CancelledError: what
# went wrong is in the result.
CarryOut = Callable[[Order, str, OrderListener], Awaitable[dict[str, Any]]]


class Journal(Protocol):
    """Hears of every message and every answer, for `--verbose`."""

    def received(self, message: Message | Batch) -> None: ...

    def ordered(self, id: RequestId, order: Order) -> None: ...

    def joined(self, id: RequestId, session: str) -> None: ...

    def answered(self, id: RequestId | None, line: bytes) -> None: ...


def failure(sentence: str) -> dict[str, Any]:
    """An error as tools report it."""
    return {"content": [{"type": "text", "text": f"Error: {sentence}"}], "isError": True}


class OrderServer:
    """`write` takes one line without its newline and never waits."""

    def __init__(self, write: Callable[[bytes], None], carry_out: CarryOut, journal: Journal | None = None) -> None:
        self._write = write
        self._carry_out = carry_out
        self._journal = journal
        self._dialogue = Dialogue()
        self._running: dict[asyncio.Task[None], _Running] = {}

    def receive(self, line: bytes | Oversized) -> None:
        """Take a line: answer it, or start what it asks for. Never raises and never waits."""
        message = read(line)
        if message is None:
            return
        if self._journal is not None:
            self._journal.received(message)
        if not isinstance(message, Batch):
            self._handle(message, self._send)
        elif refusal := self._dialogue.refuse_batch():
            self._handle(refusal, self._send)
        else:
            answers = _Answers(sum(not isinstance(item, Notification) for item in message.messages), self._send)
            for item in message.messages:
                self._handle(item, answers.take)

    async def stop(self) -> None:
        """Answer and cancel every order, and wait for them, a second at most."""
        running = dict(self._running)
        for order in running.values():
            order.close(failure("The order was cancelled because the server is stopping."))
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=LAST_WORDS)

    def _send(self, line: bytes | None) -> None:
        if line is not None:
            self._write(line)

    def _handle(self, message: Message, reply: Reply) -> None:
        if isinstance(message, Result | Failure):
            # We ask nothing.
            return
        outcome = message if isinstance(message, ErrorAnswer) else self._dialogue.receive(message)
        match outcome:
            case ResultAnswer(id, told):
                self._reply(reply, id, encode_result(id, told))
            case ErrorAnswer(id, code, sentence):
                self._reply(reply, id, encode_error(id, code, sentence))
            case Unsupported(id):
                self._reply(reply, id, encode_error(id, **outcome.error))
            case Placed():
                self._place(outcome, reply)
            case Cancel(id):
                for task, order in self._running.items():
                    # `"1"` is another id than `1`, and so is `true`, which Python takes for 1.
                    if order.id == id and type(order.id) is type(id):
                        order.close(None)
                        task.cancel()
            case None:
                pass

    def _place(self, placed: Placed, reply: Reply) -> None:
        id = placed.id
        progress = OrderProgress(placed.token, self._write) if memoryview(placed.token).nbytes else None
        running = _Running(id, placed.version, lambda line: self._reply(reply, id, line), progress)
        if placed.order is None:
            running.close(failure(placed.fault))
        elif len(self._running) >= MOST_ORDERS:
            running.close(failure(f"{MOST_ORDERS} orders are under way. Wait for one of them, and order again."))
        else:
            if self._journal is not None:
                self._journal.ordered(id, placed.order)
            task = asyncio.get_running_loop().create_task(self._run(placed.order, running))
            self._running[task] = running
            task.add_done_callback(self._running.pop)

    async def _run(self, order: Order, running: "_Running") -> None:
        try:
            running.close(await self._carry_out(order, running.version, self._listener(running)))
        except Exception as error:
            # A fault of ours. The traceback is for the log.
            _log.error("an order failed: %s", type(error).__name__, exc_info=error)
            running.close(failure(f"OpenClaw failed ({type(error).__name__}). Its log says more: try --verbose."))
        finally:
            # Cancelled: whoever did that has closed it already.
            running.close(None)

    def _listener(self, running: "_Running") -> OrderListener:
        journal, progress = self._journal, running.progress
        return OrderListener(
            tell=progress.tell if progress is not None else _say_nothing,
            joined=_say_nothing if journal is None else lambda session: journal.joined(running.id, session),
        )

    def _reply(self, reply: Reply, id: RequestId | None, line: bytes | None) -> None:
        if self._journal is not None and line is not None:
            self._journal.answered(id, line)
        reply(line)


class _Running:
    """One order under way, answered once: what comes after the first `close` is dropped."""

    def __init__(self, id: RequestId, version: str, reply: Reply, progress: "OrderProgress | None") -> None:
        self.id = id
        self.version = version
        self.progress = progress
        self._reply: Reply | None = reply

    def close(self, answer: dict[str, Any] | None) -> None:
        """Send the answer, or none at all."""
        reply, self._reply = self._reply, None
        if self.progress is not None:
            self.progress.close()
        if reply is None:
            return
        if answer is None:
            reply(None)
            return
        try:
            line = encode_result(self.id, result(answer, self.version))
        except UsageError as error:
            _log.error("%s", error)
            line = encode_result(self.id, result(failure("The answer cannot be written as JSON."), self.version))
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


class OrderProgress:
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


def _say_nothing(text: str) -> None:
    return None
