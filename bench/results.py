"""What was measured: figures, and notes about what could not be. Knows no target and no words; report/ turns it into a page."""

import json
import os
import platform
import statistics
import sysconfig
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

Unit = Literal["seconds", "calls/s", "bytes", "count", "factor", "yes"]
# Tried in vain, or not tried at all.
Kind = Literal["failed", "skipped"]


@dataclass(frozen=True)
class Figure:
    """One number: what was measured, in which case, of whom. `ratio` is to the floor of the same rounds, `fast` to the fast floor."""

    measure: str
    case: str
    who: str
    value: float
    unit: Unit
    ratio: float | None = None
    # From which to which it went in single rounds.
    low: float | None = None
    high: float | None = None
    fast: float | None = None


@dataclass(frozen=True)
class Note:
    """Why a figure is missing, or (in `recovery`) what a contender said. Without a case it holds for the whole measure."""

    measure: str
    who: str
    kind: Kind
    why: str
    case: str = ""


@dataclass
class Results:
    machine: dict[str, str]
    figures: list[Figure] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    # Of everybody who was measured, by title.
    versions: dict[str, str] = field(default_factory=dict)
    # When measures were made that a later run kept, by their name.
    older: dict[str, str] = field(default_factory=dict)
    # Where the time of what was missed goes, by what was profiled (ours/profile.py).
    profiles: dict[str, str] = field(default_factory=dict)

    def add(self, figure: Figure) -> None:
        self.figures.append(figure)

    def note(self, note: Note) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def find(self, measure: str, case: str, who: str = "ours") -> Figure | None:
        found = (f for f in self.figures if (f.measure, f.case, f.who) == (measure, case, who))
        return next(found, None)

    def of(self, measure: str) -> list[Figure]:
        return [figure for figure in self.figures if figure.measure == measure]

    def without(self, measures: set[str]) -> "Results":
        """The same, less what these measures gave."""
        figures = [figure for figure in self.figures if figure.measure not in measures]
        notes = [note for note in self.notes if note.measure not in measures]
        older = {name: self.older.get(name, self.machine["date"]) for name in {figure.measure for figure in figures}}
        return Results(self.machine, figures, notes, self.versions, dict(sorted(older.items())), self.profiles)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Results":
        held = json.loads(path.read_text(encoding="utf-8"))
        figures = [Figure(**figure) for figure in held["figures"]]
        notes = [Note(**note) for note in held["notes"]]
        return cls(
            held["machine"], figures, notes, held.get("versions", {}), held.get("older", {}), held.get("profiles", {})
        )


def machine() -> dict[str, str]:
    """What the absolute values belong to. Nothing that names the machine or its owner."""
    model = ""
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return {
        "processor": f"{model or platform.machine()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": f"{platform.python_version()} ({_build()})",
        "date": time.strftime("%Y-%m-%d"),
        "load": f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "",
    }


def _build() -> str:
    """How the interpreter was built: with it, the same Python code takes about three quarters of the time."""
    options = sysconfig.get_config_var("CONFIG_ARGS") or ""
    return f"built {'with' if '--enable-optimizations' in options else 'without'} profile-guided optimisation"


def middle(values: list[float]) -> float:
    return statistics.median(values)
