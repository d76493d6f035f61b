"""Plugins of an App: the newest config counts, whatever was under way when it came, and one that blocks keeps no turn waiting."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from openclaw.agent.events import ToolProgress
from openclaw.app import App
from openclaw.conversation import Conversation
from openclaw.plugins import PluginContext, PluginHandle, ToolPlugin
from parts.command_line import Home, parts_server


class Diary:
    """A plugin that writes down the config it goes by, and is ready when it is told."""

    def __init__(self) -> None:
        self.configs: list[Mapping[str, Any]] = []
        self.begun = asyncio.Event()
        self.may_be_ready = asyncio.Event()

    @property
    def plugin(self) -> ToolPlugin:
        return ToolPlugin(label="Diary", description="", initialize=self._initialize)

    async def _initialize(self, context: PluginContext) -> PluginHandle:
        self.configs.append(context.config)
        self.begun.set()
        await self.may_be_ready.wait()
        return PluginHandle(on_config_change=self._follow)

    async def _follow(self, config: Mapping[str, Any]) -> None:
        self.configs.append(config)


def entries(number: int) -> dict[str, Any]:
    return {"entries": {"diary": {"config": {"number": number}}}}


# Waits for a file, and blocks the loop it runs in meanwhile.
BLOCKING = """
import os, time
from openclaw.content import Text
from openclaw.plugins import PluginHandle, ToolPlugin
from openclaw.tool import Tool, ToolResult, parameters

async def initialize(context):
    async def lookup(arguments, invocation):
        invocation.progress("begun")
        while not os.path.exists(context.config["until"]):
            time.sleep(0.01)
        return ToolResult((Text("at last"),))

    schema = parameters({"type": "object"})
    return PluginHandle(tools=[Tool("lookup", "Looks it up.", schema, lookup, read_only=True)])

plugin = ToolPlugin("Blocking", "Blocks.", initialize)
"""


async def test_turns_go_on_while_a_tool_of_a_plugin_blocks(tmp_path: Path) -> None:
    (tmp_path / "blocking.py").write_text(BLOCKING)
    (tmp_path / "note.txt").write_text("a native tool read this")
    until = tmp_path / "until"
    section = {
        "load": {"paths": [str(tmp_path / "blocking.py")]},
        "entries": {"blocking": {"config": {"until": str(until)}}},
    }
    home, begun = Home(tmp_path, plugins=section), asyncio.Event()
    async with App(home.config(), paths=home.paths, env=home.environ, workspace=tmp_path) as app:
        blocked = asyncio.create_task(
            app.reply(
                "lookup", Conversation(sink=lambda event: begun.set() if isinstance(event, ToolProgress) else None)
            )
        )
        await begun.wait()
        other = await app.reply("read path=note.txt")
        until.touch()

        assert "a native tool read this" in other.text
        assert "at last" in (await blocked).text


@pytest.mark.parametrize(
    ("before", "after", "answer"),
    [
        ({"allow": ["blocking"]}, {"allow": ["blocking"]}, "at last"),
        ({}, {"deny": ["blocking"]}, "lookup was taken away while it ran; the call was cancelled."),
    ],
    ids=["still allowed", "denied"],
)
async def test_a_reload_ends_a_running_call_of_a_plugin_that_rules_name_by_its_id_only_when_they_deny_it(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any], answer: str
) -> None:
    (tmp_path / "blocking.py").write_text(BLOCKING)
    until = tmp_path / "until"
    section = {
        "load": {"paths": [str(tmp_path / "blocking.py")]},
        "entries": {"blocking": {"config": {"until": str(until)}}},
    }
    home, begun = Home(tmp_path, plugins=section, tools=before), asyncio.Event()
    async with App(home.config(), paths=home.paths, env=home.environ, workspace=tmp_path) as app:
        reply = asyncio.create_task(
            app.reply(
                "lookup", Conversation(sink=lambda event: begun.set() if isinstance(event, ToolProgress) else None)
            )
        )
        await begun.wait()
        home.write(plugins=section, tools=after)
        await app.engine.reload(home.config())
        until.touch()
        assert answer in (await reply).text


async def test_a_config_that_comes_while_plugins_are_loaded_is_followed(tmp_path: Path) -> None:
    home, diary = Home(tmp_path, plugins=entries(1)), Diary()
    async with App(home.config(), paths=home.paths, env=home.environ, plugins={"diary": diary.plugin}) as app:
        loading = asyncio.create_task(app.plugins())
        await diary.begun.wait()
        home.write(plugins=entries(2))
        reloading = asyncio.create_task(app.reload(home.config()))
        diary.may_be_ready.set()
        await asyncio.gather(loading, reloading)

    assert diary.configs == [{"number": 1}, {"number": 2}]


async def test_a_call_of_a_servers_tool_does_not_wait_for_a_plugin_that_is_still_imported(tmp_path: Path) -> None:
    until = tmp_path / "until"
    (tmp_path / "slow.py").write_text(
        f"import os, time\nwhile not os.path.exists({str(until)!r}):\n    time.sleep(0.01)\n"
    )
    section = {"load": {"paths": [str(tmp_path / "slow.py")]}, "entries": {"slow": {}}}
    home = Home(tmp_path, plugins=section, mcp={"servers": {"parts": parts_server()}})
    async with App(home.config(), paths=home.paths, env=home.environ, workspace=tmp_path) as app:
        # The server is up before, so that only the plugin could be waited for.
        await (await app.engine.manager()).call("parts__echo", {"text": "warm"}, agent="main")
        plugins = await app.plugins()
        called = await app.call("parts__echo", {"text": "hello"}, Conversation(session="key"))
        found = plugins.statuses()
        until.touch()
        await plugins.loaded()

    assert (called.is_error, found) == (False, ())
    assert [status.id for status in plugins.statuses()] == ["mcp-client", "slow"]
