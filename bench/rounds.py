"""Rounds: everybody does a little in turn, again and again, so that what disturbs the machine disturbs all of them.

Before the first round each is warmed up by itself until it no longer gets faster: a just-in-time compiler needs tens of thousands of
calls. A ratio is the median, over the rounds, of the ratio within one round. Pure: what a turn does is given.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from bench.results import Figure, Results, Unit, middle

K = TypeVar("K")
T = TypeVar("T")
Turn = Callable[[], T]
FLOOR = "floor"
FAST_FLOOR = "fast-floor"
# What the time of a turn varies by though nothing changed.
NOISE = 0.03
# Who still gets faster after so many times the least is measured as it is.
MOST_TIMES = 3


@dataclass(frozen=True)
class Warmth(Generic[T]):
    """When somebody is warm: `seconds` of a turn no longer fall. A compiler that optimises in stages stands still in between, so
    nobody is warm before `least` turns, and half of them must have brought nothing."""

    seconds: Callable[[T], float]
    least: int

    def is_steady(self, values: Sequence[float]) -> bool:
        """Whether the best of the last turns is no better, by more than noise, than the best before them."""
        last = self.least // 2
        return len(values) >= self.least and min(values[-last:]) >= min(values[:-last]) * (1 - NOISE)

    def reach(self, turn: Turn[T]) -> int:
        """Take turns until they are steady; how many it took."""
        values: list[float] = []
        while not self.is_steady(values) and len(values) < MOST_TIMES * self.least:
            values.append(self.seconds(turn()))
        return len(values)


def take_turns(
    turns: Mapping[K, Turn[T]],
    rounds: int,
    failed: Callable[[K, Exception], None],
    *,
    fewer: Mapping[K, int] | None = None,
    begin: Callable[[K], None] = lambda who: None,
    warm: Warmth[T] | None = None,
) -> dict[K, list[T]]:
    """What each gave in each round. Who fails is told and left out from then on.

    With `warm` everybody first takes turns by itself until it is warm; without it one turn each does not count, for connections and
    caches. `begin` is told who begins. `fewer` names those who take part in the first rounds only.
    """
    taken: dict[K, list[T]] = {who: [] for who in turns}
    out: set[K] = set()
    for number in range(1 + rounds):
        for who, turn in turns.items():
            if who in out or number > (fewer or {}).get(who, rounds):
                continue
            try:
                if number:
                    taken[who].append(turn())
                    continue
                begin(who)
                if warm is None:
                    turn()
                else:
                    warm.reach(turn)
            except Exception as error:
                out.add(who)
                failed(who, error)
    return {who: given for who, given in taken.items() if who not in out}


def ratios(values: list[float], floor: list[float]) -> list[float]:
    """Round by round; a round that the floor had not is left out."""
    return [value / base for value, base in zip(values, floor, strict=False) if base > 0]


def add_figures(results: Results, measure: str, case: str, unit: Unit, taken: Mapping[str, list[float]]) -> None:
    """A figure for everybody who took part, with ratios to the rounds of both floors when they did."""
    for who, values in taken.items():
        if values:
            ratio, fast = (_ratio(values, taken.get(floor, [])) for floor in (FLOOR, FAST_FLOOR))
            results.add(Figure(measure, case, who, middle(values), unit, ratio, min(values), max(values), fast))


def add_against(
    results: Results,
    measure: str,
    case: str,
    unit: Unit,
    taken: Mapping[str, list[float]],
    others: Mapping[str, str],
    who: str = "ours",
) -> None:
    """Ours as a ratio to others of the same rounds, each as a figure of its own: `others` are their titles."""
    for other, title in others.items():
        own = taken.get(who, [])
        if (ratio := _ratio(own, taken.get(other, []))) is not None:
            results.add(Figure(measure, against(case, title), who, middle(own), unit, ratio))


def against(case: str, title: str) -> str:
    return f"{case} / {title}"


def _ratio(values: list[float], floor: list[float]) -> float | None:
    found = ratios(values, floor)
    return middle(found) if found else None
