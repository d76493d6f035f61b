"""Plugins that hang: one bounded wait that is said in the life of a process, and none for who does not need them."""

from pathlib import Path
from typing import Any

from parts.command_line import Home, parts_server
from parts.gateways import gateway_process, home

HEAD = """
import asyncio, pathlib, time
from openclaw.plugins import PluginHandle, ToolPlugin
with pathlib.Path(__file__).with_suffix(".begun").open("a") as begun:
    begun.write("once ")
"""
IN_IMPORT = "time.sleep(600)"
IN_INITIALIZE = """
async def initialize(context):
    await asyncio.to_thread(time.sleep, 600)
plugin = ToolPlugin("Hangs", "Hangs.", initialize)
"""


def hanging(folder: Path) -> dict[str, Any]:
    """The section of a config whose plugins hang, and are given up after a second each."""
    shelf = folder / "plugins"
    shelf.mkdir()
    (shelf / "first.py").write_text(HEAD + IN_IMPORT)
    (shelf / "second.py").write_text(HEAD + IN_INITIALIZE)
    (folder / "note.txt").write_text("what the note says")
    return {"load": {"paths": [str(shelf)], "timeoutSeconds": 1}, "entries": {"first": {}, "second": {}}}


def house(folder: Path) -> Home:
    return Home(folder, plugins=hanging(folder), mcp={"servers": {"parts": parts_server()}})


def begun(folder: Path) -> dict[str, str]:
    return {file.stem: file.read_text() for file in folder.glob("plugins/*.begun")}


async def test_commands_about_servers_do_not_wait_for_plugins(tmp_path: Path) -> None:
    place = house(tmp_path)
    called = await place.openclaw("mcp", "call", "parts__echo", "text=hello")
    listed = await place.openclaw("mcp", "servers")

    assert (called.code, called.out.strip(), listed.code) == (0, "hello", 0)
    assert begun(tmp_path) == {}


async def test_a_turn_goes_on_without_plugins_that_hang_says_so_and_the_process_ends(tmp_path: Path) -> None:
    place = house(tmp_path)
    done = await place.openclaw("agent", "read path=note.txt")

    assert (done.code, "what the note says" in done.out) == (0, True)
    assert begun(tmp_path) == {"first": "once ", "second": "once "}
    for name in ("first", "second"):
        assert f"plugin {name} is not loaded: it did not finish within 1 s" in done.err


def test_the_turns_of_a_gateway_after_the_first_do_not_wait_for_a_plugin_that_hangs(tmp_path: Path) -> None:
    with home(tmp_path, {"plugins": hanging(tmp_path)}) as place, gateway_process(place) as gateway:
        words = ("agent", "--session-key", "k", "-m", "read path=note.txt")
        turns = [place.run(*words, cwd=tmp_path) for _ in range(3)]
        assert gateway.end() == 0

    assert [(turn.returncode, "what the note says" in turn.stdout) for turn in turns] == [(0, True)] * 3
    # Nobody began them again, and each wait ends with this sentence.
    assert begun(tmp_path) == {"first": "once ", "second": "once "}
    told = {line for line in gateway.said.splitlines() if "is not loaded" in line}
    assert sorted(line.partition(": ")[2] for line in told) == [
        f"plugin {name} is not loaded: it did not finish within 1 s" for name in ("first", "second")
    ]
