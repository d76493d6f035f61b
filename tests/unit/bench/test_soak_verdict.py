"""What a soak must show: everything that can be off makes it fail, and says so."""

import pytest
from bench.soak.ledger import Ledger, reckon
from bench.soak.verdict import Observed, problems
from msgspec.structs import replace

GOOD = Observed(
    minutes=2.0,
    answered=2_500,
    failed=100,
    kills=120,
    cuts=50,
    restarts=10,
    reloads=20,
    resumed=7,
    sessions=9,
    legacy_streams=3,
    lost=0,
    doubled=0,
    hung=0,
    undue=0,
    orphans=0,
    descriptors=0,
    memory=(40_000_000,) * 40,
)


def test_a_soak_in_which_everything_held_has_no_problem() -> None:
    assert problems(GOOD) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"lost": 1}, "1 calls lost"),
        ({"doubled": 2}, "2 calls carried out twice"),
        ({"hung": 1}, "1 calls hung"),
        ({"undue": 3}, "3 calls failed though nothing was done to their server meanwhile"),
        ({"orphans": 1}, "1 processes left over"),
        ({"descriptors": 4}, "4 descriptors left open"),
        ({"kills": 99}, "only 99 kills in 2.0 minutes"),
        ({"answered": 1_800, "failed": 100}, "only 1900 calls in 2.0 minutes"),
        ({"resumed": 0}, "no stream was resumed by Last-Event-ID"),
        ({"sessions": 0}, "no MCP session was begun again"),
        ({"legacy_streams": 0}, "no HTTP+SSE stream was opened again"),
        ({"memory": (40_000_000,) * 39 + (56_000_000,)}, "memory grew by 16.0 MB"),
    ],
)
def test_whatever_is_off_is_named(change: dict[str, object], problem: str) -> None:
    assert problems(replace(GOOD, **change)) == [problem]


def test_memory_is_judged_once_it_has_settled() -> None:
    """Eleven minutes, one sample each: what fills up in the first five is no leak, what goes on growing is."""
    long = replace(GOOD, minutes=11.0, answered=20_000, kills=600)
    filling = (40_000_000, 42_000_000, 44_000_000, 46_000_000, 48_000_000, *(50_000_000,) * 6)
    assert problems(replace(long, memory=filling)) == []
    leaking = tuple(range(40_000_000, 62_000_000, 2_000_000))
    assert problems(replace(long, memory=leaking)) == ["memory grows by 2.0 MB a minute"]


def test_an_answer_that_no_server_gave_is_a_lost_call() -> None:
    assert reckon(["ok a-1", "ok a-2", "error a-3"], ["a-1"]) == Ledger(2, failed=1, lost=1, doubled=0)


def test_a_call_that_was_carried_out_twice_is_doubled_however_it_ended() -> None:
    assert reckon(["error a-1"], ["a-1", "a-1"]) == Ledger(0, failed=1, lost=0, doubled=1)


def test_a_failed_call_may_or_may_not_have_been_carried_out() -> None:
    assert reckon(["error a-1", "error a-2"], ["a-1"]) == Ledger(0, failed=2, lost=0, doubled=0)
