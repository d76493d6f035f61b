"""How a call of a server's tool ended, as the audit trail and the conversation know it."""

import json
from pathlib import Path
from typing import Any

from openclaw.app import App
from openclaw.conversation import Conversation
from parts.command_line import Home, parts_server


def outcomes(home: Home) -> list[tuple[str, str]]:
    lines = (home.paths.audit_dir / "calls.jsonl").read_text().splitlines()
    records: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return [(record["tool"], record["outcome"]) for record in records if record["event"] == "outcome"]


async def test_a_call_that_is_late_or_loses_its_server_is_noted_as_that_and_brings_no_foreign_text(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path, mcp={"servers": {"parts": parts_server(requestTimeoutMs=1_000)}})
    conversation = Conversation(session="key")
    async with App(home.config(), paths=home.paths, env=home.environ) as app:
        await app.settled()
        for tool in ("parts__hang", "parts__crash"):
            assert (await app.call(tool, {"code": 3}, conversation)).is_error
        assert [*conversation.foreign] == []
        assert not (await app.call("parts__echo", {"text": "hi"}, conversation)).is_error
        assert [*conversation.foreign] == ["mcp:parts"]

    assert outcomes(home) == [("parts__hang", "timeout"), ("parts__crash", "failed"), ("parts__echo", "ok")]


async def test_a_call_from_the_command_line_is_noted_as_it_ended(tmp_path: Path) -> None:
    home = Home(tmp_path, mcp={"servers": {"parts": parts_server()}})
    assert (await home.openclaw("mcp", "call", "parts__crash", "code=3")).code == 1
    assert outcomes(home) == [("parts__crash", "failed")]
