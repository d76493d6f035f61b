"""Plugins of an App that is given another config: the newest one counts, whatever was under way when it came."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openclaw.app import App
from openclaw.plugins import PluginContext, PluginHandle, ToolPlugin
from parts.command_line import Home


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
