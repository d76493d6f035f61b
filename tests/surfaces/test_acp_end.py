"""How `openclaw acp` ends: with its client, whatever is under way, and with nothing left behind. And what stdout carries till then."""

import json
import os
import select
from collections.abc import Iterator
from pathlib import Path

import pytest

from parts.editor import NEVER, Editor
from parts.gateways import Home
from parts.gateways import home as made_home
from parts.processes import HANG_GUARD, server_command

WRITE = {"toolCalls": [{"name": "write", "arguments": {"path": "a.txt", "content": "hello"}, "id": "w1"}]}
# Where processes are listed.
PROC = Path("/proc")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with made_home(tmp_path) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def living_below(home: Home) -> list[int]:
    """Processes that were started with this home."""
    mark, found = f"OPENCLAW_STATE_DIR={home.state}".encode(), []
    own = f"HOME={home.env['HOME']}".encode()
    for place in PROC.iterdir():
        if place.name.isdigit() and int(place.name) != os.getpid():
            try:
                told = (place / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if mark in told or own in told:
                found.append(int(place.name))
    return found


def all_gone(pids: list[int]) -> bool:
    """Whether these end by themselves."""
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        ended = poll.poll(HANG_GUARD * 1000)
        os.close(handle)
        if not ended:
            return False
    return True


@pytest.mark.linux_only("/proc")
@pytest.mark.parametrize("how", ["eof", "SIGTERM", "vanishes"])
async def test_nothing_is_left_when_the_client_leaves_in_the_middle_of_everything(
    home: Home, folder: Path, how: str
) -> None:
    wait = {"toolCalls": [{"name": "exec", "arguments": {"command": ["sleep", "600"]}, "id": "e1"}]}
    home.save(home.script(wait, WRITE), tools={"allow": ["group:fs", "exec"]}, acp={"clientServers": "allow"})
    command, *args = server_command()
    # A fork does not show in its environment which home it has.
    async with Editor(home, folder, fresh=True) as editor:
        first = await editor.new({"name": "db", "command": command, "args": args, "env": []})
        editor.begin_prompt(first, "wait")
        await editor.until(lambda: [one for one in editor.of("tool_call") if one["name"] == "exec"])
        await editor.until(lambda: editor.asked)
        editor.answer = lambda method, params: NEVER
        second = await editor.new()
        editor.begin_prompt(second, "write it")
        await editor.until(lambda: len(editor.asked) == 2)
        left = living_below(home)
        assert len(left) >= 2
        if how == "vanishes":
            # Nobody reads any more, and nobody writes.
            editor.process.stop_reading()
            code = await editor.process.wait()
        else:
            code = await editor.end(how)
        assert code == (143 if how == "SIGTERM" else 0)
        assert all_gone(left)
        assert living_below(home) == []


async def test_whatever_a_plugin_prints_stdout_carries_the_protocol_alone(home: Home, folder: Path) -> None:
    plugin = home.state / "loud.py"
    plugin.write_text(
        "import os, sys\n"
        "from openclaw.plugins import PluginHandle, ToolPlugin\n"
        "print('loud at import', flush=True)\n"
        "os.write(1, b'loud and low\\n')\n"
        "async def initialize(context):\n"
        "    print('loud at start', flush=True)\n"
        "    return PluginHandle(tools=[])\n"
        "plugin = ToolPlugin('loud', 'Loud.', initialize)\n"
    )
    home.save(
        home.script({"text": "Quiet."}),
        plugins={"load": {"paths": [str(plugin)]}, "entries": {"loud": {"enabled": True}}},
    )
    async with Editor(home, folder) as editor:
        assert await editor.prompt(await editor.new(), "hello") == "end_turn"
        assert all(line["jsonrpc"] == "2.0" for line in editor.lines)
        assert await editor.end() == 0
        assert b"loud and low" in editor.stderr


async def test_flags_of_another_openclaw_are_taken(home: Home, folder: Path) -> None:
    home.save(home.script({"text": "Hello."}))
    flags = [
        "--url",
        "ws://127.0.0.1:1",
        "--token",
        "t",
        "--no-prefix-cwd",
        "--provenance",
        "meta",
        "--session-label=x",
    ]
    async with Editor(home, folder, *flags, "--session", "main") as editor:
        await editor.prompt(await editor.new(), "hello")
        assert await editor.end() == 0
    shown = home.run("sessions", "show", "main", "--json")
    assert "hello" in json.dumps(json.loads(shown.stdout))


async def test_a_conversation_that_must_exist_is_not_made(home: Home, folder: Path) -> None:
    home.save(home.script({"text": "Hello."}))
    async with Editor(home, folder, "--session", "nowhere", "--require-existing") as editor:
        error = await editor.refusal("session/new", cwd=str(folder), mcpServers=[])
        assert error["code"] == -32002


def test_help_and_mistakes_are_answered_as_for_any_command(home: Home) -> None:
    assert "--allow-client-servers" in home.run("acp", "--help").stdout + home.run("acp", "serve", "--help").stdout
    wrong = home.run("acp", "--sesion=x")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "--session" in wrong.stderr


def test_setting_up_says_which_model_would_answer(home: Home) -> None:
    home.save({"models": {"mode": "replace"}})
    none = home.run("acp", "--setup")
    assert (none.returncode, "agents.defaults.model" in none.stdout) == (1, True)
    home.save(home.script())
    assert home.run("acp", "--setup").stdout == "play/one answers.\n"


def test_an_input_that_ends_at_once_is_the_end(home: Home) -> None:
    ended = home.run("acp")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
