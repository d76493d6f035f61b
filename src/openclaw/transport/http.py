"""Streamable HTTP: one POST per message, answered by JSON or by an event stream; a GET stream for what the server says unasked.

Owns the MCP session id, the headers of each revision, resuming a broken stream with Last-Event-ID, and the end of the session.
A request goes out in one write over a connection that is there, and an answer that comes whole goes from the socket to who waits for it,
with no task and no coroutine between (`post`). What takes longer (a new connection, a renewed token, a refusal, a redirect, a stream) runs
in a task: the caller's (`send`), or one of the link's own that goes on where `post` left off. An exchange fails alone: no dropped
connection, time-out or odd answer touches a neighbour. Nothing is sent twice unless it was surely not processed (`endpoint.py`).
Negotiation, and what follows a 404 on a session, are decided above.
"""

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import Context, copy_context
from functools import partial
from typing import Final

import msgspec

from openclaw.errors import (
    AddressError,
    ConnectError,
    HttpStatusError,
    LinkLostError,
    OpenClawError,
    ProtocolError,
    SessionExpiredError,
)
from openclaw.net.client import Begun, HttpClient, Prepared
from openclaw.net.http1 import Head, ResponseParser
from openclaw.net.http_connection import HttpConnection
from openclaw.net.response import Response
from openclaw.protocol.headers import standard_headers
from openclaw.protocol.sse import single_message
from openclaw.protocol.transports import STREAMABLE_HTTP, TransportFacts
from openclaw.transport.base import LARGE, PAUSE, Outgoing, Receiver
from openclaw.transport.endpoint import (
    GET_HEADERS,
    POST_HEADERS,
    Destination,
    Endpoint,
    answered_ids,
    is_answer,
    is_unanswered,
)
from openclaw.transport.event_stream import EVENT_STREAM, LINGER, EventStream, ExcessError

_log = logging.getLogger(__name__)

# The first revision without sessions and without a GET stream; revisions are dates and compare as text.
MODERN: Final = "2026-07-28"
# How long the first call may be held back so that the stream for the server's own messages is open by then: what a server has to say
# before that is lost. Servers open it at once, or refuse at once; a few send no byte before their first event.
HEAD_START: Final = 0.1
# How long the goodbye to a server may take.
CLOSE_PATIENCE: Final = 2.0
# Connections in a row that may bring nothing before a broken call is given up.
RESUME_ATTEMPTS: Final = 5

# Kinds of requests whose head is kept: one for each tool that is called (2026-07-28).
MAX_PREPARED: Final = 256
# All requests, where headers do not repeat what they are.
_ANY: Final = ("", "")

# The words of real servers for a session they do not know.
_SESSION_UNKNOWN = re.compile(rb"session[ -]?id|no valid session|session not found|not initialized", re.IGNORECASE)
# A session id has visible ASCII only; the bound keeps a hostile one out of every later request.
_SESSION_ID = re.compile(r"[\x21-\x7e]{1,1024}")


class HttpTransport:
    """Opens links to one server."""

    facts: TransportFacts = STREAMABLE_HTTP

    def __init__(self, destination: Destination) -> None:
        self._destination = destination

    @asynccontextmanager
    async def open(self, receiver: Receiver) -> AsyncIterator["HttpLink"]:
        """A link whose first message makes the first connection. Leaving it ends the MCP session within bounded time."""
        destination = self._destination
        async with HttpClient(destination.options) as client:
            link = HttpLink(destination.endpoint(client), receiver, destination.max_message_bytes)
            try:
                yield link
            finally:
                await link.close()


class _Usual(msgspec.Struct, frozen=True, eq=False):
    """What requests of one kind carry: their headers without those of a single message, the credentials, and both encoded."""

    headers: Mapping[str, str]
    credentials: Mapping[str, str]
    prepared: Prepared


class _Exchange(msgspec.Struct, eq=False):
    """A request that was sent and has no answer yet."""

    link: "HttpLink"
    message: Outgoing
    id: int
    usual: _Usual
    # Of the call: what comes of it belongs to it. The event loop calls in that of whoever opened the connection.
    context: Context
    connection: HttpConnection | None = None
    # What is read of its answer, when that is an event stream.
    stream: EventStream | None = None

    def answered(self, head: Head, body: bytes) -> bool:
        return self.context.run(self.link.answered, self, head, body)

    def read_as(self, stream: EventStream) -> EventStream:
        self.stream = stream
        return stream

    def came(self, parser: ResponseParser) -> bool:
        return self.context.run(self.link.came, self, parser)

    def unanswered(self, parser: ResponseParser) -> None:
        self.link.unanswered(self, parser)


