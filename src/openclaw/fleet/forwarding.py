"""The way to a server that another gateway runs: its messages go to that gateway's HTTP port, and back.

A `Transport` (transport/base.py). Each request is an exchange of its own, whose answer is a stream of lines, one message in each: progress
first, then the answer, or a line that says what became of the request there (`Fault`). One more stream tells what the server says unasked,
and its end is the end of the link: that gateway died, or hands the server over. In the second case what is under way is finished there,
and what comes now waits for it and is then sent nowhere, so that it may be sent to whoever has the server next. Nothing is sent twice.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Literal

import msgspec

from openclaw.errors import (
    ConnectError,
    DeadlineError,
    LinkLostError,
    OpenClawError,
    ProtocolError,
    TransportError,
)
from openclaw.net.client import ClientOptions, HttpClient
from openclaw.net.response import Response
from openclaw.protocol.transports import GATEWAY, NOT_HERE, TransportFacts
from openclaw.security.egress import OPERATOR
from openclaw.trace_context import carried
from openclaw.transport.base import Outgoing, Receiver

# Where a gateway serves it, with the digest of the server behind.
ROUTE: Final = "/v1/fleet/servers/"
# The other end says something at least every so many seconds, and is taken for dead after so many of silence.
ALIVE_EVERY: Final = 5.0
SILENCE: Final = 15.0
# Whether it runs the server a gateway says at once; one that is frozen, and still counted as alive, says nothing for ever.
ANSWERS_WITHIN: Final = 3.0
# Idle connections are left before the other end closes them.
_MAX_IDLE: Final = 5.0
_LISTEN: Final = "subscriptions/listen"


class Fault(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a request that has no answer: `lost`: the server may have carried it out. `unavailable`: it was not sent. `late`: no
    answer came. `leaving`: on the stream of the link, that the server is handed over."""

    fault: Literal["lost", "unavailable", "late", "refused", "leaving"]
    said: str = ""

    def error(self) -> OpenClawError:
        match self.fault:
            case "lost":
                return LinkLostError(self.said)
            case "late":
                return DeadlineError(self.said)
            case "unavailable" | "leaving":
                return ConnectError(self.said)
            case "refused":
                return ProtocolError(self.said)


class Destination(msgspec.Struct, frozen=True):
    """A server at another gateway: `name` is what people call that gateway, `key` what tells it that we belong to its fleet."""

    name: str
    url: str
    key: str
    digest: str
    connect_timeout: float
    max_message_bytes: int

    def __repr__(self) -> str:
        return f"Destination({self.name!r}, {self.url!r})"

    @property
    def address(self) -> str:
        return self.url.rstrip("/") + ROUTE + self.digest

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}", "Accept-Encoding": "identity"}

    def client(self) -> HttpClient:
        patience = min(self.connect_timeout, SILENCE)
        return HttpClient(
            ClientOptions(rules=OPERATOR, connect_timeout=patience, follow_redirects=False, max_idle=_MAX_IDLE)
        )

    def refusal(self, status: int) -> OpenClawError:
        """What a status other than 200 means. Nothing was done, unless a proxy before that gateway says it failed: it may have passed the
        request on."""
        if status == NOT_HERE:
            return LinkLostError(f"The gateway {self.name} hands this server over.", maybe_sent=False)
        if status in (401, 403):
            return ConnectError(
                f"The gateway {self.name} at {self.url} does not know us: its `tokenStore.key` is another.",
                hint="Give all gateways the same key, and check that this address is that gateway's.",
            )
        said = f"The gateway {self.name} at {self.url} answered {status}."
        return LinkLostError(said) if status >= 500 else ConnectError(said)


async def is_served(destination: Destination) -> bool:
    """Whether that gateway runs the server now, and takes calls of it. Raises OpenClawError when it cannot be asked."""
    patience = min(destination.connect_timeout, ANSWERS_WITHIN)
    async with destination.client() as client:
        response = await client.open("GET", destination.address, headers=destination.headers, timeout=patience)
        try:
            if response.status in (200, NOT_HERE):
                return response.status == 200
            raise destination.refusal(response.status)
        finally:
            response.close()


class GatewayTransport:
    facts: TransportFacts = GATEWAY

    def __init__(self, destination: Destination) -> None:
        self._destination = destination

    @asynccontextmanager
    async def open(self, receiver: Receiver) -> AsyncIterator["GatewayLink"]:
        async with self._destination.client() as client:
            link = GatewayLink(self._destination, client, receiver)
            try:
                await link.start()
                yield link
            finally:
                await link.close()


