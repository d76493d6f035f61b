"""docs/benchmarks.md and docs/benchmarks/*.svg, written from results alone. Ratios come first; absolute values are this machine's.

`render` is pure; `write` puts it into the repository's docs. What each section shows is in sections.py.
"""

from pathlib import Path

from bench.parts import ROOT
from bench.report.sections import SECTIONS, Section, charts, table, why_missing
from bench.report.words import quantity
from bench.results import Results
from bench.speed import SPEED
from bench.targets import HELD_BY_TESTS, TARGETS, Verdict, judged, verdicts

PAGE = ROOT / "docs" / "benchmarks.md"
CHARTS = ROOT / "docs" / "benchmarks"

INTRODUCTION = """\
# Benchmarks

Written by `make bench`; do not edit. It installs what it compares with on demand, measures everybody side by side on one machine and
writes this page. What is missed is printed with a profile beside it, and stays on this page; a run fails when something could not be
measured.

**How to read it.** The *floor* is a plain client written by hand on asyncio and `json`, the *fast floor* another on uvloop and msgspec, as
fast as one in Python can be: neither has deadlines, checks or recovery. *OpenClaw*
is measured with all its defences on: policy, argument check, deadline, untrusted frame, redaction, two audit lines for each call; and
as its program runs: on uvloop, with garbage collected as seldom as `openclaw` has it. The floor and the other Python libraries run on
asyncio's own loop, which is what their documentation shows. Every alternative has an environment of its own.
Ratios are to a floor in the same round; absolute values belong to this machine. Everybody takes short turns (A B C A B C …) and what
is shown is the median over the rounds, so that what disturbs the machine disturbs all alike. Where one call is made at a time, client
and server are on one processor core, as they take turns anyway, unless a table says otherwise; where many are, each has a core of its
own; whole programs run as the system likes. Each alternative is used as its own documentation shows, in its fastest way that keeps
connections open. Before its first round everybody is warmed up, alone, until its turns no longer get faster (tens of thousands of
calls). Everybody has as many rounds as OpenClaw unless a section says otherwise. Figures are judged before they are rounded. The echo
servers say of their tools that these only read and reach nobody, and OpenClaw is told to believe them: a call needs no question then, and
what approvals add to others has a section of its own.
"""


def sentence(verdict: Verdict) -> str:
    """One row of the targets, in words."""
    target = verdict.target
    of = f" of {target.base}" if target.of == "ratio" and verdict.reached is not None else ""
    return f"{target.title}: {_reached(verdict)}{of}, must be {_limit(verdict)}"


def _reached(verdict: Verdict) -> str:
    if verdict.reached is None:
        return "not measured"
    if verdict.target.of == "ratio":
        return f"{verdict.reached:.2f}x"
    return quantity(verdict.reached, verdict.target.unit)


def _limit(verdict: Verdict) -> str:
    target = verdict.target
    bound = "≥" if target.at_least else "≤"
    if target.of == "ratio":
        return f"{bound} {target.limit:g}x"
    # There is nothing above yes.
    return "yes" if target.unit == "yes" else f"{bound} {quantity(target.limit, target.unit)}"


def _base(verdict: Verdict) -> str:
    return f" {verdict.target.base}" if verdict.target.of == "ratio" else ""


def render(results: Results) -> dict[str, str]:
    """Every file by its name: the page, and the charts it shows."""
    parts = [INTRODUCTION, _machine(results), _versions(results), _speed(results), _targets(results)]
    files: dict[str, str] = {}
    told: set[str] = set()
    for section in SECTIONS:
        body, made = _section(results, section, told)
        files |= made
        if body:
            parts.append(body)
    files[PAGE.name] = "\n".join(part for part in parts if part)
    return files


def _machine(results: Results) -> str:
    held = results.machine
    node = f", Node {held['node']}" if held.get("node") else ""
    return (
        f"Measured on {held['date']}: {held['processor']}, {held['system']}, Python {held['python']}{node}; "
        f"load average at the start {held['load']}.{_older(results)}\n"
    )


def _older(results: Results) -> str:
    """What that is not true of: the rest of the page is of earlier runs."""
    dates = sorted({date for date in results.older.values() if date != results.machine["date"]})
    told = (f"{date}: {', '.join(name for name, day in results.older.items() if day == date)}" for date in dates)
    return "".join(f" Kept from a run on {one}." for one in told)


