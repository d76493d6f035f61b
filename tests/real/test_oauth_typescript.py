"""A server protected as the TypeScript SDK's own example does it, used as a person does: sign in, list, call, sign out."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from parts import cache
from parts.command_line import Home
from parts.foreign_server import browse, free_port, serving

pytestmark = pytest.mark.real

EXAMPLE = Path("node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js")


@pytest.fixture(params=[(), ("--oauth-strict",)], ids=["lax", "strict"])
async def url(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """The strict one looks whether a token is meant for it."""
    ports = free_port(), free_port()
    env = {"PATH": os.environ["PATH"], "MCP_PORT": str(ports[0]), "MCP_AUTH_PORT": str(ports[1])}
    argv = (cache.node(), str(cache.npm_folder() / EXAMPLE), "--oauth", *request.param)
    async with serving(*argv, ports=ports, env=env):
        yield f"http://localhost:{ports[0]}/mcp"


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
