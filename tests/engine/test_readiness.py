"""Which servers a turn waits for, and for how long: all that are healthy, however slow; one that hangs, once."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from msgspec.structs import replace

from openclaw.config.servers import ServersOptions, ServerSpec
from openclaw.mcp.cache import Cache, Remembered
from openclaw.mcp.events import Awaited, LeftOut
from openclaw.mcp.manager import Manager
from openclaw.mcp.reconcile import shared_spec
from parts.http_server import HttpServer, Message
from parts.processes import server_command
from parts.sites import Site

FOREVER = float("inf")
# Says nothing and does nothing.
HANGING = ServerSpec(
    "hanging", command=sys.executable, args=("-S", "-E", "-c", "import sys\nfor line in sys.stdin: pass")
)
LATE = "it did not come up within 0.5 s"


def program(name: str, *options: str, **fields: Any) -> ServerSpec:
    command, *args = server_command(*options)
    return ServerSpec(name, command=command, args=tuple(args), **fields)


def states(manager: Manager) -> dict[str, str]:
    return {status.name: status.state for status in manager.status()}


def told_by(manager: Manager) -> list[Awaited | LeftOut]:
    told: list[Awaited | LeftOut] = []
    manager.events.subscribe(lambda event: told.append(event.value), Awaited)
    manager.events.subscribe(lambda event: told.append(event.value), LeftOut)
    return told


async def test_a_turn_has_the_tools_of_twenty_four_servers_that_sit_idle_while_they_start() -> None:
    specs = [program(f"s{number}", "--start-after", "0.7") for number in range(24)]
    async with Manager(specs, eager=False, patience=0) as manager:
        told = told_by(manager)
        manager.start()
        await manager.settle("", FOREVER)
        manager.readiness.tell_left_out("")
        assert {entry.spec.name for entry in manager.entries()} == {spec.name for spec in specs}
        assert [event for event in told if isinstance(event, LeftOut)] == []


async def test_a_turn_waits_for_a_remote_server_that_answers_late(tmp_path: Path) -> None:
    async with Site("streamable-http", tmp_path, "slow") as site:
        assert site.http is not None
        awake = asyncio.Event()

        async def asleep(server: HttpServer, request: web.Request, message: Message) -> None:
            await awake.wait()

        site.http.fault("server/discover", asleep)
        site.http.fault("initialize", asleep)
        async with Manager([program("quick"), site.spec()], patience=0) as manager:
            manager.events.subscribe(lambda event: awake.set(), Awaited)
            await manager.settle("", FOREVER)
            assert states(manager) == {"quick": "ready", "slow": "ready"}


async def test_a_server_that_hangs_costs_its_connect_timeout_once_and_is_named_at_every_turn(tmp_path: Path) -> None:
    specs = [replace(HANGING, connect_timeout=0.5), program("shop")]
    for turn in range(3):
        async with Manager(specs, eager=False, patience=0, state=tmp_path) as manager:
            told = told_by(manager)
            manager.start()
            await manager.settle("", FOREVER)
            manager.readiness.tell_left_out("")
            # The first turn waited for the end of its attempt; the others leave it to go on.
            assert (states(manager)["hanging"] == "restarting") == (turn == 0)
            assert LeftOut("", "hanging", LATE) in told
            assert f'note="{LATE}"' in manager.context("").splitlines()[1]
            assert "did not come up within 0.5 s" in manager.absences()[0].reason
            assert "did not come up within 0.5 s" in manager.status()[0].shown


async def test_a_server_whose_entry_changed_is_waited_for_again(tmp_path: Path) -> None:
    late = replace(HANGING, connect_timeout=0.2)
    async with Manager([late], state=tmp_path) as manager:
        assert manager.server("hanging").is_overdue
    async with Manager([replace(late, where="another line of the file")], state=tmp_path, patience=0) as manager:
        assert manager.server("hanging").is_overdue
    for changed in (replace(late, connect_timeout=0.3), replace(late, env=(("A", "b"),))):
        async with Manager([changed], state=tmp_path, patience=0) as manager:
            assert not manager.server("hanging").is_overdue


async def test_a_late_server_that_comes_up_after_all_is_waited_for_again(tmp_path: Path) -> None:
    async with Site("stdio", tmp_path) as site:
        Cache(tmp_path / "state").remember(shared_spec(site.spec()), Remembered(overdue=True))
        async with Manager([site.spec()], state=tmp_path / "state", patience=0) as manager:
            await manager.settle("", FOREVER)
            assert manager.server("shop").is_overdue
            await manager.readiness.started("")
        async with Manager([site.spec()], state=tmp_path / "state", patience=0) as manager:
            assert not manager.server("shop").is_overdue


async def test_a_server_that_says_hello_and_never_lists_its_tools_is_late_too(tmp_path: Path) -> None:
    async with Site("streamable-http", tmp_path, "slow") as site:
        assert site.http is not None

        async def mute(server: HttpServer, request: web.Request, message: Message) -> None:
            await asyncio.Event().wait()

        site.http.fault("tools/list", mute)
        async with Manager([site.spec(connect_timeout=0.5)], patience=0) as manager:
            await manager.settle("", FOREVER)
            assert manager.server("slow").is_overdue


async def test_a_turn_of_the_gateway_waits_no_longer_than_it_was_told_and_the_next_one_waits_again() -> None:
    async with Manager([HANGING], patience=0) as manager:
        told = told_by(manager)
        for _ in range(2):
            await manager.settle("", 0.01)
            manager.readiness.tell_left_out("")
        assert told == [LeftOut("", "hanging", "it is still starting", is_starting=True)] * 2
        assert not manager.server("hanging").is_overdue


async def test_a_person_may_go_on_without_the_servers_that_are_awaited() -> None:
    async with Manager([HANGING], patience=0) as manager:
        told = told_by(manager)
        manager.events.subscribe(lambda event: manager.readiness.go_on(""), Awaited)
        await manager.settle("", FOREVER)
        manager.readiness.tell_left_out("")
        assert told == [
            Awaited("", ("hanging",)),
            Awaited("", ()),
            LeftOut("", "hanging", "it is still starting", is_starting=True),
        ]


async def test_who_asks_how_servers_are_doing_tries_a_late_one_anew(tmp_path: Path) -> None:
    mended = tmp_path / "mended"
    text = f"import os, runpy, sys\nsys.argv = ['x']\nos.path.exists({str(mended)!r}) or sys.stdin.read()\n"
    text += f"runpy.run_path({server_command()[-1]!r}, run_name='__main__')"
    spec = ServerSpec(
        "shop", command=sys.executable, args=("-S", "-E", "-c", text), connect_timeout=1.0, max_restarts=0
    )
    async with Manager([spec]) as manager:
        await manager.readiness.until(lambda: states(manager) == {"shop": "failed"})
        mended.touch()
        manager.retry()
        await manager.readiness.started("")
        assert states(manager) == {"shop": "ready"}


async def test_the_time_of_a_server_counts_from_its_start_and_not_from_queueing() -> None:
    """The second has less time to come up than the first takes to fail."""
    specs = [replace(HANGING, connect_timeout=3.0), program("second", connect_timeout=2.5)]
    options = ServersOptions(max_concurrent_servers=1)
    async with Manager(specs, options=options) as manager:
        assert {entry.spec.name for entry in manager.entries()} == {"second"}


async def test_who_waits_for_one_server_waits_for_no_other_that_hangs(tmp_path: Path) -> None:
    async with Site("stdio", tmp_path) as site:
        async with Manager([HANGING, site.spec()], patience=0) as manager:
            await manager.readiness.started("", "shop")
            assert states(manager) == {"hanging": "starting", "shop": "ready"}


async def test_who_waits_for_a_server_that_is_taken_out_waits_no_longer() -> None:
    async with Manager([HANGING], patience=0) as manager:
        waiting = asyncio.create_task(manager.readiness.started(""))
        await asyncio.sleep(0)
        await manager.reconcile([])
        await waiting


# More servers than places


async def test_servers_past_the_limit_take_turns_to_be_listed_and_to_be_called() -> None:
    specs = [program(f"s{number}") for number in range(5)]
    async with Manager(specs, options=ServersOptions(max_concurrent_servers=2)) as manager:
        assert {entry.spec.name for entry in manager.entries()} == {spec.name for spec in specs}
        shown = sorted(status.shown.partition(" (PID")[0] for status in manager.status())
        assert shown == ["Running"] * 2 + ["stopped (limit: maxConcurrentServers is 2)"] * 3
        for spec in specs:
            assert not (await manager.call(f"{spec.name}__echo", {"text": "x"})).is_error
        results = await asyncio.gather(*(manager.call(f"{spec.name}__echo", {"text": "x"}) for spec in specs[:2]))
        assert not any(result.is_error for result in results)


async def test_a_call_past_the_limit_is_refused_while_all_who_run_are_busy(tmp_path: Path) -> None:
    one, two = Site("stdio", tmp_path, "one"), Site("stdio", tmp_path, "two")
    async with Manager([one.spec(), two.spec()], options=ServersOptions(max_concurrent_servers=1)) as manager:
        busy = asyncio.create_task(manager.call("one__stall", {"key": "a"}))
        await one.logged("stall a")
        refused = await manager.call("two__echo", {"text": "x"})
        assert refused.fault == (
            "MCP server 'two' waits because as many servers run as maxConcurrentServers allows, and all are busy."
        )
        busy.cancel()
        await asyncio.wait([busy])
        assert not (await manager.call("two__echo", {"text": "x"})).is_error


async def test_the_tools_of_a_server_that_gave_way_stay_listed(tmp_path: Path) -> None:
    state, options = tmp_path / "state", ServersOptions(max_concurrent_servers=1)
    specs = [program("one"), program("two")]
    for _ in range(2):
        async with Manager(specs, options=options, state=state) as manager:
            assert {entry.spec.name for entry in manager.entries()} == {"one", "two"}


async def test_a_server_that_a_text_names_gets_its_place_before_the_others(tmp_path: Path) -> None:
    one, two = Site("stdio", tmp_path, "one"), Site("stdio", tmp_path, "two")
    options, state = ServersOptions(max_concurrent_servers=1), tmp_path / "state"
    async with Manager([one.spec(), two.spec()], options=options, state=state):
        pass
    async with Manager([one.spec(), two.spec()], options=options, state=state, eager=False) as manager:
        manager.start(first="run two__echo")
        await manager.readiness.started("")
        assert states(manager) == {"one": "stopped", "two": "ready"}


@pytest.mark.parametrize("limit", [1, 2])
async def test_a_late_server_keeps_no_place_from_one_that_is_healthy(limit: int) -> None:
    hanging = [replace(HANGING, name=f"h{number}", connect_timeout=0.5) for number in range(limit)]
    async with Manager([*hanging, program("shop")], options=ServersOptions(max_concurrent_servers=limit)) as manager:
        assert [entry.spec.name for entry in manager.entries("")][:1] == ["shop"]
