"""What every measure is given: how thorough to be, whom to measure, where results go, and how failures are noted."""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.contenders.driver import Target
from bench.contenders.entrants import EVERYBODY, FAST_FLOOR, FLOOR, MCPORTER, OURS, TS_SDK, Entrant
from bench.drivers import Driver, environment
from bench.parts import ROOT, Unavailable
from bench.processes import Failed, finished
from bench.results import Kind, Note, Results

# Whom `QUICK=1` measures.
QUICK_KEYS = frozenset({FLOOR.key, FAST_FLOOR.key, OURS.key, TS_SDK.key, MCPORTER.key})
# Who fails when it is none of those that are measured.
HARNESS = "the harness"
# The longest reason that is kept.
MOST_WORDS = 200


@dataclass
class Run:
    results: Results
    quick: bool = False
    # Instead of what each measure takes for thorough.
    fixed_rounds: int | None = None
    # Only these; everybody when empty.
    who: frozenset[str] = frozenset()
    everybody: tuple[Entrant, ...] = EVERYBODY
    # Who cannot be had, and why.
    absent: dict[str, str] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    @property
    def is_whole(self) -> bool:
        """Whether what comes of it may be published."""
        return not (self.quick or self.fixed_rounds or self.who)

    def wants(self, key: str) -> bool:
        return key in (self.who or (QUICK_KEYS if self.quick else {key}))

    def entrants(self, measure: str) -> list[Entrant]:
        """Whom to measure; who is wanted and cannot be had is noted."""
        wanted = [entrant for entrant in self.everybody if self.wants(entrant.key)]
        for entrant in wanted:
            if entrant.key in self.absent:
                self.note(measure, entrant.key, "skipped", self.absent[entrant.key])
        return [entrant for entrant in wanted if entrant.key not in self.absent]

    def prepare(self) -> None:
        """Install whoever is wanted, before anything is measured."""
        for entrant in self.everybody:
            if self.wants(entrant.key):
                try:
                    entrant.command()
                    entrant.env()
                    self.told_version(entrant.title, entrant.version)
                except (Unavailable, OSError) as error:
                    self.absent[entrant.key] = _one_line(error)
                    self.say(f"{entrant.key} skipped: {self.absent[entrant.key]}")

    def told_version(self, title: str, version: Callable[[], str]) -> None:
        """Put down what was measured; who does not say goes without."""
        try:
            if found := version():
                self.results.versions[title] = found
        except (Failed, OSError, ValueError, KeyError) as error:
            self.say(f"{title}: its version is not known: {_one_line(error)}")

    def rounds(self, thorough: int, quick: int = 2) -> int:
        return self.fixed_rounds or (quick if self.quick else thorough)

    def say(self, text: str) -> None:
        print(f"bench: {time.monotonic() - self.started:5.0f} s  {text}", file=sys.stderr, flush=True)

    def failed(self, measure: str, who: str, error: Exception, case: str = "") -> None:
        self.note(measure, who, "failed", _one_line(error), case)
        self.say(f"{measure}: {f'{case}: ' if case else ''}{who} failed: {_one_line(error)}")

    def note(self, measure: str, who: str, kind: Kind, why: str, case: str = "") -> None:
        self.results.note(Note(measure, who, kind, why, case))

    @contextmanager
    def opened(
        self,
        measure: str,
        servers: dict[str, Target],
        without: frozenset[str] | set[str] = frozenset(),
        only: frozenset[str] | None = None,
        case: str = "",
    ) -> Iterator[dict[str, Driver]]:
        """A driver for each entrant, on the clients' core and connected to all of these servers; `without` some of them, or `only`
        some."""
        with ExitStack() as stack:
            drivers: dict[str, Driver] = {}
            for entrant in self.entrants(measure):
                if entrant.key in without or (only is not None and entrant.key not in only):
                    continue
                self.say(f"{measure}: connecting {entrant.key}")
                try:
                    driver = stack.enter_context(entrant.driver())
                    driver.place()
                    driver.open(servers)
                    drivers[entrant.key] = driver
                except (Failed, OSError) as error:
                    self.failed(measure, entrant.key, error, case)
            yield drivers


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:MOST_WORDS] or type(error).__name__


def report_of(module: str, *arguments: str, patience: float, with_tests: bool = False) -> dict[str, Any]:
    """Run a program of bench/ours in a process and a state directory of its own; it prints one JSON object. Raises Failed.

    `with_tests`: it uses parts of the tests.
    """
    more = {"PYTHONPATH": str(ROOT / "tests")} if with_tests else {}
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        command = [sys.executable, "-m", module, *arguments]
        printed = finished(command, environment(Path(home)) | more, cwd=ROOT, patience=patience)
    found: dict[str, Any] = json.loads(printed.strip().splitlines()[-1])
    return found
