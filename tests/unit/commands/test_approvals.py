"""What a person allowed for good, and whether it still holds."""

import json
import sys
from pathlib import Path

import pytest

from openclaw.commands.approvals import KnownServer, why_ended
from openclaw.engine import Engine
from openclaw.grant import EDITOR, Grant
from openclaw.security.grants import GrantStore
from openclaw.security.offers import read_grant
from parts import planned_server
from parts.command_line import Home, parts_server
from parts.commands_here import run_here
from parts.planned_server import tool

GRANT = Grant("g_1", "save", "server-1", "digest-1")
CHANGED = "its server changed the tool"


@pytest.mark.parametrize(
    ("grant", "server", "why"),
    [
        (GRANT, KnownServer("files", {"save": frozenset({"digest-1"})}), ""),
        # One of the agents that have the server keeps what was shown.
        (GRANT, KnownServer("files", {"save": frozenset({"digest-1", "digest-2"})}), ""),
        (GRANT, KnownServer("files", {"save": frozenset({"digest-2"})}), CHANGED),
        (GRANT, KnownServer("files", {}, held=frozenset({"save"})), CHANGED),
        (GRANT, KnownServer("files", {"load": frozenset({"digest-1"})}), "its server has no such tool"),
        # Nobody has seen its tools.
        (GRANT, KnownServer("files"), ""),
        (GRANT, None, "its server is gone, or configured otherwise"),
        (Grant("g_2", "write", "native:"), None, ""),
        (Grant("g_3", "db", EDITOR, "mark"), None, ""),
    ],
)
def test_a_grant_ends_with_what_it_is_bound_to(grant: Grant, server: KnownServer | None, why: str) -> None:
    assert why_ended(grant, {} if server is None else {"server-1": server}) == why


async def test_a_grant_that_a_changed_tool_ended_is_marked_with_the_reason(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    entry = {"command": sys.executable, "args": ["-S", "-E", planned_server.__file__, str(plan), str(tmp_path / "log")]}
    home = Home(tmp_path, mcp={"servers": {"shop": entry}})

    async def listed(*tools: dict[str, object]) -> None:
        plan.write_text(json.dumps({"tools": tools}))
        assert (await run_here(home, "mcp", "refresh")).code == 0

    await listed(tool("add"), tool("sub"))
    store = GrantStore(home.paths.approvals_file)
    async with Engine(home.config(), paths=home.paths, env=home.environ) as engine:
        for one in (await engine.manager()).tools("main"):
            assert one.facts is not None
            await store.add(read_grant(one, one.facts(), agent="", by="terminal", created="2026-01-01"))
    first, second = store.all()

    async def shown() -> dict[str, str | None]:
        rows = json.loads((await run_here(home, "approvals", "grants", "--json")).out)
        return {row["id"]: row["ended"] for row in rows}

    assert await shown() == {first.id: None, second.id: None}
    await listed(tool("add", description="Adds, and more."), tool("sub"))
    assert await shown() == {first.id: CHANGED, second.id: None}
    table = (await run_here(home, "approvals", "grants")).out.splitlines()
    assert [line.split("  ")[-1].strip() for line in table] == ["holds", f"no: {CHANGED}", "yes"]


async def test_names_that_are_not_there_are_answered_with_what_lists_or_explains_them(tmp_path: Path) -> None:
    home = Home(tmp_path)
    lines = (("approvals", "revoke", "x"), ("approvals", "explain", "nosuch"), ("skills", "show", "nosuch"))
    ran = [await run_here(home, *words) for words in lines]
    assert [(one.code, one.out, one.err) for one in ran] == [
        (2, "", "error: There is no grant 'x'. `openclaw approvals grants` lists them.\n"),
        (2, "", "error: The agent has no tool nosuch. Why: openclaw tools explain nosuch\n"),
        (2, "", "error: There is no skill 'nosuch'. `openclaw skills` lists them.\n"),
    ]


async def test_a_typed_call_that_nobody_can_agree_to_names_the_command_that_was_typed(tmp_path: Path) -> None:
    home = Home(tmp_path, tools={"approval": {"ask": ["parts__echo"]}}, mcp={"servers": {"parts": parts_server()}})
    refused = await run_here(home, "mcp", "call", "parts__echo", "text=hi")
    agreed = await run_here(home, "mcp", "call", "--yes", "parts__echo", "text=hi")
    assert (refused.code, "It can be allowed with: openclaw mcp call --yes (it is asked about" in refused.err) == (
        2,
        True,
    )
    assert (agreed.code, agreed.out) == (0, "hi\n")
