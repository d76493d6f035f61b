"""What every measure is given: how thorough to be, whom to measure, where results go, and how failures are noted."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.contenders.driver import Target
from bench.contenders.roster import EVERYBODY, FLOOR, OURS, TS_SDK, Entrant
from bench.drivers import Driver, DriverError, environment
from bench.parts import ROOT, Unavailable
from bench.results import Results

# Whom `QUICK=1` measures, besides the floor and ours.
QUICK_KEYS = {FLOOR.key, OURS.key, TS_SDK.key, "python-sdk"}


@dataclass
class Run:
    results: Results
    quick: bool = False
    # Who could not be started is not tried again.
    absent: dict[str, str] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def entrants(self) -> list[Entrant]:
        wanted = [e for e in EVERYBODY if not self.quick or e.key in QUICK_KEYS]
        return [e for e in wanted if e.key not in self.absent]

    def rounds(self, thorough: int, quick: int = 2) -> int:
        return quick if self.quick else thorough

    def say(self, text: str) -> None:
        print(f"bench: {time.monotonic() - self.started:5.0f} s  {text}", file=sys.stderr, flush=True)

    def failed(self, measure: str, who: str, error: Exception) -> None:
        text = " ".join(str(error).split()) or type(error).__name__
        self.results.note(measure, f"{who}: {text[:200]}")
        self.say(f"{measure}: {who} failed: {text[:200]}")

    def driver(self, entrant: Entrant, stack: ExitStack, measure: str) -> Driver | None:
        """A driver of this entrant that lives as long as the stack; None, with a note, when there is none to be had."""
        try:
            return stack.enter_context(entrant.driver())
        except (Unavailable, OSError) as error:
            self.absent[entrant.key] = str(error)
            self.results.note("", f"{entrant.key} is not measured: {error}")
            self.failed(measure, entrant.key, error)
            return None

    @contextmanager
    def opened(self, measure: str, servers: dict[str, Target]) -> Iterator[dict[str, Driver]]:
        """A driver for each entrant, connected to all of these servers."""
        with ExitStack() as stack:
            drivers: dict[str, Driver] = {}
            for entrant in self.entrants():
                driver = self.driver(entrant, stack, measure)
                if driver is None:
                    continue
                try:
                    driver.open(servers)
                    drivers[entrant.key] = driver
                except DriverError as error:
                    self.failed(measure, entrant.key, error)
            yield drivers


def report_of(module: str, *arguments: str, patience: float) -> dict[str, Any]:
    """Run a program of bench/ours in a process and a state directory of its own; it prints one JSON object."""
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=environment(Path(home)),
            timeout=patience,
            check=False,
        )
    if done.returncode != 0:
        raise DriverError((done.stderr.strip().splitlines() or ["it ended without a word"])[-1])
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found
