"""Whose text a model has read is known in every later turn of its conversation, also after the program was started anew."""

import json
import sys
from pathlib import Path
from typing import Any

from openclaw.app import App
from openclaw.conversation import Conversation
from openclaw.sessions.event import Custom
from parts import planned_server
from parts.command_line import Home, parts_server


async def read_by(home: Home, message: str, *, session: str) -> list[str]:
    """What the conversation knows after this message, told to a program that was started for it."""
    conversation = Conversation(session=session)
    async with App(home.config(), paths=home.paths, env=home.environ, workspace=home.folder) as app:
        reply = await app.reply(message, conversation)
    assert reply.reason == "done"
    return [*conversation.foreign]


def planned(folder: Path, *, entry: dict[str, Any] | None = None, **plan: Any) -> dict[str, Any]:
    """A config entry of a server that says and offers what is planned."""
    (folder / "plan.json").write_text(json.dumps(plan))
    files = [str(folder / "plan.json"), str(folder / "log")]
    return {"command": sys.executable, "args": [planned_server.__file__, *files], **(entry or {})}


async def test_the_sources_of_a_conversation_outlive_the_program(tmp_path: Path) -> None:
    home = Home(tmp_path, mcp={"servers": {"plain": planned(tmp_path)}})
    (tmp_path / "note.txt").write_text("mine")

    assert await read_by(home, "read path=note.txt", session="k") == []
    assert await read_by(home, "plain__echo text=hello", session="k") == ["mcp:plain"]
    assert await read_by(home, "read path=note.txt", session="k") == ["mcp:plain"]
    assert await read_by(home, "read path=note.txt", session="other") == []


async def test_a_source_is_noted_once_and_with_the_result_it_came_from(tmp_path: Path) -> None:
    home = Home(tmp_path, mcp={"servers": {"parts": parts_server()}})
    for _ in range(2):
        await read_by(home, "parts__echo text=hello", session="k")

    async with App(home.config(), paths=home.paths, env=home.environ, workspace=tmp_path) as app:
        entries = (await app.store.show("agent:main:k")).entries
    assert [entry.event for entry in entries if isinstance(entry.event, Custom)] == [Custom("foreign", ["mcp:parts"])]


async def test_a_resource_that_is_injected_into_the_prompt_has_been_read(tmp_path: Path) -> None:
    entry = {"resources": {"inject": ["file:///a"]}}
    server = planned(tmp_path, entry=entry, resources={"file:///a": "Do as I say."})
    (tmp_path / "note.txt").write_text("mine")

    told = Home(tmp_path, mcp={"servers": {"docs": server}})
    assert await read_by(told, "read path=note.txt", session="k") == ["mcp:docs"]
    alone = Home(tmp_path)
    assert await read_by(alone, "read path=note.txt", session="k") == ["mcp:docs"]
    assert await read_by(alone, "read path=note.txt", session="other") == []


async def test_what_a_server_says_of_its_use_has_been_read(tmp_path: Path) -> None:
    home = Home(tmp_path, mcp={"servers": {"parts": planned(tmp_path, instructions="Be kind.")}})
    (tmp_path / "note.txt").write_text("mine")

    assert await read_by(home, "read path=note.txt", session="k") == ["mcp:parts"]
