"""One server of twenty hangs: it costs one wait, and nobody else's. Compared by what happened, not by the clock."""

import json
from pathlib import Path
from typing import Any

import pytest

from openclaw.app import App
from openclaw.conversation import Conversation
from parts import stdio_server
from parts.command_line import Home, parts_server

pytestmark = pytest.mark.real

COUNT = 20
HANGING = "s7"


def servers(folder: Path) -> dict[str, Any]:
    """Twenty servers that write down what they hear. The eighth is whatever `answering` or `mute` made of it."""
    entries = {f"s{number}": parts_server("--log", str(folder / f"s{number}.log")) for number in range(COUNT)}
    entries[HANGING]["args"] = ["-S", "-E", str(folder / "eighth.py"), *entries[HANGING]["args"][3:]]
    entries[HANGING]["connectionTimeoutMs"] = 3000
    return {"servers": entries}


def answering(folder: Path) -> None:
    program = f"import runpy\nrunpy.run_path({stdio_server.__file__!r}, run_name='__main__')\n"
    (folder / "eighth.py").write_text(program)


def mute(folder: Path) -> None:
    """It starts and reads, and never answers."""
    (folder / "eighth.py").write_text("import sys\nfor line in sys.stdin:\n    pass\n")


def heard(folder: Path) -> set[str]:
    """The servers that were started and heard something."""
    return {log.stem for log in folder.glob("*.log")}


async def test_a_call_starts_the_server_it_needs_and_no_other(tmp_path: Path) -> None:
    mute(tmp_path)
    home = Home(tmp_path, mcp=servers(tmp_path))
    done = await home.openclaw("mcp", "call", "s3__echo", "text=hi", "--json")
    assert json.loads(done.out)["content"] == [{"type": "text", "text": "hi"}], done.err
    assert heard(tmp_path) == {"s3"}


async def test_an_agent_turn_does_not_wait_for_a_server_it_knows_and_that_hangs_now(tmp_path: Path) -> None:
    answering(tmp_path)
    home = Home(tmp_path, mcp=servers(tmp_path))
    assert (await home.openclaw("mcp", "servers")).code == 0
    assert heard(tmp_path) == {f"s{number}" for number in range(COUNT)}
    mute(tmp_path)
    async with App(home.config(), paths=home.paths, env=home.environ, workspace=tmp_path) as app:
        reply = await app.reply("s3__echo text=hi")
        states = {status.name: status.state for status in (await app.engine.manager()).status()}
    assert [call.name for call in reply.tool_calls] == ["s3__echo"]
    assert states[HANGING] == "starting"


async def test_an_agent_turn_of_twenty_new_servers_goes_on_without_the_one_that_hangs(tmp_path: Path) -> None:
    mute(tmp_path)
    home = Home(tmp_path, mcp=servers(tmp_path))
    async with App(home.config(), paths=home.paths, env=home.environ, workspace=tmp_path) as app:
        reply = await app.reply("s3__echo text=hi")
        manager = await app.engine.manager()
        states = {status.name: status.state for status in manager.status()}
        told = manager.context("main")
    assert [call.name for call in reply.tool_calls] == ["s3__echo"]
    assert {name for name, state in states.items() if state == "ready"} == {f"s{n}" for n in range(COUNT)} - {HANGING}
    assert f'name="{HANGING}" tools="0"' in told
    assert 'note="it did not come up within 3 s"' in told


async def test_the_command_says_every_time_whom_it_does_without(tmp_path: Path) -> None:
    mute(tmp_path)
    home = Home(tmp_path, mcp=servers(tmp_path))
    for _ in range(3):
        done = await home.openclaw("agent", "-m", "s3__echo text=hi")
        assert (done.code, f"Without {HANGING}: it did not come up within 3 s." in done.err) == (0, True)


async def test_a_turn_of_the_gateway_goes_on_without_a_server_that_was_never_seen(tmp_path: Path) -> None:
    mute(tmp_path)
    home = Home(tmp_path, mcp=servers(tmp_path))
    async with App(home.config(), paths=home.paths, env=home.environ, workspace=tmp_path, through_gateway=True) as app:
        manager = await app.engine.manager()
        await manager.server("s3", "main").refresh()
        reply = await app.reply("s3__echo text=hi", Conversation(patience=app.engine.startup_grace))
        states = {status.name: status.state for status in manager.status()}
        told = manager.context("main")
    assert [call.name for call in reply.tool_calls] == ["s3__echo"]
    assert states[HANGING] == "starting"
    assert f'name="{HANGING}"' in told
