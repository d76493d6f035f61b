"""A proxy on this machine, as people in companies have one, and a site with a public name that is reached through it."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from parts.certificates import Authority
from parts.served import served


@dataclass
class ForwardProxy:
    """An HTTP proxy that notes what it was asked for. Every name leads to this machine."""

    heads: list[str] = field(default_factory=list)
    answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n"
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head.decode())
        verb, where, _ = head.decode().split(" ", 2)
        writer.write(self.answer if verb == "CONNECT" else b"")
        if verb == "CONNECT" and b" 200 " in self.answer:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", int(where.rpartition(":")[2]))
            await asyncio.gather(_pass_on(reader, far_writer), _pass_on(far_reader, writer))
        elif verb != "CONNECT":
            body = b"via proxy"
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
            await reader.read()
        writer.close()
        await writer.wait_closed()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.close()
    try:
        await writer.wait_closed()
    except OSError:
        pass


@asynccontextmanager
async def forward_proxy(answer: bytes | None = None) -> AsyncIterator[ForwardProxy]:
    proxy = ForwardProxy()
    if answer is not None:
        proxy.answer = answer
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        await proxy.serve(reader, writer)

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    proxy.port = listener.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listener.close()
        await asyncio.gather(*tasks)
        await listener.wait_closed()


@dataclass(frozen=True)
class Site:
    """`environ` leads to it; `asked` are the paths it was asked for."""

    url: str
    environ: Mapping[str, str]
    asked: list[str]


# An address of the internet, which nobody but the proxy is asked for. A name would be looked up by the resolver of the machine that
# runs the tests, which may be slow or know better.
PUBLIC_ADDRESS = "93.184.216.34"


@asynccontextmanager
async def public_site(folder: Path, pages: Mapping[str, tuple[str, bytes]]) -> AsyncIterator[Site]:
    """`pages` are content type and body by path."""
    authority = Authority(folder, "sites")
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        kind, body = pages[request.path]
        return web.Response(body=body, headers={"Content-Type": kind})

    app = web.Application()
    app.router.add_get("/{rest:.*}", answer)
    context = authority.server_context(PUBLIC_ADDRESS)
    async with served(app, ssl_context=context) as origin, forward_proxy() as proxy:
        environ = {
            "HTTPS_PROXY": f"http://127.0.0.1:{proxy.port}",
            "SSL_CERT_FILE": os.fspath(authority.certificate),
        }
        yield Site(origin.replace("127.0.0.1", PUBLIC_ADDRESS), environ, asked)
