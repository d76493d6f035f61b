"""HTTP+SSE, the transport of revision 2024-11-05: one GET stream carries every answer, messages go by POST to a URL the stream names.

Owns waiting for the `endpoint` event and refusing one that leads to another origin, where credentials would follow it. The stream
is the session: when it ends the link is closed, and connecting again is mcp/server/server.py's business.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urljoin

from openclaw.errors import (
    AddressError,
    ConnectError,
    HttpStatusError,
    LinkLostError,
    OpenClawError,
    ProtocolError,
    TransportError,
)
from openclaw.net.client import HttpClient
from openclaw.net.response import Response
from openclaw.protocol.transports import LEGACY_SSE, TransportFacts
from openclaw.security.egress import parse_url
from openclaw.transport.base import Outgoing, Receiver
from openclaw.transport.endpoint import GET_HEADERS, POST_HEADERS, Destination, Endpoint, is_answer
from openclaw.transport.event_stream import EVENT_STREAM, EventStream

# How long the response to a POST may come after the answer to its message.
POST_PATIENCE: Final = 1.0
# Turns of the loop until what the kernel holds of the stream was read, and its end noticed.
READ_TURNS: Final = 5


class LegacySseTransport:
    """Opens links to one server, as `HttpTransport` does."""

    facts: TransportFacts = LEGACY_SSE

    def __init__(self, destination: Destination) -> None:
        self._destination = destination

    @asynccontextmanager
    async def open(self, receiver: Receiver) -> AsyncIterator["LegacySseLink"]:
        """Connects, and waits for the endpoint no longer than the connect timeout.

        Raises HttpStatusError or ProtocolError when the URL is no such stream, ConnectError when it does not answer.
        """
        destination = self._destination
        async with HttpClient(destination.options) as client:
            link = LegacySseLink(destination.endpoint(client), receiver, destination.max_message_bytes)
            try:
                await link.start(destination.options.connect_timeout)
                yield link
            finally:
                await link.close()


class LegacySseLink:
    facts: TransportFacts = LEGACY_SSE
    pid: int | None = None
    mcp_session_id: str | None = None
    session_is_doubtful = False

    def __init__(self, endpoint: Endpoint, receiver: Receiver, max_message_bytes: int) -> None:
        self._endpoint = endpoint
        self._receiver = receiver
        self._stream = EventStream(
            self._deliver, enough=lambda: False, max_event_bytes=max_message_bytes, label=endpoint.origin
        )
        self._base_url = endpoint.url
        self._post_url: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._version = ""
        self._reader: asyncio.Task[None] | None = None
        self._closed = False
        # Requests whose POST is under way; and those given up because their answer came first.
        self._posting: dict[int, asyncio.Task[Any]] = {}
        self._answered: set[int] = set()
        # Requests that wait for what has arrived to be read before they are sent.
        self._unsent: set[int | None] = set()

    async def start(self, patience: float) -> None:
        """Open the stream and wait for its first event. Raises what open() of the transport says."""
        try:
            async with asyncio.timeout(patience):
                response = await self._endpoint.request("GET", GET_HEADERS)
                if response.media_type != EVENT_STREAM:
                    response.close()
                    raise ProtocolError(
                        f"{self._endpoint.origin} answered without an event stream.",
                        hint="Check the URL and the transport.",
                    )
                if self._endpoint.has_credentials and not response.is_from(self._endpoint.target):
                    response.close()
                    raise AddressError(
                        f"{self._endpoint.origin} redirects to another address ({response.url.partition('?')[0]}), and credentials "
                        "are not sent there.",
                        hint="Put that URL into the config.",
                    )
                self._base_url = response.url
                self._reader = asyncio.create_task(self._read(response), name="mcp-sse-read")
                await asyncio.shield(self._post_url)
        except TimeoutError:
            raise ConnectError(
                f"{self._endpoint.origin} did not name its endpoint within {patience:g} s.",
                hint="Check that the URL is an HTTP+SSE server's stream.",
            ) from None

    def post(self, message: Outgoing) -> bool:
        return False

    async def send(self, message: Outgoing) -> None:
        """Returns once the server has taken the message; its answer comes on the stream."""
        task = asyncio.current_task()
        assert task is not None
        cancelling = task.cancelling()
        if message.id is not None:
            self._posting[message.id] = task
        try:
            if await self._is_open(message.id):
                await self._send(message)
            elif message.id is None:
                raise self._unsent_error()
        except asyncio.CancelledError:
            if message.id not in self._answered or task.uncancel() > cancelling:
                raise
        finally:
            if message.id is not None:
                self._posting.pop(message.id, None)
                self._answered.discard(message.id)

    async def _is_open(self, id: int | None) -> bool:
        """Read what has arrived, then tell whether the stream is still open: its end is the end of the session."""
        if id is not None:
            self._unsent.add(id)
        try:
            for _ in range(READ_TURNS):
                await asyncio.sleep(0)
        finally:
            self._unsent.discard(id)
        return not self._closed

    def _unsent_error(self) -> LinkLostError:
        return LinkLostError(f"{self._endpoint.origin} ended its event stream.", maybe_sent=False)

    async def _send(self, message: Outgoing) -> None:
        headers = {**POST_HEADERS, "MCP-Protocol-Version": self._version} if self._version else POST_HEADERS
        error: OpenClawError
        try:
            url = self._post_url.result()
            response = await self._endpoint.request("POST", headers, message.data, url=url, once=message.once)
            response.close()
            return
        except OpenClawError as failure:
            error = failure
        forgotten: LinkLostError | None = None
        if isinstance(error, HttpStatusError) and is_answer(error, message.id):
            self._receiver.received(error.body, None)
        elif isinstance(error, HttpStatusError) and error.status == 404:
            gone = f"{self._endpoint.origin} no longer knows the session."
            error = forgotten = LinkLostError(gone, maybe_sent=not error.whole)
        if message.id is not None and self._receiver.awaits(message.id):
            self._receiver.failed(message.id, error)
        if forgotten is not None:
            # Nothing more will come on the stream. Told after the request itself: that one was surely not processed.
            self._end(forgotten)
        if message.id is None:
            raise error

    def _look_after_posts(self) -> None:
        """Stop waiting, soon, for a POST whose message was answered already: its connection may be half-open."""
        for id in self._posting:
            if not self._receiver.awaits(id):
                asyncio.get_running_loop().call_later(POST_PATIENCE, self._give_up, id)

    def _give_up(self, id: int) -> None:
        task = self._posting.pop(id, None)
        if task is not None:
            self._answered.add(id)
            task.cancel()

    def cancel(self, request_id: int) -> bool:
        return False

    def established(self, version: str) -> None:
        self._version = version

    def reset(self) -> None:
        self._version = ""

    async def close(self) -> None:
        """End the stream, and the session with it. Never raises."""
        self._closed = True
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.wait([self._reader])
        if self._post_url.done() and not self._post_url.cancelled():
            # Seen by nobody when the opener gave up first.
            self._post_url.exception()

    async def _read(self, response: Response) -> None:
        error: TransportError = LinkLostError(f"{self._endpoint.origin} ended its event stream.")
        try:
            await self._stream.read(response)
        except TransportError as broken:
            error = broken
        except OpenClawError as broken:
            error = LinkLostError(broken.message, hint=broken.hint)
        self._end(error)

    def _deliver(self, event: str, data: bytes) -> None:
        if event == "message":
            self._receiver.received(data, None)
            if self._posting:
                self._look_after_posts()
        elif event == "endpoint" and not self._post_url.done():
            try:
                self._post_url.set_result(self._same_origin(data.decode()))
            except OpenClawError as error:
                self._post_url.set_exception(error)

    def _same_origin(self, reference: str) -> str:
        try:
            target = parse_url(urljoin(self._base_url, reference.strip()))
        except (AddressError, ValueError):
            raise ProtocolError(f"{self._endpoint.origin} named an endpoint that is not a URL.") from None
        if target.origin != self._endpoint.origin:
            raise ProtocolError(
                f"{self._endpoint.origin} named an endpoint at another origin, which is refused.",
                hint="Messages and credentials go to the configured origin only.",
            )
        return target.url

    def _end(self, error: TransportError) -> None:
        """Tell once that the link is gone; or, before it was up, tell who waits for it."""
        if self._closed:
            return
        self._closed = True
        if not self._post_url.done():
            self._post_url.set_exception(ConnectError(f"{self._endpoint.origin} ended its event stream at once."))
        else:
            for id in self._unsent:
                if id is not None:
                    self._receiver.failed(id, self._unsent_error())
            self._receiver.closed(error)
