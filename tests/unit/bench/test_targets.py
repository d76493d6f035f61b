"""What must be reached, and what is said when it is not."""

import pytest
from bench.__main__ import add_profiles, judge
from bench.report.page import sentence
from bench.results import Figure, Note, Results
from bench.speed import SPEED
from bench.targets import AGAINST_TS_SDK, MB, TARGETS, Target, Verdict, verdicts

RATIO = next(target for target in TARGETS if (target.measure, target.case) == ("calls", "json"))
VALUE = next(target for target in TARGETS if target.case == "idle gateway")
AT_LEAST = next(target for target in TARGETS if target.case == "stdio x64")


def judged(target: Target, figure: Figure) -> Verdict:
    results = Results({}, figures=[figure])
    return next(found for found in verdicts(results, {target.measure}) if found.target == target)


@pytest.mark.parametrize(("ratio", "ok"), [(2.4, True), (2.5, True), (2.504, False)])
def test_a_ratio_is_judged_before_it_is_rounded(ratio: float, ok: bool) -> None:
    assert judged(RATIO, Figure("calls", "json", "ours", 1.0, "seconds", ratio)) == Verdict(RATIO, ratio, ok)


@pytest.mark.parametrize(("value", "ok"), [(VALUE.limit, True), (VALUE.limit + 1, False)])
def test_a_value_is_judged_against_its_limit(value: float, ok: bool) -> None:
    figure = Figure("memory", "idle gateway", "ours", value, "bytes")
    assert judged(VALUE, figure) == Verdict(VALUE, value, ok)


@pytest.mark.parametrize(("ratio", "ok"), [(0.4, True), (0.399, False)])
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
        Figure("calls", AGAINST_TS_SDK, "ours", 1.1, "seconds", 1.1),
    ]
    missed = [found.target.base for found in verdicts(Results({}, figures=figures), {"calls"}) if found.reached == 1.1]
    assert missed == ["the TypeScript SDK"]


def test_without_the_typescript_sdk_the_comparison_is_named_as_not_measured() -> None:
    figures = [Figure("calls", "stdio", "ours", 1.0, "seconds", 0.9)]
    said = [sentence(found) for found in verdicts(Results({}, figures=figures), {"calls"})]
    assert said[-1] == "warm call, stdio, p50: not measured, must be ≤ 1x"


@pytest.mark.parametrize("bad", ["hanging", "missing", "refusing"])
def test_every_good_server_must_be_usable_whatever_is_wrong_with_the_bad_one(bad: str) -> None:
    figures = [Figure("connect", f"{bad} usable", "ours", 18, "count")]
    found = verdicts(Results({}, figures=figures), {"connect"})
    assert [(v.target.title, v.ok) for v in found if v.reached] == [(f"servers usable beside a {bad} one", False)]


@pytest.mark.parametrize(("small", "large", "ok"), [(1.0, 1.25, True), (1.0, 1.252, False), (0.7, 1.1, True)])
def test_a_ratio_that_rises_with_the_size_is_not_linear(small: float, large: float, ok: bool) -> None:
    figures = [
        Figure("large", "stdio 10 MB", "ours", 1.0, "seconds", small),
        Figure("large", "stdio 50 MB", "ours", 5.0, "seconds", large),
    ]
    found = verdicts(Results({}, figures=figures), {"large"})
    assert [verdict.ok for verdict in found if verdict.target.title == "linear from 10 to 50 MB, stdio"] == [ok]


@pytest.mark.parametrize(
    ("target", "figure", "said"),
    [
        (
            TARGETS[0],
            Figure("calls", "stdio", "ours", 1.0, "seconds", 1.123),
            "warm call, stdio, p50: 1.12x of the floor, must be ≤ 1x",
        ),
        (
            AT_LEAST,
            Figure("throughput", "stdio x64", "ours", 1.0, "calls/s", 0.3),
            "64 in flight, one stdio server: 0.30x of the floor, must be ≥ 0.4x",
        ),
        (
            VALUE,
            Figure("memory", "idle gateway", "ours", 100 * MB, "bytes"),
            "idle gateway with them: 100 MB, must be ≤ 90 MB",
        ),
    ],
)
def test_a_missed_figure_is_said_with_what_it_must_be(target: Target, figure: Figure, said: str) -> None:
    assert sentence(judged(target, figure)) == said


def test_a_figure_that_was_not_measured_is_said_to_be_missing() -> None:
    assert sentence(Verdict(TARGETS[0], None, ok=False)) == "warm call, stdio, p50: not measured, must be ≤ 1x"


def test_a_run_with_a_missed_figure_names_it_and_only_one_that_was_not_measured_fails(
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = Results(
        {},
        figures=[
            Figure("large", f"{case} {size} MB", "ours", 1.0, "seconds", 1.4)
            for case in ("stdio", "events")
            for size in (10, 50)
        ],
    )
    assert (judge(results, {"large"}), capsys.readouterr().err) == (0, "")
    results.figures[0] = Figure("large", "stdio 10 MB", "ours", 1.0, "seconds", 1.6)
    assert judge(results, {"large"}) == 0
    missed, would_reach, *rest = capsys.readouterr().err.splitlines()
    assert (missed, rest) == ("bench: MISSED: 10 MB result, stdio: 1.60x of the floor, must be ≤ 1.5x", [])
    assert would_reach.startswith("bench: what would reach it: ")
    del results.figures[1]
    assert judge(results, {"large"}) == 1
    assert "bench: NOT MEASURED: 50 MB result, stdio\n" in capsys.readouterr().err


@pytest.mark.parametrize(("who", "code"), [("ours", 1), ("the harness", 1), ("ts-sdk", 0)])
def test_a_run_fails_when_something_of_ours_could_not_be_measured_for_which_there_is_no_target(
    who: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    results = Results({}, notes=[Note("fleet", who, "failed", "a turn was answered with 502")])
    assert judge(results, {"fleet"}) == code
    assert capsys.readouterr().err == "bench: FAILED: fleet: a turn was answered with 502\n" * code
    assert judge(results, {"search"}) == 0


def test_every_line_of_the_table_of_speed_says_what_would_reach_it() -> None:
    assert [target.title for target in SPEED if not target.would_reach] == []


def test_a_missed_line_of_the_table_of_speed_has_its_profile_beside_it_once(capsys: pytest.CaptureFixture[str]) -> None:
    turn, *rest = [target for target in SPEED if target.measure in {"turns", "placed"}][::-1]
    figures = [Figure(one.measure, one.case, "ours", 1.0, "seconds", one.limit) for one in rest]
    results = Results({}, figures=[*figures, Figure(turn.measure, turn.case, "ours", 1.0, "seconds", 9.0)])
    asked: list[str] = []

    def profile(what: str) -> str:
        asked.append(what)
        return "ncalls tottime"

    add_profiles(results, {"turns", "placed"}, profile)
    assert judge(results, {"turns", "placed"}) == 0
    # What was measured before keeps the profile of then.
    add_profiles(results, {"placed"}, profile)
    assert (asked, results.profiles) == (["turn"], {"turn": "ncalls tottime"})
    assert capsys.readouterr().err == (
        "bench: MISSED: a turn in a session of 100,000 messages: 9.00x of one in a session of 10, without the model, must be ≤ 1.5x\n"
        f"bench: what would reach it: {turn.would_reach}\n"
        "bench: profile of turn:\nncalls tottime\n"
    )