class HttpLink:
    facts: TransportFacts = STREAMABLE_HTTP
    pid: int | None = None

    def __init__(self, endpoint: Endpoint, receiver: Receiver, max_message_bytes: int) -> None:
        self.mcp_session_id: str | None = None
        self.session_is_doubtful = False
        self._endpoint = endpoint
        self._receiver = receiver
        self._max_message_bytes = max_message_bytes
        self._version = ""
        self._modern = False
        # By method and name where headers repeat them (2026-07-28), else the same for all; empty when session or revision are others since.
        self._usual: dict[tuple[str, str], _Usual] = {}
        self._loop = asyncio.get_running_loop()
        self._exchanges: dict[int, _Exchange] = {}
        # Those that take longer.
        self._running: dict[int, asyncio.Task[object]] = {}
        # Requests whose exchange was ended by `cancel`, until their task has noticed.
        self._dropped: set[int] = set()
        # Tasks of our own, which no caller awaits.
        self._own: set[asyncio.Task[None]] = set()
        self._listener: asyncio.Task[None] | None = None

    def post(self, message: Outgoing) -> bool:
        id = message.id
        # Before a revision is agreed, an answer says more than what is in it.
        if id is None or not self._version:
            return False
        credentials = self._endpoint.credentials_at_hand()
        if credentials is None:
            return False
        kind = (message.method, message.name) if self._modern else _ANY
        usual = self._usual.get(kind)
        if usual is None or usual.credentials is not credentials:
            usual = self._prepare(kind, message, credentials)
        if message.headers and not usual.prepared.names.isdisjoint(map(str.lower, message.headers)):
            return False
        exchange = _Exchange(self, message, id, usual, copy_context())
        connection = self._endpoint.client.ask(usual.prepared, message.data, exchange, message.headers)
        if connection is None:
            return False
        exchange.connection = connection
        self._exchanges[id] = exchange
        return True

    def answered(self, exchange: _Exchange, head: Head, body: bytes) -> bool:
        """The answer to an exchange came whole. False when it takes more than to hand it on."""
        kind, data = head.media_type, body
        if kind == EVENT_STREAM:
            single = single_message(body)
            if single is None or single[0] is not None:
                return False
            data = single[1]
        elif kind != "application/json":
            return False
        if len(body) > self._max_message_bytes:
            return False
        id = exchange.id
        del self._exchanges[id]
        receiver = self._receiver
        receiver.received(data, id)
        if receiver.awaits(id):
            receiver.failed(id, self._cut_off() if kind == EVENT_STREAM else self._no_answer())
        return True

    def came(self, exchange: _Exchange, parser: ResponseParser) -> bool:
        """More came of an answer that does not come whole. False when it takes more than to hand it on."""
        head, connection = parser.head, exchange.connection
        if head is None:
            return True
        if not head.is_plain or connection is None:
            return False
        if head.media_type == EVENT_STREAM:
            if not self._read_on(exchange, parser):
                # Over without an answer: to be resumed, perhaps.
                return not parser.finished
        elif not parser.finished:
            return True
        elif not self.answered(exchange, head, b"".join(parser.pieces)):
            return False
        self._endpoint.client.leave(exchange.usual.prepared, connection, LINGER)
        return True

    def _read_on(self, exchange: _Exchange, parser: ResponseParser) -> bool:
        """Read what came of an event stream. Whether nobody waits for more of it."""
        stream, id = exchange.stream, exchange.id
        if stream is None:
            stream = exchange.read_as(self._stream(id))
        try:
            while parser.pieces:
                stream.feed(parser.pieces.popleft())
        except ExcessError as error:
            self._fail(id, error)
            if exchange.connection is not None:
                exchange.connection.abort()
        if self._receiver.awaits(id):
            return False
        self._exchanges.pop(id, None)
        return True

    def unanswered(self, exchange: _Exchange, parser: ResponseParser) -> None:
        """Something else came than a whole answer, or the link broke: a task goes on with it."""
        id, connection = exchange.id, exchange.connection
        del self._exchanges[id]
        assert connection is not None
        carried = self._carry(exchange.message, id, exchange, Begun(connection, parser))
        task = self._loop.create_task(carried, name="mcp-http-exchange", context=exchange.context)
        self._running[id] = task
        self._own.add(task)
        task.add_done_callback(partial(self._carried, id, connection))

    def _carried(self, id: int, connection: HttpConnection, task: asyncio.Task[None]) -> None:
        self._own.discard(task)
        if task.cancelled():
            # Perhaps before its first step.
            self._running.pop(id, None)
            self._dropped.discard(id)
            connection.abort()
        elif (error := task.exception()) is not None:
            _log.error("An exchange with %s failed.", self._endpoint.origin, exc_info=error)
            self._fail(id, ProtocolError(f"An internal error: {type(error).__name__}."))

    async def send(self, message: Outgoing) -> None:
        if message.id is None:
            await self._tell(message)
        else:
            await self._carry(message, message.id)

    async def _carry(
        self, message: Outgoing, id: int, exchange: _Exchange | None = None, begun: Begun | None = None
    ) -> None:
        """An exchange in this task, from its beginning or from where it stands."""
        task = asyncio.current_task(self._loop)
        assert task is not None
        cancelling = task.cancelling()
        self._running[id] = task
        try:
            await self._exchange(message, id, exchange, begun)
        except asyncio.CancelledError:
            if id not in self._dropped or task.uncancel() > cancelling:
                raise
        except OpenClawError as error:
            self._fail(id, error)
        finally:
            del self._running[id]
            self._dropped.discard(id)

    def cancel(self, request_id: int) -> bool:
        exchange = self._exchanges.pop(request_id, None)
        if exchange is not None and exchange.connection is not None:
            exchange.connection.abort()
        task = self._running.get(request_id)
        # A receiver may cancel from inside `received`, in the very task of the exchange: that one is about to return by itself.
        if task is not None and request_id not in self._dropped and task is not asyncio.current_task():
            self._dropped.add(request_id)
            task.cancel()
        return self._modern

    def established(self, version: str) -> None:
        self._version, self._modern = version, version >= MODERN
        self._usual.clear()
        self._stop_listening()

    def reset(self) -> None:
        self.mcp_session_id = None
        self.session_is_doubtful = False
        self._version, self._modern = "", False
        self._usual.clear()
        self._stop_listening()

    async def close(self) -> None:
        """End the streams and the MCP session. Never raises; bounded."""
        listener = self._listener
        self._stop_listening()
        for id in (*self._exchanges, *self._running):
            self._fail(id, LinkLostError("The connection was closed on our side."))
            self.cancel(id)
        ending = [*self._own] if listener is None else [*self._own, listener]
        if ending:
            await asyncio.wait(ending)
        if self.mcp_session_id is not None:
            try:
                async with asyncio.timeout(CLOSE_PATIENCE):
                    response = await self._endpoint.request("DELETE", self._session_headers())
                    response.close()
            except (OpenClawError, TimeoutError) as error:
                # 405: the server ends sessions by itself. Anything else is its business too, now that we leave.
                _log.debug("The MCP session was not ended politely: %s", error)

    # One message

    def _fail(self, id: int, error: Exception) -> None:
        if self._receiver.awaits(id):
            self._receiver.failed(id, error)

    def _session_headers(self) -> dict[str, str]:
        headers = {}
        if self._version:
            headers["MCP-Protocol-Version"] = self._version
        if self.mcp_session_id is not None:
            headers["Mcp-Session-Id"] = self.mcp_session_id
        return headers

    def _prepare(self, kind: tuple[str, str], message: Outgoing, credentials: Mapping[str, str]) -> _Usual:
        """What requests like this one carry from now on."""
        if len(self._usual) >= MAX_PREPARED:
            self._usual.clear()
        headers = self._message_headers(msgspec.structs.replace(message, headers={}))
        prepared = self._endpoint.prepare(headers, credentials)
        usual = self._usual[kind] = _Usual(headers, credentials, prepared)
        return usual

    def _message_headers(self, message: Outgoing) -> Mapping[str, str]:
        version = message.headers.get("MCP-Protocol-Version", self._version)
        if version >= MODERN:
            standard = standard_headers(message.method, message.name)
            return {**POST_HEADERS, "MCP-Protocol-Version": version, **standard, **message.headers}
        return {**POST_HEADERS, **self._session_headers(), **message.headers}

    def _refused(self, error: HttpStatusError, message: Outgoing, headers: Mapping[str, str]) -> OpenClawError:
        """What a refusal of a message means that was sent with these headers: the same, or that the MCP session is lost."""
        session = headers.get("Mcp-Session-Id")
        if session is not None and _is_session_lost(error, message.id):
            return SessionExpiredError("The server no longer knows the MCP session.")
        if session is not None and session == self.mcp_session_id and _speaks_of_session(error, message.id):
            self.session_is_doubtful = True
        return error

    async def _tell(self, message: Outgoing) -> None:
        """Send what has no answer: any success will do."""
        headers = self._message_headers(message)
        try:
            response = await self._endpoint.request("POST", headers, message.data, once=message.once)
        except HttpStatusError as error:
            raise self._refused(error, message, headers) from None
        response.close()
        if message.method == "notifications/initialized" and not self._modern:
            await self._begin_listening()

    async def _exchange(self, message: Outgoing, id: int, before: _Exchange | None, begun: Begun | None) -> None:
        """`before` is what was done of it before, when it was begun."""
        if before is None or begun is None:
            headers, sent, stream = self._message_headers(message), None, None
        else:
            usual, stream = before.usual, before.stream
            headers, sent = {**usual.headers, **message.headers}, (begun, usual.credentials)
        try:
            response = await self._endpoint.request("POST", headers, message.data, once=message.once, begun=sent)
        except HttpStatusError as error:
            fault = self._refused(error, message, headers)
            # Once a revision is agreed, an error in JSON-RPC form says more than its status. Before that, the status decides.
            if fault is error and self._version and _is_json(error):
                self._receiver.received(error.body, id)
            raise fault from None
        if message.method == "initialize":
            self._adopt_session(response)
        try:
            if response.media_type == "application/json":
                body = await response.read(self._max_message_bytes)
                if len(body) >= LARGE:
                    await asyncio.sleep(PAUSE)
                self._receiver.received(body, id)
            elif response.media_type == EVENT_STREAM:
                is_begun = stream is not None
                stream = stream or self._stream(id)
                await stream.read(response, begun=is_begun)
            else:
                raise ProtocolError(
                    f"{response.origin} answered {response.status} with {_kind(response)} instead of JSON or an event stream.",
                    hint="Check that the URL is an MCP endpoint.",
                )
        finally:
            response.close()
        if stream is not None:
            await self._resume(stream, id)
        elif self._receiver.awaits(id):
            raise self._no_answer()

    def _no_answer(self) -> ProtocolError:
        return ProtocolError(f"{self._endpoint.origin} answered with JSON that does not answer the request.")

    def _cut_off(self) -> LinkLostError:
        return LinkLostError(
            f"{self._endpoint.origin} ended its answer before it was complete.",
            hint="The request may have been processed.",
        )

    def _adopt_session(self, response: Response) -> None:
        id = response.headers.get("mcp-session-id")
        if id is not None and not _SESSION_ID.fullmatch(id):
            response.close()
            raise ProtocolError(f"{response.origin} sent an MCP session id that is not visible ASCII.")
        if id is not None and not response.is_from(self._endpoint.target):
            # The id is for the resource that gave it: it may neither be shown to the one that redirects nor follow a redirect.
            response.close()
            raise AddressError(
                f"{self._endpoint.origin} redirects to another address ({response.url.partition('?')[0]}), which wants an MCP session.",
                hint="Put that URL into the config.",
            )
        self.mcp_session_id = id
        self._usual.clear()

    # Streams

    def _stream(self, origin: int | None) -> EventStream:
        def deliver(event: str, data: bytes) -> None:
            if event == "message":
                self._receiver.received(data, origin)

        def enough() -> bool:
            return origin is not None and not self._receiver.awaits(origin)

        return EventStream(
            deliver,
            enough=enough,
            max_event_bytes=self._max_message_bytes,
            label=self._endpoint.origin,
            fail_on_excess=origin is not None,
        )

    async def _get(self, stream: EventStream) -> Response:
        headers = {**GET_HEADERS, **self._session_headers()}
        if (place := stream.last_event_header) is not None:
            headers["Last-Event-ID"] = place
        response = await self._endpoint.request("GET", headers)
        if response.media_type != EVENT_STREAM:
            response.close()
            raise ProtocolError(f"{response.origin} answered a GET with {_kind(response)} instead of an event stream.")
        return response

    async def _resume(self, stream: EventStream, id: int) -> None:
        """Go on with a request's stream that ended before its answer came, for as long as the server brings anything."""
        failures = 0
        while self._receiver.awaits(id):
            if stream.last_event_id is None or self._modern:
                if isinstance(stream.fault, ProtocolError):
                    raise stream.fault
                raise self._cut_off()
            if failures >= RESUME_ATTEMPTS:
                raise LinkLostError(
                    f"The answer of {self._endpoint.origin} broke off and could not be resumed.",
                    hint="The request may have been processed.",
                )
            await asyncio.sleep(stream.pause(failures))
            seen = stream.progress
            try:
                await stream.read(await self._get(stream))
            except ExcessError:
                raise
            except (ConnectError, LinkLostError, ProtocolError) as error:
                _log.debug("Resuming a stream: %s", error)
            except HttpStatusError as error:
                if not _is_passing(error):
                    raise LinkLostError(
                        f"The answer of {self._endpoint.origin} broke off and it answered {error.status} to resuming it.",
                        hint="The request may have been processed.",
                    ) from None
            failures = failures + 1 if stream.progress == seen else 0

    async def _begin_listening(self) -> None:
        """Servers take the GET once they know that the client is initialized."""
        self._stop_listening()
        opened = asyncio.Event()
        self._listener = asyncio.create_task(self._listen(opened), name="mcp-http-listen")
        self._listener.add_done_callback(lambda _: opened.set())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HEAD_START):
                await opened.wait()

    async def _listen(self, opened: asyncio.Event) -> None:
        """Read what the server says unasked, connecting again for as long as the link lives; ends where there is no such stream."""
        stream = self._stream(None)
        failures = 0
        while True:
            seen = stream.progress
            try:
                response = await self._get(stream)
                opened.set()
                await stream.read(response)
            except HttpStatusError as error:
                if not _is_passing(error):
                    _log.debug("No stream for the server's own messages: %s", error)
                    return
            except OpenClawError as error:
                # Also a page instead of a stream: whoever stands between may have put it there for a moment.
                _log.debug("The stream for the server's own messages: %s", error)
            # The pause grows only while connections bring nothing at all.
            failures = failures + 1 if stream.progress == seen else 0
            await asyncio.sleep(stream.pause(failures))

    def _stop_listening(self) -> None:
        if self._listener is not None:
            self._listener.cancel()
            self._listener = None


