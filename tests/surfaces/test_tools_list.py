"""`openclaw tools` is about all tools an agent has: also those of a server that a turn would not wait for."""

import json
from pathlib import Path

from parts.command_line import Home, parts_server

# Longer than a server may be quiet before a turn goes on without it.
IDLE = "2.5"


async def test_the_list_holds_the_tools_of_a_server_that_sits_idle_while_it_starts(tmp_path: Path) -> None:
    slow = parts_server("--start-after", IDLE)
    home = Home(tmp_path, mcp={"servers": {"quick": parts_server(), "slow": slow}})
    done = await home.openclaw("tools", "list", "--json")
    assert {tool["origin"] for tool in json.loads(done.out) if tool["kind"] == "mcp"} == {"quick", "slow"}
    # In a pipe nobody is told of waiting.
    assert "Waiting" not in done.err


async def test_a_tool_of_such_a_server_is_explained_by_what_it_lists(tmp_path: Path) -> None:
    slow = parts_server("--start-after", IDLE)
    home = Home(tmp_path, mcp={"servers": {"quick": parts_server(), "slow": slow}})
    done = await home.openclaw("tools", "explain", "slow__echo")
    assert (done.code, done.out.startswith("slow__echo: available")) == (0, True)
