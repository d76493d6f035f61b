"""Plugins that hang, on the command line: one bounded wait that is said, and none for who does not need them."""

from pathlib import Path

from parts.command_line import Home, parts_server

HEAD = """
import asyncio, pathlib, time
from openclaw.plugins import PluginHandle, ToolPlugin
pathlib.Path(__file__).with_suffix(".begun").touch()
"""
IN_IMPORT = "time.sleep(600)"
IN_INITIALIZE = """
async def initialize(context):
    await asyncio.to_thread(time.sleep, 600)
plugin = ToolPlugin("Hangs", "Hangs.", initialize)
"""


def house(folder: Path) -> Home:
    shelf = folder / "plugins"
    shelf.mkdir()
    (shelf / "first.py").write_text(HEAD + IN_IMPORT)
    (shelf / "second.py").write_text(HEAD + IN_INITIALIZE)
    (folder / "note.txt").write_text("what the note says")
    section = {"load": {"paths": [str(shelf)]}, "entries": {"first": {}, "second": {}}}
    return Home(folder, plugins=section, mcp={"servers": {"parts": parts_server()}})


def begun(folder: Path) -> list[str]:
    return sorted(file.stem for file in folder.glob("plugins/*.begun"))


async def test_commands_about_servers_do_not_wait_for_plugins(tmp_path: Path) -> None:
    place = house(tmp_path)
    called = await place.openclaw("mcp", "call", "parts__echo", "text=hello")
    listed = await place.openclaw("mcp", "servers")

    assert (called.code, called.out.strip(), listed.code) == (0, "hello", 0)
    assert begun(tmp_path) == []


async def test_a_turn_goes_on_without_plugins_that_hang_says_so_and_the_process_ends(tmp_path: Path) -> None:
    place = house(tmp_path)
    done = await place.openclaw("agent", "read path=note.txt")

    assert (done.code, "what the note says" in done.out) == (0, True)
    assert begun(tmp_path) == ["first", "second"]
    for name in ("first", "second"):
        assert f"plugin {name} is not loaded: it did not finish within 10 s" in done.err
