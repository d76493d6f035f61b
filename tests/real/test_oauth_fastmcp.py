"""A server protected by FastMCP's own OAuth server, used through the whole engine: negotiate, sign in, call, renew."""

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from openclaw.auth.credentials import Credentials, token_files
from openclaw.config.servers import ServerSpec
from openclaw.errors import SignInNeededError
from openclaw.mcp.connect import Dependencies, Listener, connect
from parts import cache
from parts.auth_program import Clock
from parts.foreign_server import browse, free_port, serving

pytestmark = pytest.mark.real

SCRIPT = Path(__file__).parent.parent / "parts" / "fastmcp_oauth.py"


@pytest.fixture
async def url() -> AsyncIterator[str]:
    port = free_port()
    async with serving(cache.python_of("fastmcp"), str(SCRIPT), str(port), ports=(port,)):
        yield f"http://127.0.0.1:{port}/mcp"


async def no_secrets(text: str) -> str:
    return text


async def add(credentials: Credentials, spec: ServerSpec) -> str | None:
    """One call by a program that starts, connects, calls and ends."""
    listener = Listener(lambda method, params: None, lambda text: None, lambda line: None)
    async with AsyncExitStack() as stack:
        client = await connect(stack, spec, Dependencies(authorize=credentials.authorizer), listener)
        result = await client.call_tool("add", {"a": 2, "b": 3}, timeout=30, max_total=60)
        return result.content[0].text


async def test_a_server_of_fastmcp_is_signed_in_to_used_and_renewed(url: str, tmp_path: Path) -> None:
    clock = Clock(time.time)
    spec = ServerSpec("adder", transport="streamable-http", url=url)

    def program() -> Credentials:
        return Credentials(
            token_files(tmp_path / "tokens", resolve=no_secrets, keychain=None), resolve=no_secrets, clock=clock
        )

    with pytest.raises(SignInNeededError, match="openclaw mcp auth adder"):
        await add(program(), spec)
    started = await program().start(spec)
    result = await program().finish(spec, await browse(started.authorization_url))
    assert (result.scopes, result.renewable) == (("tools:use",), True)
    assert await add(program(), spec) == "5"
    clock.ahead = 7200
    assert await add(program(), spec) == "5"
    assert (await program().logout(spec)).revoked
    with pytest.raises(SignInNeededError):
        await add(program(), spec)
