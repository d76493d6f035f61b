"""Settings of the engine as a whole, changed while its servers run."""

import asyncio
import logging
from pathlib import Path

from openclaw.config.servers import ServersOptions
from openclaw.mcp.manager import Manager
from openclaw.mcp.tools.results import Result
from parts.processes import handle_of, wait_until_gone
from parts.sites import Site


def words(result: Result) -> str:
    assert not result.fault, result.fault
    return "\n".join(item.text or "" for item in result.content)


async def test_tools_get_other_names_and_calls_under_the_old_ones_finish(tmp_path: Path) -> None:
    async with Site("stdio", tmp_path) as site, Manager([site.spec()]) as manager:
        pid = manager.status()[0].pid
        running = asyncio.ensure_future(manager.call("shop__stall", {"key": "k"}))
        await site.logged("stall k")
        await manager.reconcile([site.spec()], ServersOptions(tool_names="mcp_prefix_tool"))

        assert not running.done()
        assert words(await manager.call("mcp_shop_echo", {"text": "hi"})) == "hi"
        assert (await manager.call("shop__echo", {"text": "hi"})).fault == "There is no tool named shop__echo."
        assert manager.status()[0].pid == pid
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_servers_that_waited_for_a_place_start_when_there_are_more(tmp_path: Path) -> None:
    sites = [Site("stdio", tmp_path, name) for name in ("one", "two")]
    specs = [site.spec() for site in sites]
    async with Manager(specs, options=ServersOptions(max_concurrent_servers=1)) as manager:
        before = sorted(status.state for status in manager.status())
        await manager.reconcile(specs, ServersOptions(max_concurrent_servers=2))
        await asyncio.gather(*(manager.server(spec.name).client() for spec in specs))
        assert (before, len({status.pid for status in manager.status()})) == (["ready", "stopped"], 2)


async def test_fewer_places_end_no_server_that_is_in_use(tmp_path: Path) -> None:
    sites = [Site("stdio", tmp_path, name) for name in ("one", "two", "three")]
    specs = [site.spec() for site in sites]
    async with Manager(specs[:2]) as manager:
        before = [status.pid for status in manager.status()]
        busy = [asyncio.ensure_future(manager.call(f"{name}__stall", {"key": "k"})) for name in ("one", "two")]
        for site in sites[:2]:
            await site.logged("stall k")
        await manager.reconcile(specs, ServersOptions(max_concurrent_servers=1))
        refused = await manager.call("three__echo", {"text": "hi"})
        assert [status.pid for status in manager.status()] == [*before, None]
        assert refused.is_error
        for call in busy:
            call.cancel()
        await asyncio.gather(*busy, return_exceptions=True)


async def test_idle_conversations_lose_their_servers_from_the_moment_it_is_set(tmp_path: Path) -> None:
    async with Site("stdio", tmp_path) as site, Manager([site.spec(isolation="session")]) as manager:
        pid = int(words(await manager.call("shop__pid", {}, session="one")))
        handle = handle_of(pid)
        await manager.reconcile([site.spec(isolation="session")], ServersOptions(session_idle_ttl=0.1))
        await asyncio.to_thread(wait_until_gone, handle)


async def test_debug_goes_on_and_off(tmp_path: Path) -> None:
    logger = logging.getLogger("openclaw.mcp")
    before = logger.level
    try:
        async with Manager([]) as manager:
            await manager.reconcile([], ServersOptions(debug=True))
            on = logger.level
            await manager.reconcile([], ServersOptions())
            assert (on, logger.level) == (logging.DEBUG, logging.NOTSET)
    finally:
        logger.setLevel(before)
