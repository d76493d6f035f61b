"""Servers of which a fleet has one process: real gateways on a real PostgreSQL, which use it from wherever they are."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from openclaw.mcp.server.server import LiveServer
from parts import traced_server
from parts.collector import Collector
from parts.gateways import GatewayProcess, Home, Running, gateway_process, home, running
from parts.placed_server import RELEASE, entry, lines_of, starts
from parts.postgres import PostgresServer
from parts.processes import HANG_GUARD, wait_until_gone

pytestmark = pytest.mark.real


@contextmanager
def place_at(folder: Path, url: str, more: Mapping[str, Any] = {}, /, **servers: Any) -> Iterator[Home]:
    """`more` are other sections of its config."""
    folder.mkdir()
    with home(folder, env={"DATABASE": url, "TOKEN_KEY": "correct horse battery staple"}) as made:
        database = {"session": {"store": "postgres", "postgres": {"url": "${DATABASE}"}}}
        made.save({**database, "tokenStore": {"key": "secret://env/TOKEN_KEY"}, "mcp": {"servers": servers}}, **more)
        yield made


@asynccontextmanager
async def two_gateways(
    postgres: PostgresServer, folder: Path, more: Mapping[str, Any] = {}, /, **servers: Any
) -> AsyncIterator[tuple[Running, Running]]:
    """Gateways of this process, which see nothing of each other but over the database and their ports."""
    url = await postgres.new_database()
    async with AsyncExitStack() as stack:
        places = [stack.enter_context(place_at(folder / name, url, more, **servers)) for name in ("one", "two")]
        gateways = [await stack.enter_async_context(running(place)) for place in places]
        for gateway in gateways:
            await gateway.ready(*servers)
        yield gateways[0], gateways[1]


async def called(gateway: Running, tool: str, words: str = "") -> str:
    """The text of a result; fails when it is an error."""
    status, told = await gateway.post(
        "/v1/tools/invoke", {"tool": tool, "arguments": {"words": words}, "framed": False}
    )
    assert (status, told["isError"]) == (200, False), told
    return str(told["content"][0]["text"])


def pid_of(gateway: Running) -> int | None:
    """Of the only server there is, where it runs here."""
    (shown,) = gateway.gateway._manager.status()
    return shown.pid


async def until_idle(server: LiveServer) -> None:
    async with asyncio.timeout(HANG_GUARD):
        while server.is_busy:
            await asyncio.sleep(0)


@pytest.mark.parametrize("options", [(), ("--modern",)])
async def test_one_process_serves_all_gateways_with_everything_it_has(
    postgres: PostgresServer, tmp_path: Path, options: tuple[str, ...]
) -> None:
    journal = tmp_path / "journal"
    memo = entry(journal, *options, placement="one")
    async with two_gateways(postgres, tmp_path, memo=memo) as (one, two):
        (pid,) = starts(journal)
        assert sorted([pid_of(one) or 0, pid_of(two) or 0]) == [0, pid]
        assert [await called(gateway, "memo__who") for gateway in (one, two)] == [str(pid)] * 2
        for gateway in (one, two):
            status, listed = await gateway.get("/v1/tools")
            assert {"memo__who", "memo__note", "memo__wait"} <= {tool["name"] for tool in listed["tools"]}
            status, read = await gateway.post("/v1/mcp/servers/memo/read", {"uri": "memo://all"})
            assert (status, f"memo of {pid}" in json.dumps(read)) == (200, True), read
            status, asked = await gateway.post("/v1/mcp/servers/memo/prompt", {"name": "greet", "arguments": {}})
            assert (status, f"Greet {pid}." in json.dumps(asked)) == (200, True), asked
        assert await called(two, "memo__note", "from two") == "noted from two"
        told = json.loads((await asyncio.to_thread(one.home.run, "fleet", "--json")).stdout)["gateways"]
        assert sorted((member["servers"], member["leases"]) for member in told) == [([], []), (["memo"], [])]
        # A tool that came while both used it is known to both.
        await called(one, "memo__grow")
        for gateway in (one, two):
            async with asyncio.timeout(HANG_GUARD):
                while "memo__grown5" not in json.dumps((await gateway.get("/v1/tools"))[1]):
                    await asyncio.sleep(0)
    assert lines_of(journal) == [f"start {pid}", "note from two"]


async def test_progress_and_cancelling_reach_across_gateways(postgres: PostgresServer, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    async with two_gateways(postgres, tmp_path, memo=entry(journal, placement="one")) as (one, two):
        host, guest = (one, two) if pid_of(two) is None else (two, one)
        manager = await guest.gateway.app.engine.manager()
        heard: asyncio.Queue[str] = asyncio.Queue()

        def progress(at: float, of: float | None, words: str) -> None:
            heard.put_nowait(f"{at} of {of}: {words}")

        call = asyncio.create_task(manager.call("memo__wait", {"words": "it"}, agent="main", on_progress=progress))
        async with asyncio.timeout(HANG_GUARD):
            assert await heard.get() == "1.0 of 2.0: half of it"
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        # The gateway that runs it no longer waits for the call either.
        server = (await host.gateway.app.engine.manager()).server("memo", "main")
        await until_idle(server)
        short = await manager.call("memo__wait", {"words": "late"}, agent="main", timeout=0.2)
        assert short.timed_out
        await until_idle(server)
        assert await called(guest, "memo__note", "after") == "noted after"


async def test_a_call_at_another_gateway_is_one_trace_of_its_caller_both_gateways_and_the_server(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """The server is made with the official SDK, which traces by itself."""
    trace, caller = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    async with Collector() as collector:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_SERVICE_NAME": "shop"}
        shop = {"command": sys.executable, "args": [traced_server.__file__], "env": env, "placement": "one"}
        telemetry = {"otlp": {"endpoint": collector.url}}
        async with two_gateways(postgres, tmp_path, {"telemetry": telemetry}, shop=shop) as gateways:
            (guest,) = [one for one in gateways if pid_of(one) is None]
            headers = {**guest.headers, "traceparent": f"00-{trace}-{caller}-01"}
            body = {"tool": "shop__price", "arguments": {"article": "milk"}}
            async with guest.client.post(f"{guest.url}/v1/tools/invoke", json=body, headers=headers) as response:
                assert (await response.json())["isError"] is False
        await collector.until("POST /v1/tools/invoke", "POST /v1/fleet/servers/{digest}")

    (server,) = [span for span in collector.spans if span.service == "shop" and span.trace == trace]
    assert [one for one in collector.ancestry(server) if not one.endswith(" sessions")] == [
        "tools/call price",
        "tools/call price",
        "POST /v1/fleet/servers/{digest}",
        "tools/call price",
        "POST /v1/tools/invoke",
    ]
    assert next(span for span in collector.spans if span.name == "POST /v1/tools/invoke").parent == caller


async def test_nobody_but_a_gateway_of_the_fleet_gets_at_a_placed_server(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    journal = tmp_path / "journal"
    async with two_gateways(postgres, tmp_path, memo=entry(journal, placement="one")) as (one, two):
        host = one if pid_of(one) is not None else two
        fleet = host.gateway.app.engine.fleet
        assert fleet is not None
        name = await fleet.database.value("SELECT name FROM openclaw.lease WHERE name LIKE 'server:memo:%'")
        path = "/v1/fleet/servers/" + name.rpartition(":")[2]
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "note", "arguments": {}}}
        # With the gateway's own token, with none, and with a wrong one.
        assert (await host.post(path, body))[0] == 403
        for headers in ({}, {"Authorization": "Bearer " + "0" * 64}):
            async with host.client.post(host.url + path, json=body, headers=headers) as response:
                assert response.status == 401
        assert lines_of(journal) == [f"start {starts(journal)[0]}"]


# Processes that are killed and drained


class Fleet:
    """Two gateways, each a process, and a client."""

    def __init__(self, gateways: list[GatewayProcess], http: aiohttp.ClientSession) -> None:
        self.gateways = gateways
        self._http = http

    async def call(self, gateway: GatewayProcess, tool: str, words: str = "") -> tuple[bool, str]:
        """Whether it went well, and the text."""
        async with self._http.post(
            f"http://127.0.0.1:{gateway.port}/v1/tools/invoke",
            json={"tool": tool, "arguments": {"words": words}, "framed": False},
            headers={"Authorization": f"Bearer {gateway.home.token}"},
        ) as response:
            told = await response.json()
            assert response.status == 200, told
            return not told["isError"], told["content"][0]["text"]

    async def split(self) -> tuple[GatewayProcess, GatewayProcess]:
        """The one that runs the server, and the other."""
        host = [gateway for gateway in self.gateways if await self._pid(gateway) is not None]
        assert len(host) == 1
        return host[0], next(gateway for gateway in self.gateways if gateway is not host[0])

    async def _pid(self, gateway: GatewayProcess) -> int | None:
        async with self._http.get(
            f"http://127.0.0.1:{gateway.port}/v1/mcp/servers/memo",
            headers={"Authorization": f"Bearer {gateway.home.token}"},
        ) as response:
            pid = (await response.json())["pid"]
            return None if pid is None else int(pid)


@asynccontextmanager
async def fleet_of_two(postgres: PostgresServer, folder: Path, **servers: Any) -> AsyncIterator[Fleet]:
    url = await postgres.new_database()
    async with AsyncExitStack() as stack:
        places = [stack.enter_context(place_at(folder / name, url, **servers)) for name in ("one", "two")]
        gateways = [stack.enter_context(gateway_process(place)) for place in places]
        for gateway in gateways:
            for name in servers:
                await asyncio.to_thread(gateway.wait_until, f"'{name}' is ready")
        yield Fleet(gateways, await stack.enter_async_context(aiohttp.ClientSession()))


async def until_noted(journal: Path, line: str) -> None:
    async with asyncio.timeout(HANG_GUARD):
        while line not in lines_of(journal):
            await asyncio.sleep(0.01)


async def test_when_its_gateway_is_killed_another_runs_it_and_a_call_under_way_is_not_made_twice(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    journal = tmp_path / "journal"
    async with fleet_of_two(postgres, tmp_path, memo=entry(journal, placement="one")) as fleet:
        host, guest = await fleet.split()
        under_way = asyncio.create_task(fleet.call(guest, "memo__wait", "for ever"))
        await until_noted(journal, "wait for ever")
        await asyncio.to_thread(host.end, signal.SIGKILL)
        is_well, told = await under_way
        assert (is_well, "may or may not have been carried out; it is not repeated" in told) == (False, True), told
        # Within the time of a lease; the call waits for it.
        assert await fleet.call(guest, "memo__note", "afterwards") == (True, "noted afterwards")
        first, second = starts(journal)
        assert lines_of(journal) == [f"start {first}", "wait for ever", f"start {second}", "note afterwards"]


async def test_a_drained_gateway_finishes_calls_of_others_and_hands_the_server_over_without_a_failure(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    journal = tmp_path / "journal"
    async with fleet_of_two(postgres, tmp_path, memo=entry(journal, placement="one")) as fleet:
        host, guest = await fleet.split()
        under_way = asyncio.create_task(fleet.call(guest, "memo__wait", "a while"))
        await until_noted(journal, "wait a while")
        stopping = asyncio.create_task(asyncio.to_thread(host.home.run, "gateway", "stop", "--drain", "--grace", "0"))
        await asyncio.to_thread(host.wait_until, "The gateway drains")
        # Sent while the server is handed over: neither lost nor refused.
        others = [asyncio.create_task(fleet.call(guest, "memo__note", str(number))) for number in range(5)]
        await asyncio.sleep(0)
        (journal.parent / RELEASE).touch()
        assert await under_way == (True, "waited a while")
        assert sorted(await asyncio.gather(*others)) == [(True, f"noted {number}") for number in range(5)]
        stopped = await stopping
        assert stopped.returncode == 0, stopped.stderr
        for number in range(5, 10):
            assert await fleet.call(guest, "memo__note", str(number)) == (True, f"noted {number}")
        notes = [line for line in lines_of(journal) if line.startswith("note ")]
        assert sorted(notes) == [f"note {number}" for number in range(10)]
        assert len(starts(journal)) == 2


async def test_a_frozen_gateway_is_taken_over_and_ends_its_process_when_it_wakes(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """What was sent to it is not made again; what comes when it is known to be silent goes to the next."""
    journal = tmp_path / "journal"
    async with fleet_of_two(postgres, tmp_path, memo=entry(journal, placement="one")) as fleet:
        host, guest = await fleet.split()
        (first,) = starts(journal)
        ended = os.pidfd_open(first)
        host.process.send_signal(signal.SIGSTOP)
        try:
            is_well, told = await fleet.call(guest, "memo__note", "sent to it")
            assert (is_well, "may or may not have been carried out; it is not repeated" in told) == (False, True), told
            assert await fleet.call(guest, "memo__note", "afterwards") == (True, "noted afterwards")
        finally:
            host.process.send_signal(signal.SIGCONT)
        await asyncio.to_thread(wait_until_gone, ended)
        _, second = starts(journal)
        assert await fleet.call(guest, "memo__who") == (True, str(second))
        async with asyncio.timeout(HANG_GUARD):
            while not (answer := await fleet.call(host, "memo__who"))[0]:
                assert "this gateway has lost touch with the database of its fleet" in answer[1]
        assert answer == (True, str(second))
        assert lines_of(journal).count("note sent to it") <= 1
        assert [line for line in lines_of(journal) if line != "note sent to it"] == [
            f"start {first}",
            f"start {second}",
            "note afterwards",
        ]


async def test_a_server_that_crashes_comes_back_at_one_gateway(postgres: PostgresServer, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    async with fleet_of_two(postgres, tmp_path, memo=entry(journal, placement="one")) as fleet:
        _, guest = await fleet.split()
        is_well, told = await fleet.call(guest, "memo__crash")
        assert (is_well, "may or may not have been carried out" in told) == (False, True), told
        pids = set()
        for gateway in fleet.gateways:
            is_well, pid = await fleet.call(gateway, "memo__who")
            assert is_well, pid
            pids.add(int(pid))
        assert len(pids) == 1
        assert len(starts(journal)) == 2


async def test_a_gateway_that_was_cut_off_from_the_database_ends_the_server_before_another_starts_it(
    tmp_path: Path,
) -> None:
    """Frozen, it could end nothing; cut off, it has to."""
    journal = tmp_path / "journal"
    with PostgresServer() as server:
        url = await server.new_database()
        with place_at(tmp_path / "one", url, memo=entry(journal, placement="one")) as place:
            with gateway_process(place) as gateway:
                await asyncio.to_thread(gateway.wait_until, "'memo' is ready")
                (pid,) = starts(journal)
                handle = os.pidfd_open(pid)
                server.pause()
                try:
                    loop = asyncio.get_running_loop()
                    gone = asyncio.Event()
                    loop.add_reader(handle, gone.set)
                    async with asyncio.timeout(HANG_GUARD):
                        await gone.wait()
                finally:
                    loop.remove_reader(handle)
                    os.close(handle)
                    server.resume()
                # When the database is back, so is the server.
                async with asyncio.timeout(HANG_GUARD):
                    while len(starts(journal)) < 2:
                        await asyncio.sleep(0.05)
