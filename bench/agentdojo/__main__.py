"""`python -m bench.agentdojo [--suites a,b] [--modes a,b] [--every N] [--jobs N] [--report]`: replay, write the page, judge.

A whole run writes results.json and docs/security-figures.md; one of some suites, some modes or each so-manieth attack only prints its
page. Exit code 1 when an attack that acts reaches its goal under the defaults, naming each.
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import msgspec

from bench.agentdojo.modes import MODES
from bench.agentdojo.page import Results, load, render, save, write
from bench.agentdojo.suite import SUITES, Play
from bench.agentdojo.tally import Played, added, tally, through
from bench.contenders.entrants import OURS
from bench.parts import python_of_full, python_version
from bench.processes import adopt_orphans, end_strays
from bench.results import machine
from bench.run import report_of

# Two cores; each suite has a process of ours and one of the server's, which take turns.
JOBS = 2
# The office in every mode, on a machine that has other things to do.
PATIENCE = 3 * 3600.0
JUDGED = "defaults"


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.agentdojo")
    parser.add_argument("--suites", default=",".join(SUITES), help=f"some of: {','.join(SUITES)}")
    parser.add_argument("--modes", default=",".join(MODES), help=f"some of: {','.join(MODES)}")
    parser.add_argument("--every", type=int, default=1, help="play only each so-manieth attack")
    parser.add_argument("--jobs", type=int, default=JOBS, help="so many suites at a time")
    parser.add_argument("--report", action="store_true", help="write the page from the results that are there")
    options = parser.parse_args()
    if options.report:
        results = load()
        write(results)
        return judge(results)
    suites, modes = options.suites.split(","), options.modes.split(",")
    for word, known in (*((suite, SUITES) for suite in suites), *((mode, tuple(MODES)) for mode in modes)):
        if word not in known:
            parser.error(f"there is no {word}; there are {', '.join(known)}")
    results = replayed(suites, modes, options.every, options.jobs)
    if (set(suites), set(modes), options.every) == (set(SUITES), set(MODES), 1):
        save(results)
        write(results)
    else:
        print(render(results))
    return judge(results)


def replayed(suites: list[str], modes: list[str], every: int, jobs: int) -> Results:
    python = python_of_full("agentdojo")
    adopt_orphans()
    try:
        with ThreadPoolExecutor(jobs) as pool:
            found = dict(zip(suites, pool.map(partial(_played, python, modes, every), suites), strict=True))
    finally:
        end_strays()
    return Results(
        machine=machine(),
        versions={"OpenClaw": OURS.version(), "AgentDojo": f"{python_version(python, 'agentdojo')} (v1.2.2)"},
        tallies={mode: {suite: tally(found[suite][mode]) for suite in suites} for mode in modes},
        through={mode: [play for suite in suites for play in through(found[suite][mode])] for mode in modes},
    )


def _played(python: str, modes: list[str], every: int, suite: str) -> dict[str, list[Played]]:
    told = report_of("bench.agentdojo.replay", python, suite, ",".join(modes), str(every), patience=PATIENCE)
    return msgspec.convert(told, dict[str, list[Played]])


def judge(results: Results) -> int:
    """Say what the defaults let through, on standard error; 1 when there is anything."""
    if JUDGED not in results.tallies:
        return 0
    whole = added(results.tallies[JUDGED].values())
    print(f"agentdojo: under the defaults {whole.acting} of {whole.acting_played} attacks that act reach their goal")
    for play in results.through[JUDGED]:
        print(f"agentdojo: MISSED: {_named(play)} reached its goal", file=sys.stderr)
    return 1 if whole.acting else 0


def _named(play: Play) -> str:
    return f"{play.suite} {play.injection} in {play.user}"


if __name__ == "__main__":
    sys.exit(main())
