"""`python -m bench [--quick] [--rounds N] [--who a,b] [--only calls,start,…] [--report]`: measure, write results and page, judge.

A whole run writes results.json and docs/benchmarks.md; with `--only` the figures of other measures stay. A run of few rounds or few
contenders is for development: it writes quick.json and no page; `--page FILE` writes it there. `--report` writes the page anew from
results.json. Every figure that is missed is named, those of the table of speed (speed.py) with a profile. Exit code 1 when one that was
asked for could not be measured. Whoever fails or hangs is a note; nothing stops the run.
"""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.contenders.entrants import EVERYBODY, OURS
from bench.drivers import environment
from bench.measures import (
    approvals,
    calls,
    connect,
    day,
    fleet,
    growth,
    large,
    placed,
    proxy,
    recovery,
    search,
    size,
    start,
    telemetry,
    turns,
)
from bench.parts import ROOT, Unavailable, node
from bench.processes import Failed, adopt_orphans, end_strays, finished
from bench.report.page import sentence, write
from bench.results import Results, machine
from bench.run import HARNESS, Run
from bench.speed import SPEED
from bench.targets import judged, verdicts

RESULTS = ROOT / "bench" / "results.json"
QUICK = ROOT / "bench" / "quick.json"
DOCS = ROOT / "docs"
NODE_SECONDS = 10.0
# Ten thousand calls that are watched.
PROFILE_SECONDS = 120.0

# Figures by the name they carry, and what measures them.
MEASURES: dict[str, tuple[set[str], Callable[[Run], None]]] = {
    "calls": ({"calls", "throughput"}, calls.measure),
    "placed": ({"placed"}, placed.measure),
    "start": ({"start"}, start.measure),
    "large": ({"large"}, large.measure),
    "memory": ({"memory"}, size.measure),
    "connect": ({"connect"}, connect.measure),
    "recovery": ({"recovery"}, recovery.measure),
    "gateway": ({"gateway"}, proxy.measure),
    "turns": ({"turns"}, turns.measure),
    "growth": ({"growth", *growth.KEPT}, growth.measure),
    "day": ({"day", "hours"}, day.measure),
    "approvals": ({"approvals"}, approvals.measure),
    "telemetry": ({"telemetry"}, telemetry.measure),
    "fleet": ({fleet.TURNS, fleet.ROOM, fleet.APPENDS}, fleet.measure),
    "search": ({"search"}, search.measure),
}
# Whose failure is the run's: a contender that fails is one of the things that are found out.
_OURS = frozenset({OURS.key, HARNESS})
# Those that write a page of their own and leave the results of the others alone.
OWN_PAGE = frozenset({"search"})


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("--quick", action="store_true", help="few rounds, few contenders: for development")
    parser.add_argument("--rounds", type=int, help="so many rounds of everything: for development")
    parser.add_argument("--who", default="", help=f"some of: {','.join(e.key for e in EVERYBODY)}, a proxy")
    parser.add_argument("--only", default="", help=f"some of: {','.join(MEASURES)}")
    parser.add_argument("--report", action="store_true", help="write the page from the results that are there")
    parser.add_argument("--page", type=Path, help="write the page into this folder, also of a run for development")
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else list(MEASURES)
    if unknown := [name for name in wanted if name not in MEASURES]:
        parser.error(f"there is no measure {unknown[0]}; there are {', '.join(MEASURES)}")
    if options.report:
        results = Results.load(RESULTS)
        write(results, options.page or DOCS)
        return judge(results, {figure.measure for figure in results.figures})
    who = frozenset(options.who.split(",")) if options.who else frozenset()
    run = Run(Results(machine() | _node()), options.quick, options.rounds, who)
    measured = {name for key in wanted for name in MEASURES[key][0]}
    measure(run, wanted, measured)
    if run.wants(OURS.key) and not OWN_PAGE.issuperset(wanted):
        add_profiles(run.results, measured, profiled)
        run.results.save(RESULTS if run.is_whole else QUICK)
    if (options.page or run.is_whole) and not OWN_PAGE.issuperset(wanted):
        write(run.results, options.page or DOCS)
    return judge(run.results, measured) if run.wants(OURS.key) else 0


