"""A hundred servers killed, idle and in mid-call: the next call works, and nothing is done twice."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from openclaw.config.servers import ServersOptions
from openclaw.mcp.manager import Manager
from parts.processes import handle_of, wait_until_gone
from parts.sites import Site

COUNT = 100
pytestmark = pytest.mark.full


@pytest.fixture
def sites(tmp_path: Path) -> list[Site]:
    return [Site("stdio", tmp_path, f"s{n}") for n in range(COUNT)]


def kill_all(manager: Manager) -> None:
    for status in manager.status():
        assert status.pid is not None
        os.kill(status.pid, signal.SIGKILL)


async def test_a_hundred_servers_killed_while_idle_answer_the_next_call(sites: list[Site]) -> None:
    options = ServersOptions(max_concurrent_servers=COUNT)
    async with Manager([site.spec() for site in sites], options=options) as manager:
        kill_all(manager)
        results = await asyncio.gather(*(manager.call(f"s{n}__count", {"key": "k"}) for n in range(COUNT)))
        assert [result.fault for result in results] == [""] * COUNT
        assert [site.log for site in sites] == [["count k"]] * COUNT
        handles = [handle_of(status.pid) for status in manager.status() if status.pid]
    wait_until_gone(*handles)


async def test_a_hundred_servers_killed_in_mid_call_have_run_it_at_most_once(sites: list[Site]) -> None:
    options = ServersOptions(max_concurrent_servers=COUNT)
    async with Manager([site.spec() for site in sites], options=options) as manager:
        calls = [asyncio.ensure_future(manager.call(f"s{n}__stall", {"key": "k"})) for n in range(COUNT)]
        for site in sites:
            await site.logged("stall k")
        kill_all(manager)
        results = await asyncio.gather(*calls)
        assert all("may or may not have been carried out" in result.fault for result in results)
        assert [site.log for site in sites] == [["stall k"]] * COUNT
