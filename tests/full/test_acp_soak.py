"""A thousand prompts of an editor to one process: what it holds afterwards is what it held before."""

import json
import os
from pathlib import Path

import pytest

from parts.editor import Editor
from parts.gateways import home as made_home
from parts.processes import server_command

pytestmark = [pytest.mark.full, pytest.mark.minutes(3)]

PROMPTS = 1_000
# By then everything is loaded and every cache is full.
WARM = 200
A_SESSION = 25
# What an interpreter may hold back of what it was given, in kilobytes.
ROOM = 10_240


def resident(pid: int) -> int:
    """Kilobytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS:")).split()[1])


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


async def test_a_thousand_prompts_leave_neither_memory_nor_descriptors_behind(tmp_path: Path) -> None:
    command, *args = server_command()
    server = {"name": "db", "command": command, "args": args, "env": []}
    with made_home(tmp_path) as home:
        # A model that remembers nothing itself, as those of scripts do.
        home.save(
            {"agents": {"defaults": {"model": "builtin/offline"}}},
            acp={"clientServers": "allow"},
            tools={"approval": {"mode": "off", "taint": "off"}},
        )
        async with Editor(home, tmp_path / "project") as editor:
            pid, session, held = editor.process.pid, "", {}
            for number in range(PROMPTS):
                if number % A_SESSION == 0:
                    if number:
                        await editor.request("session/close", sessionId=session)
                    if number in (WARM, PROMPTS - A_SESSION):
                        held[number] = (descriptors(pid), resident(pid))
                    session = await editor.new(server)
                assert await editor.prompt(session, f"db__echo text=again-{number}") == "end_turn"
                assert f"again-{number}" in editor.said(session)
                editor.updates.clear()
                editor.lines.clear()
            (files, before), (files_then, after) = held.values()
            assert files_then == files
            assert after - before < ROOM, json.dumps(held)
            assert await editor.end() == 0
