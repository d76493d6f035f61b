"""Many servers over every transport, all of them killed at once: while they are idle, and in the middle of a call."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from openclaw.config.servers import ServersOptions
from openclaw.mcp.manager import Manager
from openclaw.mcp.tools.results import Result
from openclaw.process import guardian
from parts.chaos import marked
from parts.sites import Site

KINDS = ("stdio", "streamable-http", "sse")
MAYBE = "The call may or may not have been carried out; it is not repeated."


@contextlib.asynccontextmanager
async def servers(folder: Path, count: int) -> AsyncIterator[tuple[Manager, list[Site]]]:
    """All of them up. Nothing that was started for them is left at the end."""
    sites = [Site(KINDS[number % len(KINDS)], folder, f"s{number}") for number in range(count)]
    with marked() as mark:
        async with contextlib.AsyncExitStack() as stack:
            for site in sites:
                await stack.enter_async_context(site)
            options = ServersOptions(max_concurrent_servers=count)
            manager = await stack.enter_async_context(Manager([site.spec() for site in sites], options=options))
            assert [status.state for status in manager.status()] == ["ready"] * count
            yield manager, sites
        assert guardian.find(mark) == []


async def kill(manager: Manager, sites: list[Site]) -> None:
    pids = {status.name: status.pid for status in manager.status()}
    await asyncio.gather(*(site.crash(pids[site.name]) for site in sites))


def failed(results: list[Result]) -> list[str]:
    return [result.fault or "an error of the server" for result in results if result.is_error]


async def idle(folder: Path, count: int) -> None:
    async with servers(folder, count) as (manager, sites):
        await kill(manager, sites)
        calls = [manager.call(f"{site.name}__count", {"key": "next"}) for site in sites]
        assert failed(await asyncio.gather(*calls)) == []
        assert [site.log for site in sites] == [["count next"]] * count


async def in_mid_call(folder: Path, count: int) -> None:
    async with servers(folder, count) as (manager, sites):
        calls = [asyncio.ensure_future(manager.call(f"{site.name}__stall", {"key": "k"})) for site in sites]
        for site in sites:
            await site.logged("stall k")
        await kill(manager, sites)
        sentences = failed(await asyncio.gather(*calls))
        assert [sentence.endswith(MAYBE) for sentence in sentences] == [True] * count, sentences
        assert [site.log for site in sites] == [["stall k"]] * count
