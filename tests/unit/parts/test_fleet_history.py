"""The model of what a fleet promises finds every kind of broken promise, and nothing where all were kept."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from parts.fleet_history import PARTS, Asked, Broken, History, Kind, Stored, Taken, broken, broken_so_far, summary


def whole(turn: str, session: str = "s", gateway: str = "a", fence: int = 1) -> list[Stored]:
    return [Stored(session, turn, part, gateway, gateway, fence, says_done=part == "result") for part in PARTS]


def note(gateway: str, fence: int) -> Stored:
    return Stored("s", "", "note", gateway, gateway, fence)


def history(
    stored: Sequence[Stored],
    *,
    acknowledged: Sequence[str] = ("t1",),
    others: Sequence[str] = ("t2",),
    calls: Sequence[str] = ("t1",),
    taken: Sequence[Taken] = (),
) -> History:
    asked = [Asked(turn, "s", acknowledged=True) for turn in acknowledged]
    return History([*asked, *(Asked(turn, "s", acknowledged=False) for turn in others)], stored, calls, taken)


GOOD = whole("t1")
CUT = whole("t2", gateway="b", fence=2)[:2]
CLOSED = [*CUT, Stored("s", "", "closing", "a", "a", 3)]


KEPT = (
    history(GOOD),
    # Never stored, stored whole without anybody being told, and cut short and closed by the next one.
    history([*GOOD, *whole("t2", fence=2)], calls=["t1", "t2"]),
    history([*GOOD, *CLOSED], calls=["t1", "t2"]),
    history([*CLOSED, *GOOD]),
    history([*GOOD, *CUT], taken=[Taken("s", 2, "a", "b", alive=False), Taken("s", 3, "b", "b", alive=True)]),
    # A note within a turn is nobody's part.
    history([*GOOD[:3], note("a", 1), GOOD[3]], acknowledged=["t1"]),
)


@pytest.mark.parametrize("one", KEPT)
def test_a_history_that_keeps_all_promises_is_good(one: History) -> None:
    assert broken(one) == []


@pytest.mark.parametrize("one", KEPT)
def test_a_history_that_keeps_all_promises_is_good_at_every_moment_of_it(one: History) -> None:
    for end in range(len(one.stored)):
        assert broken_so_far(History((), one.stored[:end], (), one.taken)) == []


def kinds(one: History) -> set[Kind]:
    return {fault.kind for fault in broken(one)}


@pytest.mark.parametrize(
    ("kind", "one"),
    [
        ("lost", history([])),
        ("lost", history(GOOD[:3])),
        ("lost", history(whole("t1", session="elsewhere"))),
        ("doubled", history([*GOOD, *whole("t1", fence=2)])),
        ("doubled", history([*GOOD, GOOD[3]])),
        ("interleaved", history([*GOOD[:2], *CUT, *GOOD[2:]])),
        ("interleaved", history([GOOD[0], GOOD[2], GOOD[1], GOOD[3]])),
        ("interleaved", history(GOOD[1:])),
        # It goes on although somebody has ended it.
        ("interleaved", history([*GOOD, *CLOSED, *whole("t2", gateway="b", fence=2)[2:]])),
        ("repeated", history(GOOD, calls=["t1", "t1"])),
        ("repeated", history(GOOD, calls=[])),
        ("repeated", history([*GOOD, *CUT], calls=["t1", "t2", "t2"])),
        ("fenced", history([*GOOD[:3], replace(GOOD[3], holder="b")])),
        ("fenced", history([*GOOD[:3], replace(GOOD[3], holder="")])),
        ("fenced", history([*GOOD[:3], replace(GOOD[3], fence=2)])),
        ("fenced", history([*GOOD, replace(note("a", 1), holder="b")])),
        ("stolen", history(GOOD, taken=[Taken("s", 2, "a", "b", alive=True)])),
        ("stolen", history(GOOD, taken=[Taken("s", 2, "a", "b", alive=False), Taken("s", 2, "b", "c", alive=False)])),
        ("unknown", history([*GOOD, *whole("t9", fence=2)])),
        ("unknown", history(GOOD, calls=["t1", "t9"])),
    ],
)
def test_every_broken_promise_is_named(kind: Kind, one: History) -> None:
    assert kind in kinds(one)


def test_what_was_written_past_the_fence_is_told_while_all_goes_on() -> None:
    so_far = History((), [*GOOD[:2], replace(GOOD[2], holder="b")], ())
    assert broken_so_far(so_far) == [Broken("fenced", "a wrote to s in the turn of b")]


def test_the_counts_end_with_a_number_for_every_promise() -> None:
    assert summary(history(GOOD), []) == (
        "asked 2 · acknowledged 1 · conversations 1 · events stored 4 · calls carried out 1 · taken over 0"
        " · lost 0 · doubled 0 · interleaved 0 · repeated 0 · fenced 0 · stolen 0 · unknown 0"
    )
    lost = history([])
    assert "lost 1" in summary(lost, broken(lost))
