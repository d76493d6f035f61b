"""What must be reached, and what is said when it is not."""

import pytest
from bench.results import Figure, Results
from bench.targets import TARGETS, Target, Verdict, verdicts

RATIO = next(target for target in TARGETS if (target.measure, target.case) == ("calls", "json"))
VALUE = next(target for target in TARGETS if target.case == "idle gateway")
AT_LEAST = next(target for target in TARGETS if target.case == "stdio x64")


def judged(target: Target, figure: Figure) -> Verdict:
    results = Results({}, figures=[figure])
    return next(found for found in verdicts(results, {target.measure}) if found.target == target)


@pytest.mark.parametrize(("ratio", "ok"), [(2.4, True), (2.504, True), (2.51, False)])
def test_a_ratio_is_judged_as_it_is_printed(ratio: float, ok: bool) -> None:
    assert judged(RATIO, Figure("calls", "json", "ours", 1.0, "seconds", ratio)) == Verdict(RATIO, ratio, ok)


@pytest.mark.parametrize(("value", "ok"), [(VALUE.limit, True), (VALUE.limit + 1, False)])
def test_a_value_is_judged_against_its_limit(value: float, ok: bool) -> None:
    figure = Figure("memory", "idle gateway", "ours", value, "bytes")
    assert judged(VALUE, figure) == Verdict(VALUE, value, ok, "bytes")


@pytest.mark.parametrize(("ratio", "ok"), [(0.45, True), (0.44, False)])
def test_a_throughput_must_reach_at_least_its_limit(ratio: float, ok: bool) -> None:
    figure = Figure("throughput", "stdio x64", "ours", 1.0, "calls/s", ratio)
    assert judged(AT_LEAST, figure) == Verdict(AT_LEAST, ratio, ok)


def test_what_was_not_measured_is_missed() -> None:
    assert {(found.reached, found.ok) for found in verdicts(Results({}), {"start"})} == {(None, False)}


def test_only_the_measures_that_were_asked_for_are_judged() -> None:
    assert {found.target.measure for found in verdicts(Results({}), {"start", "memory"})} == {"start", "memory"}


def test_a_call_slower_than_the_typescript_sdk_of_the_same_run_is_missed() -> None:
    figures = [
        Figure("calls", "stdio", "ours", 1.1, "seconds", 0.9),
        Figure("calls", "stdio", "ts-sdk", 1.0, "seconds", 0.8),
    ]
    missed = [found.target.base for found in verdicts(Results({}, figures=figures), {"calls"}) if found.reached == 1.1]
    assert missed == ["the TypeScript SDK"]


@pytest.mark.parametrize(("ratio", "ok"), [(1.25, True), (1.3, False)])
def test_a_ratio_that_rises_with_the_size_is_not_linear(ratio: float, ok: bool) -> None:
    figures = [
        Figure("large", "stdio 10 MB", "ours", 1.0, "seconds", 1.0),
        Figure("large", "stdio 50 MB", "ours", 5.0, "seconds", ratio),
    ]
    found = verdicts(Results({}, figures=figures), {"large"})
    assert [verdict.ok for verdict in found if verdict.target.title == "linear from 10 to 50 MB, stdio"] == [ok]
