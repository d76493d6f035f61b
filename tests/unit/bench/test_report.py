"""The page: everything that was measured is on it, and it is the same for the same results."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench.report.chart import Bar, bars
from bench.report.page import render, write
from bench.report.sections import SECTIONS
from bench.report.words import duration, factor, quantity
from bench.results import Figure, Note, Results, Unit
from bench.speed import SPEED
from bench.targets import AGAINST_TS_SDK, HELD_BY_TESTS, TARGETS

SAMPLE = Path(__file__).parent / "sample_results.json"
MACHINE = {
    "processor": "a processor, 2 cores",
    "system": "Linux 6",
    "python": "3.11.7",
    "node": "24.1.0",
    "date": "2026-08-01",
    "load": "0.1",
}


def complete() -> Results:
    """Results in which every row is just reached, and one alternative is ten times as slow."""
    results = Results(MACHINE)
    for target in (*TARGETS, *SPEED):
        unit: Unit = "calls/s" if target.measure == "throughput" else target.unit
        ratio = target.limit if target.of == "ratio" else None
        value = target.limit if target.of == "value" else 1.0
        results.add(Figure(target.measure, target.case, "ours", value, unit, ratio))
    results.add(Figure("calls", "stdio", "ts-sdk", 10.0, "seconds", 10.0))
    results.add(Figure("calls", AGAINST_TS_SDK, "ours", 1.0, "seconds", 0.1))
    return results


def test_a_run_that_reaches_everything_says_so() -> None:
    assert render(complete())["benchmarks.md"].count("All of these are reached.") == 2


def test_each_line_of_the_table_of_speed_stands_on_the_page() -> None:
    results = complete()
    missed = next(target for target in SPEED if target.title == "stdio, one call, echo, two cores")
    results.figures = [
        figure for figure in results.figures if (figure.measure, figure.case) != (missed.measure, missed.case)
    ]
    results.add(Figure(missed.measure, missed.case, "ours", 1.0, "seconds", 1.234))
    rows = section(render(results)["benchmarks.md"], "Beside the fastest")
    assert rows[1] == f"**1 of {len(SPEED)} are missed.**"
    assert "| stdio, one call, echo, two cores | ≤ 1x the TypeScript SDK | 1.23x | **no** |" in rows
    assert rows[-2:] == ["What would reach these:", f"- {missed.title}: {missed.would_reach}"]
    assert len(rows) == 4 + len(SPEED) + 2


def test_both_floors_are_named_and_a_figure_has_its_ratio_to_each() -> None:
    results = complete()
    results.add(Figure("large", "stdio 10 MB", "floor", 2.0, "seconds", 1.0, fast=2.5))
    results.add(Figure("large", "stdio 10 MB", "fast-floor", 0.8, "seconds", 0.4, fast=1.0))
    page = render(results)["benchmarks.md"]
    assert "| plain client: asyncio, json (the floor) | 1.0x / 2.5x (2.0 s) |" in page
    assert "| plain client: uvloop, msgspec (the fast floor) | 0.40x / 1.0x (800 ms) |" in page


def test_a_figure_that_depends_on_placement_is_marked() -> None:
    results = Results(MACHINE)
    for server, ratios in {"stdio": (2.0, 2.4, 2.2), "json": (2.0, 3.0, 2.2)}.items():
        for place, ratio in zip(("one core", "two cores", "free"), ratios, strict=True):
            label = f"{server}, {place}"
            results.add(Figure("placed", label, "ours", 50e-6, "seconds", 1.0, fast=ratio))
            results.add(Figure("placed", f"{label} p99", "ours", 90e-6, "seconds", 1.0))
            results.add(Figure("placed", f"{label} cpu", "ours", 40e-6, "seconds", 1.0))
    rows = section(render(results)["benchmarks.md"], "Warm calls, wherever client and server run")[3:]
    assert rows == [
        "| stdio, one core | 2.0x: 50 µs, p99 90 µs, cpu 40 µs |",
        "| stdio, two cores | 2.4x: 50 µs, p99 90 µs, cpu 40 µs |",
        "| stdio, free | 2.2x: 50 µs, p99 90 µs, cpu 40 µs |",
        "| HTTP, JSON, one core | 2.0x: 50 µs, p99 90 µs, cpu 40 µs † |",
        "| HTTP, JSON, two cores | 3.0x: 50 µs, p99 90 µs, cpu 40 µs † |",
        "| HTTP, JSON, free | 2.2x: 50 µs, p99 90 µs, cpu 40 µs † |",
    ]


def test_a_figure_of_one_core_that_depends_on_placement_is_marked_in_the_other_tables_too() -> None:
    results = Results(MACHINE)
    for who, ratios in {"ours": (2.0, 2.1, 2.2), "ts-sdk": (1.0, 1.1, 1.3)}.items():
        for place, ratio in zip(("one core", "two cores", "free"), ratios, strict=True):
            results.add(Figure("placed", f"stdio, {place}", who, 50e-6, "seconds", 1.0, fast=ratio))
        for case in ("stdio", "stdio p99", "stdio document"):
            results.add(Figure("calls", case, who, 50e-6, "seconds", 2.0))
    page = render(results)["benchmarks.md"]
    assert section(page, "Warm calls")[3:5] == [
        "| **OpenClaw** | 2.0x (50 µs) | 2.0x (50 µs) |",
        "| TypeScript SDK | 2.0x (50 µs) † | 2.0x (50 µs) |",
    ]
    assert section(page, "Warm calls: the slowest of a hundred")[3:5] == [
        "| **OpenClaw** | 2.0x (50 µs) |",
        "| TypeScript SDK | 2.0x (50 µs) † |",
    ]


def test_a_missed_figure_is_named_in_bold() -> None:
    results = complete()
    results.figures[0] = Figure("calls", "stdio", "ours", 1.0, "seconds", 1.37)
    page = render(results)["benchmarks.md"]
    assert "| warm call, stdio, p50 | ≤ 1x the floor | 1.37x | **no** |" in page


def test_a_line_of_the_table_of_speed_that_is_missed_has_its_profile_on_the_page() -> None:
    results = complete()
    turn = next(target for target in SPEED if target.profile == "turn")
    results.figures = [
        figure for figure in results.figures if (figure.measure, figure.case) != (turn.measure, turn.case)
    ]
    results.add(Figure(turn.measure, turn.case, "ours", 1.0, "seconds", 9.0))
    results.profiles = {"turn": "ncalls tottime", "stdio 1": "of a line that is reached"}
    rows = section(render(results)["benchmarks.md"], "Beside the fastest")
    assert rows[-6:] == [
        "A profile of each, by time of its own. The profiler makes small functions look worse than they are; a write takes as long as the "
        "server that it wakes keeps the processor.",
        f"{turn.title}:",
        "<!-- not run: a profile -->",
        "```text",
        "ncalls tottime",
        "```",
    ]


def test_what_would_reach_several_lines_is_said_once() -> None:
    results = complete()
    results.figures = [figure for figure in results.figures if figure.measure != "placed"]
    placed = [target for target in SPEED if target.measure == "placed"]
    for target in placed:
        results.add(Figure("placed", target.case, "ours", 1.0, "seconds", 9.0))
    rows = section(render(results)["benchmarks.md"], "Beside the fastest")
    told = rows[rows.index("What would reach these:") + 1 :]
    assert [line.split(": ")[0].count("; ") + 1 for line in told] == [8, 2, 2]
    assert {target.would_reach for target in placed} == {line.partition(": ")[2] for line in told}


def test_every_figure_of_a_table_comes_with_its_ratio_first() -> None:
    assert "| TypeScript SDK | 10x (10.0 s) |" in render(complete())["benchmarks.md"]


def texts(picture: str) -> list[str | None]:
    return [element.text for element in ElementTree.fromstring(picture).iter() if element.tag.endswith("text")]


def section(page: str, title: str) -> list[str]:
    """The lines under a heading that say something."""
    body = page.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return [line for line in body.splitlines() if line]


def test_a_section_holds_its_table_who_failed_or_was_skipped_and_its_charts() -> None:
    page = render(Results.load(SAMPLE))["benchmarks.md"]
    assert section(page, "Warm calls") == [
        "One call at a time, 100 digits there and back; over stdio also a JSON document of 1 KB and letters outside ASCII: p50, as a "
        "ratio to the floor / the fast floor, and absolutely. Client and server are on one core. Everybody was warmed up until its own "
        "p50 no longer fell. † marks a figure that depends on placement: its ratio to the fast floor differs by more than a quarter from "
        "one place to another, as the third table shows; some have been measured on one core only.",
        "|  | stdio | HTTP, JSON |",
        "|---|---|---|",
        "| plain client: asyncio, json (the floor) | 1.0x (50 µs) | 1.0x (100 µs) |",
        "| **OpenClaw** | 0.90x (45 µs) | 2.6x (260 µs) |",
        "| TypeScript SDK | 1.2x (60 µs) | – |",
        "| mcp-use | skipped | skipped |",
        "| langchain-mcp-adapters | 24x (1.20 ms) | failed |",
        "- langchain-mcp-adapters, json: failed: `no answer within 30 s`",
        "- mcp-use: skipped: `it could not be installed: 'pip' ended`",
        "![Warm call over stdio](benchmarks/calls-stdio.svg)",
        "![Warm call over HTTP, answered with JSON](benchmarks/calls-json.svg)",
    ]


def connected() -> Results:
    """Twenty servers, one of them bad: opened by us, by somebody who waited, and by somebody who lost all."""
    results = Results(MACHINE, versions={"OpenClaw": "1.0", "mcp-use": "mcp-use 3.0"})
    for who, seconds, usable in (("ours", 0.3, 19), ("mcp-use", 12.0, 10), ("fastmcp", 0.0, 0)):
        results.add(Figure("connect", "hanging, as a list usable", who, usable, "count"))
        if usable:
            results.add(Figure("connect", "hanging, as a list", who, seconds, "seconds"))
    return results


def test_servers_that_were_usable_stand_beside_the_seconds_and_in_the_chart() -> None:
    files = render(connected())
    rows = [line for line in section(files["benchmarks.md"], "Twenty servers, one of them bad") if line[0] == "|"]
    assert rows[2:] == [
        "| **OpenClaw** | 300 ms, 19 of 19 |",
        "| FastMCP | none of 19 |",
        "| mcp-use | 12.0 s, 10 of 19 |",
    ]
    assert texts(files["benchmarks/connect-hanging-as-a-list.svg"])[2:] == [
        *("OpenClaw", "300 ms, 19 of 19", "FastMCP", "none of 19", "mcp-use", "12.0 s, 10 of 19")
    ]


def test_who_failed_or_was_skipped_stands_in_the_chart() -> None:
    picture = render(Results.load(SAMPLE))["benchmarks/calls-json.svg"]
    assert texts(picture)[-4:] == ["mcp-use", "skipped", "langchain-mcp-adapters", "failed"]


def test_the_versions_of_all_stand_on_the_page() -> None:
    assert "Versions: OpenClaw (1.0), mcp-use 3.0.\n" in render(connected())["benchmarks.md"]


def test_what_tests_hold_instead_of_figures_is_named_and_there() -> None:
    page = render(complete())["benchmarks.md"]
    root = Path(__file__).parents[3]
    named = [name for _, where in HELD_BY_TESTS for name in re.findall(r"tests/[\w/]+\.py", where)]
    assert (len(named), [name for name in named if not (root / name).is_file() or name not in page]) == (3, [])


def test_a_reason_is_told_once() -> None:
    assert render(Results.load(SAMPLE))["benchmarks.md"].count("it could not be installed") == 1


def test_growth_has_a_row_for_each_case_and_a_bar_for_each() -> None:
    files = render(Results.load(SAMPLE))
    assert section(files["benchmarks.md"], "Growth: servers and tools")[1:5] == [
        "|  | all known | listed | the first turn | the next | a call | memory |",
        "|---|---|---|---|---|---|---|",
        "| 100 tools | – | – | – | – | 50 µs | 40 MB |",
        "| 1,000 tools | – | – | – | – | 50 µs | 50 MB |",
    ]
    assert texts(files["benchmarks/growth-rss.svg"])[2:] == ["100 tools", "40 MB", "1,000 tools", "50 MB"]


def test_the_page_shows_the_charts_that_there_are_and_no_others() -> None:
    files = render(Results.load(SAMPLE))
    shown = re.findall(r"\((benchmarks/[^)]+)\)", files["benchmarks.md"])
    assert sorted(shown) == sorted(name for name in files if name.endswith(".svg"))


def test_a_measure_that_is_missing_altogether_is_missed_on_the_page() -> None:
    page = render(Results.load(SAMPLE))["benchmarks.md"]
    assert "| idle gateway with them | ≤ 90 MB | not measured | **no** |" in page


def test_the_same_results_give_the_same_bytes() -> None:
    assert render(complete()) == render(complete())


def test_every_promise_is_shown_in_some_section() -> None:
    columns = [(measure, column) for section in SECTIONS for measure in section.measures for column in section.columns]
    shown = {(measure, column.case) for measure, column in columns}
    shown |= {(measure, f"{column.case} usable") for measure, column in columns if column.servers}
    # Where only we are measured, a case is a row and a column of its table.
    alone = {(s.measures[0], column.case) for s in SECTIONS if s.alone for column in s.columns}
    missing = [target for target in TARGETS if (target.measure, target.case) not in shown]
    assert [one.case for one in missing if (one.measure, one.case.rpartition(" ")[2]) not in alone] == []


def test_charts_are_well_formed_and_carry_their_labels() -> None:
    picture = bars("Title & more", 'a "note"', [Bar("us <1>", 1.0, "1.0x", "ours"), Bar("them", 100.0, "100x")])
    assert texts(picture) == ["Title & more", 'a "note"', "us <1>", "1.0x", "them", "100x"]


def widths(picture: str) -> list[float]:
    return [float(e.get("width", "")) for e in ElementTree.fromstring(picture).iter() if e.get("class") == "other"]


def test_bars_are_as_long_as_their_values() -> None:
    short, long = widths(bars("Title", "note", [Bar("a", 1.0, "1.0x"), Bar("b", 40.0, "40x")]))
    assert round(long / short) == 40


def test_who_failed_has_a_row_and_no_bar() -> None:
    picture = bars("Title", "note", [Bar("a", 1.0, "1.0x"), Bar("b", None, "failed"), Bar("c", 2.0, "2.0x")])
    assert (texts(picture)[2:], len(widths(picture))) == (["a", "1.0x", "b", "failed", "c", "2.0x"], 2)


def test_writing_removes_charts_that_are_no_longer_shown(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "old.svg").write_text("<svg/>")
    results = complete()
    write(results, tmp_path)
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert names == set(render(results))


def test_results_survive_their_file(tmp_path: Path) -> None:
    results = complete()
    results.note(Note("calls", "mcp-use", "failed", "a reason", "stdio"))
    results.profiles["turn"] = "ncalls tottime"
    results.save(tmp_path / "results.json")
    assert Results.load(tmp_path / "results.json") == results


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.000043, "43 µs"), (0.0031, "3.10 ms"), (0.0425, "42 ms"), (12.34, "12.3 s")]
)
def test_durations_are_shown_in_the_unit_that_suits_them(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(("value", "shown"), [(0.452, "0.45x"), (1.0, "1.0x"), (2.04, "2.0x"), (43.2, "43x")])
def test_ratios_are_shown_with_the_digits_that_mean_something(value: float, shown: str) -> None:
    assert factor(value) == shown


@pytest.mark.parametrize(
    ("held", "shown"), [(0, "0 MB"), (51 * 1024 * 1024, "51 MB"), (3_200, "3.1 KB"), (-3_200, "-3.1 KB")]
)
def test_a_few_kilobytes_are_not_nothing(held: float, shown: str) -> None:
    assert quantity(held, "bytes") == shown


def test_what_a_run_of_some_measures_kept_is_told_with_its_date() -> None:
    before = Results(
        {**MACHINE, "date": "2026-01-01"},
        [Figure("calls", "stdio", "ours", 1.0, "seconds"), Figure("start", "x", "ours", 1.0, "seconds")],
    )
    kept = before.without({"start"})
    assert kept.older == {"calls": "2026-01-01"}
    later = Results({**MACHINE, "date": "2026-01-02"}, kept.figures, older=kept.older)
    assert "Kept from a run on 2026-01-01: calls." in render(later)["benchmarks.md"]
    assert later.without({"start"}).older == {"calls": "2026-01-01"}
    assert "Kept from" not in render(before)["benchmarks.md"]
