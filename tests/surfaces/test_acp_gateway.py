"""`openclaw acp` beside a running gateway of the same config: the gateway is the agent, with the same behaviour, and may leave."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from parts.editor import NEVER, Editor, choose
from parts.gateways import Home, gateway_process
from parts.gateways import home as made_home
from parts.processes import STDIO_SERVER, handle_of, server_command, wait_until_gone

WRITE = {"toolCalls": [{"name": "write", "arguments": {"path": "a.txt", "content": "hello"}, "id": "w1"}]}
CALL = {"toolCalls": [{"name": "db__echo", "arguments": {"text": "ten orders"}, "id": "c1"}]}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with made_home(tmp_path) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def server(name: str) -> dict[str, Any]:
    command, *args = server_command()
    return {"name": name, "command": command, "args": args, "env": []}


def running_server(home: Home) -> int:
    """A handle of the one server that runs for this home."""
    mark = f"HOME={home.env['HOME']}".encode()
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with suppress(OSError):
                is_server = str(STDIO_SERVER).encode() in (place / "cmdline").read_bytes().split(b"\0")
                if is_server and mark in (place / "environ").read_bytes().split(b"\0"):
                    found.append(int(place.name))
    [pid] = found
    return handle_of(pid)


@pytest.mark.linux_only("/proc")
async def test_the_gateway_answers_asks_and_starts_servers_as_this_process_would(home: Home, folder: Path) -> None:
    config = home.script(WRITE, CALL, {"text": "Done."}, {"text": "Well, ", "hold": True}, {"text": "Again."})
    home.save(config, tools={"approval": {"taint": "off"}})
    with gateway_process(home):
        async with Editor(home, folder) as editor:
            session = await editor.new(server("db"))
            assert await editor.prompt(session, "write it") == "end_turn"
            assert (folder / "a.txt").read_text() == "hello"
            assert [params["toolCall"]["title"] for _, params in editor.asked] == [
                'Start MCP server "db"',
                "Write a.txt",
                "db: echo",
            ]
            assert editor.call("db__echo")["status"] == "completed"
            prompt = editor.begin_prompt(session, "speak")
            await editor.until(lambda: "Well, " in editor.said())
            editor.notify("session/cancel", sessionId=session)
            assert (await prompt)["result"] == {"stopReason": "cancelled"}
            refused = editor.begin_prompt(session, "x" * (33 * 1_048_576))
            assert (await refused)["error"]["code"] == -32600
            # The gateway has played four turns of the script: it is the one that answers.
            assert await editor.prompt(session, "once more") == "end_turn"
            assert editor.said().endswith("Again.")
            server_of_session = running_server(home)
            assert await editor.end() == 0
        # It was the session's: the gateway stays, and it does not.
        wait_until_gone(server_of_session)


async def test_when_the_gateway_leaves_the_prompt_fails_and_the_session_goes_on_here(home: Home, folder: Path) -> None:
    home.save(home.script({"text": "Well, ", **WRITE}))
    with gateway_process(home) as gateway:
        async with Editor(home, folder, answer=lambda method, params: NEVER) as editor:
            session = await editor.new()
            prompt = editor.begin_prompt(session, "write it")
            await editor.until(lambda: editor.asked)
            gateway.process.kill()
            assert "gateway" in (await prompt)["error"]["message"]
            # Nothing of it stays open.
            assert editor.call("write")["status"] == "failed"
            assert [one["method"] for one in editor.notified] == ["$/cancel_request"]
            (home.state / "turns.json").write_text('[{"text": "Here."}]')
            assert await editor.prompt(session, "and now?") == "end_turn"
            assert editor.said().endswith("Here.")


async def test_local_keeps_the_agent_in_this_process(home: Home, folder: Path) -> None:
    home.save(home.script(WRITE, {"text": "Done."}))
    with gateway_process(home):
        async with Editor(home, folder, "--local", answer=choose("reject_once")) as editor:
            # Twice the same script: each process plays its own.
            assert await editor.prompt(await editor.new(), "write it") == "end_turn"
        async with Editor(home, folder) as editor:
            assert await editor.prompt(await editor.new(), "write it") == "end_turn"
            assert (folder / "a.txt").read_text() == "hello"
