"""Sign-ins in lists of servers, where the way to the stored tokens is blocked."""

from pathlib import Path

import pytest

from openclaw.commands.sign_in_state import with_sign_ins
from openclaw.engine import Engine
from openclaw.mcp.status import ServerStatus
from parts.command_line import Home
from parts.executable import python_program


async def test_servers_are_shown_without_their_sign_ins_when_what_keeps_them_does_not_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    program, is_unlocked = tmp_path / "locked", tmp_path / "unlocked"
    python_program(
        program,
        "import os, time\n"
        f"while not os.path.exists({str(is_unlocked)!r}):\n    time.sleep(0.01)\n"
        "print('https://files.example/mcp')",
        "-IS",
    )
    provider = {"source": "exec", "command": str(program), "jsonOnly": False, "timeoutMs": 60_000}
    home = Home(
        tmp_path,
        mcp={"servers": {"files": {"url": "secret://exec/locked/address"}}},
        secrets={"providers": {"locked": provider}},
    )
    found = [ServerStatus("files", "ready", transport="streamable-http")]
    async with Engine(home.config(), paths=home.paths, env=home.environ) as engine:
        shown = await with_sign_ins(engine, found, patience=0.1)
        # The program is still asked: who comes next has its answer.
        is_unlocked.touch()
        address = await engine.resolve("secret://exec/locked/address")

    assert address == "https://files.example/mcp"
    assert shown == found
    assert [record.getMessage() for record in caplog.records if record.name.endswith("sign_in_state")] == [
        "The keychain does not answer; how long sign-ins last is not known."
    ]
