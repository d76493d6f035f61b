"""Protected servers that others wrote: started on ports of their own, and the browser of a person whom they let in without a question."""

import asyncio
import socket
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import aiohttp


def free_port() -> int:
    """For a program that has to be told its port before it starts."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@asynccontextmanager
async def serving(*argv: str, ports: tuple[int, ...], env: Mapping[str, str] | None = None) -> AsyncIterator[None]:
    """The program runs, and listens at all its ports."""
    process = await asyncio.create_subprocess_exec(*argv, env=env, stdout=DEVNULL, stderr=DEVNULL)
    try:
        for port in ports:
            while not await _listens(port):
                assert process.returncode is None, f"{argv} did not start"
                # It says in no way of its own when it is ready.
                await asyncio.sleep(0.02)
        yield
    finally:
        process.kill()
        await process.wait()


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("localhost", port)
    except OSError:
        return False
    writer.close()
    return True


async def browse(authorization_url: str) -> str:
    """Where the authorization server sends a browser back to: it says yes at once."""
    async with (
        aiohttp.ClientSession() as browser,
        browser.get(authorization_url, allow_redirects=False) as response,
    ):
        return response.headers["Location"]
