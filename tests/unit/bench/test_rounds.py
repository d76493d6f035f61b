"""Everybody takes turns, and ratios are taken within a round."""

from bench.results import Figure, Results
from bench.rounds import MOST_TIMES, Warmth, add_against, add_figures, ratios, take_turns


def nobody_fails(who: str, error: Exception) -> None:
    raise error


def test_turns_alternate_between_all_who_take_part() -> None:
    order: list[str] = []

    def turn(who: str) -> int:
        order.append(who)
        return len(order)

    taken = take_turns({"a": lambda: turn("a"), "b": lambda: turn("b")}, 2, nobody_fails)
    assert (order, taken) == (["a", "b", "a", "b", "a", "b"], {"a": [3, 5], "b": [4, 6]})


def test_the_first_round_is_announced_and_does_not_count() -> None:
    begun: list[str] = []
    numbers = iter(range(10))
    taken = take_turns({"a": lambda: next(numbers)}, 2, nobody_fails, begin=begun.append)
    assert (begun, taken) == (["a"], {"a": [1, 2]})


def test_everybody_is_warmed_up_until_it_no_longer_gets_faster() -> None:
    """A just-in-time compiler: 95 µs at first, 37 µs after 30 turns of a thousand calls."""
    warming = iter([95.0] * 10 + [60.0] * 10 + [45.0] * 10 + [37.0] * 100)
    taken = take_turns({"node": lambda: next(warming)}, 3, nobody_fails, warm=Warmth(float, 24))
    assert taken == {"node": [37.0, 37.0, 37.0]}


def test_who_stands_still_for_a_moment_is_not_yet_warm() -> None:
    warmth = Warmth(float, 10)
    assert not warmth.is_steady([95.0] * 9)
    assert warmth.is_steady([95.0] * 10)
    assert not warmth.is_steady([95.0] * 10 + [80.0])
    assert warmth.is_steady([95.0] * 10 + [94.0] * 3)


def test_who_never_gets_steady_is_measured_as_it_is_in_the_end() -> None:
    falling = iter(range(10_000, 0, -100))
    assert Warmth(float, 10).reach(lambda: next(falling)) == MOST_TIMES * 10


def test_the_slow_take_part_in_the_first_rounds_only() -> None:
    taken = take_turns({"a": lambda: 1, "b": lambda: 2}, 4, nobody_fails, fewer={"b": 2})
    assert taken == {"a": [1, 1, 1, 1], "b": [2, 2]}


def test_who_fails_is_told_once_and_left_out() -> None:
    told: list[str] = []

    def fail() -> int:
        raise ValueError("no")

    taken = take_turns({"a": fail, "b": lambda: 1}, 2, lambda who, error: told.append(f"{who}: {error}"))
    assert (taken, told) == ({"b": [1, 1]}, ["a: no"])


def test_a_ratio_is_taken_within_each_round() -> None:
    """A round in which the whole machine was slow changes nothing."""
    assert ratios([2.0, 20.0], [1.0, 10.0]) == [2.0, 2.0]


def test_figures_hold_the_median_its_ratio_and_the_range() -> None:
    results = Results({})
    add_figures(results, "calls", "stdio", "seconds", {"floor": [1.0, 10.0, 1.0], "ours": [2.0, 20.0, 3.0]})
    assert results.figures == [
        Figure("calls", "stdio", "floor", 1.0, "seconds", 1.0, 1.0, 10.0),
        Figure("calls", "stdio", "ours", 3.0, "seconds", 2.0, 2.0, 20.0),
    ]


def test_figures_hold_the_ratio_to_the_fast_floor_too_and_ours_one_to_each_of_the_others() -> None:
    results = Results({})
    taken = {"fast-floor": [1.0, 10.0], "ours": [3.0, 30.0], "ts-sdk": [2.0, 20.0]}
    add_figures(results, "calls", "stdio", "seconds", {who: taken[who] for who in ("fast-floor", "ours")})
    add_against(results, "calls", "stdio", "seconds", taken, {"ts-sdk": "the TypeScript SDK", "absent": "nobody"})
    assert results.figures == [
        Figure("calls", "stdio", "fast-floor", 5.5, "seconds", None, 1.0, 10.0, 1.0),
        Figure("calls", "stdio", "ours", 16.5, "seconds", None, 3.0, 30.0, 3.0),
        Figure("calls", "stdio / the TypeScript SDK", "ours", 16.5, "seconds", 1.5),
    ]
