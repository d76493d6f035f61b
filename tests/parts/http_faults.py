"""Ways for `http_server.py` to misbehave, each for one message."""

import asyncio
import json
import zlib
from typing import Any

from aiohttp import web

from parts.http_server import Fault, HttpServer, Message


def status(code: int, headers: dict[str, str] | None = None, body: bytes = b"", kind: str = "text/plain") -> Fault:
    """Answer with this status."""

    async def fault(server: HttpServer, request: web.Request, message: Message) -> web.StreamResponse:
        return web.Response(status=code, headers={"Content-Type": kind, **(headers or {})}, body=body)

    return fault


def json_body(value: Any, code: int = 200) -> Fault:
    return status(code, body=json.dumps(value).encode(), kind="application/json")


def reset() -> Fault:
    """Cut the connection before a byte of an answer."""

    async def fault(server: HttpServer, request: web.Request, message: Message) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    return fault


def raw(data: bytes, *, ends: bool = True) -> Fault:
    """Write these bytes to the connection as they are, and close it; or, unless it `ends`, leave it open until the client goes away."""

    async def fault(server: HttpServer, request: web.Request, message: Message) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.write(data)
        if not ends:
            await asyncio.Event().wait()
        request.transport.close()
        return web.Response()

    return fault


def gzip_bomb(size: int, kind: str = "application/json") -> Fault:
    """A body of zeros that is `size` bytes long when it is decompressed."""

    async def fault(server: HttpServer, request: web.Request, message: Message) -> web.StreamResponse | None:
        # Made where it is sent: a test that is only collected does not pay for it.
        packer = zlib.compressobj(1, zlib.DEFLATED, 31)
        block = b"\0" * (1 << 20)
        body = b"".join(packer.compress(block) for _ in range(size >> 20)) + packer.flush()
        return await status(200, {"Content-Encoding": "gzip"}, body, kind)(server, request, message)

    return fault


def hold() -> Fault:
    """Say nothing at all, until the client goes away."""

    async def fault(server: HttpServer, request: web.Request, message: Message) -> web.StreamResponse:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            server.abandoned.append(message.get("id", 0))
            await server.noted()
            raise
        return web.Response()

    return fault
