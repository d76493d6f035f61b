"""What a fleet promises, as a model that judges a history: what callers were told, what servers did, and what the database holds.

Pure: whoever made the history (fleet_chaos.py) hands it over whole. A turn of it is one message of a caller, with a name of its own that
stands in everything which comes of it: the message, one call of a tool, its result and the answer.

- No acknowledged turn is lost: its caller was told that it is done, so it is stored whole and in order.
- None is doubled, whoever asked for it again, and at whichever gateway.
- Turns of a conversation never interleave: what belongs to one stands in one piece.
- A call is made at most once, and once where its result is stored.
- No gateway writes after another has taken over, and none takes over from one that is alive.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, get_args

import msgspec

# What one turn stores, in this order.
Part = Literal["asked", "called", "result", "answer"]
PARTS: tuple[Part, ...] = get_args(Part)

Kind = Literal["lost", "doubled", "interleaved", "repeated", "fenced", "stolen", "unknown"]


class Asked(msgspec.Struct, frozen=True):
    """A turn as its caller knows it. Where it is not `acknowledged`, it may be stored whole, in part or not at all."""

    turn: str
    session: str
    acknowledged: bool


class Stored(msgspec.Struct, frozen=True):
    """One event of a conversation as the database has it, and who wrote it.

    What is no part of a turn is a `note`, or `closing`: with that the next gateway ends the turn of one that died. `writer` is the one
    whose connection it came over, `holder` the one that had the conversation at that moment, and `fence` the number of the turn it had.
    """

    session: str
    turn: str
    part: Part | Literal["note", "closing"]
    writer: str
    holder: str
    fence: int
    # Of a result: that the call was carried out.
    says_done: bool = False


class Taken(msgspec.Struct, frozen=True):
    """A conversation went from one gateway to another; `alive`: the database still took the former for alive."""

    session: str
    fence: int
    former: str
    taker: str
    alive: bool


class History(msgspec.Struct, frozen=True):
    """`stored` is in the order of each conversation; `calls` are the names of turns, one for each call that a server carried out."""

    asked: Sequence[Asked]
    stored: Sequence[Stored]
    calls: Sequence[str]
    taken: Sequence[Taken] = ()


class Broken(msgspec.Struct, frozen=True):
    """A promise that was not kept, and a sentence about it."""

    kind: Kind
    what: str


def broken(history: History) -> list[Broken]:
    """Every promise that this history breaks; none when all were kept."""
    return [
        *_lost(history),
        *_doubled(history),
        *_interleaved(history),
        *_repeated(history),
        *_fenced(history),
        *_stolen(history),
        *_unknown(history),
    ]


def broken_so_far(history: History) -> list[Broken]:
    """What is certain while turns still go on, told from what is stored alone: nothing that comes later mends it."""
    return [*_doubled(history), *_interleaved(history), *_fenced(history), *_stolen(history)]


def summary(history: History, faults: Sequence[Broken]) -> str:
    """The counts, with a number for every promise: zeros when all were kept."""
    found = Counter(one.kind for one in faults)
    told = sum(one.acknowledged for one in history.asked)
    counts = {
        "asked": len(history.asked),
        "acknowledged": told,
        "conversations": len({one.session for one in history.stored}),
        "events stored": len(history.stored),
        "calls carried out": len(history.calls),
        "taken over": len(history.taken),
    }
    kinds: tuple[Kind, ...] = get_args(Kind)
    return " · ".join(
        [*(f"{name} {count:,}" for name, count in counts.items()), *(f"{kind} {found[kind]}" for kind in kinds)]
    )


def _by_turn(history: History) -> dict[str, list[Stored]]:
    found: dict[str, list[Stored]] = {}
    for one in history.stored:
        if one.part in PARTS:
            found.setdefault(one.turn, []).append(one)
    return found


def _lost(history: History) -> Iterator[Broken]:
    stored = _by_turn(history)
    for asked in history.asked:
        if not asked.acknowledged:
            continue
        parts = tuple(one.part for one in stored.get(asked.turn, ()) if one.session == asked.session)
        if any(part not in parts for part in PARTS):
            missing = ", ".join(part for part in PARTS if part not in parts)
            yield Broken("lost", f"{asked.turn} in {asked.session} was acknowledged and is not whole: no {missing}")


def _doubled(history: History) -> Iterator[Broken]:
    for turn, entries in _by_turn(history).items():
        for part, times in Counter(one.part for one in entries).items():
            if times > 1:
                yield Broken("doubled", f"{turn}: {part} is stored {times} times")


def _interleaved(history: History) -> Iterator[Broken]:
    """A turn that goes on behind something else of its conversation, or whose parts are not in order."""
    before: dict[str, Stored] = {}
    begun: set[tuple[str, str]] = set()
    for one in history.stored:
        if one.part == "note":
            continue
        last = before.get(one.session)
        before[one.session] = one
        if one.part == "closing":
            continue
        if last is None or last.turn != one.turn or last.part == "closing":
            if (one.session, one.turn) in begun:
                behind = last.turn if last is not None and last.turn != one.turn else "its end"
                yield Broken("interleaved", f"{one.turn} in {one.session} goes on behind {behind}")
            elif one.part != "asked":
                yield Broken("interleaved", f"{one.turn} in {one.session} begins with {one.part}")
            begun.add((one.session, one.turn))
        elif PARTS[: PARTS.index(one.part)][-1:] != (last.part,):
            yield Broken("interleaved", f"{one.turn} in {one.session}: {one.part} stands behind {last.part}")


def _repeated(history: History) -> Iterator[Broken]:
    calls = Counter(history.calls)
    for turn, times in calls.items():
        if times > 1:
            yield Broken("repeated", f"the call of {turn} was carried out {times} times")
    for one in history.stored:
        if one.says_done and not calls[one.turn]:
            yield Broken("repeated", f"the call of {one.turn} has a result, and was never carried out")


def _fenced(history: History) -> Iterator[Broken]:
    fences: dict[str, int] = {}
    for one in history.stored:
        if one.writer != one.holder:
            yield Broken("fenced", f"{one.writer} wrote to {one.session} in the turn of {one.holder or 'nobody'}")
        elif one.part in PARTS and fences.setdefault(one.turn, one.fence) != one.fence:
            yield Broken("fenced", f"{one.writer} went on with {one.turn} in {one.session} after it was taken over")


def _stolen(history: History) -> Iterator[Broken]:
    last: dict[str, int] = {}
    for one in history.taken:
        if one.alive and one.former != one.taker:
            yield Broken("stolen", f"{one.taker} took {one.session} from {one.former}, which was alive")
        if one.fence <= last.get(one.session, 0):
            yield Broken("stolen", f"{one.session} was taken twice with the number {one.fence}")
        last[one.session] = one.fence


def _unknown(history: History) -> Iterator[Broken]:
    """What nobody asked for, or not there."""
    places = {one.turn: one.session for one in history.asked}
    for turn, entries in _by_turn(history).items():
        for session in sorted({one.session for one in entries} - {places.get(turn)}):
            yield Broken("unknown", f"{turn} stands in {session}, where nobody asked for it")
    for turn in sorted(set(history.calls) - set(places)):
        yield Broken("unknown", f"a call of {turn} was carried out, which nobody asked for")
