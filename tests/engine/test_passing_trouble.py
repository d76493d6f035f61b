"""Trouble that passes by itself calls for nobody: a refusal for a moment, a store of secrets that is away, a list that never ends."""

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from openclaw.config.servers import ServerSpec
from openclaw.errors import SecretError
from openclaw.mcp.connect import Dependencies
from openclaw.mcp.events import StateChanged
from openclaw.mcp.manager import Manager
from parts.http_faults import status
from parts.http_server import HttpServer, Message, Plan, Stream
from parts.loops import ShiftedLoop, own_clock
from parts.planned_server import MODERN, tool
from parts.processes import server_command
from parts.sites import Site


def state_of(manager: Manager) -> str:
    return manager.status()[0].state


async def until_state(manager: Manager, *states: str) -> None:
    changed = asyncio.Event()
    unsubscribe = manager.events.subscribe(lambda event: changed.set())
    try:
        while state_of(manager) not in states:
            changed.clear()
            await changed.wait()
    finally:
        unsubscribe()


@pytest.mark.parametrize("code", [401, 403])
@pytest.mark.parametrize("auth", [{}, {"api_key": "k"}])
async def test_one_refusal_of_a_list_or_a_ping_passes_by_itself(
    tmp_path: Path, code: int, auth: dict[str, str]
) -> None:
    async with Site("streamable-http", tmp_path) as site:
        http = site.http
        assert http
        http.fault("tools/list", status(code))
        async with Manager([site.spec(health_interval=0.05, **auth)]) as manager:
            await until_state(manager, "ready", "failed", "needs-auth")
            assert (state_of(manager), http.methods().count("tools/list")) == ("ready", 2)
            http.fault("ping", status(code))
            pings = http.methods().count("ping")
            await http.until(lambda: http.methods().count("ping") > pings + 1)
            assert state_of(manager) == "ready"
            assert not (await manager.call("shop__echo", {"text": "hi"})).is_error


@pytest.mark.parametrize(("code", "state"), [(401, "needs-auth"), (403, "failed")])
async def test_a_server_that_goes_on_refusing_waits_for_a_person(tmp_path: Path, code: int, state: str) -> None:
    async with Site("streamable-http", tmp_path) as site:
        assert site.http
        site.http.fault("tools/list", *[status(code)] * 9)
        async with Manager([site.spec()]) as manager:
            await until_state(manager, state)
            assert site.http.methods().count("tools/list") == 3


async def test_a_program_whose_secret_cannot_be_looked_up_for_a_while_comes_up_by_itself() -> None:
    """As often as it takes: not reaching the store is no crash of the program."""
    tries = itertools.count(1)

    async def resolve(text: str) -> str:
        if next(tries) <= 2:
            raise SecretError("secret://vault/shop#key cannot be resolved: Vault did not answer.", passing=True)
        return "value"

    command, *args = server_command()
    spec = ServerSpec(
        "shop", command=command, args=tuple(args), env=(("K", "secret://vault/shop#key"),), max_restarts=0
    )
    seen: list[str] = []
    manager = Manager([spec], dependencies=Dependencies(resolve=resolve))
    manager.events.subscribe(lambda event: seen.append(event.value.state), StateChanged)
    async with manager:
        await until_state(manager, "ready", "failed")
        assert state_of(manager) == "ready"
        assert seen.count("unreachable") == 2


class Endless(HttpServer):
    """One more page after each page, and 20 s for each."""

    async def _result(self, method: str, params: Message, stream: Stream, id: int) -> Message | None:
        if method != "tools/list":
            return await super()._result(method, params, stream, id)
        number = int(params.get("cursor", 0))
        loop = asyncio.get_running_loop()
        assert isinstance(loop, ShiftedLoop)
        await loop.pass_time(20)
        return {"tools": [tool(f"t{number}")], "nextCursor": str(number + 1)}


@own_clock
async def test_a_list_that_never_ends_is_cut_after_a_while_and_what_came_is_offered(loop: ShiftedLoop) -> None:
    async with Endless(Plan(revisions=("2025-11-25",))) as server:
        spec = ServerSpec("shop", transport="streamable-http", url=server.url, connect_timeout=30)
        async with Manager([spec]) as manager:
            await until_state(manager, "ready")
            # Four times the 30 s of one answer.
            assert manager.status()[0].tools == 6
            assert not (await manager.call("shop__t0", {})).fault


async def test_a_change_between_the_list_and_the_subscription_is_seen(tmp_path: Path) -> None:
    async with Site("streamable-http", tmp_path) as site:
        http = site.http
        assert http
        site.plan(tools=[tool("old")], revisions=[MODERN])

        async def change(server: HttpServer, request: web.Request, message: Message) -> Any:
            await server.until(lambda: "tools/list" in server.methods())
            # The list that came is answered, and what is listed changes before anybody is told of changes.
            for _ in range(50):
                await asyncio.sleep(0)
            site.plan(tools=[tool("old"), tool("new")], revisions=[MODERN])

        http.fault("subscriptions/listen", change)
        async with Manager([site.spec()]) as manager:
            changed = asyncio.Event()
            manager.events.subscribe(lambda event: changed.set())
            while "shop__new" not in {one.name for one in manager.tools("")}:
                changed.clear()
                await changed.wait()
