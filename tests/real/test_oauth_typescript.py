"""A server protected as the TypeScript SDK's own example does it, used as a person does: sign in, list, call, sign out."""

import asyncio
import json
import os
import socket
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from parts import cache
from parts.command_line import Home

pytestmark = pytest.mark.real

EXAMPLE = Path("node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture(params=[(), ("--oauth-strict",)], ids=["lax", "strict"])
async def url(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """The strict one looks whether a token is meant for it."""
    ports = free_port(), free_port()
    process = await asyncio.create_subprocess_exec(
        *(cache.node(), str(cache.npm_folder() / EXAMPLE), "--oauth", *request.param),
        env={"PATH": os.environ["PATH"], "MCP_PORT": str(ports[0]), "MCP_AUTH_PORT": str(ports[1])},
        stdout=DEVNULL,
        stderr=DEVNULL,
    )
    try:
        for port in ports:
            while True:
                try:
                    _, writer = await asyncio.open_connection("localhost", port)
                    writer.close()
                    break
                except OSError:
                    assert process.returncode is None, "the example did not start"
                    await asyncio.sleep(0.1)
        yield f"http://localhost:{ports[0]}/mcp"
    finally:
        process.kill()
        await process.wait()


async def browse(authorization_url: str) -> str:
    """Its authorization server says yes at once."""
    async with (
        aiohttp.ClientSession() as browser,
        browser.get(authorization_url, allow_redirects=False) as response,
    ):
        return response.headers["Location"]


async def test_a_server_of_the_typescript_sdk_is_signed_in_to_and_used(url: str, tmp_path: Path) -> None:
    home = Home(tmp_path, mcp={"servers": {"example": {"url": url}}})
    started = await home.openclaw("mcp", "auth", "example", "--json")
    callback = await browse(json.loads(started.out)["authorizationUrl"])
    done = await home.openclaw("mcp", "auth", "example", "--code", callback)
    assert done.out == "Signed in to example. Scopes: mcp:tools. Expires: in 60 min.\n"
    assert (await home.openclaw("mcp", "call", "example__greet", "name=Ada")).out == "Hello, Ada!\n"
    # It has nowhere to revoke a token.
    assert (await home.openclaw("mcp", "auth", "example", "--logout")).out == (
        "Signed out of example: its tokens are forgotten here; the authorization server could not be told.\n"
    )
