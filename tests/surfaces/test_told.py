"""What people are told of servers, in words and once; and the log, for those who ask for one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from parts.auth_server import AuthServer
from parts.gateways import Home, home, running, stdio_server
from parts.order_process import OrderProcess

CHECK = "Correct it, then check it with `openclaw config validate`."
LINES = [
    "MCP server 'plain' has plaintext credentials in config — consider using secret:// references.",
    "The server 'guarded' needs you to sign in. Run `openclaw mcp auth guarded`.",
    f"MCP server 'typo' is not started: ${{NOT_SET}} is not set (openclaw.json:1 mcp.servers.typo). {CHECK}",
    "MCP server 'crashing' is down: The server exited with code 3. `openclaw mcp logs crashing` shows what it wrote.",
    "MCP server 'closed' is unreachable: Nothing listens at http://127.0.0.1:9. Is the server running? "
    "`openclaw mcp refresh closed` tries it again.",
    "MCP server 'absent' has failed: There is no program 'no-such-program' on the search path. Install it, or give its full path as "
    "`command`. `openclaw mcp refresh absent` tries it again.",
]
# A gateway's search path may be another than that of the terminal.
BY_GATEWAY = [
    *LINES[:-1],
    "MCP server 'absent' has failed: There is no program 'no-such-program' on the search path. The gateway looks along a search path of "
    "its own: install it, give its full path as `command`, or run `openclaw gateway restart` in a terminal where it is found. "
    "`openclaw mcp refresh absent` tries it again.",
]
EXPECTED = {"here": LINES, "by the gateway": BY_GATEWAY}


def in_chat(lines: list[str]) -> list[str]:
    return [line.replace("openclaw mcp ", "/mcp ") for line in lines]


@asynccontextmanager
async def troubled(folder: Path, where: str, *turns: dict[str, Any]) -> AsyncIterator[Home]:
    """A home whose agent has servers to tell of, and a gateway if one is wanted."""
    async with AuthServer() as server:
        servers = {
            "plain": stdio_server(env={"API_TOKEN": "in-plain-sight"}),
            "guarded": {"url": server.url},
            "typo": stdio_server(env={"KEY": "${NOT_SET}"}),
            "crashing": {"command": "sh", "args": ["-c", "exit 3"]},
            "closed": {"url": "http://127.0.0.1:9/mcp"},
            "absent": {"command": "no-such-program"},
        }
        with home(folder) as place:
            place.save({"mcp": {"servers": servers}, **place.script(*turns)})
            if where == "here":
                yield place
                return
            async with running(place) as gateway:
                await gateway.ready("plain")
                yield place


def told(said: str, lines: list[str]) -> list[str]:
    """The lines about servers, in the order of `lines`."""
    return sorted((line for line in said.splitlines() if line in lines), key=lines.index)


@pytest.mark.parametrize("where", ["here", "by the gateway"])
async def test_an_agent_tells_of_each_trouble_in_one_line_without_log_levels(where: str, tmp_path: Path) -> None:
    lines = EXPECTED[where]
    async with troubled(tmp_path, where, {"text": "Hello."}) as place:
        done = await asyncio.to_thread(place.run, "agent", "-m", "hi")
    assert (done.returncode, done.stdout, told(done.stderr, lines)) == (0, "Hello.\n", lines), done.stderr
    assert not any(level in done.stderr for level in ("ERROR", "WARNING"))


@pytest.mark.parametrize("where", ["here", "by the gateway"])
async def test_a_chat_tells_of_each_trouble_once(where: str, tmp_path: Path) -> None:
    lines = in_chat(EXPECTED[where])
    async with troubled(tmp_path, where, {"text": "One."}, {"text": "Two."}) as place:
        first = await asyncio.to_thread(place.run, "chat", input="one\ntwo\n")
        again = await asyncio.to_thread(place.run, "chat", input="/help\n")
    assert (told(first.stderr, lines), "Two." in first.stdout) == (lines, True), first.stderr
    assert not any(level in first.stderr for level in ("ERROR", "WARNING"))
    # Another terminal was told nothing yet.
    assert LINES[0] in again.stderr


async def test_servers_that_take_turns_are_no_trouble(tmp_path: Path) -> None:
    servers = {name: stdio_server() for name in ("one", "two", "three")}
    with home(tmp_path) as place:
        place.save({"mcp": {"servers": servers, "maxConcurrentServers": 1}, **place.script({"text": "Hello."})})
        done = await asyncio.to_thread(place.run, "agent", "-m", "hi")
    assert (done.returncode, done.stdout) == (0, "Hello.\n")
    assert "maxConcurrentServers" not in done.stderr


async def test_what_the_answer_says_is_not_told_again(tmp_path: Path) -> None:
    async with troubled(tmp_path, "here", {"text": f"I cannot: {LINES[1]}"}) as place:
        done = await asyncio.to_thread(place.run, "agent", "-m", "hi")
    assert (told(done.stderr, LINES), LINES[1] in done.stdout) == ([LINES[0], *LINES[2:]], True)


@pytest.mark.parametrize("words", [("mcp", "servers"), ("agent", "-m", "hi"), ("chat",)])
def test_the_level_of_the_config_is_that_of_every_command_and_the_command_line_goes_before(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    with home(tmp_path) as place:
        servers = {"part": stdio_server()}
        place.save({"mcp": {"servers": servers}, "logging": {"level": "debug"}, **place.script({"text": "Hi."})})
        asked = place.run(*words, input="/mcp servers\n")
        quiet = place.run("--log-level", "error", *words, input="/mcp servers\n")
    assert (" DEBUG openclaw." in asked.stderr, " DEBUG openclaw." in quiet.stderr) == (True, False)


async def test_the_level_of_the_config_is_that_of_the_mcp_server(tmp_path: Path) -> None:
    said = []
    for words in ((), ("--log-level", "error")):
        config = {"logging": {"level": "debug"}, "agents": {"defaults": {"model": "builtin/offline"}}}
        async with OrderProcess(tmp_path, *words, config=config) as server:
            await server.initialize()
            await server.order("hello")
        said.append(" DEBUG openclaw." in server.stderr.decode())
    assert said == [True, False]