def _is_session_lost(error: HttpStatusError, id: int | None) -> bool:
    """404 as the specification has it; or 400 with a word about the session and no id, as servers built on the official examples answer
    after a restart. Either way the request was refused before anything looked at it. A refusal
    that is an answer to this very request does not count: something did look at it."""
    if not is_unanswered(error, id):
        return False
    if error.status == 404:
        return True
    named = [one for one in answered_ids(error.body) if one is not None]
    return error.status == 400 and not named and _SESSION_UNKNOWN.search(error.body) is not None


def _speaks_of_session(error: HttpStatusError, id: int | None) -> bool:
    """Whether a refusal that may be an answer to the request seems to say that the session is unknown."""
    if error.status == 404 and not is_answer(error, id):
        return True
    return error.status in (400, 404) and _SESSION_UNKNOWN.search(error.body) is not None


def _is_passing(error: HttpStatusError) -> bool:
    """Whether the same request may succeed a little later."""
    return error.status == 429 or (error.status >= 500 and error.status != 501)


def _is_json(error: HttpStatusError) -> bool:
    return error.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


def _kind(response: Response) -> str:
    """A content type, safe to show: what is not a plain type is not repeated."""
    kind = response.media_type
    return kind if re.fullmatch(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,60}", kind) else "no known content type"
