"""server-everything over all three transports in one config file, used as a person does: by the command line and by an agent."""

import json
from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from parts.command_line import Done, Home
from parts.peers import EVERYTHING_TOOLS, everything

pytestmark = pytest.mark.real

TRANSPORTS = {"local": "stdio", "web": "streamable-http", "old": "sse"}
PNG = b"\x89PNG\r\n\x1a\n"

Servers = dict[str, dict[str, Any]]
# Each section's document has its own place for servers, and its own names for their tools.
DIALECTS: dict[str, tuple[Callable[[Servers], dict[str, Any]], str]] = {
    "mcp": (lambda servers: {"mcp": {"servers": servers}}, "{}__{}"),
    "plugin": (
        lambda servers: {"plugins": {"entries": {"mcp-client": {"enabled": True, "config": {"servers": servers}}}}},
        "{}__{}",
    ),
    "agents": (lambda servers: {"agents": {"defaults": {"mcp": {"servers": servers}}}}, "mcp_{}_{}"),
}


@pytest.fixture
async def servers() -> AsyncIterator[Servers]:
    async with AsyncExitStack() as stack:
        yield {name: await stack.enter_async_context(everything(kind)) for name, kind in TRANSPORTS.items()}


def data(done: Done) -> Any:
    assert done.code == 0, done.err
    return json.loads(done.out)


def bytes_of(file: str) -> bytes:
    return Path(file).read_bytes()


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_one_file_in_each_dialect_brings_the_tools_of_three_transports(
    dialect: str, servers: Servers, tmp_path: Path
) -> None:
    document, form = DIALECTS[dialect]
    home = Home(tmp_path, **document(servers))
    listed = data(await home.openclaw("mcp", "tools", "--json"))
    wanted = {(form.format(server, tool), server, tool) for server in TRANSPORTS for tool in EVERYTHING_TOOLS}
    assert {(row["name"], row["server"], row["tool"]) for row in listed} == wanted
    shown = data(await home.openclaw("mcp", "servers", "--json"))
    assert {row["name"]: (row["state"], row["transport"]) for row in shown} == {
        name: ("ready", transport) for name, transport in TRANSPORTS.items()
    }
    for server in TRANSPORTS:
        result = data(await home.openclaw("mcp", "call", form.format(server, "get-tiny-image"), "--json"))
        text, image, _ = result["content"]
        assert (text["type"], image["mimeType"], result["isError"]) == ("text", "image/png", False)
        assert b64decode(image["data"]).startswith(PNG)


async def test_an_image_is_saved_and_named_for_a_person(tmp_path: Path) -> None:
    async with everything("stdio") as entry:
        home = Home(tmp_path, mcp={"servers": {"ev": entry}})
        done = await home.openclaw("mcp", "call", "ev__get-tiny-image")
    (line,) = [line for line in done.out.splitlines() if line.startswith("[image saved: ")]
    assert bytes_of(line.removeprefix("[image saved: ").partition(" (")[0]).startswith(PNG)


@pytest.mark.parametrize("server", TRANSPORTS)
async def test_an_agent_turn_uses_a_tool_of_each_transport(server: str, tmp_path: Path) -> None:
    async with everything(TRANSPORTS[server]) as entry:
        home = Home(tmp_path, mcp={"servers": {server: entry}})
        answer = data(await home.openclaw("agent", "--json", "-m", f"{server}__echo message=hello"))
    (call,) = answer["toolCalls"]
    assert call == {"name": f"{server}__echo", "arguments": {"message": "hello"}, "isError": False}
    assert "Echo: hello" in answer["text"]


async def test_an_agent_turn_brings_the_image_of_a_tool(tmp_path: Path) -> None:
    async with everything("streamable-http") as entry:
        home = Home(tmp_path, mcp={"servers": {"ev": entry}})
        answer = data(await home.openclaw("agent", "--json", "-m", "show me the tiny image"))
    assert [call["name"] for call in answer["toolCalls"]] == ["ev__get-tiny-image"]
    assert [(item["type"], item["mimeType"]) for item in answer["media"]] == [("image", "image/png")]
