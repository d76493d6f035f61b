"""`/mcp` at a terminal with a gateway, in a chat and over HTTP, against the reference server that tests everything a client can do."""

import re
from pathlib import Path

import pytest

from parts.mcp_surfaces import SURFACES, surface
from parts.peers import everything

pytestmark = pytest.mark.real


@pytest.mark.parametrize("kind", SURFACES)
@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_server_is_added_used_and_left(tmp_path: Path, kind: str, transport: str) -> None:
    async with everything(transport) as entry, surface(kind, tmp_path) as person:
        added = await person.mcp("connect", entry["url"], "--name", "rich")
        tools = await person.mcp("tools", "rich")
        called = await person.mcp("call", "rich__echo", "message=hello")
        status = await person.mcp("status", "rich")
        refreshed = await person.mcp("refresh", "rich")
        trusted = await person.mcp("trust", "rich")
        stopped = [await person.mcp("disconnect", "rich"), await person.mcp("servers")]
        back = await person.mcp("restart", "rich")
        off = [await person.mcp("disable", "rich"), await person.mcp("servers")]
        on = [await person.mcp("enable", "rich"), await person.mcp("call", "rich__echo", "message=again")]
        removed = [await person.mcp("remove", "rich"), await person.mcp("servers")]

    ready = r"Connected|\"ready\""
    assert re.search(ready, added)
    assert "rich__get-sum" in tools
    assert "Echo: hello" in called
    assert re.search(r"p50 |latencyP50Ms\": \d", status)
    assert re.search(r"rich: \d+ tools|\"ok\": true", refreshed)
    assert trusted.strip() in ("Nothing has changed.", "[]")
    assert "disconnected by hand" in stopped[1]
    assert re.search(ready, back)
    assert "disabled" in off[1]
    assert "Echo: again" in on[1]
    assert "rich" not in removed[1]
