"""Which conversations are kept, and that the others are gone from the disk: by age, by size, and never in the middle of a turn."""

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from openclaw.content import Image, Text, UserMessage
from openclaw.sessions.key import is_unnamed, new_key, session_key
from openclaw.sessions.prune import is_due
from openclaw.sessions.retention import DAY, Keep, Stored, outlived
from openclaw.sessions.sqlite import SqliteStore
from openclaw.sessions.store import Store
from parts.clock import Clock

NOW = 1_000 * DAY
UNNAMED = session_key("main", new_key())


def stored(key: str, days: float, size: int = 1) -> Stored:
    return Stored(key, NOW - days * DAY, size)


def test_a_key_is_unnamed_when_nobody_chose_it() -> None:
    assert is_unnamed(session_key("main", new_key()))
    assert is_unnamed(session_key("main", new_key(), "order"))
    assert not is_unnamed(session_key("main", "1794812949-notes"))
    assert not is_unnamed(session_key("main", "trip to Lisbon"))


def test_unnamed_ones_go_after_thirty_days_and_named_ones_stay() -> None:
    young, old, named = stored(UNNAMED, 29), stored(session_key("main", new_key()), 31), stored("agent:main:trip", 900)
    assert outlived([young, old, named], Keep(), NOW) == [old]
    assert outlived([young, old, named], Keep(unnamed_days=None), NOW) == []
    assert outlived([young, old, named], Keep(days=100), NOW) == [named, old]


def test_past_the_size_unnamed_ones_go_first_and_the_least_recently_used_before_others() -> None:
    first, second = stored("agent:main:a", 9, 40), stored("agent:main:b", 8, 40)
    unnamed = stored(UNNAMED, 1, 40)
    assert outlived([second, unnamed, first], Keep(size=120), NOW) == []
    assert outlived([second, unnamed, first], Keep(size=119), NOW) == [unnamed]
    assert outlived([second, unnamed, first], Keep(size=79), NOW) == [unnamed, first]
    assert outlived([second, unnamed, first], Keep(size=0), NOW) == [unnamed, first, second]


sessions = st.lists(
    st.builds(stored, st.sampled_from(["agent:main:a", "agent:main:b", UNNAMED]), st.floats(0, 99), st.integers(0, 99)),
    max_size=9,
)


@given(sessions, st.none() | st.floats(0, 99), st.none() | st.floats(0, 99), st.none() | st.integers(0, 300))
def test_what_stays_is_young_enough_and_fits(
    held: list[Stored], days: float | None, unnamed_days: float | None, size: int | None
) -> None:
    gone = outlived(held, Keep(days, unnamed_days, size), NOW)
    left = list(held)
    for one in gone:
        left.remove(one)
    assert size is None or sum(one.size for one in left) <= size
    for one in left:
        age = (NOW - one.updated) / DAY
        assert days is None or age <= days + 1e-6
        assert unnamed_days is None or not is_unnamed(one.key) or age <= unnamed_days + 1e-6


async def say(store: Store, key: str, text: str = "hello", picture: bytes = b"") -> None:
    async with store.turn(key, "main") as turn:
        turn.append(UserMessage((Text(text), *([Image(picture, "image/png")] if picture else []))))


async def keys(store: Store) -> set[str]:
    return {info.key for info in await store.list()}


async def test_pruning_removes_what_is_too_old_and_says_so(store: Store, clock: Clock) -> None:
    clock.now = NOW - 40 * DAY
    await say(store, UNNAMED)
    await say(store, "agent:main:trip")
    clock.now = NOW

    planned = await store.prune(Keep(), dry_run=True)
    assert ([one.key for one in planned.removed], await keys(store)) == ([UNNAMED], {UNNAMED, "agent:main:trip"})
    done = await store.prune(Keep())
    assert (done.removed, done.busy) == (planned.removed, ())
    assert await keys(store) == {"agent:main:trip"}


async def test_a_conversation_in_a_turn_is_left_alone(store: Store, clock: Clock) -> None:
    clock.now = NOW - 40 * DAY
    await say(store, UNNAMED)
    clock.now = NOW
    async with store.turn(UNNAMED, "main") as turn:
        done = await store.prune(Keep())
        assert (done.removed, done.busy) == ((), (UNNAMED,))
        turn.append(UserMessage((Text("still here"),)))
    # Used now, it is not old any more.
    assert (await store.prune(Keep())).removed == ()
    assert await keys(store) == {UNNAMED}


async def test_the_file_shrinks_and_media_go_with_their_conversation(tmp_path: Path, clock: Clock) -> None:
    store = SqliteStore(tmp_path / "s", clock=clock)
    await say(store, "agent:main:trip", "kept", b"shared")
    clock.now = NOW - 40 * DAY
    await say(store, UNNAMED, "x" * 3_000_000, os.urandom(500_000))
    clock.now = NOW

    def size() -> int:
        return sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())

    before = size()
    done = await store.prune(Keep())
    after = size()
    await store.close()

    assert after < 500_000
    assert before - 3_500_000 > after
    assert done.freed > 3_500_000
    assert [path.read_bytes() for path in (tmp_path / "s.media").rglob("*") if path.is_file()] == [b"shared"]


async def test_a_media_file_without_an_event_is_swept_away(tmp_path: Path, clock: Clock) -> None:
    """As a process leaves it that is killed between writing the file and storing the event."""
    store = SqliteStore(tmp_path / "s", clock=clock)
    await say(store, "k", picture=b"needed")
    stray = tmp_path / "s.media" / "ab" / ("ab" * 32)
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"stray")
    await store.prune(Keep())
    await store.close()
    assert [path.read_bytes() for path in (tmp_path / "s.media").rglob("*") if path.is_file()] == [b"needed"]


async def test_by_itself_it_is_due_once_a_day_and_only_where_there_is_something(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "s"
    assert not is_due(path, clock())
    store = SqliteStore(path, clock=clock)
    assert (await store.prune(Keep())).removed == ()
    assert os.listdir(tmp_path) == []
    await say(store, "k")
    assert is_due(path, clock())
    await store.prune(Keep(), dry_run=True)
    assert is_due(path, clock())
    await store.prune(Keep())
    await store.close()
    assert [is_due(path, clock() + later) for later in (0.0, 0.9 * DAY, 1.1 * DAY)] == [False, False, True]
