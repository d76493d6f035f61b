"""`python -m bench [--quick] [--only calls,start,…] [--report]`: measure, write results.json and docs/benchmarks.md, judge.

Exit code 1 when a figure that was asked for is missed, naming each. `--report` writes the page anew from results.json. `--only` keeps
the figures of other measures that are already there.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable

from bench.measures import calls, connect, growth, large, proxy, recovery, size, start
from bench.parts import ROOT, Unavailable, node
from bench.report.page import sentence, write
from bench.results import Results, machine
from bench.run import Run
from bench.targets import verdicts

RESULTS = ROOT / "bench" / "results.json"

# Figures by the name they carry, and what measures them.
MEASURES: dict[str, tuple[set[str], Callable[[Run], None]]] = {
    "calls": ({"calls", "throughput"}, calls.measure),
    "start": ({"start"}, start.measure),
    "large": ({"large"}, large.measure),
    "memory": ({"memory"}, size.measure),
    "connect": ({"connect"}, connect.measure),
    "recovery": ({"recovery"}, recovery.measure),
    "gateway": ({"gateway"}, proxy.measure),
    "growth": ({"growth"}, growth.measure),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("--quick", action="store_true", help="few rounds, few contenders: for development")
    parser.add_argument("--only", default="", help=f"some of: {','.join(MEASURES)}")
    parser.add_argument("--report", action="store_true", help="write the page from the results that are there")
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else list(MEASURES)
    if unknown := [name for name in wanted if name not in MEASURES]:
        parser.error(f"there is no measure {unknown[0]}; there are {', '.join(MEASURES)}")
    if options.report:
        results = Results.load(RESULTS)
        measured = {figure.measure for figure in results.figures}
    else:
        measured = {name for key in wanted for name in MEASURES[key][0]}
        results = measure(wanted, measured, quick=options.quick)
    # A quick run is no basis for what is published.
    if not results.quick:
        write(results)
    return judge(results, measured)


def measure(wanted: list[str], measured: set[str], *, quick: bool) -> Results:
    results = Results(machine() | node_version(), quick)
    if RESULTS.exists() and len(wanted) < len(MEASURES):
        before = Results.load(RESULTS)
        results.figures = [figure for figure in before.figures if figure.measure not in measured]
        results.notes = {name: notes for name, notes in before.notes.items() if name not in measured}
    run = Run(results, quick)
    for key in wanted:
        MEASURES[key][1](run)
        results.save(RESULTS)
    if "calls" in wanted and not quick:
        calls.measure_many_servers(run)
        results.save(RESULTS)
    run.say("done")
    return results


def node_version() -> dict[str, str]:
    try:
        told = subprocess.run([node(), "--version"], capture_output=True, text=True, check=True).stdout
    except (Unavailable, OSError, subprocess.SubprocessError):
        return {}
    return {"node": told.strip().removeprefix("v")}


def judge(results: Results, measured: set[str]) -> int:
    found = verdicts(results, measured)
    for verdict in found:
        print(("ok      " if verdict.ok else "MISSED  ") + sentence(verdict))
    missed = [verdict for verdict in found if not verdict.ok]
    if missed:
        print(
            f"{len(missed)} of {len(found)} figures are missed: " + "; ".join(v.target.title for v in missed),
            file=sys.stderr,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
