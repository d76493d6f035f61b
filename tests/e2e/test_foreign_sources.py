"""Whose text a model has read is known in every later turn of its conversation, also after the program was started anew."""

from pathlib import Path

from openclaw.app import App
from openclaw.conversation import Conversation
from openclaw.sessions.event import Custom
from parts.command_line import Home, parts_server


async def read_by(home: Home, message: str, *, session: str) -> list[str]:
    """What the conversation knows after this message, told to a program that was started for it."""
    conversation = Conversation(session=session)
    async with App(home.config(), paths=home.paths, env=home.environ, workspace=home.folder) as app:
        reply = await app.reply(message, conversation)
    assert reply.reason == "done"
    return [*conversation.foreign]


async def test_the_sources_of_a_conversation_outlive_the_program(tmp_path: Path) -> None:
    home = Home(tmp_path, mcp={"servers": {"parts": parts_server()}})
    (tmp_path / "note.txt").write_text("mine")

    assert await read_by(home, "read path=note.txt", session="k") == []
    assert await read_by(home, "parts__echo text=hello", session="k") == ["mcp:parts"]
    assert await read_by(home, "read path=note.txt", session="k") == ["mcp:parts"]
    assert await read_by(home, "read path=note.txt", session="other") == []


async def test_a_source_is_noted_once_and_with_the_result_it_came_from(tmp_path: Path) -> None:
    home = Home(tmp_path, mcp={"servers": {"parts": parts_server()}})
    for _ in range(2):
        await read_by(home, "parts__echo text=hello", session="k")

    async with App(home.config(), paths=home.paths, env=home.environ, workspace=tmp_path) as app:
        entries = (await app.store.show("agent:main:k")).entries
    assert [entry.event for entry in entries if isinstance(entry.event, Custom)] == [Custom("foreign", ["mcp:parts"])]
