"""`/v1/fleet/…`: for gateways of the same fleet alone, which use a server that runs here (`placement: "one"`).

Owns the streams of lines; what is in them is fleet/relay.py's. The token of the gateway opens nothing here: calls of other gateways were
checked and approved there, and nobody else may pass by that.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

from openclaw.content import to_json
from openclaw.event_hub import Event, EventHub
from openclaw.fleet.forwarding import ALIVE_EVERY, ROUTE, Fault
from openclaw.fleet.placement import Here, Placement
from openclaw.fleet.relay import notification_of, read_message, relay
from openclaw.gateway.guard import bearer
from openclaw.gateway.http import failure
from openclaw.gateway.route import Route
from openclaw.mcp.events import PromptsChanged, ResourceChanged, ToolsChanged
from openclaw.mcp.manager import Manager
from openclaw.mcp.server.server import LiveServer
from openclaw.protocol.transports import NOT_HERE

LINES = "application/x-ndjson"
_EVENTS = (ToolsChanged, ResourceChanged, PromptsChanged)


class FleetRoutes:
    def __init__(
        self,
        placement: Placement,
        manager: Manager,
        events: EventHub,
        *,
        headers: Callable[[web.Request], Mapping[str, str]],
    ) -> None:
        self._placement = placement
        self._manager = manager
        self._events = events
        self._headers = headers

    def routes(self) -> list[Route]:
        one = ROUTE + "{digest}"
        return [
            Route("GET", one, self.watch, "For gateways of one fleet: what a server says unasked", gives=LINES),
            Route("POST", one, self.carry_out, "For gateways of one fleet: a request to a server", gives=LINES),
        ]

    async def watch(self, request: web.Request) -> web.StreamResponse:
        found = await self._found(request)
        if isinstance(found, web.Response):
            return found
        here, server = found
        response = await self._begun(request)
        with self._events.reader(*_EVENTS) as reader:
            left = asyncio.ensure_future(here.leaving.wait())
            heard: asyncio.Future[Event[Any] | None] | None = None
            try:
                while not left.done():
                    heard = asyncio.ensure_future(reader.next(ALIVE_EVERY))
                    await asyncio.wait((heard, left), return_when=asyncio.FIRST_COMPLETED)
                    if not heard.done():
                        break
                    event = heard.result()
                    if event is None and reader.is_closed:
                        break
                    told = None if event is None else notification_of(event.value, server.spec.name)
                    await response.write(b"\n" if told is None else told + b"\n")
            finally:
                left.cancel()
                if heard is not None:
                    heard.cancel()
        await response.write(to_json(Fault("leaving")) + b"\n")
        await response.write_eof()
        return response

    async def carry_out(self, request: web.Request) -> web.StreamResponse:
        # Read first: between the look at what runs here and the count of its calls nobody may hand it over.
        body = await request.read()
        found = await self._found(request)
        if isinstance(found, web.Response):
            return found
        here, server = found
        message = read_message(body)
        lines: asyncio.Queue[bytes] = asyncio.Queue()
        work = asyncio.ensure_future(relay(here, server, message, lines.put_nowait))
        line: asyncio.Future[bytes] | None = None
        try:
            response = await self._begun(request)
            while not work.done() or not lines.empty():
                line = asyncio.ensure_future(lines.get())
                await asyncio.wait((line, work), timeout=ALIVE_EVERY, return_when=asyncio.FIRST_COMPLETED)
                if line.done():
                    await response.write(line.result() + b"\n")
                    continue
                line.cancel()
                if not work.done():
                    await response.write(b"\n")
            await response.write(work.result() + b"\n")
            await response.write_eof()
            return response
        finally:
            if line is not None:
                line.cancel()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _found(self, request: web.Request) -> tuple[Here, LiveServer] | web.Response:
        if not await self._placement.admits(bearer(request.headers.getall("Authorization", ()))):
            return failure(403, "not_a_gateway", "This is for gateways of the same fleet.")
        digest = request.match_info["digest"]
        here = self._placement.here(digest)
        server = None if here is None else self._manager.shared_server(here.spec)
        if here is None or server is None:
            return failure(NOT_HERE, "not_here", "This server does not run here, or not for long. Nothing was done.")
        return here, server

    async def _begun(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers=self._headers(request))
        response.content_type = LINES
        await response.prepare(request)
        return response