def measure(run: Run, wanted: list[str], measured: set[str]) -> None:
    """Everything that is wanted, one after the other. Saves after each, so that a run that is stopped was not in vain."""
    path = RESULTS if run.is_whole else QUICK
    if path.exists() and len(wanted) < len(MEASURES):
        before = Results.load(path).without(measured)
        run.results.figures, run.results.notes, run.results.versions = before.figures, before.notes, before.versions
        run.results.older, run.results.profiles = before.older, before.profiles
    adopt_orphans()
    # Ended from outside, it ends what it started as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if not OWN_PAGE.issuperset(wanted):
        run.prepare()
    try:
        for key in wanted:
            begun = time.monotonic()
            try:
                MEASURES[key][1](run)
            except Exception as error:
                run.failed(key, HARNESS, error)
            left = end_strays()
            if key not in OWN_PAGE:
                run.results.save(path)
            run.say(f"{key}: done in {time.monotonic() - begun:.0f} s" + (f", {left} processes ended" if left else ""))
    finally:
        end_strays()


def _node() -> dict[str, str]:
    try:
        return {"node": finished([node(), "--version"], {}, cwd=ROOT, patience=NODE_SECONDS).strip().removeprefix("v")}
    except (Unavailable, Failed, OSError):
        return {}


def add_profiles(results: Results, measured: set[str], profile: Callable[[str], str]) -> None:
    """Beside every row of the table of speed that is missed, where its time goes; of what was measured before, as it was then."""
    found = judged(results, {target.measure for target in SPEED}, SPEED)
    missed = [one.target for one in found if not one.ok and one.reached is not None and one.target.profile]
    is_new = {target.profile for target in missed if target.measure in measured}
    before, results.profiles = results.profiles, {}
    for what in dict.fromkeys(target.profile for target in missed):
        if what in is_new:
            results.profiles[what] = profile(what)
        elif what in before:
            results.profiles[what] = before[what]


def judge(results: Results, measured: set[str]) -> int:
    """Say how every figure came out, those that are missed on standard error; 1 when one could not be measured.

    Of the table of speed a figure that is missed has its profile beside it, if there is one, and what would reach it.
    """
    found = verdicts(results, measured)
    speed = judged(results, measured, SPEED)
    told: set[str] = set()
    for verdict in (*found, *speed):
        if verdict.ok:
            print(f"bench: reached: {sentence(verdict)}")
    for verdict in (*found, *speed):
        if not verdict.ok:
            print(f"bench: MISSED: {sentence(verdict)}", file=sys.stderr)
        if not verdict.ok and verdict.reached is not None and (words := verdict.target.would_reach):
            print(f"bench: what would reach it: {words}", file=sys.stderr)
        what = verdict.target.profile
        if not verdict.ok and verdict.reached is not None and what in results.profiles:
            if what not in told:
                told.add(what)
                print(f"bench: profile of {what}:\n{results.profiles[what]}", file=sys.stderr)
            else:
                print(f"bench: its profile is that of {what} above", file=sys.stderr)
    lost = [verdict for verdict in (*found, *speed) if verdict.reached is None]
    for verdict in lost:
        print(f"bench: NOT MEASURED: {verdict.target.title}", file=sys.stderr)
    # What has no row among the targets must be measured as well.
    failed = [
        note for note in results.notes if note.kind == "failed" and note.who in _OURS and note.measure in measured
    ]
    for note in failed:
        print(f"bench: FAILED: {note.measure}{f', {note.case}' if note.case else ''}: {note.why}", file=sys.stderr)
    return 1 if lost or failed else 0


def profiled(what: str) -> str:
    """Where the time of what was missed goes, or why nobody can say."""
    try:
        with tempfile.TemporaryDirectory(prefix="bench-") as home:
            command = [sys.executable, "-m", "bench.ours.profile", *what.split()]
            return finished(command, environment(Path(home)), cwd=ROOT, patience=PROFILE_SECONDS).rstrip()
    except (Failed, OSError) as error:
        return f"it could not be made: {error}"


if __name__ == "__main__":
    sys.exit(main())
