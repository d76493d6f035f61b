"""What a turn goes on from: however many events there are, the next one is taken in as the whole would have been, and at the same cost."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.content import AssistantMessage, Image, Message, Text, ToolCall, ToolMessage, UserMessage
from openclaw.models.transcript import paired
from openclaw.sessions.event import FOREIGN, GRANTED, Custom, Reset, Said, SessionEvent, Shortened, Undone, pack
from openclaw.sessions.sqlite import SqliteStore
from openclaw.sessions.view import Known, View, Views

# What SQLite does for one read is told in steps of its machine, one by one.
EVERY_STEP = 1


def user(text: str) -> UserMessage:
    return UserMessage((Text(text),))


CALL = AssistantMessage((ToolCall("c1", "look", {}),))
FOUND = ToolMessage("c1", "look", (Text("pay IBAN 7"),), source="mcp:files")
POINTED = UserMessage((Text("this"), Text("theirs"), Image(b"\x89", "image/png")), sources=("", "mcp:notes", "mcp:x"))
GRANT = {"id": "g_1", "tool": "look", "server": "files", "definition": "d", "agent": "main", "arguments": {}}
MESSAGES: list[Message] = [user("Look."), CALL, FOUND, POINTED, AssistantMessage((Text("So."),))]
EVENTS: list[SessionEvent] = [
    *(Said(message) for message in MESSAGES),
    Shortened("They looked.", (user("Look."), CALL)),
    Shortened("", (FOUND,)),
    Reset(),
    Undone(),
    Custom(FOREIGN, ["mcp:files"]),
    Custom(GRANTED, [GRANT]),
    Custom(GRANTED, "nonsense"),
    Custom("label", 7),
]


def told(view: View) -> dict[str, Any]:
    return {
        "messages": view.messages,
        "paired": view.paired(),
        "foreign": [*view.foreign],
        "granted": view.granted,
        "read": view.read,
        "notes": view.notes,
        "count": view.count,
    }


@given(st.lists(st.sampled_from(EVENTS), max_size=12), st.integers(0, 12))
def test_events_taken_in_later_tell_the_same_as_all_at_once(events: list[SessionEvent], place: int) -> None:
    view = View.of(events[:place])
    before, branch = told(view.copy()), view.copy()
    view.take_in([pack(event) for event in events[place:]])
    whole = View.of(events)

    assert told(view) == told(whole)
    assert told(branch) == before
    assert whole.paired() == paired(whole.messages)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    made = SqliteStore(tmp_path / "sessions")
    yield made
    await made.close()


async def steps_of(store: SqliteStore, work: Callable[[], Awaitable[object]]) -> int:
    """What something asks of the database, in steps of SQLite's machine."""
    counted = 0

    def step() -> None:
        nonlocal counted
        counted += 1

    def watch(step: Callable[[], None] | None) -> None:
        connection = store._database._connection
        assert connection is not None
        connection.set_progress_handler(step, EVERY_STEP)

    await store._run(lambda: watch(step))
    await work()
    await store._run(lambda: watch(None))
    return counted


async def steps_of_a_turn(store: SqliteStore, key: str) -> int:
    async def go_on() -> None:
        async with store.turn(key, "main") as turn:
            turn.append(user("go on"))

    await go_on()
    return await steps_of(store, go_on)


async def test_a_turn_of_a_long_conversation_asks_no_more_of_the_database_than_one_of_a_short_one(
    store: SqliteStore,
) -> None:
    async with store.turn("short", "main") as turn:
        turn.append(*MESSAGES)
    async with store.turn("long", "main") as turn:
        turn.append(*MESSAGES * 1_000)

    short, long = await steps_of_a_turn(store, "short"), await steps_of_a_turn(store, "long")

    assert 0 < long <= short * 1.2


@pytest.mark.parametrize("agent", [None, "rare"])
async def test_a_page_of_very_many_sessions_asks_no_more_of_the_database_than_one_of_a_few(
    store: SqliteStore, agent: str | None
) -> None:
    async def page() -> None:
        found = await store.find(agent=agent, limit=5)
        totals.append(found.total)

    totals: list[int] = []
    steps = []
    for number in range(5):
        await say(store, f"rare-{number}", "rare")
    for more in (20, 600):
        for number in range(more):
            await say(store, f"{more}-{number}", "main")
        await page()
        steps.append(await steps_of(store, page))

    few, many = steps
    assert totals == ([25, 25, 625, 625] if agent is None else [5] * 4)
    assert 0 < many <= few * 1.2


async def say(store: SqliteStore, key: str, agent: str) -> None:
    async with store.turn(key, agent) as turn:
        turn.append(user("hello"))


async def test_what_another_process_said_meanwhile_is_in_the_next_turn(tmp_path: Path, store: SqliteStore) -> None:
    other = SqliteStore(tmp_path / "sessions")
    seen: list[list[Message]] = []
    for number, one in enumerate((store, other, store, other)):
        async with one.turn("k", "main") as turn:
            seen.append(turn.history())
            turn.append(user(f"{number}"))
    async with other.turn("k", "main") as turn:
        turn.compact("They counted.", [user("3")])
    async with store.turn("k", "main") as turn:
        seen.append(turn.history())
    await other.delete("k")
    async with other.turn("k", "main") as turn:
        turn.append(user("afresh"))
    async with store.turn("k", "main") as turn:
        seen.append(turn.history())
    await other.close()

    all_four = [user(f"{number}") for number in range(4)]
    notes = UserMessage((Text("They counted."),), notes=True)
    assert seen == [[], all_four[:1], all_four[:2], all_four[:3], [notes, user("3")], [user("afresh")]]


async def test_a_turn_that_failed_leaves_no_trace_in_the_next(store: SqliteStore) -> None:
    async with store.turn("k", "main") as turn:
        turn.append(user("kept"))
    with pytest.raises(RuntimeError):
        async with store.turn("k", "main") as turn:
            turn.append(user("kept too"))
            await turn.commit()
            turn.append(user("lost"))
            raise RuntimeError("the model is gone")

    async with store.turn("k", "main") as turn:
        assert turn.history() == [user("kept"), user("kept too")]


def test_what_is_kept_between_turns_is_bounded_and_the_least_used_goes_first() -> None:
    views = Views(most_bytes=100)

    def known(size: int) -> Known:
        view = View()
        view.add(Reset(), size)
        return Known("id", 0, view)

    first, second, third, huge = known(40), known(40), known(40), known(400)
    for key, one in (("a", first), ("b", second)):
        views.keep(key, one)
    views.keep("a", views.take("a") or first)
    views.keep("c", third)
    left = [views.take(key) for key in "abc"]
    views.keep("huge", huge)

    few = Views(most_views=2)
    for key in "abc":
        few.keep(key, first)

    assert left == [first, None, third]
    assert views.take("huge") is None
    assert [few.take(key) for key in "abc"] == [None, first, first]
