"""An aiohttp application at a free port of this machine, for as long as a test needs it."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


@asynccontextmanager
async def served(
    app: web.Application, *, ssl_context: ssl.SSLContext | None = None, **options: Any
) -> AsyncIterator[str]:
    """Its origin; `options` are the runner's."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, **options)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=ssl_context).start()
        scheme = "http" if ssl_context is None else "https"
        yield f"{scheme}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