def _versions(results: Results) -> str:
    if not results.versions:
        return ""
    # Most packages are called as their library is.
    named = (v if v.startswith(f"{who} ") else f"{who} ({v})" for who, v in results.versions.items())
    return f"Versions: {', '.join(named)}.\n"


_WHERE = (
    "One call at a time where it says, and on one core where only its processor time counts; many at once with a core for the client and "
    "one for the servers; the gateway, its client and its target on one core.\n"
)


def _speed(results: Results) -> str:
    found = judged(results, {target.measure for target in SPEED}, SPEED)
    return "\n".join(["## Beside the fastest\n", _WHERE, *_judged(found), *_profiles(results, found)])


def _judged(found: list[Verdict]) -> list[str]:
    missed = [verdict for verdict in found if not verdict.ok]
    head = "All of these are reached." if not missed else f"**{len(missed)} of {len(found)} are missed.**"
    rows = [
        f"| {verdict.target.title} | {_limit(verdict)}{_base(verdict)} | {_reached(verdict)} | "
        f"{'yes' if verdict.ok else '**no**'} |"
        for verdict in found
    ]
    return [
        head,
        "",
        "| figure | must reach | measured | reached |",
        "|---|---|---|---|",
        *rows,
        "",
        *_would_reach(missed),
    ]


_HOW_PROFILED = (
    "A profile of each, by time of its own. The profiler makes small functions look worse than they are; a write takes as long as the "
    "server that it wakes keeps the processor."
)


def _profiles(results: Results, found: list[Verdict]) -> list[str]:
    """Where the time of what is missed goes, once for rows of which it is the same."""
    rows: dict[str, list[str]] = {}
    for verdict in found:
        if not verdict.ok and verdict.target.profile in results.profiles:
            rows.setdefault(verdict.target.profile, []).append(verdict.target.title)
    told = [_HOW_PROFILED, ""] if rows else []
    for what, titles in rows.items():
        told += [
            f"{'; '.join(dict.fromkeys(titles))}:",
            "",
            "<!-- not run: a profile -->",
            "```text",
            results.profiles[what],
            "```",
            "",
        ]
    return told


def _would_reach(missed: list[Verdict]) -> list[str]:
    """What would reach the rows that are missed, each sentence once."""
    found: dict[str, list[str]] = {}
    for verdict in missed:
        if verdict.reached is not None and (words := verdict.target.would_reach):
            titles = found.setdefault(words, [])
            if verdict.target.title not in titles:
                titles.append(verdict.target.title)
    if not found:
        return []
    return ["What would reach these:", "", *(f"- {'; '.join(titles)}: {words}" for words, titles in found.items()), ""]


def _targets(results: Results) -> str:
    return "\n".join(
        [
            "## What must be reached\n",
            *_judged(verdicts(results, {target.measure for target in TARGETS})),
            "Held by tests instead of a figure:",
            "",
            *(f"- {promise}: {where}" for promise, where in HELD_BY_TESTS),
            "",
        ]
    )


def _section(results: Results, section: Section, told: set[str]) -> tuple[str, dict[str, str]]:
    """Its text and its charts. A reason that an earlier section has told is not told again."""
    body = table(results, section)
    if not body:
        return "", {}
    made = charts(results, section)
    pictures = [f"![{name}](benchmarks/{file})\n" for file, (name, _) in made.items()]
    reasons = [line for line in why_missing(results, section) if line not in told]
    told.update(reasons)
    end = [*reasons, ""] if reasons else []
    text = "\n".join([f"## {section.title}\n", section.text, "", *body, "", *end, *pictures])
    return text, {f"benchmarks/{file}": svg for file, (_, svg) in made.items()}


def write(results: Results, docs: Path = ROOT / "docs") -> None:
    """Put the page and its charts in place; charts that are no longer shown go."""
    files = render(results)
    (docs / CHARTS.name).mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (docs / name).write_text(text, encoding="utf-8")
    for old in (docs / CHARTS.name).glob("*.svg"):
        if f"{CHARTS.name}/{old.name}" not in files:
            old.unlink()
