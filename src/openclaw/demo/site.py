"""Routes served at a free port of 127.0.0.1, and nowhere else."""

import socket

from aiohttp import web

_HOST = "127.0.0.1"
# Exchanges that are under way when the tour ends are few and short.
_SHUTDOWN = 1.0


class Site:
    """`async with site:` serves; `origin` is known from then on."""

    def __init__(self, *routes: web.RouteDef) -> None:
        self.origin = ""
        self._routes = routes

    async def __aenter__(self) -> "Site":
        app = web.Application()
        app.add_routes(self._routes)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN)
        await self._runner.setup()
        listener = socket.create_server((_HOST, 0))
        await web.SockSite(self._runner, listener).start()
        self.origin = f"http://{_HOST}:{listener.getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()
