"""Twenty servers over every transport, fifty callers, and somebody who kills servers and spoils connections: seeded, for as long as asked.

Every call has to end exactly once, nothing may be done twice, and nothing may be left over. Each HTTP server is behind a proxy that cuts
connections at any byte, stalls them, or passes on a few bytes at a time.
"""

import asyncio
import contextlib
import gc
import os
import random
import re
import secrets
import signal
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from openclaw.config.servers import ServersOptions, ServerSpec
from openclaw.mcp.connect import Dependencies
from openclaw.mcp.manager import Manager
from openclaw.process import guardian
from openclaw.transport.base import Transport
from parts.chaos_proxy import Chaos, ChaosProxy
from parts.planned_server import LEGACY, MODERN
from parts.processes import open_descriptors
from parts.sites import Site

# Transport, and the revision that the server speaks: both eras where a transport carries both.
KINDS = [
    *[("stdio", LEGACY), ("stdio", [MODERN])] * 5,
    *[("streamable-http", LEGACY), ("streamable-http", [MODERN])] * 3,
    *[("sse", LEGACY)] * 2,
    *[("memory", LEGACY), ("memory", [MODERN])],
]
CALLERS = 50
# No call may take longer than this; a restart, a backoff and a busy machine included.
HANG_GUARD = 30.0
# What connecting and calling may take by the servers' specs: short, so that stalled connections do not fill the whole run.
CONNECT_SECONDS = 5.0
CALL_SECONDS = 3.0
HEALTH_SECONDS = 2.0
# Longer than any exchange of these servers: a cut may come at every byte of one, or after the next.
MAX_BYTES = 3_000


UNENDED, ANSWERED, FAILED = range(3)


@dataclass
class Outcome:
    """What was asked and what came of it. Calls are numbered, and a byte is kept of each: runs may be long, and memory is watched."""

    # How each call ended; and how often the servers have carried it out.
    ends: bytearray = field(default_factory=bytearray)
    done: bytearray = field(default_factory=bytearray)
    # What failed calls ended with, names and numbers left out.
    sentences: Counter[str] = field(default_factory=Counter)
    disturbed: Counter[str] = field(default_factory=Counter)
    leftover: list[int] = field(default_factory=list)
    descriptors: set[str] = field(default_factory=set)
    # KiB of memory after a collection: warm, after a third of the time, and at its end.
    resident: list[int] = field(default_factory=list)

    @property
    def asked(self) -> int:
        return len(self.ends)

    @property
    def answered(self) -> int:
        return self.ends.count(ANSWERED)

    @property
    def unended(self) -> list[int]:
        return [number for number, end in enumerate(self.ends) if end == UNENDED]

    @property
    def doubled(self) -> list[int]:
        return [number for number, times in enumerate(self.done) if times > 1]

    @property
    def lost(self) -> list[int]:
        """Answered, but never done."""
        return [number for number, end in enumerate(self.ends) if end == ANSWERED and not self.done[number]]

    def begin(self) -> int:
        self.ends.append(UNENDED)
        return len(self.ends) - 1

    def end(self, number: int, fault: str) -> None:
        assert self.ends[number] == UNENDED
        self.ends[number] = FAILED if fault else ANSWERED
        if fault:
            self.sentences[re.sub(r"'s\d+'|\d+", "#", fault)] += 1

    def count(self, log: Iterable[str]) -> None:
        """Take over what one server says it has done."""
        for line in log:
            if line.startswith("count "):
                self.done[int(line.removeprefix("count "))] += 1


@contextlib.contextmanager
def marked() -> Iterator[bytes]:
    """A mark that every process carries which is started meanwhile, by us or by our children."""
    before, mark = os.environ.get(guardian.VARIABLE, ""), f"chaos-{secrets.token_hex(8)};"
    os.environ[guardian.VARIABLE] = before + mark
    try:
        yield mark.encode()
    finally:
        if before:
            os.environ[guardian.VARIABLE] = before
        else:
            del os.environ[guardian.VARIABLE]