class GatewayLink:
    facts: TransportFacts = GATEWAY
    pid: int | None = None
    mcp_session_id: str | None = None
    session_is_doubtful = False

    def __init__(self, destination: Destination, client: HttpClient, receiver: Receiver) -> None:
        self._destination = destination
        self._client = client
        self._receiver = receiver
        self._loop = asyncio.get_running_loop()
        self._running: dict[int, asyncio.Task[object]] = {}
        # Of those: whose exchange was ended by `cancel`, until their task has noticed; and who waits because the server is handed over.
        self._dropped: set[int] = set()
        self._waiting: set[int] = set()
        self._quiet = asyncio.Event()
        self._is_leaving = False
        self._is_closed = False
        self._watcher: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Raises ConnectError when that gateway cannot be reached, or does not run the server."""
        response = await self._client.open("GET", self._destination.address, headers=self._destination.headers)
        if response.status != 200:
            response.close()
            raise ConnectError(self._destination.refusal(response.status).message)
        self._watcher = asyncio.create_task(self._watch(response), name="fleet-link")

    def post(self, message: Outgoing) -> bool:
        return False

    async def send(self, message: Outgoing) -> None:
        if message.id is None or message.method == _LISTEN:
            # The gateway that runs the server has told it all of this already, and passes on what changes.
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
            if self._receiver.awaits(id):
                self._receiver.failed(id, error)
        finally:
            del self._running[id]
            self._dropped.discard(id)
            self._waiting.discard(id)
            self._settle()

    def cancel(self, request_id: int) -> bool:
        task = self._running.get(request_id)
        if task is not None and request_id not in self._dropped and task is not asyncio.current_task():
            self._dropped.add(request_id)
            task.cancel()
        # The other end sees that the exchange was closed, and tells the server.
        return True

    def established(self, version: str) -> None:
        return None

    def reset(self) -> None:
        return None

    async def close(self) -> None:
        """Never raises."""
        self._is_closed = True
        self._quiet.set()
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.wait([self._watcher])
        for id in list(self._running):
            if self._receiver.awaits(id):
                self._receiver.failed(id, LinkLostError("The connection was closed on our side."))
            self.cancel(id)

    # One request

    async def _exchange(self, message: Outgoing, id: int) -> None:
        if self._is_leaving:
            await self._left(id)
        try:
            response = await self._client.open(
                "POST",
                self._destination.address,
                headers={
                    **self._destination.headers,
                    # That gateway is part of the trace, too.
                    **carried(message.headers),
                    "Content-Type": "application/json",
                },
                body=message.data,
            )
        except ConnectError as error:
            # Nobody is there: the stream of the link will say so too, perhaps a little later.
            raise LinkLostError(error.message, hint=error.hint, maybe_sent=False) from None
        try:
            if response.status == NOT_HERE:
                await self._left(id)
            if response.status != 200:
                raise self._destination.refusal(response.status)
            async for line in self._lines(response):
                if line.startswith(b'{"fault"'):
                    raise msgspec.json.decode(line, type=Fault).error()
                self._receiver.received(line, id)
                if not self._receiver.awaits(id):
                    return
        finally:
            response.close()
        raise LinkLostError(f"The gateway {self._destination.name} ended its answer before it was complete.")

    async def _left(self, id: int) -> None:
        """The server is being handed over: when what is under way there has ended, the link ends too. Raises LinkLostError."""
        self._is_leaving = True
        self._waiting.add(id)
        self._settle()
        await self._quiet.wait()
        error = self._destination.refusal(NOT_HERE)
        self._end(LinkLostError(error.message, maybe_sent=False))
        raise error

    def _settle(self) -> None:
        if self._is_leaving and not self._running.keys() - self._waiting:
            self._quiet.set()

    def _end(self, error: TransportError) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        # Before the link as a whole: those that wait were surely not sent.
        for id in self._waiting:
            if self._receiver.awaits(id):
                self._receiver.failed(id, self._destination.refusal(NOT_HERE))
        self._receiver.closed(error)

    # The stream of the link

    async def _watch(self, response: Response) -> None:
        error = LinkLostError(f"The gateway {self._destination.name}, which runs this server, is gone.")
        try:
            async for line in self._lines(response):
                if line.startswith(b'{"fault"'):
                    self._is_leaving = True
                    self._settle()
                    await self._quiet.wait()
                    error = LinkLostError(f"The gateway {self._destination.name} handed this server over.")
                    break
                self._receiver.received(line, None)
        except OpenClawError:
            pass
        finally:
            response.close()
        self._end(error)

    async def _lines(self, response: Response) -> AsyncIterator[bytes]:
        """Its lines, without those that only say that the other end lives. Raises LinkLostError when it is silent for too long."""
        pieces: list[bytes] = []
        size = 0
        chunks = aiter(response.chunks())
        while True:
            try:
                async with asyncio.timeout(SILENCE):
                    chunk = await anext(chunks)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise LinkLostError(f"The gateway {self._destination.name} fell silent.") from None
            first, *rest = chunk.split(b"\n")
            pieces.append(first)
            size += len(first)
            if size > self._destination.max_message_bytes:
                raise ProtocolError(f"An answer is larger than {self._destination.max_message_bytes} bytes.")
            for more in rest:
                if line := b"".join(pieces):
                    yield line
                pieces, size = [more], len(more)
