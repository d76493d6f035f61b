"""What becomes of a server and its calls when it dies, hangs, forgets or cannot start: over every transport where it applies."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from msgspec.structs import replace

from openclaw.config.servers import ServerSpec
from openclaw.errors import AuthError, SignInNeededError, TransportError
from openclaw.mcp.client import Client
from openclaw.mcp.connect import Dependencies
from openclaw.mcp.events import StateChanged
from openclaw.mcp.manager import Manager
from openclaw.mcp.server.state import UnavailableError
from openclaw.mcp.tools.results import Result
from openclaw.mcp.wording import NOT_FOUND_BY_GATEWAY
from openclaw.protocol.lifecycle import LifecycleEvent
from parts import planned_server
from parts.chaos_proxy import Chaos, ChaosProxy
from parts.http_faults import hold, reset, status
from parts.http_server import Fault, HttpServer, Message, Plan
from parts.planned_server import MODERN
from parts.processes import handle_of, server_command, wait_until_gone
from parts.sites import Site

LOOK = "`openclaw mcp logs shop` shows what it wrote."
MAYBE = "The call may or may not have been carried out; it is not repeated."


def words(result: Result) -> str:
    assert not result.fault, result.fault
    return "\n".join(item.text or "" for item in result.content)


async def until(manager: Manager, *states: str, server: str = "shop") -> None:
    """Wait until a server is in one of these states."""
    changed = asyncio.Event()
    unsubscribe = manager.events.subscribe(lambda event: changed.set())
    try:
        while next(s.state for s in manager.status() if s.name == server) not in states:
            changed.clear()
            await changed.wait()
    finally:
        unsubscribe()


def stdio(name: str, *options: str, **fields: Any) -> ServerSpec:
    command, *args = server_command(*options)
    return ServerSpec(name, command=command, args=tuple(args), **fields)


@pytest.mark.requirement("001-FR-6-meanwhile")
@pytest.mark.requirement("002-3.3-not-ready")
async def test_the_next_call_after_a_crash_works(site: Site) -> None:
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        await manager.call("shop__echo", {"text": "before"})
        await site.crash(manager.status()[0].pid)
        if site.kind == "memory":
            await until(manager, "restarting")
        assert words(await manager.call("shop__echo", {"text": "after"})) == "after"


async def test_ten_servers_killed_while_idle_answer_the_next_call(tmp_path: Path) -> None:
    sites = [Site("stdio", tmp_path, f"s{n}") for n in range(10)]
    async with Manager([site.spec() for site in sites]) as manager:
        for status_ in manager.status():
            assert status_.pid is not None
            os.kill(status_.pid, signal.SIGKILL)
        results = await asyncio.gather(*(manager.call(f"s{n}__count", {"key": "k"}) for n in range(10)))
        assert [words(result) for result in results] == ["counted"] * 10
        assert [site.log for site in sites] == [["count k"]] * 10


async def test_ten_servers_killed_in_mid_call_have_run_it_at_most_once(tmp_path: Path) -> None:
    sites = [Site("stdio", tmp_path, f"s{n}") for n in range(10)]
    async with Manager([site.spec() for site in sites]) as manager:
        calls = [asyncio.ensure_future(manager.call(f"s{n}__stall", {"key": "k"})) for n in range(10)]
        for site in sites:
            await site.logged("stall k")
        for status_ in manager.status():
            assert status_.pid is not None
            os.kill(status_.pid, signal.SIGKILL)
        for n, result in enumerate(await asyncio.gather(*calls)):
            look = LOOK.replace("shop", f"s{n}")
            assert result == Result.failed(f"The server was ended by SIGKILL. {look} {MAYBE}")
        assert [site.log for site in sites] == [["stall k"]] * 10


@pytest.mark.requirement("001-9-crash")
@pytest.mark.requirement("002-5.3-crash")
@pytest.mark.requirement("002-6-principle")
async def test_a_server_that_exits_in_a_call_ends_it_with_one_clear_sentence(tmp_path: Path) -> None:
    async with Site("stdio", tmp_path) as site, Manager([site.spec()]) as manager:
        result = await manager.call("shop__die", {"key": "x"})
        assert result == Result.failed(f"The server exited with code 9. {LOOK} {MAYBE}")
        assert site.log == ["die x"]
        assert words(await manager.call("shop__echo", {"text": "back"})) == "back"


@pytest.mark.requirement("001-FR-6-crash")
@pytest.mark.requirement("001-US-3-restart")
@pytest.mark.requirement("001-US-3-visible")
@pytest.mark.requirement("002-3.3-crash-log")
@pytest.mark.requirement("002-6-crash")
@pytest.mark.requirement("002-7-stdio")
async def test_a_crashed_server_comes_back_by_itself_after_one_second(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Site("stdio", tmp_path) as site, Manager([site.spec()]) as manager:
        events: list[StateChanged] = []
        manager.events.subscribe(lambda event: events.append(event.value), StateChanged)
        first = manager.status()[0].pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(manager, "restarting")
        delay = next(event.next_attempt for event in events if event.state == "restarting")
        assert delay is not None
        assert 0.9 <= delay <= 1.1
        await until(manager, "ready")
        assert manager.status()[0].pid != first
        assert [event.state for event in events] == ["restarting", "starting", "ready"]
        lines = [record.getMessage() for record in caplog.records]
        (line,) = [line for line in lines if "crashed" in line]
        assert line.startswith("MCP server 'shop' crashed, restarting in ")
        assert line.endswith(f"ms (attempt 1): The server was ended by SIGKILL. {LOOK}")


@pytest.mark.requirement("001-FR-1-restart")
@pytest.mark.requirement("002-3.3-gave-up-log")
@pytest.mark.requirement("002-6-max-restarts")
async def test_a_server_that_may_not_restart_has_failed_until_it_is_refreshed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        Site("stdio", tmp_path) as site,
        Manager([site.spec(restart_on_crash=False)]) as manager,
    ):
        pid = manager.status()[0].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await until(manager, "failed")
        assert manager.tools() == []
        assert "MCP server 'shop' crashed and max restarts exceeded" in caplog.text
        refused = await manager.call("shop__echo", {})
        assert refused.fault == f"MCP server 'shop' has failed: The server was ended by SIGKILL. {LOOK}"
        await manager.server("shop").refresh()
        assert words(await manager.call("shop__echo", {"text": "again"})) == "again"


async def test_a_refresh_of_a_server_that_does_not_answer_tries_it_once() -> None:
    silent = ServerSpec(
        "silent", command=sys.executable, args=("-c", "import sys; sys.stdin.read()"), connect_timeout=0.2
    )
    async with Manager([silent], eager=False) as manager:
        states: list[str] = []
        manager.events.subscribe(lambda event: states.append(event.value.state), StateChanged)
        with pytest.raises(UnavailableError, match=r"did not come up within 0\.2 s"):
            await manager.server("silent").refresh()
        assert states == ["starting", "restarting"]


async def test_a_program_that_does_not_exist_fails_at_once_and_says_so() -> None:
    async with Manager([ServerSpec("gone", command="no-such-program-anywhere")]) as manager:
        (status_,) = manager.status()
        assert (status_.state, status_.tools) == ("failed", 0)
        assert "no-such-program-anywhere" in status_.reason
        (absence,) = manager.absences()
        assert (absence.name, absence.reason) == ("gone__*", f"MCP server 'gone' has failed: {status_.reason}")


async def test_where_a_gateway_does_not_find_a_program_its_own_search_path_is_named_but_not_one_of_the_server() -> None:
    own = ServerSpec("own", command="no-such-program-anywhere", env=(("PATH", "/nowhere"),))
    specs = [ServerSpec("gone", command="no-such-program-anywhere"), own]
    async with Manager(specs, dependencies=Dependencies(is_gateway=True)) as manager:
        reasons = {one.name: one.reason for one in manager.status()}
    assert reasons == {
        "gone": f"There is no program 'no-such-program-anywhere' on the search path. {NOT_FOUND_BY_GATEWAY}",
        "own": "There is no program 'no-such-program-anywhere' on the search path. Install it, or give its full path as `command`.",
    }


async def test_whoever_asks_first_for_a_program_that_does_not_exist_is_told_why() -> None:
    async with Manager([ServerSpec("gone", command="no-such-program-anywhere")], eager=False) as manager:
        for asked in (manager.server("gone").client, manager.server("gone").refresh):
            with pytest.raises(UnavailableError, match="There is no program 'no-such-program-anywhere'"):
                await asked()


@pytest.mark.requirement("000-10-unreachable-word")
@pytest.mark.requirement("001-FR-6-unavailable")
@pytest.mark.requirement("002-3.3-not-ready")
@pytest.mark.requirement("002-3.4-reconnect")
@pytest.mark.requirement("002-6-network")
@pytest.mark.requirement("002-7-http")
async def test_a_call_while_a_server_is_away_says_when_the_next_attempt_is(tmp_path: Path) -> None:
    async with Site("streamable-http", tmp_path) as site, Manager([site.spec()]) as manager:
        assert site.http
        await site.http.stop()
        first = await manager.call("shop__echo", {"text": "x"})
        # It was up a moment ago: whether it is gone is being found out.
        assert first.fault.endswith("The next call tries again.")
        await until(manager, "unreachable")
        second = await manager.call("shop__echo", {"text": "x"})
        assert second.fault.startswith("MCP server 'shop' is not available: ")
        assert "The next attempt is in " in second.fault
        await site.http.start()
        assert words(await manager.call("shop__echo", {"text": "back"})) == "back"


async def test_a_call_by_name_connects_at_once_to_a_server_that_was_never_seen_and_is_away(tmp_path: Path) -> None:
    async with Site("streamable-http", tmp_path) as site:
        assert site.http
        url = site.http.url
        await site.http.stop()
        async with Manager([site.spec(url=url)]) as manager:
            await until(manager, "unreachable")
            refused = await manager.call("shop__echo", {"text": "x"})
            assert refused.fault.startswith("MCP server 'shop' is unreachable: ")
            assert "The next attempt is in " in refused.fault
            await site.http.start()
            assert words(await manager.call("shop__echo", {"text": "there"})) == "there"


async def test_a_call_by_name_starts_a_program_at_once_that_never_came_up(tmp_path: Path) -> None:
    site, program = Site("stdio", tmp_path), tmp_path / "late.py"
    spec = site.spec()
    arguments = tuple(str(program) if argument.endswith("planned_server.py") else argument for argument in spec.args)
    async with Manager([replace(spec, args=arguments)]) as manager:
        await until(manager, "restarting")
        refused = await manager.call("shop__echo", {"text": "x"})
        assert refused.fault.startswith("MCP server 'shop' is down: ")
        assert "The next attempt is in " in refused.fault
        program.symlink_to(planned_server.__file__)
        assert words(await manager.call("shop__echo", {"text": "there"})) == "there"


async def test_a_tool_a_known_server_has_since_last_time_is_found_by_asking_it(site: Site, tmp_path: Path) -> None:
    site.plan(tools=[planned_server.tool("pid")])
    state = tmp_path / "state"
    async with Manager([site.spec()], dependencies=site.dependencies, state=state):
        pass
    site.plan(tools=[planned_server.tool("pid"), planned_server.tool("echo")])
    async with Manager([site.spec()], dependencies=site.dependencies, state=state, eager=False) as manager:
        assert [tool.name for tool in manager.tools()] == ["shop__pid"]
        assert words(await manager.call("shop__echo", {"text": "new"})) == "new"


@pytest.mark.requirement("000-10-404")
@pytest.mark.requirement("000-4.4-session-404")
async def test_a_forgotten_mcp_session_is_begun_again_and_the_call_sent_once(tmp_path: Path) -> None:
    async with Site("streamable-http", tmp_path) as site, Manager([site.spec()]) as manager:
        assert site.http
        site.http.sessions.clear()
        results = await asyncio.gather(*(manager.call("shop__count", {"key": str(n)}) for n in range(5)))
        assert [words(result) for result in results] == ["counted"] * 5
        assert sorted(site.log) == [f"count {n}" for n in range(5)]
        assert site.http.methods().count("initialize") == 2
        assert manager.status()[0].state == "ready"


async def test_a_call_whose_session_is_forgotten_twice_in_a_row_is_not_sent_a_third_time(tmp_path: Path) -> None:
    async def forgotten(server: HttpServer, request: web.Request, message: Message) -> web.Response:
        server.fault("tools/call", forgotten)
        return web.Response(status=404)

    async with Site("streamable-http", tmp_path) as site, Manager([site.spec()]) as manager:
        assert site.http
        site.http.fault("tools/call", forgotten)
        refused = await manager.call("shop__count", {"key": "1"})
        assert (refused.is_error, "no longer knows the MCP session" in refused.fault) == (True, True)
        assert (site.http.methods().count("tools/call"), site.http.methods().count("initialize")) == (2, 2)
        assert site.log == []


async def test_a_call_made_while_a_session_is_begun_again_waits_for_it(tmp_path: Path) -> None:
    begun, gate = asyncio.Event(), asyncio.Event()

    async def held(server: HttpServer, request: web.Request, message: Message) -> None:
        begun.set()
        await gate.wait()

    async with Site("streamable-http", tmp_path) as site, Manager([site.spec()]) as manager:
        assert site.http
        site.http.sessions.clear()
        site.http.fault("initialize", held)
        first = asyncio.ensure_future(manager.call("shop__count", {"key": "1"}))
        await begun.wait()
        second = asyncio.ensure_future(manager.call("shop__count", {"key": "2"}))
        await asyncio.sleep(0)
        gate.set()
        assert [words(await first), words(await second)] == ["counted"] * 2
        assert sorted(site.log) == ["count 1", "count 2"]


async def test_a_session_that_cannot_be_begun_again_is_tried_by_the_next_call(tmp_path: Path) -> None:
    is_away = asyncio.Event()
    is_away.set()

    async def away(server: HttpServer, request: web.Request, message: Message) -> web.Response | None:
        server.fault("initialize", away)
        return web.Response(status=503) if is_away.is_set() else None

    async with Site("streamable-http", tmp_path) as site, Manager([site.spec()]) as manager:
        assert site.http
        site.http.sessions.clear()
        site.http.fault("initialize", away)
        refused = await manager.call("shop__count", {"key": "1"})
        assert (refused.is_error, "503" in refused.fault) == (True, True)
        is_away.clear()
        assert words(await manager.call("shop__count", {"key": "2"})) == "counted"
        assert site.log == ["count 2"]


async def test_one_dropped_connection_fails_one_call_and_no_neighbour(tmp_path: Path) -> None:
    async with Site("streamable-http", tmp_path) as site, Manager([site.spec()]) as manager:
        assert site.http
        neighbour = asyncio.ensure_future(manager.call("shop__stall", {"key": "n"}))
        await site.logged("stall n")
        site.http.fault("tools/call", reset())
        broken = await manager.call("shop__count", {"key": "lost"})
        assert broken.fault.endswith(MAYBE)
        assert words(await manager.call("shop__echo", {"text": "fine"})) == "fine"
        assert not neighbour.done()
        assert manager.status()[0].state == "ready"
        neighbour.cancel()
        await asyncio.gather(neighbour, return_exceptions=True)
        assert site.log == ["stall n"]


@pytest.mark.parametrize("fault", [reset(), status(502)])
async def test_a_list_that_breaks_off_costs_no_call_that_runs(tmp_path: Path, fault: Fault) -> None:
    async with Site("streamable-http", tmp_path) as site, Manager([site.spec()]) as manager:
        assert site.http
        running = asyncio.create_task(manager.call("shop__stall", {"key": "a"}))
        await site.logged("stall a")
        site.http.fault("tools/list", fault)
        with pytest.raises(TransportError):
            await manager.server("shop").refresh()
        assert words(await manager.call("shop__echo", {"text": "hello"})) == "hello"
        assert (manager.status()[0].in_flight, manager.status()[0].state) == (1, "ready")
        running.cancel()


@pytest.mark.requirement("000-14.10-rate-limit")
async def test_a_rate_limited_call_is_sent_again_when_the_server_says_so(tmp_path: Path) -> None:
    async with Site("streamable-http", tmp_path) as site, Manager([site.spec()]) as manager:
        assert site.http
        site.http.fault("tools/call", status(429, {"Retry-After": "0"}))
        assert words(await manager.call("shop__count", {"key": "k"})) == "counted"
        assert site.log == ["count k"]


@pytest.mark.requirement("000-16-health")
async def test_a_quiet_server_that_stopped_answering_is_found_out() -> None:
    spec = stdio("deaf", health_interval=0.05, connect_timeout=2.0)
    async with Manager([spec]) as manager:
        assert words(await manager.call("deaf__deaf", {})) == "deaf now"
        await until(manager, "restarting", server="deaf")
        await until(manager, "ready", server="deaf")
        assert words(await manager.call("deaf__echo", {"text": "hears"})) == "hears"


async def test_a_server_busy_with_a_long_call_is_not_taken_for_dead() -> None:
    # While it sleeps in the call, this server reads nothing, pings included.
    async with Manager([stdio("busy", health_interval=0.05)]) as manager:
        server = manager.server("busy")
        call = asyncio.ensure_future(manager.call("busy__slow", {"seconds": 0.5}))
        assert words(await call) == "slowly"
        assert server.status().state == "ready"


@pytest.mark.parametrize("kind", ["streamable-http", "sse"])
async def test_a_link_that_died_unnoticed_is_replaced_though_calls_never_cease(tmp_path: Path, kind: str) -> None:
    """Half-open: the other side is gone, and nobody was told."""
    times = {"call_timeout": 0.5, "connect_timeout": 1.0, "health_interval": 0.1}
    async with Site(kind, tmp_path) as site:
        assert site.http
        async with ChaosProxy(site.http.port) as proxy:
            url = f"http://127.0.0.1:{proxy.port}/{'sse' if kind == 'sse' else 'mcp'}"
            async with Manager([site.spec(url=url, **times)]) as manager:
                proxy.freeze()
                silent = [asyncio.ensure_future(calling_until_answered(manager)) for _ in range(3)]
                await asyncio.gather(*silent)


async def calling_until_answered(manager: Manager, server: str = "shop") -> None:
    while (await manager.call(f"{server}__echo", {"text": "x"})).is_error:
        pass


async def test_a_program_that_answers_a_byte_a_second_fails_its_call_and_is_replaced() -> None:
    """Bytes are no sign of life: only a message is."""
    spec = stdio("slow", call_timeout=0.5, connect_timeout=2.0, health_interval=0.1)
    async with Manager([spec, stdio("other")]) as manager:
        first = manager.status()[0].pid
        result = await manager.call("slow__trickle", {"pause": 1.0})
        assert result == Result.failed("Tool call timed out after 500ms", timed_out=True)
        assert words(await manager.call("other__echo", {"text": "fine"})) == "fine"
        await calling_until_answered(manager, "slow")
        assert manager.status()[0].pid != first


@pytest.mark.parametrize("kind", ["streamable-http", "sse"])
async def test_a_connection_of_a_byte_a_second_fails_its_call_and_the_next_one_works(tmp_path: Path, kind: str) -> None:
    times = {"call_timeout": 0.5, "connect_timeout": 1.0, "health_interval": 0.1}
    async with Site(kind, tmp_path) as site:
        assert site.http
        async with ChaosProxy(site.http.port) as proxy:
            url = f"http://127.0.0.1:{proxy.port}/{'sse' if kind == 'sse' else 'mcp'}"
            async with Manager([site.spec(url=url, **times)]) as manager:
                proxy.plan = Chaos(sliver=1, pause=1.0)
                proxy.cut()
                await proxy.until_cut()
                assert (await manager.call("shop__echo", {"text": "x"})).is_error
                proxy.plan = Chaos()
                await calling_until_answered(manager)


@pytest.mark.requirement("001-NFR-1-idle")
async def test_an_idle_server_is_stopped_and_a_call_brings_it_back(tmp_path: Path) -> None:
    async with Site("stdio", tmp_path) as site, Manager([site.spec(idle_timeout=0.5)]) as manager:
        pid = manager.status()[0].pid
        assert pid is not None
        handle = handle_of(pid)
        await until(manager, "stopped")
        await asyncio.to_thread(wait_until_gone, handle)
        assert [t.name for t in manager.tools()]
        assert words(await manager.call("shop__echo", {"text": "awake"})) == "awake"


async def test_a_server_that_is_used_is_neither_idle_nor_dead(tmp_path: Path) -> None:
    async with Site("stdio", tmp_path) as site, Manager([site.spec()]) as manager:
        server = manager.server("shop")

        async def look(client: Client) -> bool:
            return server.is_busy

        assert (server.is_busy, await server.use(look), server.is_busy) == (False, True, False)


@pytest.mark.requirement("002-3.3-closed")
async def test_a_stopped_server_offers_nothing_until_it_is_started_again(site: Site) -> None:
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        manager.server("shop").stop("disconnected")
        await until(manager, "stopped")
        assert manager.tools() == []
        assert (await manager.call("shop__echo", {})).fault == "MCP server 'shop' is stopped: disconnected."
        await manager.server("shop").refresh()
        assert words(await manager.call("shop__echo", {"text": "on"})) == "on"


async def test_a_restart_on_request_gives_a_fresh_process(tmp_path: Path) -> None:
    async with Site("stdio", tmp_path) as site, Manager([site.spec()]) as manager:
        first = manager.status()[0].pid
        manager.server("shop").post(LifecycleEvent("restart"))
        await until(manager, "starting")
        await until(manager, "ready")
        assert manager.status()[0].pid not in (first, None)


async def test_a_server_that_exits_on_the_probe_is_started_again_and_asked_the_old_way() -> None:
    async with Manager([stdio("old", "--probe", "exit")]) as manager:
        assert (manager.status()[0].state, manager.status()[0].revision) == ("ready", "2025-11-25")
        assert words(await manager.call("old__echo", {"text": "hi"})) == "hi"


async def test_a_silent_old_server_is_slow_at_most_once(tmp_path: Path) -> None:
    log = tmp_path / "methods"
    spec = stdio("old", "--probe", "silent", "--log", str(log))
    async with Manager([spec], state=tmp_path / "state"):
        assert "server/discover" in log.read_text().split()
    log.write_text("")
    async with Manager([spec], state=tmp_path / "state") as manager:
        await until(manager, "ready", server="old")
    assert "server/discover" not in log.read_text().split()


async def test_the_newest_revision_is_spoken_where_the_server_knows_it(site: Site) -> None:
    if site.kind == "sse":
        site.plan(revisions=["2024-11-05"])
    else:
        site.plan(revisions=["2025-11-25", MODERN])
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        assert manager.status()[0].revision == ("2024-11-05" if site.kind == "sse" else MODERN)
        assert words(await manager.call("shop__echo", {"text": "hi"})) == "hi"


@pytest.mark.requirement("000-4.6-post-first")
@pytest.mark.requirement("000-4.6-stays")
async def test_an_http_server_of_the_old_kind_is_found_behind_its_url(tmp_path: Path) -> None:
    async with Site("sse", tmp_path) as site:
        spec = site.spec(transport="streamable-http")
        assert site.http
        site.http.fault("/sse", status(405), status(405))
        async with Manager([spec], state=tmp_path / "state") as manager:
            assert (manager.status()[0].state, manager.status()[0].transport) == ("ready", "sse")
        site.http.seen.clear()
        async with Manager([spec], state=tmp_path / "state") as manager:
            await until(manager, "ready")
        # What worked the last time is tried first.
        assert site.http.seen[0].verb == "GET"


async def test_a_modern_http_server_is_found_where_the_old_kind_was_expected(tmp_path: Path) -> None:
    async with Site("streamable-http", tmp_path) as site:
        assert site.http
        site.http.plan.get_stream = False
        site.http.fault("GET", status(405))
        async with Manager([site.spec(transport="sse")]) as manager:
            assert (manager.status()[0].state, manager.status()[0].transport) == ("ready", "streamable-http")


@pytest.mark.requirement("000-4.6-any-4xx")
@pytest.mark.parametrize(
    ("code", "state"), [(401, "needs-auth"), (403, "failed"), (500, "unreachable"), (503, "unreachable")]
)
async def test_other_refusals_are_no_reason_to_fall_back(tmp_path: Path, code: int, state: str) -> None:
    async with Site("streamable-http", tmp_path) as site:
        assert site.http
        for method in ("server/discover", "initialize"):
            site.http.fault(method, *[status(code)] * 9)
        async with Manager([site.spec()]) as manager:
            assert manager.status()[0].state == state
            assert "GET" not in site.http.methods()


@pytest.mark.requirement("000-9.1-no-oauth")
async def test_a_refused_api_key_is_reported_and_not_tried_again(tmp_path: Path) -> None:
    async with Site("streamable-http", tmp_path) as site:
        assert site.http
        site.http.fault("server/discover", status(401))
        async with Manager([site.spec(api_key="k-wrong")]) as manager:
            (status_,) = manager.status()
            assert status_.state == "failed"
            assert "API key" in status_.reason
            assert "k-wrong" not in repr(status_)
            assert len(site.http.seen) == 1


async def test_a_refused_authorization_header_is_reported_as_one(tmp_path: Path) -> None:
    async with Site("streamable-http", tmp_path) as site:
        assert site.http
        site.http.fault("server/discover", status(401))
        spec = site.spec(headers=(("Authorization", "Basic dXNlcjpwYXNz"),))
        async with Manager([spec], dependencies=Dependencies(authorize=lambda spec: _Gate())) as manager:
            (status_,) = manager.status()
            assert (status_.state, status_.auth) == ("failed", "headers")
            assert status_.reason == "The server refused the configured Authorization header."
            assert site.http.seen[0].headers["Authorization"] == "Basic dXNlcjpwYXNz"


async def test_credentials_a_server_prints_are_masked(tmp_path: Path) -> None:
    words = "import os, sys; print('my token is', os.environ['API_TOKEN'], file=sys.stderr); sys.stdin.read()"
    spec = ServerSpec(
        "leaky",
        command=sys.executable,
        args=("-S", "-c", words),
        env=(("API_TOKEN", "plain-and-visible-value"),),
        connect_timeout=2.0,
    )
    async with Manager([spec], state=tmp_path) as manager:
        (line,) = manager.stderr_log.tail(spec, 5)
        assert line.endswith("my token is [REDACTED]")


class _Gate:
    """Credentials that a person has to get first."""

    def __init__(self) -> None:
        self.signed_in = False

    async def headers(self) -> Mapping[str, str]:
        return {"Authorization": "Bearer t"} if self.signed_in else {}

    async def challenged(self, status: int, headers: Mapping[str, str], sent: Mapping[str, str]) -> bool:
        if status == 403:
            raise AuthError("Not for you.")
        raise SignInNeededError("Sign in first.", hint="Run `openclaw mcp auth shop`.")


@pytest.mark.requirement("000-10-401")
async def test_a_server_that_wants_a_sign_in_waits_for_a_person_and_goes_on_after_it(tmp_path: Path) -> None:
    gate = _Gate()
    async with Site("streamable-http", tmp_path) as site:
        assert site.http
        site.http.fault("server/discover", status(401))
        async with Manager([site.spec()], dependencies=Dependencies(authorize=lambda spec: gate)) as manager:
            (status_,) = manager.status()
            assert (status_.state, status_.told) == ("needs-auth", "Sign in first. Run `openclaw mcp auth shop`.")
            assert 'status="needs-auth"' in manager.context("")
            refused = await manager.call("shop__echo", {})
            assert refused.fault == f"MCP server 'shop' needs a sign-in: {status_.told}"
            gate.signed_in = True
            manager.server("shop").post(LifecycleEvent("signed-in"))
            await until(manager, "ready")
            assert words(await manager.call("shop__echo", {"text": "in"})) == "in"
            assert site.http.seen[-1].headers["Authorization"] == "Bearer t"


@pytest.mark.requirement("000-6.4-shutdown")
@pytest.mark.requirement("001-US-3-shutdown")
@pytest.mark.requirement("002-7-manager")
async def test_closing_ends_everything_at_once_and_leaves_no_process(tmp_path: Path) -> None:
    sites = [Site("stdio", tmp_path, f"s{n}") for n in range(4)]
    async with Manager([site.spec() for site in sites]) as manager:
        handles = [handle_of(s.pid) for s in manager.status() if s.pid]
        waiting = asyncio.ensure_future(manager.call("s0__stall", {"key": "k"}))
        await sites[0].logged("stall k")
    wait_until_gone(*handles)
    assert len(handles) == 4
    assert (await waiting).is_error


async def test_a_server_without_an_answer_to_tools_list_does_not_hold_up_closing(tmp_path: Path) -> None:
    async with Site("streamable-http", tmp_path) as site:
        assert site.http
        site.http.fault("tools/list", hold())
        async with Manager([site.spec()], patience=0) as manager:
            await site.http.until(lambda: "tools/list" in (site.http.methods() if site.http else []))
            assert manager.status()[0].state == "starting"


@pytest.mark.requirement("001-FR-7-stderr")
async def test_stderr_is_logged_and_kept_for_later(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    spec = stdio("chatty", "--stderr-lines", "3")
    async with Manager([spec], state=tmp_path):
        pass
    async with Manager([], state=tmp_path) as later:
        lines = later.stderr_log.tail(replace(spec), 10)
    assert [line.split(" ", 1)[1] for line in lines] == ["line 0", "line 1", "line 2"]
    assert "MCP server 'chatty' stderr: line 1" in caplog.text


@pytest.mark.requirement("000-10-unreachable-told")
@pytest.mark.parametrize("kind", ["stdio", "streamable-http"])
async def test_after_three_failed_attempts_the_agents_context_says_so(kind: str) -> None:
    program = ServerSpec("shop", command=sys.executable, args=("-c", "raise SystemExit(1)"))
    remote = ServerSpec("shop", transport="streamable-http", url="http://127.0.0.1:9/mcp")
    async with Manager([program if kind == "stdio" else remote]) as manager:
        assert "note=" not in manager.context("")
        server = manager.server("shop")

        async def try_again(attempts: int) -> None:
            # Its time has come, without the wait.
            server.post(LifecycleEvent("due"))
            await manager.readiness.until(lambda: server.status().restarts == attempts)

        await try_again(2)
        await try_again(3)
        said = 'note="at least 3 attempts to reach it failed; it is tried again by itself"'
        assert said in manager.context("")


async def test_no_call_begins_on_a_connection_that_is_being_given_up() -> None:
    """Whatever the moment between a probe that fails and the end of its connection."""
    async with HttpServer(Plan(revisions=("2025-11-25",))) as server:
        for turns in range(20):
            probed = asyncio.Event()
            server.fault("ping", _cut_off(probed))
            spec = ServerSpec("shop", transport="streamable-http", url=server.url, health_interval=0.05)
            async with Manager([spec]) as manager:
                await manager.call("shop__echo", {"text": "first"})
                await probed.wait()
                for _ in range(turns):
                    await asyncio.sleep(0)
                assert words(await manager.call("shop__echo", {"text": "second"})) == "second"


def _cut_off(done: asyncio.Event) -> Fault:
    async def fault(server: HttpServer, request: web.Request, message: Message) -> web.StreamResponse | None:
        done.set()
        return await reset()(server, request, message)

    return fault


async def test_a_call_that_comes_in_the_middle_of_an_attempt_which_fails_is_made_by_the_next() -> None:
    async with HttpServer(Plan(revisions=("2025-11-25",))) as server:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def cut_off_later(
            server: HttpServer, request: web.Request, message: Message
        ) -> web.StreamResponse | None:
            begun.set()
            await go_on.wait()
            return await reset()(server, request, message)

        spec = ServerSpec("shop", transport="streamable-http", url=server.url)
        async with Manager([spec]) as manager:
            await manager.call("shop__echo", {"text": "first"})
            server.fault("initialize", cut_off_later)
            await server.stop()
            await server.start()
            restarting = asyncio.create_task(manager.server("shop").restart())
            await begun.wait()
            called = asyncio.create_task(manager.call("shop__echo", {"text": "second"}))
            await asyncio.sleep(0)
            go_on.set()
            assert words(await called) == "second"
            await asyncio.gather(restarting, return_exceptions=True)
