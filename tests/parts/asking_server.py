"""A server for the conformance suite: `asking_service.py` on the server side of the product, and over HTTP, which is all the suite speaks.

The product itself serves standard input and output. What stands here of Streamable HTTP is as much as the scenarios need: one stream for
each request, on which everything goes that its server says meanwhile; a server of its own for each session of the old revisions, and one
for all requests of 2026-07-28.
"""

import asyncio
import itertools
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from openclaw.mcp_server.calls import CallServer
from parts.asking_service import SERVICE, carry_out

SESSION = "Mcp-Session-Id"


class Session:
    """One server and the requests that wait for it, each under an id of ours: those of different clients may be the same."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._waiting: dict[int, tuple[Any, asyncio.Queue[Any]]] = {}
        self.server = CallServer(self._take, SERVICE, carry_out, early_answers=True)

    def _take(self, line: bytes) -> None:
        message = json.loads(line)
        if "method" in message or message["id"] not in self._waiting:
            # The suite makes one request at a time in a session.
            for _, lines in self._waiting.values():
                lines.put_nowait(message)
            return
        id, lines = self._waiting.pop(message["id"])
        lines.put_nowait({**message, "id": id})
        lines.put_nowait(None)

    def ask(self, message: dict[str, Any]) -> "asyncio.Queue[Any]":
        """What is said until the request is answered; None at the end."""
        number = next(self._numbers)
        lines: asyncio.Queue[Any] = asyncio.Queue()
        self._waiting[number] = (message["id"], lines)
        self.server.receive(json.dumps({**message, "id": number}).encode())
        return lines


class Front:
    """`POST /mcp`."""

    def __init__(self) -> None:
        self._all = Session()
        self._sessions: dict[str, Session] = {}

    async def close(self) -> None:
        for session in (self._all, *self._sessions.values()):
            await session.server.stop()

    async def post(self, request: web.Request) -> web.StreamResponse:
        message = await request.json()
        headers = {}
        if message.get("method") == "initialize":
            headers[SESSION] = secrets.token_hex(16)
            session = self._sessions[headers[SESSION]] = Session()
        else:
            session = self._sessions.get(request.headers.get(SESSION, ""), self._all)
        if "id" not in message or "method" not in message:
            session.server.receive(json.dumps(message).encode())
            return web.Response(status=202)
        lines = session.ask(message)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **headers})
        await response.prepare(request)
        while (line := await lines.get()) is not None:
            await response.write(b"event: message\ndata: " + json.dumps(line).encode() + b"\n\n")
        return response


@asynccontextmanager
async def asking_server() -> AsyncIterator[str]:
    """Its address."""
    front = Front()
    app = web.Application()
    app.router.add_post("/mcp", front.post)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
    finally:
        await front.close()
        await runner.cleanup()
