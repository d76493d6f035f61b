"""`openclaw acp` as an editor drives it: sessions, prompts, tool calls, permissions, and how all of it ends."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parts.editor import FILES, NEVER, Editor, NearEditor, choose
from parts.gateways import Home, stdio_server
from parts.gateways import home as made_home

WRITE = {"toolCalls": [{"name": "write", "arguments": {"path": "a.txt", "content": "hello"}, "id": "w1"}]}

# One pixel.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with made_home(tmp_path) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def script(home: Home, *turns: dict[str, Any], **more: Any) -> None:
    home.save(home.script(*turns), **more)


async def test_the_greeting_says_what_the_agent_can_do(home: Home, folder: Path) -> None:
    script(home)
    async with Editor(home, folder) as editor:
        told = editor.greeting
        assert (told["protocolVersion"], told["authMethods"]) == (1, [])
        assert told["agentCapabilities"] == {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": True},
            "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "additionalDirectories": {}},
        }
        assert await editor.end() == 0


async def test_nothing_is_answered_before_the_greeting(home: Home, folder: Path) -> None:
    async with NearEditor(home, folder, greet=False) as editor:
        assert (await editor.refusal("session/new", cwd=str(folder), mcpServers=[]))["code"] == -32600
        assert (await editor.initialize())["protocolVersion"] == 1
        assert (await editor.refusal("nes/start"))["code"] == -32601


async def test_a_prompt_is_answered_with_text_thoughts_and_tool_calls(home: Home, folder: Path) -> None:
    (folder / "notes.txt").write_text("milk and eggs\n")
    read = {"toolCalls": [{"name": "read", "arguments": {"path": "notes.txt", "offset": 1}, "id": "r1"}]}
    script(
        home,
        {"reasoning": "I have to look.", "text": "Looking.", **read},
        {"text": ["You need ", "milk."], "usage": {"inputTokens": 100, "outputTokens": 20}},
    )
    async with Editor(home, folder) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "what do I need?") == "end_turn"
        assert editor.said() == "Looking.You need milk."
        assert [one["content"]["text"] for one in editor.of("agent_thought_chunk")] == ["I have to look."]
        assert editor.call("read") == {
            "toolCallId": "r1",
            "title": "Read notes.txt",
            "name": "read",
            "kind": "read",
            "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": "milk and eggs\n"}}],
            "locations": [{"path": str(folder / "notes.txt"), "line": 1}],
            "rawInput": {"path": "notes.txt", "offset": 1},
            "rawOutput": editor.call("read")["rawOutput"],
        }
        assert editor.of("usage_update")[-1]["used"] == 120
        assert {"title": "what do I need?"} in editor.of("session_info_update")


async def test_a_write_is_asked_about_and_done_once_it_is_allowed(home: Home, folder: Path) -> None:
    script(home, WRITE, {"text": "Done."})
    async with NearEditor(home, folder) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "write it") == "end_turn"
        [(method, asked)] = editor.asked
        assert (method, asked["toolCall"]["toolCallId"], asked["toolCall"]["rawInput"]) == (
            "session/request_permission",
            "w1",
            {"path": "a.txt", "content": "hello"},
        )
        # Clients that answer by the kind take a title that begins with "read" for one that only reads.
        assert asked["toolCall"]["kind"] == "edit"
        kinds = [option["kind"] for option in asked["options"]]
        assert kinds[0] == "allow_once"
        assert kinds[-1] == "reject_once"
        assert "allow_always" in kinds
        assert (folder / "a.txt").read_text() == "hello"
        assert editor.call("write")["status"] == "completed"


@pytest.mark.parametrize(
    "answer",
    [
        choose("reject_once"),
        lambda method, params: {"outcome": {"outcome": "cancelled"}},
        lambda method, params: {"outcome": {"outcome": "selected", "optionId": "whatever you like"}},
        lambda method, params: {"outcome": "yes"},
        lambda method, params: [1, 2, 3],
        lambda method, params: {"error": {"code": -32601, "message": "Method not found"}},
    ],
    ids=["no", "cancelled", "unknown option", "garbage", "no object", "error"],
)
async def test_whatever_is_no_yes_to_a_permission_is_a_no(home: Home, folder: Path, answer: Any) -> None:
    script(home, WRITE, {"text": "I could not."})
    async with NearEditor(home, folder, answer=answer) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "write it") == "end_turn"
        assert not (folder / "a.txt").exists()
        assert editor.call("write")["status"] == "failed"
        assert editor.said() == "I could not."


async def test_a_cancel_while_the_model_speaks_ends_with_the_result_cancelled(home: Home, folder: Path) -> None:
    script(home, {"text": "Well, ", "hold": True}, {"text": "Again."})
    async with NearEditor(home, folder) as editor:
        session = await editor.new()
        prompt = editor.begin_prompt(session, "speak")
        await editor.until(editor.said)
        editor.notify("session/cancel", sessionId=session)
        editor.notify("session/cancel", sessionId=session)
        assert (await prompt)["result"] == {"stopReason": "cancelled"}
        assert await editor.prompt(session, "once more") == "end_turn"
        assert editor.said() == "Well, Again."


async def test_a_cancel_while_a_tool_runs_ends_the_tool(home: Home, folder: Path) -> None:
    wait = {"toolCalls": [{"name": "exec", "arguments": {"command": ["sleep", "600"]}, "id": "e1"}]}
    script(home, wait, {"text": "unsaid"}, tools={"allow": ["group:fs", "exec"]})
    async with Editor(home, folder) as editor:
        session = await editor.new()
        prompt = editor.begin_prompt(session, "wait")
        await editor.until(lambda: editor.asked)
        await editor.until(lambda: editor.of("tool_call"))
        editor.notify("session/cancel", sessionId=session)
        assert (await prompt)["result"] == {"stopReason": "cancelled"}
        assert editor.call("exec")["status"] == "failed"
        assert editor.lines[-1] == {"jsonrpc": "2.0", "id": editor.last_id, "result": {"stopReason": "cancelled"}}


async def test_a_cancel_while_a_permission_is_open_takes_the_question_back(home: Home, folder: Path) -> None:
    script(home, WRITE, {"text": "unsaid"})
    async with NearEditor(home, folder, answer=lambda method, params: NEVER) as editor:
        session = await editor.new()
        prompt = editor.begin_prompt(session, "write it")
        await editor.until(lambda: editor.asked)
        editor.notify("session/cancel", sessionId=session)
        assert (await prompt)["result"] == {"stopReason": "cancelled"}
        assert [one["method"] for one in editor.notified] == ["$/cancel_request"]
        assert editor.call("write")["status"] == "failed"
        assert not (folder / "a.txt").exists()


async def test_a_request_that_is_taken_back_ends_as_a_cancelled_prompt(home: Home, folder: Path) -> None:
    script(home, {"text": "Well, ", "hold": True})
    async with NearEditor(home, folder) as editor:
        session = await editor.new()
        prompt = editor.begin_prompt(session, "speak")
        await editor.until(editor.said)
        editor.notify("$/cancel_request", requestId=editor.last_id)
        assert (await prompt)["result"] == {"stopReason": "cancelled"}


async def test_a_second_prompt_cancels_the_first_and_then_runs(home: Home, folder: Path) -> None:
    script(home, {"text": "First. ", "hold": True}, {"text": "Second."})
    async with NearEditor(home, folder) as editor:
        session = await editor.new()
        first = editor.begin_prompt(session, "one")
        await editor.until(editor.said)
        assert await editor.prompt(session, "two") == "end_turn"
        assert (await first)["result"] == {"stopReason": "cancelled"}
        assert editor.said() == "First. Second."


async def test_a_model_that_fails_is_an_error_with_its_sentence(home: Home, folder: Path) -> None:
    script(home, {"error": "The vendor is closed."})
    async with NearEditor(home, folder) as editor:
        session = await editor.new()
        answer = await editor.begin_prompt(session, "hello")
        assert answer["error"] == {"code": -32603, "message": "The vendor is closed."}


async def test_what_a_model_stops_by_is_told(home: Home, folder: Path) -> None:
    script(home, {"text": "so long", "stopReason": "length"}, {"text": "I will not.", "stopReason": "refused"})
    async with NearEditor(home, folder) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "one") == "max_tokens"
        assert await editor.prompt(session, "two") == "refusal"


async def test_a_folder_that_is_none_is_refused(home: Home, folder: Path) -> None:
    script(home)
    async with NearEditor(home, folder) as editor:
        for cwd in ("relative", str(folder / "missing"), "/\0"):
            assert (await editor.refusal("session/new", cwd=cwd, mcpServers=[]))["code"] == -32602


async def test_without_a_model_a_session_needs_authentication(home: Home, folder: Path) -> None:
    home.save({"models": {"mode": "replace"}})
    async with NearEditor(home, folder) as editor:
        error = await editor.refusal("session/new", cwd=str(folder), mcpServers=[])
        assert error["code"] == -32000
        assert [one["id"] for one in editor.greeting["authMethods"]] == ["openclaw-setup"]
        assert (await editor.refusal("authenticate", methodId="openclaw-setup"))["code"] == -32000
        script(home, {"text": "Hello."})
        assert await editor.request("authenticate", methodId="openclaw-setup") == {}
        assert await editor.prompt(await editor.new(), "hello") == "end_turn"
        assert (await editor.initialize())["authMethods"] == []


async def test_a_config_that_cannot_be_read_is_told_in_its_own_words(home: Home, folder: Path) -> None:
    home.config_file.write_text("{ agents: ")
    async with Editor(home, folder) as editor:
        error = await editor.refusal("session/new", cwd=str(folder), mcpServers=[])
        assert (error["code"], "openclaw.json" in error["message"], "1:11" in error["message"]) == (-32603, True, True)
        script(home, {"text": "Hello."})
        assert await editor.prompt(await editor.new(), "hello") == "end_turn"


async def test_a_line_that_is_too_long_is_refused_and_the_connection_stays(home: Home, folder: Path) -> None:
    script(home, {"text": "Still here."})
    async with Editor(home, folder) as editor:
        session = await editor.new()
        refused = editor.begin_prompt(session, "x" * (33 * 1_048_576))
        assert (await refused)["error"]["code"] == -32600
        assert await editor.prompt(session, "hello") == "end_turn"


async def test_a_loaded_session_is_told_in_its_order_with_every_call_settled(home: Home, folder: Path) -> None:
    (folder / "notes.txt").write_text("milk\n")
    read = {"toolCalls": [{"name": "read", "arguments": {"path": "notes.txt"}, "id": "r1"}]}
    missing = {"toolCalls": [{"name": "read", "arguments": {"path": "missing"}, "id": "r2"}]}
    script(home, {"reasoning": "Hm.", "text": "Looking.", **read}, missing, {"text": "Milk."}, {"text": "Bye."})
    async with NearEditor(home, folder) as editor:
        session = await editor.new()
        await editor.prompt(session, "what do I need?")
        await editor.request("session/set_mode", sessionId=session, modeId="read-only")
    async with NearEditor(home, folder) as editor:
        opened = await editor.request("session/load", sessionId=session, cwd=str(folder), mcpServers=[])
        assert opened["modes"]["currentModeId"] == "read-only"
        told = [
            (update["sessionUpdate"], update.get("status") or update["content"]["text"])
            for owner, update in editor.updates
            if owner == session and "available" not in update["sessionUpdate"]
        ]
        assert told == [
            ("user_message_chunk", "what do I need?"),
            ("agent_thought_chunk", "Hm."),
            ("agent_message_chunk", "Looking."),
            ("tool_call", "completed"),
            ("tool_call", "failed"),
            ("agent_message_chunk", "Milk."),
        ]
        assert await editor.prompt(session, "bye") == "end_turn"


async def test_a_session_is_resumed_by_a_process_that_never_saw_it(home: Home, folder: Path) -> None:
    script(home, {"text": "Hello."})
    async with NearEditor(home, folder) as near:
        session = await near.new()
        await near.prompt(session, "hello")
    async with Editor(home, folder) as editor:
        assert "sessionId" not in await editor.request("session/resume", sessionId=session, cwd=str(folder))
        assert editor.of("user_message_chunk") == []
        assert await editor.prompt(session, "and again") == "end_turn"
        async with NearEditor(home, folder) as near:
            kept = await near.kept(session)
        # What was said first is its title too.
        assert (kept.count("hello"), kept.count("and again")) == (2, 1)
        error = await editor.refusal("session/resume", sessionId="acp:nobody:1", cwd=str(folder))
        assert error["code"] == -32002


async def test_sessions_are_listed_by_folder_closed_and_deleted(home: Home, folder: Path, tmp_path: Path) -> None:
    script(home, *({"text": "Yes."} for _ in range(3)))
    other = tmp_path / "other"
    other.mkdir()
    async with NearEditor(home, folder) as editor:
        first, second, third = await editor.new(), await editor.new(), await editor.new(cwd=other)
        for session in (first, second, third):
            await editor.prompt(session, f"in {session}")
        listed = (await editor.request("session/list", cwd=str(folder)))["sessions"]
        assert [one["sessionId"] for one in listed] == [second, first]
        assert (listed[0]["cwd"], listed[0]["title"]) == (str(folder), f"in {second}"[:80])
        assert len((await editor.request("session/list"))["sessions"]) == 3
        assert await editor.request("session/close", sessionId=first) == {}
        assert await editor.request("session/delete", sessionId=second) == {}
        assert await editor.request("session/delete", sessionId="acp:nobody:1") == {}
        left = (await editor.request("session/list", cwd=str(folder)))["sessions"]
        assert [one["sessionId"] for one in left] == [first]
        error = await editor.refusal("session/set_mode", sessionId=second, modeId="ask")
        assert error["code"] == -32002


async def test_more_sessions_than_a_page_has_come_in_pages_without_those_of_which_nothing_is_left(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openclaw.acp.sessions.PAGE", 2)
    script(home, *({"text": "Yes."} for _ in range(5)))
    async with NearEditor(home, folder) as editor:
        made = [await editor.new() for _ in range(6)]
        # In the third nothing is said: it has no conversation.
        for session in (*made[:2], *made[3:]):
            await editor.prompt(session, f"in {session}")
        pages: list[list[str]] = []
        cursor: str | None = None
        while True:
            page = await editor.request("session/list", **({"cursor": cursor} if cursor else {}))
            pages.append([one["sessionId"] for one in page["sessions"]])
            if (cursor := page.get("nextCursor")) is None:
                break
        assert pages == [[made[5], made[4]], [made[3], made[1]], [made[0]]]


async def test_the_modes_say_what_is_asked_about_and_what_is_refused(home: Home, folder: Path) -> None:
    again = {"toolCalls": [{"name": "write", "arguments": {"path": "b.txt", "content": "no"}, "id": "w2"}]}
    script(home, WRITE, {"text": "Done."}, again, {"text": "Refused."})
    async with NearEditor(home, folder) as editor:
        session = await editor.new()
        assert await editor.request("session/set_mode", sessionId=session, modeId="accept-edits") == {}
        await editor.until(lambda: editor.of("config_option_update"))
        await editor.prompt(session, "write it")
        assert (editor.asked, (folder / "a.txt").read_text()) == ([], "hello")
        told = await editor.request("session/set_config_option", sessionId=session, configId="mode", value="read-only")
        assert {one["id"]: one["currentValue"] for one in told["configOptions"]} == {
            "mode": "read-only",
            "model": "play/one",
        }
        await editor.until(lambda: editor.of("current_mode_update"))
        await editor.prompt(session, "write another")
        assert (editor.asked, (folder / "b.txt").exists()) == ([], False)
        error = await editor.refusal("session/set_mode", sessionId=session, modeId="reckless")
        assert error["code"] == -32602
        error = await editor.refusal("session/set_config_option", sessionId=session, configId="model", value="no/such")
        assert error["code"] == -32602


async def test_another_model_may_be_chosen_for_a_session(home: Home, folder: Path) -> None:
    config = home.script({"text": "One."})
    (home.state / "two.json").write_text('[{"text": "Two."}]')
    config["models"]["providers"]["other"] = {
        "api": "scripted",
        "script": str(home.state / "two.json"),
        "models": ["two"],
    }
    home.save(config)
    async with NearEditor(home, folder) as editor:
        session = await editor.new()
        await editor.request("session/set_config_option", sessionId=session, configId="model", value="other/two")
        await editor.prompt(session, "who are you?")
        assert editor.said() == "Two."


async def test_a_folder_besides_the_first_may_be_used_and_no_other(home: Home, folder: Path, tmp_path: Path) -> None:
    more, secret = tmp_path / "more", tmp_path / "secret"
    for place in (more, secret):
        place.mkdir()
        (place / "a.txt").write_text(f"of {place.name}")
    calls = [
        {"name": "read", "arguments": {"path": str(place / "a.txt")}, "id": place.name} for place in (more, secret)
    ]
    script(home, {"toolCalls": calls}, {"text": "Done."})
    async with NearEditor(home, folder) as editor:
        await editor.prompt(await editor.new(more=[more]), "read them")
        ended = {one["toolCallId"]: one["status"] for one in editor.of("tool_call_update")}
        assert ended == {"more": "completed", "secret": "failed"}


async def test_commands_after_a_slash_are_told_of_and_run_before_the_model(home: Home, folder: Path) -> None:
    script(home, {"text": "Nobody knows."})
    async with NearEditor(home, folder) as editor:
        session = await editor.new()
        await editor.until(lambda: editor.of("available_commands_update"))
        names = [one["name"] for one in editor.of("available_commands_update")[0]["availableCommands"]]
        assert {"help", "status", "tools", "mcp"} <= set(names)
        assert "quit" not in names
        assert await editor.prompt(session, "/status") == "end_turn"
        assert "model play/one" in editor.said()
        assert await editor.prompt(session, "/mcp servers") == "end_turn"
        assert await editor.prompt(session, "/unheard of") == "end_turn"
        assert editor.said().endswith("Nobody knows.")


async def test_help_lists_what_there_is_here_and_a_wrong_line_is_answered_with_a_sentence(
    home: Home, folder: Path
) -> None:
    script(home, {"text": "Hello."})
    async with NearEditor(home, folder) as editor:
        session = await editor.new()
        await editor.until(lambda: editor.of("available_commands_update"))
        names = [one["name"] for one in editor.of("available_commands_update")[0]["availableCommands"]]
        assert await editor.prompt(session, "/help") == "end_turn"
        listed = [line.split()[0] for line in editor.said().splitlines() if line.startswith("/")]
        assert listed == [f"/{name}" for name in names]
        for line in ("/title Orders", "/last nine", "/approve"):
            before = editor.said()
            assert await editor.prompt(session, line) == "end_turn"
            assert editor.said() != before
        assert await editor.prompt(session, "hello") == "end_turn"
        assert await editor.prompt(session, "/title Orders") == "end_turn"
        assert {"title": "Orders"} in editor.of("session_info_update")
        assert [one["title"] for one in (await editor.request("session/list"))["sessions"]] == ["Orders"]


async def test_the_tool_of_a_skill_may_change_nothing_in_the_mode_that_only_reads(home: Home, folder: Path) -> None:
    skill = home.state / "skills" / "note" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: note\ndescription: d\ncommand-dispatch: tool\ncommand-tool: db__echo\n---\nGo.\n")
    script(home, {"text": "Hello."}, mcp={"servers": {"db": stdio_server()}, "startupGraceMs": 60_000})
    async with NearEditor(home, folder) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "hello") == "end_turn"
        assert await editor.prompt(session, "/note in any mode") == "end_turn"
        assert "only read" not in editor.said()
        await editor.request("session/set_mode", sessionId=session, modeId="read-only")
        assert await editor.prompt(session, "/note in this one") == "end_turn"
        assert "only read" in editor.said()
        before = editor.said()
        # What the person types about servers is no call of the agent's.
        assert await editor.prompt(session, "/mcp servers") == "end_turn"
        assert "only read" not in editor.said().removeprefix(before)


async def test_a_change_is_shown_with_the_text_before_and_after(home: Home, folder: Path) -> None:
    (folder / "a.txt").write_text("one\ntwo\n")
    edit = {"name": "edit", "arguments": {"path": "a.txt", "old_text": "two", "new_text": "three"}, "id": "e1"}
    new = {"name": "write", "arguments": {"path": "new.txt", "content": "fresh"}, "id": "w1"}
    script(home, {"toolCalls": [edit]}, {"toolCalls": [new]}, {"text": "Done."})
    async with NearEditor(home, folder) as editor:
        await editor.prompt(await editor.new(), "change them")
        assert editor.call("edit")["content"] == [
            {"type": "diff", "path": str(folder / "a.txt"), "oldText": "one\ntwo\n", "newText": "one\nthree\n"}
        ]
        assert editor.call("write")["content"] == [
            {"type": "diff", "path": str(folder / "new.txt"), "oldText": None, "newText": "fresh"}
        ]
        # And before it is done: where it is asked about, and where the call begins.
        asked = [params["toolCall"]["content"][0] for _, params in editor.asked]
        assert asked == [
            {"type": "diff", "path": str(folder / "a.txt"), "oldText": "two", "newText": "three"},
            {"type": "diff", "path": str(folder / "new.txt"), "oldText": None, "newText": "fresh"},
        ]
        assert [one["content"] for one in editor.of("tool_call")] == [[change] for change in asked]


async def test_files_are_read_and_written_where_the_editor_has_them(home: Home, folder: Path) -> None:
    (folder / "a.txt").write_text("on the disk")
    calls = [
        {"name": "read", "arguments": {"path": "a.txt"}, "id": "r1"},
        {"name": "edit", "arguments": {"path": "a.txt", "old_text": "unsaved", "new_text": "changed"}, "id": "e1"},
        {"name": "write", "arguments": {"path": "b.txt", "content": "new"}, "id": "w1"},
        {"name": "read", "arguments": {"path": "../.openclaw/openclaw.json"}, "id": "r2"},
    ]
    script(home, *({"toolCalls": [call]} for call in calls), {"text": "Done."})
    buffers = {str(folder / "a.txt"): "unsaved\nwords\n"}

    def answer(method: str, params: dict[str, Any]) -> Any:
        if method == "fs/read_text_file":
            if params["path"] not in buffers:
                return {"error": {"code": -32002, "message": "Resource not found"}}
            return {"content": buffers[params["path"]]}
        if method == "fs/write_text_file":
            buffers[params["path"]] = params["content"]
            return None
        return choose("allow_once")(method, params)

    async with NearEditor(home, folder, capabilities=FILES, answer=answer) as editor:
        assert await editor.prompt(await editor.new(), "do it") == "end_turn"
        assert editor.of("tool_call_update")[0]["content"][0]["content"]["text"] == "unsaved\nwords\n"
        assert buffers == {str(folder / "a.txt"): "changed\nwords\n", str(folder / "b.txt"): "new"}
        assert (folder / "a.txt").read_text() == "on the disk"
        assert not (folder / "b.txt").exists()
        assert editor.of("tool_call_update")[-1]["status"] == "failed"
        read = {params["path"] for method, params in editor.asked if method == "fs/read_text_file"}
        assert read == {str(folder / "a.txt"), str(folder / "b.txt")}


async def test_a_file_that_the_editor_takes_and_does_not_write_is_written_here(home: Home, folder: Path) -> None:
    """As clients do that declare files and know nothing of them."""
    write = {"name": "write", "arguments": {"path": "b.txt", "content": "new"}, "id": "w1"}
    script(home, {"toolCalls": [write]}, {"text": "Done."})

    def answer(method: str, params: dict[str, Any]) -> Any:
        return {} if method.startswith("fs/") else choose("allow_once")(method, params)

    async with NearEditor(home, folder, capabilities=FILES, answer=answer) as editor:
        assert await editor.prompt(await editor.new(), "do it") == "end_turn"
    assert (folder / "b.txt").read_text() == "new"


async def test_a_program_runs_in_a_terminal_of_the_editor_which_is_released(home: Home, folder: Path) -> None:
    run = {"toolCalls": [{"name": "exec", "arguments": {"command": ["make", "test"]}, "id": "x1"}]}
    hang = {"toolCalls": [{"name": "exec", "arguments": {"command": ["make", "wait"]}, "id": "x2"}]}
    script(home, run, {"text": "It says: {result}"}, hang, tools={"allow": ["exec"], "approval": {"mode": "off"}})

    def answer(method: str, params: dict[str, Any]) -> Any:
        match method:
            case "terminal/create":
                return {"terminalId": " ".join(["t", *params["args"]])}
            case "terminal/wait_for_exit":
                return {"exitCode": 3} if params["terminalId"] == "t test" else NEVER
            case "terminal/output":
                return {"output": "2 failed", "truncated": False}
            case _:
                return {}

    async with NearEditor(home, folder, capabilities={"terminal": True}, answer=answer) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "test it") == "end_turn"
        assert editor.said() == "It says: 2 failed\n[Exit code 3.]"
        assert editor.call("exec")["content"] == [{"type": "terminal", "terminalId": "t test"}]
        assert [method.removeprefix("terminal/") for method, _ in editor.asked] == [
            "create",
            "wait_for_exit",
            "output",
            "release",
        ]
        prompt = editor.begin_prompt(session, "wait")
        await editor.until(lambda: editor.asked[-1][0] == "terminal/wait_for_exit")
        editor.notify("session/cancel", sessionId=session)
        assert (await prompt)["result"] == {"stopReason": "cancelled"}
        assert [method.removeprefix("terminal/") for method, _ in editor.asked[-2:]] == ["kill", "release"]


async def test_a_link_that_is_no_address_reaches_the_model_and_the_connection_stays(home: Home, folder: Path) -> None:
    script(home, {"text": "Seen."}, {"text": "Still here."})
    link = {"type": "resource_link", "name": "odd", "uri": "http://[odd"}
    text = {"type": "resource", "resource": {"uri": "http://[odd", "text": "its words"}}
    async with NearEditor(home, folder) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "look", link, text) == "end_turn"
        assert await editor.prompt(session, "and now?") == "end_turn"
        said = await editor.kept(session)
        assert "[odd: http://[odd]" in said
        assert "its words" in said


async def test_what_was_taken_back_is_not_told_again(home: Home, folder: Path) -> None:
    script(home, {"text": "First answer."}, {"text": "Second answer."})
    async with NearEditor(home, folder) as editor:
        session = await editor.new()
        for line in ("one", "two", "/undo"):
            assert await editor.prompt(session, line) == "end_turn"
    async with NearEditor(home, folder) as editor:
        await editor.request("session/load", sessionId=session, cwd=str(folder), mcpServers=[])
        assert editor.said(session) == "First answer."


async def test_a_picture_and_a_file_reach_the_model_and_a_recording_is_refused(home: Home, folder: Path) -> None:
    script(home, {"text": "Seen."})
    picture = {"type": "image", "mimeType": "image/png", "data": PNG}
    file = {"type": "resource", "resource": {"uri": (folder / "a.py").as_uri(), "text": "print(1)"}}
    link = {"type": "resource_link", "name": "b.py", "uri": (folder / "b.py").as_uri()}
    async with NearEditor(home, folder) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "look", picture, file, link) == "end_turn"
        said = await editor.kept(session)
        assert "print(1)" in said
        assert f"[b.py: {folder}/b.py]" in said
        refused = await editor.begin_prompt(session, {"type": "audio", "mimeType": "audio/wav", "data": ""})
        assert refused["error"]["code"] == -32602
