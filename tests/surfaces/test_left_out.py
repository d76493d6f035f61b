"""A server that hangs, as the model and the person hear of it: at every turn, and at the cost of one wait."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from openclaw.app import App
from openclaw.conversation import Conversation
from openclaw.mcp.events import LeftOut, ToolsChanged
from openclaw.plugins.contract import PluginContext, PluginHandle, ToolPlugin
from openclaw.tool import Absence, Tool
from parts.command_line import Home, local_model, parts_server
from parts.model_servers import Answer, ChatServer

SENTENCE = "it did not come up within 1.5 s"
AGAIN = "`openclaw mcp refresh hanging` tries it again."


async def test_a_hanging_server_is_named_in_every_turn_to_the_model_and_on_stderr(tmp_path: Path) -> None:
    hanging = {"command": "sleep", "args": ["600"], "connectionTimeoutMs": 1500}
    async with ChatServer([Answer("Hello.")] * 3) as model:
        servers = {"quick": parts_server(), "slow": parts_server("--start-after", "1"), "hanging": hanging}
        home = Home(tmp_path, mcp={"servers": servers}, **local_model(model.url, model.key))
        for _ in range(3):
            done = await home.openclaw("agent", "-m", "hello")
            assert (done.code, done.err) == (0, f"Without hanging: {SENTENCE}. {AGAIN}\n")
    for request in model.requests:
        offered = {tool["function"]["name"].partition("__")[0] for tool in request["tools"]}
        assert {"quick", "slow"} <= offered
        assert f'note="{SENTENCE}"' in request["messages"][0]["content"]


class Unhurried:
    """A source of tools that keeps a turn waiting until it is told to go on."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()

    def tools(self, agent: str) -> Sequence[Tool]:
        return ()

    def absences(self, agent: str) -> Sequence[Absence]:
        return ()

    async def settle(self, agent: str, patience: float) -> None:
        await self.go_on.wait()

    @property
    def plugin(self) -> ToolPlugin:
        async def initialize(context: PluginContext) -> PluginHandle:
            return PluginHandle(source=self)

        return ToolPlugin("Unhurried", "Takes its time.", initialize)


async def test_a_server_that_comes_up_while_a_turn_waits_for_something_else_is_not_said_to_be_missing(
    tmp_path: Path,
) -> None:
    source, told = Unhurried(), list[LeftOut]()
    async with ChatServer([Answer("Hello.")]) as model:
        home = Home(tmp_path, mcp={"servers": {"slow": parts_server()}}, **local_model(model.url, model.key))
        async with App(home.config(), paths=home.paths, env=home.environ, plugins={"unhurried": source.plugin}) as app:
            manager = await app.engine.manager()
            manager.events.subscribe(lambda event: told.append(event.value), LeftOut)
            manager.events.subscribe(lambda event: source.go_on.set(), ToolsChanged)
            await app.reply("hello", Conversation(patience=0.0))
    (request,) = model.requests
    was_sent = "slow__echo" in {tool["function"]["name"] for tool in request["tools"]}
    assert told == ([] if was_sent else [LeftOut("main", "slow", "it is still starting", is_starting=True)])
