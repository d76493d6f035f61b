"""Lines of one connection as requests and answers, both ways. The same for an agent and for a client.

Owns which answer belongs to which request, the tasks of requests that came in, and their ending: each is answered once, and one that the
other side takes back (`$/cancel_request`) ends. What a method does is whoever made this. Lines come in by `receive` and go out by `write`,
which never waits: whoever says much asks for the `Pace` of the other side first. What is no message is answered as JSON-RPC wants it, and
nothing ends the connection but its end.
"""

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Raw

from openclaw.acp.wire import CANCEL_REQUEST, CANCELLED, CancelRequest
from openclaw.errors import OpenClawError, UsageError
from openclaw.protocol.framing import Oversized
from openclaw.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    Failure,
    Notification,
    Request,
    RequestId,
    Result,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
)
from openclaw.protocol.strict_lines import Batch, ErrorAnswer, read
from openclaw.redact import redact
from openclaw.security.external import clean_terminal

_log = logging.getLogger(__name__)

T = TypeVar("T")
# Requests of the other side that are under way at a time. An editor has a handful.
MOST_REQUESTS = 256
# Bytes of one line, either way: what the other implementations take.
LINE_BYTES = 32 * 1_048_576
# Seconds in which requests that are cancelled at the end may answer.
LAST_WORDS = 2.0