class Place:
    """One server, and what can go wrong with it."""

    def __init__(self, site: Site, chance: random.Random) -> None:
        self.site = site
        self._chance = chance
        self._proxy: ChaosProxy | None = None

    async def open(self, stack: contextlib.AsyncExitStack) -> ServerSpec:
        await stack.enter_async_context(self.site)
        more: dict[str, object] = {}
        if self.site.http:
            self._proxy = await stack.enter_async_context(ChaosProxy(self.site.http.port))
            path = "sse" if self.site.kind == "sse" else "mcp"
            more["url"] = f"http://127.0.0.1:{self._proxy.port}/{path}"
        times = {"connect_timeout": CONNECT_SECONDS, "call_timeout": CALL_SECONDS, "health_interval": HEALTH_SECONDS}
        return self.site.spec(max_restarts=1_000_000, **times, **more)

    async def disturb(self, pid: int | None) -> str:
        """Do one thing to it; what was done."""
        if self.site.kind == "stdio":
            if pid is None:
                return "not there"
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            return "killed"
        if self._proxy is None or self._chance.random() < 0.2:
            await self.site.crash()
            return "restarted"
        if self._chance.random() < 0.25:
            self._proxy.cut()
            return "reset"
        what, self._proxy.plan = self._plan()
        if self._chance.random() < 0.5:
            # Plans are for new connections: so that there are some.
            self._proxy.cut()
        await asyncio.sleep(self._chance.random() * 0.3)
        self._proxy.plan = Chaos()
        return what

    def _plan(self) -> tuple[str, Chaos]:
        at = self._chance.randrange(MAX_BYTES)
        plans = {
            "cut up": Chaos(cut_up=at),
            "cut down": Chaos(cut_down=at),
            "stalled up": Chaos(stall_up=at),
            "stalled down": Chaos(stall_down=at),
            "slivers": Chaos(sliver=1 + at % 9),
            "refused": Chaos(refuse=True),
        }
        what = self._chance.choice(list(plans))
        return what, plans[what]


async def run(folder: Path, seconds: float, seed: int) -> Outcome:
    outcome, chance = Outcome(), random.Random(seed)
    places = [Place(Site(kind, folder, f"s{n}"), random.Random(chance.random())) for n, (kind, _) in enumerate(KINDS)]
    for place, (_, revisions) in zip(places, KINDS, strict=True):
        place.site.plan(revisions=revisions)
    before = open_descriptors()

    def transport(spec: ServerSpec) -> Transport | None:
        return next((found for place in places if (found := place.site.dependencies.make_transport(spec))), None)

    with marked() as mark:
        async with contextlib.AsyncExitStack() as stack:
            specs = [await place.open(stack) for place in places]
            options = ServersOptions(max_concurrent_servers=len(places))
            async with Manager(specs, options=options, dependencies=Dependencies(make_transport=transport)) as manager:
                spoken = [status.revision for status in manager.status()]
                assert spoken == [revisions[0] for _, revisions in KINDS]
                ends = asyncio.get_running_loop().time() + seconds
                stop = asyncio.gather(
                    _disturb(manager, places, chance, ends, outcome),
                    _weigh(outcome, seconds),
                )
                await asyncio.gather(*(_caller(manager, number, seed, ends, outcome) for number in range(CALLERS)))
                await stop
        outcome.leftover = guardian.find(mark)
    outcome.done = bytearray(outcome.asked)
    for place in places:
        outcome.count(place.site.log)
    gc.collect()
    outcome.descriptors = open_descriptors() - before
    return outcome


async def _caller(manager: Manager, number: int, seed: int, ends: float, outcome: Outcome) -> None:
    chance, loop = random.Random(seed * 1_000 + number), asyncio.get_running_loop()
    while loop.time() < ends:
        call = outcome.begin()
        async with asyncio.timeout(HANG_GUARD):
            result = await manager.call(f"s{chance.randrange(len(KINDS))}__count", {"key": str(call)})
        said = result.fault or " ".join(block.text or "" for block in result.content)
        outcome.end(call, said if result.is_error else "")
        await asyncio.sleep(chance.random() * 0.02)


async def _disturb(manager: Manager, places: list[Place], chance: random.Random, ends: float, outcome: Outcome) -> None:
    loop = asyncio.get_running_loop()
    while loop.time() < ends:
        await asyncio.sleep(chance.random() * 0.2)
        for place in places:
            if place.site.http:
                place.site.http.forget()
        place = chance.choice(places)
        pids = {status.name: status.pid for status in manager.status()}
        outcome.disturbed[await place.disturb(pids[place.site.name])] += 1


async def _weigh(outcome: Outcome, seconds: float) -> None:
    for share in (0.35, 0.6):
        await asyncio.sleep(seconds * share)
        gc.collect()
        outcome.resident.append(resident())


def resident() -> int:
    """KiB of memory that this process holds now."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1])  # type: ignore[index]
