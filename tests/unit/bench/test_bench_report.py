"""The page: everything that was measured is on it, and it is the same for the same results."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench.report.chart import Bar, bars
from bench.report.page import render, write
from bench.report.sections import SECTIONS
from bench.report.words import duration, factor
from bench.results import Figure, Note, Results, Unit
from bench.targets import TARGETS

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
    for target in TARGETS:
        unit: Unit = "calls/s" if target.measure == "throughput" else target.unit
        ratio = target.limit if target.of == "ratio" else None
        value = target.limit if target.of == "value" else 1.0
        results.add(Figure(target.measure, target.case, "ours", value, unit, ratio))
    results.add(Figure("calls", "stdio", "ts-sdk", 10.0, "seconds", 10.0))
    return results


def test_a_run_that_reaches_everything_says_so() -> None:
    assert "All of these are reached." in render(complete())["benchmarks.md"]


def test_a_missed_figure_is_named_in_bold() -> None:
    results = complete()
    results.figures[0] = Figure("calls", "stdio", "ours", 1.0, "seconds", 1.37)
    page = render(results)["benchmarks.md"]
    assert "| warm call, stdio, p50 | ≤ 1x the floor | 1.37x | **no** |" in page


def test_every_figure_of_a_table_comes_with_its_ratio_first() -> None:
    assert "| TypeScript SDK | 10x (10.0 s) |" in render(complete())["benchmarks.md"]


def test_who_failed_or_was_skipped_stands_in_the_table_with_the_reason_below() -> None:
    results = complete()
    results.note(Note("calls", "mcp-use", "skipped", "it could not be installed"))
    results.note(Note("calls", "langchain", "failed", "no answer within 30 s", "json"))
    results.add(Figure("calls", "stdio", "langchain", 20.0, "seconds", 20.0))
    page = render(results)["benchmarks.md"]
    assert "| mcp-use | skipped | skipped | skipped |" in page
    assert "| langchain-mcp-adapters | 20x (20.0 s) | failed | – |" in page
    assert "- mcp-use: skipped: `it could not be installed`" in page
    assert "- langchain-mcp-adapters, json: failed: `no answer within 30 s`" in page


def test_the_same_results_give_the_same_bytes() -> None:
    assert render(complete()) == render(complete())


def test_every_promise_is_shown_in_some_section() -> None:
    shown = {
        (measure, column.case) for section in SECTIONS for measure in section.measures for column in section.columns
    }
    assert [target.case for target in TARGETS if (target.measure, target.case) not in shown] == []


def test_charts_are_well_formed_and_carry_their_labels() -> None:
    picture = bars("Title & more", 'a "note"', [Bar("us <1>", 1.0, "1.0x", "ours"), Bar("them", 100.0, "100x")])
    texts = [element.text for element in ElementTree.fromstring(picture).iter() if element.tag.endswith("text")]
    assert texts == ["Title & more", 'a "note" (logarithmic scale)', "us <1>", "1.0x", "them", "100x"]


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