class RequestError(Exception):
    """An answer that is an error: ours to send, or one that came."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class LostError(RequestError):
    """The other side left before it answered."""

    def __init__(self) -> None:
        super().__init__(INTERNAL_ERROR, "The other side has left.")


class Replied(msgspec.Struct, frozen=True):
    """A result, and what to do once it was sent."""

    result: Any
    then: Callable[[], None]


class Handler(Protocol):
    """What the other side wants."""

    def requested(self, request: Request) -> Awaitable[Any]:
        """What gives the result of a request: in the order in which they come, the part before the first wait is done at once.

        What it gives may raise RequestError, or OpenClawError: its sentence is the answer then. A request that is cancelled may still give
        a result."""
        ...

    def notified(self, notification: Notification) -> None: ...

    def taken_back(self, id: RequestId) -> bool:
        """The other side no longer waits for a request. True when it ends by itself with a result, so that nobody else has to end it."""
        ...


class Pace(Protocol):
    """How the other side keeps up with what it is told."""

    @property
    def is_behind(self) -> bool:
        """Whether so much is unread that what can be left out should be."""
        ...

    async def caught_up(self) -> None:
        """Wait until it is not. Raises nothing but CancelledError."""
        ...


class AtOnce:
    """The pace of whoever reads at once."""

    is_behind = False

    async def caught_up(self) -> None:
        return None


class Connection:
    """`write` takes one line without its newline and never waits. `handler` is set before the first line comes."""

    def __init__(self, write: Callable[[bytes], None], pace: Pace | None = None) -> None:
        self.pace: Pace = pace or AtOnce()
        self._write = write
        self._handler: Handler | None = None
        self._numbers = itertools.count(1)
        self._asked: dict[RequestId, asyncio.Future[Raw]] = {}
        self._running: dict[asyncio.Task[None], RequestId] = {}
        self._is_lost = False

    def serve(self, handler: Handler) -> None:
        self._handler = handler

    # What we say

    def notify(self, method: str, params: Any) -> None:
        self._send(lambda: encode_notification(method, params))

    async def request(self, method: str, params: Any, kind: type[T]) -> T:
        """What the other side answers. Raises RequestError when it is an error or not of that kind, LostError when it leaves.

        Cancelled, it is taken back there too.
        """
        if self._is_lost:
            raise LostError()
        # No number: those are what most clients count their own requests with, and people read both in one log.
        id = f"openclaw-{next(self._numbers)}"
        answer: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        self._asked[id] = answer
        try:
            self._write(encode_request(id, method, params))
            given = await answer
        except asyncio.CancelledError:
            if not self._is_lost:
                self.notify(CANCEL_REQUEST, CancelRequest(id))
            raise
        finally:
            del self._asked[id]
        try:
            return msgspec.json.decode(given, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise RequestError(INTERNAL_ERROR, f"The answer to {method} cannot be read: {error}.") from None

    # What the other side says

    def receive(self, line: bytes | Oversized) -> None:
        """Take a line: answer it, or start what it asks for. Never raises and never waits."""
        match read(line):
            case ErrorAnswer(id, code, sentence):
                self._refuse(id, code, sentence)
            case Batch():
                self._refuse(None, INVALID_REQUEST, "Invalid request: there are no batches in this protocol.")
            case Result(id, result):
                self._answered(id, lambda answer: answer.set_result(result))
            case Failure(id, code, message, data):
                self._answered(id, lambda answer: answer.set_exception(RequestError(code, message, data)))
            case Notification(method) as notification:
                if method == CANCEL_REQUEST:
                    self._take_back(notification.params)
                elif self._handler is not None:
                    self._handler.notified(notification)
            case Request() as request:
                self._begin(request)
            case None:
                pass

    def lose(self) -> None:
        """The other side is gone: whoever waits for it waits no longer."""
        self._is_lost = True
        for answer in tuple(self._asked.values()):
            if not answer.done():
                answer.set_exception(LostError())

    async def stop(self) -> None:
        """End the requests that are under way, and wait for them a moment."""
        tasks = tuple(self._running)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=LAST_WORDS)

    def _begin(self, request: Request) -> None:
        if len(self._running) >= MOST_REQUESTS:
            self._refuse(request.id, INVALID_REQUEST, f"{MOST_REQUESTS} requests are under way. Wait for one of them.")
            return
        assert self._handler is not None  # set before the first line
        try:
            work = self._handler.requested(request)
        except RequestError as error:
            self._refuse(request.id, error.code, error.message, error.data)
            return
        except Exception as error:
            # Nobody would read the lines behind this one.
            self._fail(request.id, error)
            return
        task = asyncio.get_running_loop().create_task(self._run(request.id, work))
        self._running[task] = request.id
        task.add_done_callback(lambda done: self._running.pop(done, None))

    async def _run(self, id: RequestId, work: Awaitable[Any]) -> None:
        then: Callable[[], None] | None = None
        try:
            result = await work
            if isinstance(result, Replied):
                result, then = result.result, result.then
            self._send(lambda: encode_result(id, result))
        except RequestError as error:
            self._refuse(id, error.code, error.message, error.data)
        except asyncio.CancelledError:
            self._refuse(id, CANCELLED, "The request was cancelled.")
        except OpenClawError as error:
            self._refuse(id, INTERNAL_ERROR, redact(clean_terminal(str(error))))
        except Exception as error:
            self._fail(id, error)
        if then is not None:
            then()

    def _take_back(self, params: Raw) -> None:
        try:
            wanted = msgspec.json.decode(params, type=CancelRequest).request_id
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return
        for task, id in tuple(self._running.items()):
            is_it = id == wanted and type(id) is type(wanted)
            if is_it and (self._handler is None or not self._handler.taken_back(id)):
                task.cancel()

    def _answered(self, id: RequestId | None, settle: "Callable[[asyncio.Future[Raw]], None]") -> None:
        answer = None if id is None else self._asked.get(id)
        # One that comes late, or to something nobody asked, is dropped.
        if answer is not None and not answer.done():
            settle(answer)

    def _refuse(self, id: RequestId | None, code: int, message: str, data: Any = None) -> None:
        self._send(lambda: encode_error(id, code, message, *(() if data is None else (data,))))

    def _fail(self, id: RequestId, error: Exception) -> None:
        """A fault of ours. The traceback is for the log."""
        _log.error("a request failed: %s", type(error).__name__, exc_info=error)
        self._refuse(id, INTERNAL_ERROR, f"OpenClaw failed ({type(error).__name__}). Its log says more.")

    def _send(self, encoded: Callable[[], bytes]) -> None:
        if self._is_lost:
            return
        try:
            line = encoded()
        except UsageError as error:
            _log.error("a message could not be sent: %s", error)
            return
        if len(line) > LINE_BYTES:
            _log.error("a message of %d bytes was not sent: no client takes one that long", len(line))
            return
        self._write(line)


def params_of(request: Request | Notification, kind: type[T]) -> T:
    """The parameters of a message. Raises RequestError."""
    raw = request.params
    try:
        # Some clients write null, or nothing, for none.
        given = raw if bytes(memoryview(raw)[:4]) not in (b"", b"null") else Raw(b"{}")
        return msgspec.json.decode(given, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(INVALID_PARAMS, f"Invalid params of {request.method}: {error}.") from None
