"""A server that needs a sign-in comes back by itself once somebody has signed in, wherever that was."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from openclaw.config.servers import ServerSpec
from openclaw.engine import Engine
from openclaw.errors import SecretError
from openclaw.mcp.connect import Dependencies
from openclaw.mcp.manager import Manager
from parts.auth_program import Clock, Program
from parts.auth_server import AuthServer
from parts.command_line import Home

TOOLS = ["files__read", "files__wait", "files__write"]


def dependencies_of(program: Program) -> Dependencies:
    return Dependencies(authorize=program.credentials.authorizer, signed_in=program.credentials.signed_in)


def offered(manager: Manager, agent: str = "") -> list[str]:
    return [tool.name for tool in manager.tools(agent)]


async def until(manager: Manager, is_so: Callable[[], bool]) -> None:
    changed = asyncio.Event()
    unsubscribe = manager.events.subscribe(lambda event: changed.set())
    try:
        while not is_so():
            changed.clear()
            await changed.wait()
    finally:
        unsubscribe()


async def test_tools_appear_after_a_sign_in_elsewhere_without_a_restart(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    async with Manager([program.spec], dependencies=dependencies_of(program)) as manager:
        assert (manager.status()[0].state, offered(manager)) == ("needs-auth", [])
        await Program(server, program.folder, clock=clock).sign_in()
        await until(manager, lambda: offered(manager) == TOOLS)
        assert (await manager.call("files__read", {})).content[0].text == "read"


async def test_a_second_sign_in_is_waited_for_when_the_first_has_ended(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    await program.sign_in()
    async with Manager([program.spec], dependencies=dependencies_of(program)) as manager:
        server.access.clear()
        server.refresh.clear()
        assert (await manager.call("files__read", {})).is_error
        await until(manager, lambda: manager.status()[0].state == "needs-auth")
        await Program(server, program.folder, clock=clock).sign_in()
        await until(manager, lambda: manager.status()[0].state == "ready")
        assert (await manager.call("files__read", {})).content[0].text == "read"


async def test_nobody_waits_for_a_sign_in_to_a_server_that_was_stopped(program: Program) -> None:
    waiting, given_up = asyncio.Event(), asyncio.Event()

    async def signed_in(spec: ServerSpec, since: float) -> None:
        waiting.set()
        try:
            await asyncio.Event().wait()
        finally:
            given_up.set()

    dependencies = Dependencies(authorize=program.credentials.authorizer, signed_in=signed_in)
    async with Manager([program.spec], dependencies=dependencies) as manager:
        await waiting.wait()
        manager.server("files").stop("by hand")
        await given_up.wait()
        assert (manager.status()[0].state, manager.status()[0].reason) == ("stopped", "by hand")


async def test_who_cannot_wait_for_a_sign_in_says_so_and_can_still_be_restarted(
    program: Program, caplog: pytest.LogCaptureFixture
) -> None:
    asked = asyncio.Event()

    async def signed_in(spec: ServerSpec, since: float) -> None:
        asked.set()
        raise SecretError("There is no such secret.")

    dependencies = Dependencies(authorize=program.credentials.authorizer, signed_in=signed_in)
    async with Manager([program.spec], dependencies=dependencies) as manager:
        await asked.wait()
        await program.sign_in()
        await manager.server("files").refresh()
        assert offered(manager) == TOOLS
    said = [record.message for record in caplog.records if "noticed" in record.message]
    assert said == ["MCP server 'files': a sign-in will not be noticed: There is no such secret."]


async def test_a_gateway_offers_the_tools_once_a_command_in_another_process_has_signed_in(
    server: AuthServer, tmp_path: Path
) -> None:
    home = Home(
        tmp_path,
        mcp={"servers": {"files": {"url": server.url}}},
        tokenStore={"key": "secret://env/TOKENS_KEY"},
    )
    home.environ["TOKENS_KEY"] = "a key for these tests, long enough for anybody"
    async with Engine(home.config(), paths=home.paths, env=home.environ, through_gateway=True) as engine:
        manager = await engine.manager()
        await until(manager, lambda: manager.status()[0].state == "needs-auth")
        started = await home.openclaw("mcp", "auth", "files", "--json")
        callback = await server.browse(json.loads(started.out)["authorizationUrl"])
        finished = await home.openclaw("mcp", "auth", "files", "--code", callback)
        assert (finished.code, finished.out.partition(".")[0]) == (0, "Signed in to files")
        await until(manager, lambda: offered(manager, "main") == TOOLS)
