"""An MCP server over Streamable HTTP, on loopback, that serves nobody without a token of its authorization server.

    python -m openclaw.demo.calendar_server

A request without one is answered by 401 and the address of the document (RFC 9728) that says where to sign in: all a client needs
to know beforehand is the server's own address. Every answer is plain JSON; there is no event stream and no MCP session.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from openclaw.demo.authorization_server import OFFLINE, SCOPE, AuthorizationServer
from openclaw.demo.server import DemoServer, tool
from openclaw.demo.site import Site

TOOLS = (tool("next_event", "Say what is next in the calendar."),)
NEXT_EVENT = "Ferry to Cacilhas, Saturday 10:15, pier 2."
# What a program ends with that Ctrl-C ended.
_INTERRUPTED = 130
_METADATA = "/.well-known/oauth-protected-resource/mcp"


class CalendarServer:
    def __init__(self, authorization: AuthorizationServer) -> None:
        self._authorization = authorization
        self._server = DemoServer("calendar", TOOLS, _call)
        # Other methods are answered by 405, which is how a server says that it has no event stream.
        self.site = Site(web.get(_METADATA, self._metadata), web.post("/mcp", self._message))

    @property
    def url(self) -> str:
        return f"{self.site.origin}/mcp"

    async def _metadata(self, request: web.Request) -> web.Response:
        return web.json_response(
            {
                "resource": self.url,
                "authorization_servers": [self._authorization.issuer],
                "scopes_supported": [SCOPE, OFFLINE],
            }
        )

    async def _message(self, request: web.Request) -> web.Response:
        if not self._authorization.admits(request.headers.get("Authorization", ""), self.url):
            where = f'Bearer resource_metadata="{self.site.origin}{_METADATA}", scope="{SCOPE}"'
            return web.Response(status=401, headers={"WWW-Authenticate": where})
        answer = self._server.answer(await request.json())
        return web.Response(status=202) if answer is None else web.json_response(answer)


def _call(name: str, arguments: Mapping[str, Any]) -> str:
    return NEXT_EVENT


async def serve() -> None:
    """Both servers, until somebody presses Enter or standard input ends."""
    authorization = AuthorizationServer()
    calendar = CalendarServer(authorization)
    entered, loop = asyncio.Event(), asyncio.get_running_loop()

    def wait() -> None:
        os.read(sys.stdin.fileno(), 1)
        loop.call_soon_threadsafe(entered.set)

    async with authorization.site, calendar.site:
        print(f"The calendar is served at {calendar.url}\nPress Enter to end it.", flush=True)
        # A thread that nobody waits for: Ctrl-C must not have to wait for Enter.
        threading.Thread(target=wait, daemon=True).start()
        await entered.wait()


if __name__ == "__main__":
    try:
        asyncio.run(serve())
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
