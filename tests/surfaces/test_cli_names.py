"""Servers as people name them: with blanks in their names, misspelt, and known from before."""

import json
import sys
from pathlib import Path

import pytest

from parts.program import Program

PLANNED_SERVER = str(Path(__file__).parent.parent / "parts" / "planned_server.py")


@pytest.fixture
def person(tmp_path: Path) -> Program:
    return Program.under(tmp_path)


def shop(person: Program, **offered: object) -> dict[str, object]:
    plan = person.home / "plan.json"
    plan.write_text(json.dumps(offered))
    return {"command": sys.executable, "args": [PLANNED_SERVER, str(plan), str(person.home / "log")]}


def test_refreshing_a_server_that_is_not_configured_is_a_mistake_in_the_command(person: Program) -> None:
    person.configure(json.dumps({"mcp": {"servers": {"shop": shop(person)}}}))
    ran = person.run("mcp", "refresh", "nosuch")
    assert (ran.code, ran.out, ran.err) == (
        2,
        "",
        "error: MCP server 'nosuch' is not configured. There are: shop.\n",
    )


@pytest.mark.parametrize("word", ["refresh", "logs", "tools", "restart"])
def test_a_command_about_a_server_that_is_not_started_says_why_and_where_in_one_sentence(
    word: str, person: Program
) -> None:
    entries = {"typo": {"command": "x", "env": {"KEY": "${NOT_SET}"}}, "off": {"command": "x", "enabled": False}}
    person.configure(json.dumps({"mcp": {"servers": entries}}))
    typo, off = (person.run("mcp", word, name) for name in entries)
    assert (typo.code, typo.out, typo.err.splitlines()[-1]) == (
        2,
        "",
        "error: MCP server 'typo' is not started: ${NOT_SET} is not set (openclaw.json:1 mcp.servers.typo). "
        "Correct it, then check it with `openclaw config validate`.",
    )
    assert (off.code, off.err.splitlines()[-1]) == (
        2,
        "error: MCP server 'off' is disabled. Run: openclaw mcp enable off",
    )


def test_a_server_with_a_blank_in_its_name_is_typed_as_in_its_tools(person: Program) -> None:
    entry = shop(person, resources={"notes://today": "buy milk"}, prompts=[{"name": "greet"}])
    person.configure(json.dumps({"mcp": {"servers": {"my shop": entry}}}))
    assert "/my-shop:greet" in person.run("mcp", "prompts").out
    person.run("chat", stdin="/my-shop:greet\nsee @my-shop:notes://today\n")
    exported = person.run("sessions", "export", "agent:main:main").out
    messages = [json.loads(line)["message"] for line in exported.splitlines() if '"role":"user"' in line]
    assert ["This is output from MCP server 'my shop'." in message["content"][1]["text"] for message in messages] == [
        # A prompt that a person chose is their own word.
        False,
        True,
    ]


def test_tools_explain_says_that_it_searched_the_list_of_last_time(person: Program) -> None:
    entry = {**shop(person, tools=[{"name": "add", "inputSchema": {"type": "object"}}]), "lazy": True}
    person.configure(json.dumps({"mcp": {"servers": {"shop": entry}}}))
    person.run("mcp", "refresh", "shop")
    looked = person.run("tools", "explain", "nothing_like_it", "--json").data["looked"]
    assert "MCP server shop: 1 tool as it listed them last (stopped)" in looked
