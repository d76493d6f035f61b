"""MCP servers that an editor hands over with a session: started by consent, for that session alone, and gone with it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parts.editor import NEVER, Editor, NearEditor, Talk, choose
from parts.gateways import Home
from parts.gateways import home as made_home
from parts.http_server import HttpServer, Plan
from parts.leaks import files_under, found_in
from parts.processes import server_command

CALL = {"toolCalls": [{"name": "db__echo", "arguments": {"text": "ten orders"}, "id": "c1"}]}
SAID = {"text": "It says: {result}"}
# Calls are not what this is about.
UNASKED = {"approval": {"mode": "off", "taint": "off"}}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with made_home(tmp_path) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def server(name: str, *options: str, **env: str) -> dict[str, Any]:
    command, *args = server_command(*options)
    pairs = [{"name": key, "value": value} for key, value in env.items()]
    return {"name": name, "command": command, "args": args, "env": pairs}


def notices(editor: Talk) -> list[str]:
    return [update["title"] for update in editor.of("notice")]


NOTICES: dict[str, Any] = {"session": {"notices": {}}}


@pytest.mark.requirement("002-4.3-servers")
@pytest.mark.requirement("002-4.3-log")
async def test_a_server_of_the_editor_is_asked_about_whole_and_then_used(home: Home, folder: Path) -> None:
    home.save(home.script(CALL, SAID, CALL, SAID), tools=UNASKED)
    async with Editor(home, folder, "--verbose") as editor:
        session = await editor.new(server("db", DB_URL="postgres://ada:hunter2@db"))
        assert await editor.prompt(session, "how many orders?") == "end_turn"
        assert "ten orders" in editor.said()
        [(_, asked)] = editor.asked
        call = asked["toolCall"]
        assert (call["title"], call["kind"], call["status"]) == ('Start MCP server "db"', "execute", "pending")
        text = call["content"][0]["content"]["text"]
        assert all(word in text for word in server_command())
        assert f"directory: {folder}" in text
        assert "DB_URL=" in text
        assert [option["kind"] for option in asked["options"]] == ["allow_once", "allow_always", "reject_once"]
        assert await editor.prompt(session, "and now?") == "end_turn"
        assert len(editor.asked) == 1
        assert "hunter2" not in json.dumps(editor.lines)
        assert await editor.end() == 0
        assert b"configuring 1 MCP servers" in editor.stderr
        assert b"hunter2" not in editor.stderr
    kept = [path for path in home.state.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]
    assert kept == []


@pytest.mark.requirement("002-4.3-servers")
@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_an_address_of_the_editor_is_asked_about_and_its_headers_are_sent_and_never_shown(
    home: Home, folder: Path, kind: str
) -> None:
    home.save(home.script(CALL, SAID), tools=UNASKED)
    async with HttpServer(Plan(revisions=("2024-11-05",))) as there, NearEditor(home, folder) as editor:
        url = there.sse_url if kind == "sse" else there.url
        headers = [{"name": "X-Key", "value": "hunter2"}]
        session = await editor.new({"type": kind, "name": "db", "url": url, "headers": headers})
        assert await editor.prompt(session, "how many orders?") == "end_turn"
        assert "ten orders" in editor.said()
        [(_, asked)] = editor.asked
        text = asked["toolCall"]["content"][0]["content"]["text"]
        assert (asked["toolCall"]["kind"], url in text, "X-Key" in text) == ("fetch", True, True)
        assert {seen.headers.get("X-Key") for seen in there.seen} == {"hunter2"}
        assert "hunter2" not in json.dumps(editor.lines)
    assert found_in(["hunter2"], files_under(home.state)) == []


async def test_a_server_that_is_rejected_is_not_started_and_the_session_goes_on(home: Home, folder: Path) -> None:
    home.save(home.script({"text": "Without it."}))
    started = folder / "started"
    wrong = {"name": "db", "command": "/usr/bin/touch", "args": [str(started)], "env": []}
    async with NearEditor(home, folder, capabilities=NOTICES, answer=choose("reject_once")) as editor:
        session = await editor.new(wrong)
        assert await editor.prompt(session, "hello") == "end_turn"
        assert editor.said() == "Without it."
        assert notices(editor) == ["MCP server 'db' of the editor is not started: nobody allowed it."]
    assert not started.exists()
    noted = [json.loads(line) for line in (home.paths.audit_dir / "calls.jsonl").read_text().splitlines()]
    [told] = [line for line in noted if line.get("event") == "server"]
    assert (told["server"], told["answer"], str(started) in json.dumps(noted)) == ("db", "declined", False)


async def test_a_server_that_was_allowed_starts_though_the_turn_was_cancelled_over_the_next(
    home: Home, folder: Path
) -> None:
    home.save(home.script(CALL, SAID), tools=UNASKED)
    other = {"name": "other", "command": "/bin/false", "args": [], "env": []}

    def answer(method: str, params: dict[str, Any]) -> Any:
        return NEVER if "other" in params["toolCall"]["title"] else choose("allow_once")(method, params)

    async with NearEditor(home, folder, answer=answer) as editor:
        session = await editor.new(server("db"), other)
        prompt = editor.begin_prompt(session, "how many?")
        await editor.until(lambda: len(editor.asked) == 2)
        editor.notify("session/cancel", sessionId=session)
        assert (await prompt)["result"] == {"stopReason": "cancelled"}
        editor.answer = choose("reject_once")
        assert await editor.prompt(session, "how many?") == "end_turn"
        assert "ten orders" in editor.said()
        assert len(editor.asked) == 3


async def test_always_holds_for_exactly_this_command_in_another_process(home: Home, folder: Path) -> None:
    home.save(home.script(CALL, SAID), tools=UNASKED)
    async with NearEditor(home, folder, answer=choose("allow_always")) as editor:
        await editor.prompt(await editor.new(server("db")), "how many?")
        assert len(editor.asked) == 1
    async with Editor(home, folder) as other:
        assert await other.prompt(await other.new(server("db")), "how many?") == "end_turn"
        assert "ten orders" in other.said()
        assert other.asked == []
    home.save(home.script({"text": "Hm."}))
    async with NearEditor(home, folder, answer=choose("reject_once")) as editor:
        await editor.prompt(await editor.new(server("db", MORE="1")), "how many?")
        assert len(editor.asked) == 1
    assert "db" in home.run("approvals", "grants").stdout


async def test_two_sessions_see_only_their_own_servers(home: Home, folder: Path) -> None:
    other = {"toolCalls": [{"name": "web__echo", "arguments": {"text": "ten orders"}, "id": "c2"}]}
    home.save(home.script(CALL, SAID, other, SAID), tools=UNASKED)
    async with NearEditor(home, folder) as editor:
        first, _ = await editor.new(server("db")), await editor.new(server("web"))
        assert await editor.prompt(first, "how many?") == "end_turn"
        assert "ten orders" in editor.said(first)
        assert await editor.prompt(first, "and there?") == "end_turn"
        assert editor.call("web__echo")["status"] == "failed"


async def test_a_server_that_hangs_or_crashes_is_told_of_and_does_not_hold_up_the_turn(
    home: Home, folder: Path
) -> None:
    home.save(home.script({"text": "Fine."}), mcp={"startupGraceMs": 500})
    hanging = {"name": "hanging", "command": "/bin/sleep", "args": ["600"], "env": []}
    crashing = {"name": "crashing", "command": "/bin/false", "args": [], "env": []}
    missing = {"name": "missing", "command": "/nowhere/at/all", "args": [], "env": []}
    secret = {
        "type": "http",
        "name": "thief",
        "url": "https://example.com/mcp",
        "headers": [{"name": "Authorization", "value": "Bearer secret://env/HOME"}],
    }
    async with NearEditor(home, folder, capabilities=NOTICES) as editor:
        session = await editor.new(hanging, crashing, missing, secret)
        assert await editor.prompt(session, "hello") == "end_turn"
        assert editor.said() == "Fine."
        told = "\n".join(notices(editor))
        assert all(f"'{name}'" in told for name in ("hanging", "crashing", "missing", "thief")), told
        # No command of ours knows any of them.
        assert "openclaw mcp" not in told


@pytest.mark.parametrize("setting", ["allow", "deny"])
async def test_the_config_may_say_that_nobody_is_asked(home: Home, folder: Path, setting: str) -> None:
    home.save(home.script(CALL, SAID), acp={"clientServers": setting}, tools=UNASKED)
    async with NearEditor(home, folder) as editor:
        assert await editor.prompt(await editor.new(server("db")), "how many?") == "end_turn"
        assert editor.asked == []
        assert editor.call("db__echo")["status"] == ("completed" if setting == "allow" else "failed")


async def test_a_server_that_the_config_has_anyway_is_not_asked_about(home: Home, folder: Path) -> None:
    command, *args = server_command()
    configured = {"db": {"command": command, "args": args}}
    home.save(home.script(CALL, SAID), mcp={"servers": configured}, tools=UNASKED)
    async with NearEditor(home, folder) as editor:
        assert await editor.prompt(await editor.new(server("mine")), "how many?") == "end_turn"
        assert editor.asked == []
        assert "ten orders" in editor.said()


@pytest.mark.requirement("002-9-acp")
async def test_an_editor_that_hands_over_no_servers_changes_nothing(home: Home, folder: Path) -> None:
    command, *args = server_command()
    home.save(home.script(CALL, SAID), mcp={"servers": {"db": {"command": command, "args": args, "approval": "allow"}}})
    async with NearEditor(home, folder) as editor:
        assert await editor.prompt(await editor.new(), "how many?") == "end_turn"
        assert "ten orders" in editor.said()
        assert editor.asked == []


async def test_a_name_of_a_configured_server_is_never_taken_over(home: Home, folder: Path) -> None:
    command, *args = server_command()
    home.save(
        home.script(CALL, SAID),
        mcp={"servers": {"db": {"command": command, "args": args, "approval": "allow"}}},
    )
    async with NearEditor(home, folder) as editor:
        session = await editor.new(server("db", ANOTHER="1"))
        assert await editor.prompt(session, "how many?") == "end_turn"
        assert [one["title"] for one in editor.of("tool_call")] == ['Start MCP server "db-2"', "db: echo"]
        assert "ten orders" in editor.said()


async def test_what_a_tool_says_after_its_turn_was_cancelled_is_not_told(home: Home, folder: Path) -> None:
    slow = {"toolCalls": [{"name": "db__slow", "arguments": {"seconds": 0.3}, "id": "late"}]}
    home.save(home.script(slow, CALL, SAID), acp={"clientServers": "allow"}, tools=UNASKED)
    async with NearEditor(home, folder) as editor:
        session = await editor.new(server("db"))
        prompt = editor.begin_prompt(session, "take your time")
        await editor.until(lambda: editor.of("tool_call"))
        editor.notify("session/cancel", sessionId=session)
        answer = await prompt
        assert answer["result"] == {"stopReason": "cancelled"}
        assert await editor.prompt(session, "how many?") == "end_turn"
        assert "ten orders" in editor.said()
        told = [number for number, line in enumerate(editor.lines) if '"late"' in json.dumps(line)]
        assert max(told) < editor.lines.index(answer)
        assert editor.call("db__slow")["status"] == "failed"
