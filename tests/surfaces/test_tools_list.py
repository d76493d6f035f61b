"""`openclaw tools` is about all tools an agent has: also those of a server that a turn would not wait for."""

import json
import re
import sys
from pathlib import Path

import pytest

from parts import planned_server
from parts.command_line import Home, parts_server
from parts.commands_here import run_here
from parts.program import OPENCLAW, Program
from parts.terminal import ENTER, Terminal

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


@pytest.mark.parametrize("what", ["tools", "resources", "prompts"])
async def test_of_a_list_that_is_empty_it_is_said_that_it_is(tmp_path: Path, what: str) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"tools": []}))
    entry = {"command": sys.executable, "args": [planned_server.__file__, str(plan), str(tmp_path / "log")]}
    nobody, bare = Home(tmp_path / "nobody"), Home(tmp_path / "bare", mcp={"servers": {"bare": entry}})
    none, all_servers, one, as_data = [
        await run_here(home, "mcp", what, *words)
        for home, words in ((nobody, ()), (bare, ()), (bare, ("bare",)), (bare, ("--json",)))
    ]
    assert (none.code, none.out, none.err[:32]) == (0, "", "No MCP servers are configured. A")
    assert (all_servers.code, all_servers.out, all_servers.err) == (0, "", f"No connected server offers {what}.\n")
    assert (one.code, one.out, one.err) == (0, "", f"MCP server 'bare' offers no {what}.\n")
    assert (as_data.code, json.loads(as_data.out), as_data.err) == (0, [], "")


async def test_where_no_server_is_there_refreshing_says_so(tmp_path: Path) -> None:
    ran = await run_here(Home(tmp_path), "mcp", "refresh")
    assert (ran.code, ran.out, ran.err.startswith("No MCP servers are configured.")) == (0, "", True)


def waits(rows: list[str], whom: str) -> bool:
    return any(f" Waiting for {whom} · " in row and "Enter goes on without" in row for row in rows)


def test_who_waits_sees_which_servers_are_still_not_up(tmp_path: Path) -> None:
    person = Program.under(tmp_path)
    servers = {"late": parts_server("--start-after", IDLE), "never": parts_server("--initialize", "silent")}
    person.configure(json.dumps({"mcp": {"servers": servers}}))
    with Terminal([OPENCLAW, "mcp", "tools"], cwd=person.workspace, env=person.env(), columns=100) as terminal:
        terminal.until(lambda rows: waits(rows, "late, never"))
        terminal.until(lambda rows: waits(rows, "never"))
        terminal.type(ENTER)
        assert "late__echo" in terminal.ends()[1]


def test_a_server_that_starts_again_is_waited_for_by_its_name(tmp_path: Path) -> None:
    person = Program.under(tmp_path)
    person.configure(json.dumps({"mcp": {"servers": {"late": parts_server("--start-after", IDLE)}}}))
    with Terminal([OPENCLAW, "mcp", "restart", "late"], cwd=person.workspace, env=person.env()) as terminal:
        terminal.until(lambda rows: rows and " Waiting for late · " in rows[-1])
        terminal.ends()
        assert [row for row in terminal.screen if row] == ["late: Works"]


@pytest.mark.parametrize("words", ["resources", "prompts", "call --yes late__echo text=hello", "connect"])
def test_whatever_waits_for_a_server_says_so_at_a_terminal_and_nothing_in_a_pipe(tmp_path: Path, words: str) -> None:
    person = Program.under(tmp_path)
    late = parts_server("--start-after", IDLE)
    if words == "connect":
        command = ["mcp", "connect", "--yes", "--name", "late", late["command"], *late["args"]]
    else:
        person.configure(json.dumps({"mcp": {"servers": {"late": late}}}))
        command = ["mcp", *words.split()]
    with Terminal([OPENCLAW, *command], cwd=person.workspace, env=person.env(), columns=200) as terminal:
        terminal.until(lambda rows: rows and re.search(r" late · \d+ s · .*Ctrl-C stops$", rows[-1]))
        assert terminal.ends()[0] == 0
        assert "Ctrl-C" not in "".join(terminal.screen)
    (tmp_path / "pipe").mkdir()
    piped = Program.under(tmp_path / "pipe")
    if words != "connect":
        piped.configure(json.dumps({"mcp": {"servers": {"late": late}}}))
    done = piped.run(*command)
    assert (done.code, "Ctrl-C" in done.out + done.err, "late ·" in done.out + done.err) == (0, False, False)
