"""Rounds: everybody does a little in turn, again and again, so that what disturbs the machine disturbs all of them.

A ratio is the median, over the rounds, of the ratio within one round. Pure: what a turn does is given.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from bench.results import Figure, Results, Unit, middle

K = TypeVar("K")
T = TypeVar("T")
Turn = Callable[[], T]
FLOOR = "floor"


def take_turns(
    turns: Mapping[K, Turn[T]],
    rounds: int,
    failed: Callable[[K, Exception], None],
    *,
    fewer: Mapping[K, int] | None = None,
    begin: Callable[[K], None] = lambda who: None,
) -> dict[K, list[T]]:
    """What each gave in each round. Who fails is told and left out from then on.

    The first round does not count: just-in-time compilers, connections, caches; `begin` is told of it. `fewer` names those who take
    part in the first rounds only.
    """
    taken: dict[K, list[T]] = {who: [] for who in turns}
    out: set[K] = set()
    for number in range(1 + rounds):
        for who, turn in turns.items():
            if who in out or number > (fewer or {}).get(who, rounds):
                continue
            try:
                if number == 0:
                    begin(who)
                given = turn()
                if number:
                    taken[who].append(given)
            except Exception as error:
                out.add(who)
                failed(who, error)
    return {who: given for who, given in taken.items() if who not in out}


def ratios(values: list[float], floor: list[float]) -> list[float]:
    """Round by round; a round that the floor had not is left out."""
    return [value / base for value, base in zip(values, floor, strict=False) if base > 0]


def add_figures(results: Results, measure: str, case: str, unit: Unit, taken: Mapping[str, list[float]]) -> None:
    """A figure for everybody who took part, with ratios to the floor's rounds when it did."""
    floor = taken.get(FLOOR)
    for who, values in taken.items():
        if values:
            ratio = middle(ratios(values, floor)) if floor else None
            results.add(Figure(measure, case, who, middle(values), unit, ratio, min(values), max(values)))
