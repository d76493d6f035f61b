"""Twenty servers over every transport, fifty callers, and somebody who kills servers and cuts connections: seeded, for as long as asked.

Every call has to end exactly once, nothing may be done twice, and nothing may be left over.
"""

import asyncio
import contextlib
import os
import random
import signal
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from openclaw.config.servers import EngineOptions, ServerSpec
from openclaw.mcp.connect import Services
from openclaw.mcp.manager import Manager
from openclaw.transport.base import Transport
from parts.processes import has_ended, open_descriptors
from parts.sites import Site

KINDS = ["stdio"] * 10 + ["streamable-http"] * 5 + ["sse"] * 3 + ["memory"] * 2
CALLERS = 50
# No call may take longer than this; a restart, a backoff and a busy machine included.
HANG_GUARD = 30.0


@dataclass
class Outcome:
    """What was asked and what came of it; `done` is what the servers really did."""

    asked: int = 0
    answered: set[str] = field(default_factory=set)
    failed: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    disturbed: int = 0
    leftover: list[int] = field(default_factory=list)
    descriptors: int = 0

    @property
    def doubled(self) -> list[str]:
        return [key for key, times in self.done.items() if times > 1]

    @property
    def lost(self) -> list[str]:
        """Answered, but never done."""
        return [key for key in self.answered if key not in self.done]


async def run(folder: Path, seconds: float, seed: int) -> Outcome:
    outcome, chance = Outcome(), random.Random(seed)
    sites = [Site(kind, folder, f"s{n}") for n, kind in enumerate(KINDS)]
    before = open_descriptors()

    def transport(spec: ServerSpec) -> Transport | None:
        return next((found for site in sites if (found := site.services.make_transport(spec))), None)

    async with contextlib.AsyncExitStack() as stack:
        for site in sites:
            await stack.enter_async_context(site)
        options = EngineOptions(max_concurrent_servers=len(sites))
        specs = [site.spec(max_restarts=1_000_000) for site in sites]
        async with Manager(specs, options=options, services=Services(make_transport=transport)) as manager:
            ends = asyncio.get_running_loop().time() + seconds
            stop = asyncio.ensure_future(_disturb(manager, sites, chance, ends, outcome))
            await asyncio.gather(*(_caller(manager, number, seed, ends, outcome) for number in range(CALLERS)))
            await stop
            pids = [status.pid for status in manager.status() if status.pid]
    outcome.leftover = [pid for pid in pids if not has_ended(pid)]
    for site in sites:
        outcome.done.update(line.removeprefix("count ") for line in site.log if line.startswith("count "))
    outcome.descriptors = len(open_descriptors() - before)
    return outcome


async def _caller(manager: Manager, number: int, seed: int, ends: float, outcome: Outcome) -> None:
    chance, loop = random.Random(seed * 1_000 + number), asyncio.get_running_loop()
    while loop.time() < ends:
        key = f"{number}-{outcome.asked}"
        outcome.asked += 1
        async with asyncio.timeout(HANG_GUARD):
            result = await manager.call(f"s{chance.randrange(len(KINDS))}__count", {"key": key})
        if result.is_error:
            outcome.failed[key] += 1
        else:
            outcome.answered.add(key)
        await asyncio.sleep(chance.random() * 0.02)


async def _disturb(manager: Manager, sites: list[Site], chance: random.Random, ends: float, outcome: Outcome) -> None:
    loop = asyncio.get_running_loop()
    while loop.time() < ends:
        await asyncio.sleep(chance.random() * 0.2)
        site = chance.choice(sites)
        status = next(s for s in manager.status() if s.name == site.name)
        outcome.disturbed += 1
        if site.kind == "stdio":
            if status.pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(status.pid, signal.SIGKILL)
        elif site.http and chance.random() < 0.5:
            site.http.cut()
        else:
            await site.crash()
