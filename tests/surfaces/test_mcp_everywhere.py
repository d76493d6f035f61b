"""`/mcp` at a terminal with a gateway, in a chat and over HTTP: the whole life of a server that wants a sign-in."""

import re
from pathlib import Path

import pytest

from parts.auth_server import AuthServer
from parts.mcp_surfaces import SURFACES, surface


def address(said: str) -> str:
    found = re.search(r"http://[^\s\"]+/authorize\?[^\s\"]+", said)
    assert found is not None, said
    return found[0]


@pytest.mark.requirement("000-15-integration")
@pytest.mark.parametrize("kind", SURFACES)
async def test_a_server_is_added_signed_in_to_used_and_left(tmp_path: Path, kind: str) -> None:
    async with AuthServer() as server, surface(kind, tmp_path) as person:
        added = await person.mcp("connect", server.url, "--name", "guarded")
        begun = await person.mcp("auth", "guarded")
        done = await person.mcp("auth", "guarded", "--code", await server.browse(address(begun)))
        refreshed = await person.mcp("refresh", "guarded")
        called = await person.mcp("call", "guarded__read")
        status = await person.mcp("status", "guarded")
        stopped = [await person.mcp("disconnect", "guarded"), await person.mcp("servers")]
        back = await person.mcp("restart", "guarded")
        left = [await person.mcp("auth", "guarded", "--logout"), await person.mcp("status", "guarded")]
        removed = [await person.mcp("remove", "guarded"), await person.mcp("servers")]
        config = (tmp_path / ".openclaw" / "openclaw.json").read_text()

    assert "needs-auth" in added
    assert "guarded" in done
    assert ("3 tools" if kind != "http" else '"ok": true, "error": "", "tools": 3') in refreshed
    assert "read" in called
    assert re.search(r"expires in|authExpiresAt\": \d", status)
    assert re.search(r"Last heard|lastHeardSeconds\": \d", status)
    assert "disconnected by hand" in stopped[1]
    assert re.search(r"Connected|\"ready\"", back)
    assert "needs-auth" in left[1]
    assert "guarded" not in removed[1]
    assert "guarded" not in config
