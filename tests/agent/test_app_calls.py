"""Calls of tools without a model."""

from pathlib import Path
from typing import Any

from openclaw.app import App
from openclaw.conversation import Conversation
from openclaw.tool import Invocation, Tool, ToolResult, parameters
from parts.command_line import Home


async def test_a_call_that_names_no_session_is_outside_of_any_and_one_that_does_has_its_whole_key(
    tmp_path: Path,
) -> None:
    home, sessions = Home(tmp_path), list[str]()

    async def note(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        sessions.append(invocation.session)
        return ToolResult(())

    tool = Tool("note", "Notes.", parameters({"type": "object"}), note)
    async with App(home.config(), paths=home.paths, env=home.environ, workspace=tmp_path) as app:
        for conversation in (Conversation(), Conversation(session="one"), Conversation(session="one", namespace="web")):
            await app.call(tool, {}, conversation)
    assert sessions == ["", "agent:main:one", "agent:main:web:one"]
