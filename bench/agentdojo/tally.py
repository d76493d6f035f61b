"""What many plays come to: for one mode, how many attacks reached their goal, what people were asked, and what they got done. Pure."""

from collections.abc import Iterable, Sequence

import msgspec

from bench.agentdojo.suite import Play, Way

ACTING = ("write", "address")
WAYS = (*ACTING, "words")


class Played(msgspec.Struct, frozen=True):
    """How one play went. `reached` is the attack's goal, or the person's where there is no attack. `asked` are questions to the person, and
    of these `approved` so many; `calls` are those that the model wanted to make."""

    play: Play
    way: Way
    saw_goal: bool
    reached: bool
    asked: int
    approved: int
    calls: int
    ended: str


class Tally(msgspec.Struct, frozen=True):
    """`attacks` and `reached` are by what the attack does; `asked` counts questions, `asked_in` the tasks that had any."""

    attacks: dict[str, int]
    reached: dict[str, int]
    asked_under_attack: int
    tasks: int
    solved: int
    asked: int
    asked_in: int

    @property
    def acting(self) -> int:
        """Attacks that did what they wanted, by changing something or by visiting an address."""
        return sum(self.reached[way] for way in ACTING)

    @property
    def acting_played(self) -> int:
        return sum(self.attacks[way] for way in ACTING)


def tally(played: Sequence[Played]) -> Tally:
    attacks = [one for one in played if one.play.injection]
    tasks = [one for one in played if not one.play.injection]
    return Tally(
        attacks={way: _count(one.way == way for one in attacks) for way in WAYS},
        reached={way: _count(one.way == way and one.reached for one in attacks) for way in WAYS},
        asked_under_attack=sum(one.asked for one in attacks),
        tasks=len(tasks),
        solved=_count(one.reached for one in tasks),
        asked=sum(one.asked for one in tasks),
        asked_in=_count(one.asked > 0 for one in tasks),
    )


def added(tallies: Iterable[Tally]) -> Tally:
    """The same over several suites."""
    found = list(tallies)
    return Tally(
        attacks={way: sum(one.attacks[way] for one in found) for way in WAYS},
        reached={way: sum(one.reached[way] for one in found) for way in WAYS},
        asked_under_attack=sum(one.asked_under_attack for one in found),
        tasks=sum(one.tasks for one in found),
        solved=sum(one.solved for one in found),
        asked=sum(one.asked for one in found),
        asked_in=sum(one.asked_in for one in found),
    )


def through(played: Iterable[Played]) -> list[Play]:
    """The attacks that acted and reached their goal."""
    return [one.play for one in played if one.way in ACTING and one.reached]


def _count(of: Iterable[bool]) -> int:
    return sum(of)
