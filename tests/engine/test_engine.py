"""Config, credentials and servers without agents: parts that are made once, whoever asks for them first."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from openclaw.app import App
from openclaw.config.load import Config
from openclaw.config.sections import CodeModeSection
from openclaw.config.servers import ServerSpec
from openclaw.content import ToolCall
from openclaw.conversation import Conversation
from openclaw.engine import NATIVE_NAMES, Engine
from openclaw.mcp.manager import Manager
from openclaw.tool import Invocation, Tool, ToolResult, parameters
from openclaw.tools.confine import Fence
from openclaw.tools.native import native_tools
from parts import planned_server
from parts.command_line import Home, parts_server


async def test_all_who_ask_at_the_same_moment_get_one_manager(tmp_path: Path) -> None:
    home = Home(tmp_path, mcp={"servers": {"parts": parts_server()}})
    async with Engine(home.config(), paths=home.paths, env=home.environ, through_gateway=True) as engine:
        one, other = await asyncio.gather(engine.manager(), engine.manager())
    assert one is other


async def test_a_reload_ends_the_running_call_of_a_denied_tool_also_when_no_server_was_ever_asked_for(
    tmp_path: Path,
) -> None:
    home, begun = Home(tmp_path), asyncio.Event()

    async def hang(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    tool = Tool("read", "Reads.", parameters({"type": "object"}), hang)
    async with Engine(home.config(), paths=home.paths, env=home.environ) as engine:
        call = asyncio.create_task(
            engine.invoke(tool, ToolCall("1", "read", {}), Invocation(Conversation("main"), call_id="1"))
        )
        await begun.wait()
        home.write(tools={"deny": ["read"]})
        await engine.reload(home.config())
        assert await call == ToolResult.error("read was taken away while it ran; the call was cancelled.")


@pytest.mark.posix_only("the file tools")
def test_the_reserved_names_are_those_of_the_native_tools() -> None:
    assert [tool.name for tool in native_tools(Fence(), code=CodeModeSection(enabled=True)).tools("main")] == list(
        NATIVE_NAMES
    )


async def test_a_server_over_memory_that_no_program_brings_says_so_instead_of_dialling() -> None:
    async with Manager([ServerSpec("shop", transport="memory", url="http://127.0.0.1:9/mcp")]) as manager:
        (status,) = manager.status()
    assert (status.state, status.reason) == (
        "failed",
        "The memory transport connects to a server in this program, and the program gave none. "
        "Give Dependencies a make_transport that returns one for this spec.",
    )


async def test_a_server_that_runs_is_told_when_its_agents_get_another_workspace_and_then_alone(tmp_path: Path) -> None:
    log, folders = tmp_path / "log", [tmp_path / name for name in ("one", "two")]
    (tmp_path / "plan.json").write_text("{}")
    args = ["-S", "-E", planned_server.__file__, str(tmp_path / "plan.json"), str(log)]
    entry = {"command": sys.executable, "args": args, "roots": "workspace"}

    def config(folder: Path, **more: Any) -> Config:
        home.write(mcp={"servers": {"shop": entry}}, agents={"defaults": {"workspace": str(folder)}}, **more)
        return home.config()

    home = Home(tmp_path)
    async with App(config(folders[0]), paths=home.paths, env=home.environ) as app:
        manager = await app.engine.manager()
        for folder, more in ((folders[0], {}), (folders[0], {"tools": {"deny": ["exec"]}}), (folders[1], {})):
            await app.reload(config(folder, **more))
            # What it was told before stands in its log by the time it answers.
            assert not (await manager.call("shop__count", {"key": folder.name}, agent="main")).is_error
    assert log.read_text().splitlines() == ["count one", "count one", "roots changed", "count two"]


async def test_outside_of_a_call_a_server_is_told_the_workspace_however_its_tools_are_named_and_timed(
    tmp_path: Path,
) -> None:
    entry = {**parts_server(), "roots": "workspace", "toolPrefix": "p", "requestTimeoutMs": 50_000}
    home = Home(tmp_path, mcp={"servers": {"part": entry}}, agents={"defaults": {"workspace": str(tmp_path / "w")}})
    async with App(home.config(), paths=home.paths, env=home.environ) as app:
        # A call that says nothing of where it works.
        invocation = Invocation(Conversation("main"), "c")
        asked = {"method": "roots/list", "params": {}}
        result = await (await app.engine.manager()).call("p__ask", asked, agent="main", invocation=invocation)
    told = json.loads(result.content[0].text or "")
    assert told == {"result": {"roots": [{"uri": (tmp_path / "w").as_uri(), "name": "w"}]}}
