"""`python -m bench.soak --minutes N [--seed N] [--leaky]`: exit code 0 when everything that must be zero is zero.

`--leaky` makes one server leave processes behind, to show that a soak sees it. Prints what was seen and, of the calls that
ended with an error, the commonest reasons.
"""

import argparse
import asyncio
import faulthandler
import logging
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import msgspec
import uvloop

from bench.soak.chaos import UNDUE, Chaos
from bench.soak.ledger import reckon
from bench.soak.scene import Scene, http_servers, leftovers
from bench.soak.verdict import Observed, problems
from openclaw.mcp.manager import Manager

# Nothing of ours may live longer than this after a stop.
GONE_AFTER = 7.0
# Past its minutes: warming up, closing twenty servers, looking for what was left. A soak that is not over then hangs itself.
SPARE_SECONDS = 180.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="the same order of disturbances as another run")
    parser.add_argument("--leaky", action="store_true", help="with a server that leaves processes behind")
    options = parser.parse_args()
    # Says where it hangs, and ends with 1. The guardian ends the servers.
    faulthandler.dump_traceback_later(options.minutes * 60 + SPARE_SECONDS, exit=True)
    seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    # Servers that are killed give rise to many warnings, which are not what is looked at here.
    logging.getLogger("openclaw").setLevel(logging.CRITICAL)
    print(f"soak: {options.minutes:g} minutes, seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name)
        with open(folder / "calls", "w", encoding="utf-8") as log:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                noted = runner.run(soak(folder, log, options.minutes, seed, leaky=options.leaky))
        seen = observed(folder, noted)
    report(seen, noted.chaos.failures)
    found = problems(seen)
    for problem in found:
        print(f"soak: {problem}", file=sys.stderr)
    return 1 if found else 0


class Noted(msgspec.Struct, frozen=True):
    """What is known when everything has been closed, apart from what callers and servers wrote down."""

    scene: Scene
    chaos: Chaos
    minutes: float
    orphans: int
    descriptors: int


async def soak(folder: Path, log: TextIO, minutes: float, seed: int, *, leaky: bool) -> Noted:
    async with http_servers(folder) as http:
        scene = Scene(folder, http, random.Random(seed), leaky=leaky)
        chaos = Chaos(scene, log)
        # Once round everything, so that what is opened once and kept is there before anything is counted.
        await _manage(scene, None, 0.0)
        before = _descriptors()
        started = time.monotonic()
        await _manage(scene, chaos, minutes * 60)
        passed = (time.monotonic() - started) / 60
        descriptors = max(0, len(_descriptors()) - len(before))
    orphans = await _orphans(folder)
    for pid in orphans:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return Noted(scene, chaos, min(passed, minutes), len(orphans), descriptors)


def observed(folder: Path, noted: Noted) -> Observed:
    scene, chaos = noted.scene, noted.chaos
    with open(folder / "calls", encoding="utf-8") as calls:
        ledger = reckon(calls, (line for file in scene.journals for line in file.read_text().splitlines()))
    return Observed(
        minutes=noted.minutes,
        answered=ledger.answered,
        failed=ledger.failed,
        kills=scene.kills,
        cuts=scene.cuts,
        restarts=scene.restarts,
        reloads=scene.reloads,
        resumed=scene.http.resumed,
        sessions=scene.http.sessions,
        legacy_streams=scene.http.legacy_streams,
        lost=ledger.lost,
        doubled=ledger.doubled,
        hung=chaos.hung,
        undue=chaos.undue,
        orphans=noted.orphans,
        descriptors=noted.descriptors,
        memory=tuple(chaos.samples),
    )


async def _manage(scene: Scene, chaos: Chaos | None, seconds: float) -> None:
    async with Manager(scene.specs(), state=scene.folder / "state") as manager:
        scene.manager = manager
        for name in scene.names:
            await manager.call(f"{name}__echo", {"text": f"warm-{name}-{seconds:.0f}"})
        if chaos is not None:
            await chaos.run(seconds)


def _descriptors() -> list[str]:
    """What is open, by what it is."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.append(os.readlink(f"/proc/self/fd/{name}"))
    return found


async def _orphans(folder: Path) -> list[int]:
    end = time.monotonic() + GONE_AFTER
    while (left := leftovers(folder)) and time.monotonic() < end:
        await asyncio.sleep(0.1)
    return left


def report(seen: Observed, failures: dict[str, int]) -> None:
    ended = seen.answered + seen.failed
    print(
        f"calls       {ended} ({ended / seen.minutes:.0f} a minute), {seen.answered} answered, {seen.failed} ended with an error"
    )
    print(f"kills       {seen.kills} ({seen.kills / seen.minutes:.0f} a minute)")
    print(f"cuts        {seen.cuts}; restarts {seen.restarts}; reloads {seen.reloads}")
    print(
        f"recovered   {seen.resumed} streams resumed, {seen.sessions} sessions, {seen.legacy_streams} HTTP+SSE streams"
    )
    for name in ("lost", "doubled", "hung", "undue", "orphans", "descriptors"):
        print(f"{name:<11} {getattr(seen, name)}")
    settled = "" if seen.slope is None else f", {seen.slope / 1e6:+.2f} MB a minute once it had settled"
    print(f"memory      {seen.memory[-1] / 1e6:.1f} MB at the end{settled}")
    tenths = (seen.memory[len(seen.memory) * tenth // 10] / 1e6 for tenth in range(10))
    print(f"            {' '.join(f'{size:.1f}' for size in tenths)} MB at the start of each tenth")
    # Those that must not be come first.
    for reason, count in sorted(failures.items(), key=lambda item: (not item[0].startswith(UNDUE), -item[1]))[:12]:
        print(f"  {count} × {reason}")


if __name__ == "__main__":
    sys.exit(main())
