"""docs/benchmarks.md and docs/benchmarks/*.svg, written from results alone. Ratios come first; absolute values are this machine's.

`render` is pure; `write` puts it into the repository's docs. What each section shows is in sections.py.
"""

from pathlib import Path

from bench.parts import ROOT
from bench.report.sections import SECTIONS, Section, charts, table
from bench.report.words import factor, quantity
from bench.results import Results
from bench.targets import Verdict, verdicts

PAGE = ROOT / "docs" / "benchmarks.md"
CHARTS = ROOT / "docs" / "benchmarks"

INTRODUCTION = """\
# Benchmarks

Written by `make bench`; do not edit. It installs what it compares with on demand, measures everybody side by side on one machine,
writes this page, and fails when a figure below is missed.

**How to read it.** The *floor* is a plain client written by hand on asyncio and `json`: no deadlines, no checks, no recovery. *OpenClaw*
is measured with all its defences on: policy, argument check, deadline, untrusted frame, redaction, two audit lines for each call.
Ratios are to the floor in the same round; absolute values belong to this machine. Everybody takes short turns (A B C A B C …) and what
is shown is the median over the rounds, so that what disturbs the machine disturbs all alike. Clients run on one processor core and echo
servers on another, except Node programs, which may use all cores for their own helper threads. Each alternative is used as its own
documentation shows, in its fastest way that keeps connections open.
"""


def sentence(verdict: Verdict) -> str:
    """One row of the targets, in words."""
    target = verdict.target
    bound = "at least" if target.at_least else "at most"
    return f"{target.title}: {_reached(verdict)}, {bound} {_limit(verdict)}"


def _reached(verdict: Verdict) -> str:
    if verdict.reached is None:
        return "not measured"
    if verdict.target.of == "ratio":
        return f"{verdict.reached:.2f}x"
    return quantity(verdict.reached, verdict.unit or "count")


def _limit(verdict: Verdict) -> str:
    target = verdict.target
    if target.of == "ratio":
        return f"{factor(target.limit) if target.limit < 1 else f'{target.limit:g}x'} {target.base}"
    return quantity(target.limit, verdict.unit) if verdict.unit else f"{target.limit:g}"


def render(results: Results) -> dict[str, str]:
    """Every file by its name: the page, and the charts it shows."""
    parts = [INTRODUCTION, _machine(results), _targets(results)]
    files: dict[str, str] = {}
    for section in SECTIONS:
        body, made = _section(results, section)
        files |= made
        if body:
            parts.append(body)
    parts.append(_missing(results))
    files[PAGE.name] = "\n".join(part for part in parts if part)
    return files


def _machine(results: Results) -> str:
    held = results.machine
    node = f", Node {held['node']}" if held.get("node") else ""
    return (
        f"Measured on {held['date']}: {held['processor']}, {held['system']}, Python {held['python']}{node}; "
        f"load average at the start {held['load']}.\n"
    )


def _targets(results: Results) -> str:
    found = verdicts(results, {figure.measure for figure in results.figures})
    missed = [verdict for verdict in found if not verdict.ok]
    head = "All of these are reached." if not missed else f"**{len(missed)} of {len(found)} are missed.**"
    rows = [
        f"| {verdict.target.title} | {'≥' if verdict.target.at_least else '≤'} {_limit(verdict)} | {_reached(verdict)} | "
        f"{'yes' if verdict.ok else '**no**'} |"
        for verdict in found
    ]
    return "\n".join(
        [
            "## What must be reached\n",
            head,
            "",
            "| figure | must reach | measured | reached |",
            "|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _section(results: Results, section: Section) -> tuple[str, dict[str, str]]:
    body = table(results, section)
    if not body:
        return "", {}
    made = charts(results, section)
    pictures = [f"![{name}](benchmarks/{file})\n" for file, (name, _) in made.items()]
    notes = [f"- {note}" for measure in section.measures for note in results.notes.get(measure, [])]
    told = ["Not shown:", "", *notes, ""] if notes else []
    text = "\n".join([f"## {section.title}\n", section.text, "", *pictures, *body, "", *told])
    return text, {f"benchmarks/{file}": svg for file, (_, svg) in made.items()}


def _missing(results: Results) -> str:
    return (
        "\n".join(["## Not measured\n", *(f"- {note}" for note in results.notes[""]), ""])
        if results.notes.get("")
        else ""
    )


def write(results: Results, docs: Path = ROOT / "docs") -> None:
    """Put the page and its charts in place; charts that are no longer shown go."""
    files = render(results)
    (docs / CHARTS.name).mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (docs / name).write_text(text, encoding="utf-8")
    for old in (docs / CHARTS.name).glob("*.svg"):
        if f"{CHARTS.name}/{old.name}" not in files:
            old.unlink()
