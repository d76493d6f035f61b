"""Streamable HTTP: one POST per message, answered by JSON or by an event stream; a GET stream for what the server says unasked.

Owns the MCP session id, the headers of each revision, resuming a broken stream with Last-Event-ID, and the end of the session.
An exchange runs in its caller's task and fails alone: no dropped connection, time-out or odd answer touches a neighbour. Nothing
is sent twice unless it was surely not processed (`endpoint.py`). Negotiation, and what follows a 404 on a session, are decided above.
"""

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from openclaw.errors import (
    AddressError,
    ConnectError,
    HttpStatusError,
    LinkLostError,
    OpenClawError,
    ProtocolError,
    SessionExpiredError,
)
from openclaw.net.client import HttpClient
from openclaw.net.response import Response
from openclaw.protocol.headers import standard_headers
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
from openclaw.transport.event_stream import EVENT_STREAM, EventStream, ExcessError, single_message

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
        # What a message carries that has no headers of its own; None when session or revision are others since.
        self._usual_headers: Mapping[str, str] | None = None
        self._loop = asyncio.get_running_loop()
        self._running: dict[int, asyncio.Task[object]] = {}
        # Requests whose exchange was ended by `cancel`, until their task has noticed.
        self._dropped: set[int] = set()
        self._listener: asyncio.Task[None] | None = None

    def post(self, message: Outgoing) -> bool:
        return False

    async def send(self, message: Outgoing) -> None:
        if message.id is None:
            await self._tell(message)
            return
        task = asyncio.current_task(self._loop)
        assert task is not None
        id, cancelling = message.id, task.cancelling()
        self._running[id] = task
        try:
            await self._exchange(message, id)
        except asyncio.CancelledError:
            if id not in self._dropped or task.uncancel() > cancelling:
                raise
        except OpenClawError as error:
            self._fail(id, error)
        finally:
            del self._running[id]
            self._dropped.discard(id)

    def cancel(self, request_id: int) -> bool:
        task = self._running.get(request_id)
        # A receiver may cancel from inside `received`, in the very task of the exchange: that one is about to return by itself.
        if task is not None and request_id not in self._dropped and task is not asyncio.current_task():
            self._dropped.add(request_id)
            task.cancel()
        return self._modern

    def established(self, version: str) -> None:
        self._version = version
        self._usual_headers = None
        self._stop_listening()

    def reset(self) -> None:
        self.mcp_session_id = None
        self.session_is_doubtful = False
        self._version = ""
        self._usual_headers = None
        self._stop_listening()

    async def close(self) -> None:
        """End the streams and the MCP session. Never raises; bounded."""
        listener = self._listener
        self._stop_listening()
        for id in list(self._running):
            self._fail(id, LinkLostError("The connection was closed on our side."))
            self.cancel(id)
        if listener is not None:
            await asyncio.wait([listener])
        if self.mcp_session_id is not None:
            try:
                async with asyncio.timeout(CLOSE_PATIENCE):
                    response = await self._endpoint.request("DELETE", self._session_headers())
                    response.close()
            except (OpenClawError, TimeoutError) as error:
                # 405: the server ends sessions by itself. Anything else is its business too, now that we leave.
                _log.debug("The MCP session was not ended politely: %s", error)

    # One message

    @property
    def _modern(self) -> bool:
        return self._version >= MODERN

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

    def _message_headers(self, message: Outgoing) -> Mapping[str, str]:
        if not message.headers and not self._modern:
            # As those of every call of an old server: made once for each session.
            if self._usual_headers is None:
                self._usual_headers = {**POST_HEADERS, **self._session_headers()}
            return self._usual_headers
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

    async def _exchange(self, message: Outgoing, id: int) -> None:
        headers = self._message_headers(message)
        try:
            response = await self._endpoint.request("POST", headers, message.data, once=message.once)
        except HttpStatusError as error:
            fault = self._refused(error, message, headers)
            # Once a revision is agreed, an error in JSON-RPC form says more than its status. Before that, the status decides.
            if fault is error and self._version and _is_json(error):
                self._receiver.received(error.body, id)
            raise fault from None
        if message.method == "initialize":
            self._adopt_session(response)
        stream: EventStream | None = None
        try:
            kind, whole = response.media_type, response.whole
            if whole is not None and len(whole) > self._max_message_bytes:
                whole = None
            if kind == "application/json":
                body = await response.read(self._max_message_bytes) if whole is None else whole
                if len(body) >= LARGE:
                    await asyncio.sleep(PAUSE)
                self._receiver.received(body, id)
            elif kind == EVENT_STREAM:
                single = None if whole is None else single_message(whole)
                if single is not None and single[0] is None:
                    # One message and no place to resume from: nothing that it takes a stream for, unless this was not the answer.
                    self._receiver.received(single[1], id)
                    stream = self._stream(id) if self._receiver.awaits(id) else None
                else:
                    stream = self._stream(id)
                    await stream.read(response)
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
            raise ProtocolError(f"{response.origin} answered with JSON that does not answer the request.")

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
        self._usual_headers = None

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
                raise LinkLostError(
                    f"{self._endpoint.origin} ended its answer before it was complete.",
                    hint="The request may have been processed.",
                )
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
