"""What must be reached. One row for each promise; `make bench` names every row that is missed, and fails when one was not measured.

Pure. `of` is the ratio to the floor (or to `-c pass`) or the value itself; limits are bounds from above unless `at_least`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from bench.results import Figure, Results, Unit
from bench.rounds import against

MB = 1024 * 1024


@dataclass(frozen=True)
class Target:
    title: str
    measure: str
    case: str
    of: Literal["ratio", "value"]
    limit: float
    at_least: bool = False
    # For `ratio`: what it is a ratio to.
    base: str = "the floor"
    # For `value`.
    unit: Unit = "seconds"
    # What is profiled when it is missed, and what would reach it then (speed.py).
    profile: str = ""
    would_reach: str = ""


@dataclass(frozen=True)
class Verdict:
    target: Target
    reached: float | None
    ok: bool


ALONE = "the same servers without it"
# Ours as a ratio to the TypeScript SDK's, round by round.
AGAINST_TS_SDK = against("stdio", "the TypeScript SDK")

# What would reach a line of these measures that is missed.
_FEWER_STEPS = "Fewer steps in Python for each call, as for its processor time (decision 0017)."
_FEWER_COPIES = (
    "Fewer looks at a large result: its bytes are gathered, read, searched for secrets and framed, once each."
)
_FEWER_MODULES = "Fewer modules loaded for one command: `python -X importtime -m openclaw` names them."

TARGETS = (
    Target("warm call, stdio, p50", "calls", "stdio", "ratio", 1.0, would_reach=_FEWER_STEPS),
    Target("warm call, HTTP with JSON, p50", "calls", "json", "ratio", 2.5, would_reach=_FEWER_STEPS),
    Target("warm call, HTTP with events, p50", "calls", "events", "ratio", 3.0, would_reach=_FEWER_STEPS),
    Target(
        "64 in flight, one stdio server",
        "throughput",
        "stdio x64",
        "ratio",
        0.4,
        at_least=True,
        would_reach=_FEWER_STEPS,
    ),
    Target(
        "64 in flight, one HTTP server", "throughput", "json x64", "ratio", 0.3, at_least=True, would_reach=_FEWER_STEPS
    ),
    Target("10 MB result, stdio", "large", "stdio 10 MB", "ratio", 1.5, would_reach=_FEWER_COPIES),
    Target("50 MB result, stdio", "large", "stdio 50 MB", "ratio", 1.5, would_reach=_FEWER_COPIES),
    Target("10 MB result, events", "large", "events 10 MB", "ratio", 1.5, would_reach=_FEWER_COPIES),
    Target("50 MB result, events", "large", "events 50 MB", "ratio", 1.5, would_reach=_FEWER_COPIES),
    Target("openclaw --version", "start", "--version", "ratio", 2.0, base="-c pass", would_reach=_FEWER_MODULES),
    Target(
        "warm call through the gateway",
        "start",
        "call through the gateway",
        "ratio",
        3.0,
        base="-c pass",
        would_reach=_FEWER_MODULES,
    ),
    Target(
        "one-shot call over stdio",
        "start",
        "call over stdio",
        "ratio",
        14.0,
        base="-c pass",
        would_reach=_FEWER_MODULES,
    ),
    Target(
        "one-shot call over HTTP", "start", "call over http", "ratio", 25.0, base="-c pass", would_reach=_FEWER_MODULES
    ),
    Target(
        "openclaw mcp-server, to initialize answered",
        "start",
        "mcp-server",
        "ratio",
        12.0,
        base="-c pass",
        would_reach=_FEWER_MODULES,
    ),
    Target(
        "openclaw acp, to initialize answered", "start", "acp", "ratio", 8.0, base="-c pass", would_reach=_FEWER_MODULES
    ),
    # Nobody waits: what is left is the processor time that the bad server itself takes, and noise.
    Target("19 servers beside a hanging one", "connect", "hanging", "ratio", 1.3, base=ALONE),
    Target("19 servers beside a missing one", "connect", "missing", "ratio", 1.3, base=ALONE),
    Target("19 servers beside a refusing one", "connect", "refusing", "ratio", 1.3, base=ALONE),
    *(
        Target(
            f"servers usable beside a {bad} one", "connect", f"{bad} usable", "value", 19, at_least=True, unit="count"
        )
        for bad in ("hanging", "missing", "refusing")
    ),
    Target(
        "next call after a crash works", "recovery", "next call after a crash", "value", 1, at_least=True, unit="yes"
    ),
    Target(
        "next call after a forgotten session works",
        "recovery",
        "next call after a forgotten session",
        "value",
        1,
        at_least=True,
        unit="yes",
    ),
    Target(
        "next call after a restart works",
        "recovery",
        "next call after a restart",
        "value",
        1,
        at_least=True,
        unit="yes",
    ),
    Target(
        "engine with 20 servers and 1,000 tools", "memory", "20 servers, 1,000 tools", "value", 55 * MB, unit="bytes"
    ),
    Target("idle gateway with them", "memory", "idle gateway", "value", 90 * MB, unit="bytes"),
    Target("kill -9 of a server, to an error for its callers", "recovery", "error after kill -9", "value", 0.1),
    Target(
        "kill -9 of a server, to tools back after the first backoff",
        "recovery",
        "tools back after the first backoff",
        "value",
        0.25,
    ),
    # Within the error of nothing: the least that it may be is no more than nothing.
    Target(
        "what approvals add to a call that only reads and reaches nobody, at least",
        "approvals",
        "reads least",
        "value",
        0.0,
        would_reach="Nothing that is known: there is but one mark left, on what policy says of the tool (`Decision.cleared`).",
    ),
    Target(
        "what approvals add to any other call that only reads, at least",
        "approvals",
        "looks least",
        "value",
        0.0,
        would_reach="No look at the arguments for hosts once foreign text was read, which is what holds back a call that sends it out.",
    ),
    Target(
        "what approvals add to a call that a person confirmed to only read, at least",
        "approvals",
        "confirmed least",
        "value",
        0.0,
        would_reach="The same, and no look at the clock, ten times a second at the file of grants: another process may take one back.",
    ),
    Target(
        "a message stored in PostgreSQL", "appends", "a message, PostgreSQL append", "ratio", 2.0, base="a bare INSERT"
    ),
)


# What cannot be read off a figure: a promise, and what holds it.
HELD_BY_TESTS = (
    (
        "servers killed, cut off, restarted and reconfigured at random under load: no call lost, doubled or hung, no process left "
        "7 s after a stop",
        "`make soak`, ten minutes of which are in `make test-full` (tests/full/test_soak.py)",
    ),
    (
        "kill -9 of the gateway: none of its servers is left, whatever they started",
        "tests/unit/process/test_guardian.py",
    ),
    (
        "kill -9 of a process that writes conversations: no acknowledged turn lost, no unreadable store",
        "tests/full/test_session_kills.py",
    ),
)


def verdicts(results: Results, measures: set[str]) -> list[Verdict]:
    """How every row that belongs to one of these measures came out."""
    return [*judged(results, measures, TARGETS), *_relative(results, measures)]


def judged(results: Results, measures: set[str], targets: Iterable[Target]) -> list[Verdict]:
    """The same of these rows."""
    return [_verdict(one, results.find(one.measure, one.case)) for one in targets if one.measure in measures]


def _verdict(target: Target, figure: Figure | None) -> Verdict:
    reached = None if figure is None else figure.ratio if target.of == "ratio" else figure.value
    if figure is None or reached is None:
        return Verdict(target, None, ok=False)
    ok = reached >= target.limit if target.at_least else reached <= target.limit
    return Verdict(target, reached, ok)


def _relative(results: Results, measures: set[str]) -> list[Verdict]:
    """Rows that compare figures of the same run with each other."""
    found = []
    if "calls" in measures:
        target = Target(
            "warm call, stdio, p50",
            "calls",
            AGAINST_TS_SDK,
            "ratio",
            1.0,
            base="the TypeScript SDK",
            would_reach=_FEWER_STEPS,
        )
        found.append(_verdict(target, results.find("calls", AGAINST_TS_SDK)))
    if "large" in measures:
        found += [_linear(results, case) for case in ("stdio", "events")]
    return found


def _linear(results: Results, case: str) -> Verdict:
    """The floor is linear: whose ratio to it does not rise with the size is linear too. A quarter is left for caches and noise.

    Who is faster than the floor at 10 MB need not be at 50.
    """
    target = Target(
        f"linear from 10 to 50 MB, {case}",
        "large",
        case,
        "ratio",
        1.25,
        base="its ratio at 10 MB",
        would_reach=_FEWER_COPIES,
    )
    small, large = results.find("large", f"{case} 10 MB"), results.find("large", f"{case} 50 MB")
    if small is None or large is None or not small.ratio or not large.ratio:
        return Verdict(target, None, ok=False)
    reached = large.ratio / max(small.ratio, 1.0)
    return Verdict(target, reached, reached <= target.limit)
