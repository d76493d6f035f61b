"""What every session store promises, shown on both: the file and the memory."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openclaw.content import (
    AssistantMessage,
    File,
    Framed,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from openclaw.errors import SessionBusyError, StoreError, UsageError
from openclaw.sessions.event import Custom, Entry, Reset, Said, Shortened
from openclaw.sessions.store import SessionInfo, Store, Transcript, UnknownSessionError
from parts.clock import Clock


def user(text: str) -> UserMessage:
    return UserMessage((Text(text),))


def assistant(text: str) -> AssistantMessage:
    return AssistantMessage((Text(text),))


async def history(store: Store, key: str) -> list[Message]:
    async with store.turn(key, "main") as turn:
        return turn.history()


async def say(store: Store, key: str, *messages: Message, agent: str = "main") -> None:
    async with store.turn(key, agent) as turn:
        turn.append(*messages)


async def test_a_later_turn_sees_what_earlier_turns_said(store: Store) -> None:
    conversation: list[Message] = [
        UserMessage(
            (Text("look"), Image(b"\x89PNG\x00", "image/png"), File("/m/a.pdf", "a.pdf", "application/pdf", 3))
        ),
        AssistantMessage(
            (Thinking("hm", "sig"), Text("wait"), ToolCall("c1", "read", {"path": "a", "n": [1, None, {"x": 2.5}]})),
            model="p/m",
            usage=Usage(10, 5, 1),
            stop_reason="tools",
        ),
        ToolMessage("c1", "read", (Text("no such file"),), is_error=True),
        assistant("It is not there."),
    ]
    await say(store, "k", *conversation[:2])
    await say(store, "k", *conversation[2:])

    assert await history(store, "k") == conversation


async def test_a_turn_sees_its_own_messages_before_they_are_stored(store: Store) -> None:
    async with store.turn("k", "main") as turn:
        turn.append(user("a"), assistant("b"))
        assert turn.history() == [user("a"), assistant("b")]


async def test_a_committed_part_of_a_turn_is_stored_before_the_turn_ends(store: Store) -> None:
    async with store.turn("k", "main") as turn:
        turn.append(user("a"))
        await turn.commit()
        assert [e.event for e in (await store.show("k")).entries] == [Said(user("a"))]
        turn.append(assistant("b"))

    assert await history(store, "k") == [user("a"), assistant("b")]


async def test_a_turn_that_fails_keeps_what_it_committed_and_drops_the_rest(store: Store) -> None:
    with pytest.raises(ZeroDivisionError):
        async with store.turn("k", "main") as turn:
            turn.append(user("kept"))
            await turn.commit()
            turn.append(user("dropped"))
            raise ZeroDivisionError

    assert await history(store, "k") == [user("kept")]


async def test_a_turn_that_adds_nothing_makes_no_session(store: Store) -> None:
    async with store.turn("k", "main"):
        pass

    assert await store.list() == ()


async def test_an_ended_turn_takes_nothing_more(store: Store) -> None:
    async with store.turn("k", "main") as turn:
        pass

    with pytest.raises(RuntimeError, match="has ended"):
        turn.append(user("late"))
    with pytest.raises(RuntimeError, match="has ended"):
        await turn.commit()


async def test_history_after_a_compaction_is_the_summary_then_what_was_kept_then_what_followed(store: Store) -> None:
    await say(store, "k", user("old"), assistant("older"), user("recent"))
    async with store.turn("k", "main") as turn:
        turn.compact("They spoke of old things.", [user("recent")])
        turn.append(assistant("new"))

    notes = UserMessage((Text("They spoke of old things."),), notes=True)
    assert await history(store, "k") == [notes, user("recent"), assistant("new")]


async def test_a_compaction_without_a_summary_keeps_only_the_messages_named(store: Store) -> None:
    await say(store, "k", user("old"), assistant("b"))
    async with store.turn("k", "main") as turn:
        turn.compact("", [assistant("b")])

    assert await history(store, "k") == [assistant("b")]


async def test_history_after_a_reset_is_empty_and_the_transcript_is_whole(store: Store) -> None:
    await say(store, "k", user("old"))
    async with store.turn("k", "main") as turn:
        turn.reset()
    assert await history(store, "k") == []
    await say(store, "k", user("new"))

    assert await history(store, "k") == [user("new")]
    assert [e.event for e in (await store.show("k")).entries] == [Said(user("old")), Reset(), Said(user("new"))]


async def test_a_message_that_is_taken_back_is_gone_with_all_that_followed_and_the_transcript_is_whole(
    store: Store,
) -> None:
    await say(store, "k", user("a"), assistant("b"), user("c"), assistant("d"))
    async with store.turn("k", "main") as turn:
        turn.undo()

    assert await history(store, "k") == [user("a"), assistant("b")]
    async with store.turn("k", "main") as turn:
        turn.undo()
        turn.undo()
    assert await history(store, "k") == []
    assert len((await store.show("k")).entries) == 7


async def test_notes_on_what_was_left_out_are_not_taken_back(store: Store) -> None:
    async with store.turn("k", "main") as turn:
        turn.compact("s", [user("a"), assistant("b")])
        turn.undo()

    assert await history(store, "k") == [UserMessage((Text("s"),), notes=True)]


async def test_a_session_is_titled_by_its_first_words_until_it_is_named(store: Store) -> None:
    await say(store, "k", user("Plan\n a trip"), assistant("Gladly."), user("to Rome"))
    assert [info.title for info in await store.list()] == ["Plan a trip"]
    assert await store.rename("k", "Spring")
    await say(store, "k", user("and back"))
    assert [info.title for info in await store.list()] == ["Spring"]
    assert await store.rename("k", "")
    assert (await store.show("k")).info.title == "Plan a trip"
    async with store.turn("k", "main") as turn:
        turn.reset()
        turn.append(user("Something else"))
    assert [info.title for info in await store.list()] == ["Something else"]
    assert not await store.rename("nobody", "x")


async def test_notes_are_kept_and_no_model_sees_them(store: Store) -> None:
    async with store.turn("k", "main") as turn:
        turn.note("verbose", {"level": 2})
        turn.append(user("a"))

    assert await history(store, "k") == [user("a")]
    assert (await store.show("k")).entries[0].event == Custom("verbose", {"level": 2})


async def test_a_transcript_shows_every_event_with_its_place_and_time(store: Store, clock: Clock) -> None:
    await say(store, "k", user("a"), assistant("b"))
    clock.now = 1_001.5
    async with store.turn("k", "main") as turn:
        turn.compact("s")

    assert await store.show("k") == Transcript(
        SessionInfo("k", "id-1", "main", created=1_000.0, updated=1_001.5, messages=2, title="a"),
        (
            Entry("00000001", None, 1_000.0, Said(user("a"))),
            Entry("00000002", "00000001", 1_000.0, Said(assistant("b"))),
            Entry("00000003", "00000002", 1_001.5, Shortened("s")),
        ),
    )


async def test_sessions_are_listed_last_used_first_by_agent_and_by_use(store: Store, clock: Clock) -> None:
    await say(store, "one", user("a"), agent="main")
    clock.now += 60
    await say(store, "two", user("b"), agent="other")
    clock.now += 60
    await say(store, "three", user("c"), agent="main")
    clock.now += 10

    assert [s.key for s in await store.list()] == ["three", "two", "one"]
    assert [s.key for s in await store.list(agent="main")] == ["three", "one"]
    assert [s.key for s in await store.list(active_within=90)] == ["three", "two"]
    assert [s.key for s in await store.list(agent="main", active_within=90)] == ["three"]
    assert await store.list(agent="nobody") == ()


async def test_sessions_are_found_by_words_of_title_and_key_in_any_case_and_some_at_a_time(
    store: Store, clock: Clock
) -> None:
    for number, words in enumerate(("Straße nach Rom", "rom und zurück", "100% sicher", "anderswo")):
        clock.now += 1
        await say(store, f"key-{number}", user(words), agent="other" if words == "anderswo" else "main")
    await store.rename("key-3", "Über Rom hinaus")

    async def found(*words: str, agent: str | None = None, skip: int = 0, limit: int = 9) -> tuple[list[str], int]:
        answer = await store.find(words, agent=agent, skip=skip, limit=limit)
        return [info.key for info in answer.sessions], answer.total

    assert await found() == (["key-3", "key-2", "key-1", "key-0"], 4)
    assert await found("ROM") == (["key-3", "key-1", "key-0"], 3)
    assert await found("rom", "STRASSE") == (["key-0"], 1)
    assert await found("über") == (["key-3"], 1)
    # Signs that patterns of a database know are letters like others, and a title that was replaced is not looked at.
    assert await found("%") == (["key-2"], 1)
    assert await found("anderswo") == ([], 0)
    assert await found("KEY-2") == (["key-2"], 1)
    assert await found("rom", agent="main") == (["key-1", "key-0"], 2)
    assert await found("rom", skip=1, limit=1) == (["key-1"], 3)
    assert await found(agent="main", limit=2) == (["key-2", "key-1"], 3)
    clock.now += 1
    recent = await store.find(active_within=2.5, limit=1)
    assert ([info.key for info in recent.sessions], recent.total) == (["key-3"], 2)
    await store.delete("key-2")
    assert (await found(limit=0), await found(agent="main", limit=0)) == (([], 3), ([], 2))


async def test_the_last_entries_are_read_and_then_those_before_them(store: Store) -> None:
    picture = UserMessage((Image(b"\x89PNG\x00", "image/png"),))
    await say(store, "k", user("1"), picture, user("3"), picture, user("5"))
    whole = await store.show("k")

    assert await store.last("k", 2) == Transcript(whole.info, whole.entries[3:])
    assert await store.last("k", 2, before=whole.entries[3].id) == Transcript(whole.info, whole.entries[1:3])
    assert await store.last("k", 9, before=whole.entries[1].id) == Transcript(whole.info, whole.entries[:1])
    assert await store.last("k", 9, before=whole.entries[0].id) == Transcript(whole.info, ())
    assert await store.last("k", 9, before="0fffffff") == whole
    with pytest.raises(UsageError, match="id of an entry"):
        await store.last("k", 1, before="last")
    with pytest.raises(UnknownSessionError):
        await store.last("nobody", 1)


async def test_a_deleted_session_is_gone_and_its_key_is_free_again(store: Store) -> None:
    await say(store, "k", user("a"))
    await say(store, "other", user("b"))

    assert await store.delete("k") is True
    assert await store.delete("k") is False
    assert [s.key for s in await store.list()] == ["other"]
    await say(store, "k", user("c"), agent="another")
    assert (await store.show("k")).info.agent == "another"


async def test_showing_an_unknown_session_says_how_to_find_one(store: Store) -> None:
    with pytest.raises(StoreError, match=r"There is no session with the key 'nope'\..*openclaw sessions"):
        await store.show("nope")


async def test_an_agent_cannot_continue_the_session_of_another(store: Store) -> None:
    await say(store, "k", user("a"), agent="main")

    with pytest.raises(StoreError, match="belongs to agent 'main'"):
        async with store.turn("k", "intruder"):
            pass


async def test_turns_of_one_session_run_one_after_another(store: Store) -> None:
    """Each of twenty tasks reads the history, lets the others run, and adds one message: none is lost."""

    async def add(number: int) -> None:
        async with store.turn("k", "main") as turn:
            before = len(turn.history())
            await asyncio.sleep(0)
            turn.append(user(f"{before}"))

    await asyncio.gather(*(add(n) for n in range(20)))

    assert await history(store, "k") == [user(f"{n}") for n in range(20)]


async def test_turns_of_different_sessions_run_at_the_same_time(store: Store) -> None:
    async with store.turn("a", "main") as first, store.turn("b", "main") as second:
        first.append(user("a"))
        second.append(user("b"))

    assert await history(store, "a") == [user("a")]
    assert await history(store, "b") == [user("b")]


async def test_waiting_for_a_turn_can_be_cancelled_and_leaves_the_session_usable(store: Store) -> None:
    async def wait() -> None:
        async with store.turn("k", "main"):
            raise AssertionError("the first turn still runs")

    async with store.turn("k", "main") as turn:
        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        turn.append(user("a"))

    assert await history(store, "k") == [user("a")]


async def test_deleting_waits_for_the_turn_that_runs(store: Store) -> None:
    async with store.turn("k", "main") as turn:
        deleting = asyncio.create_task(store.delete("k"))
        await asyncio.sleep(0)
        turn.append(user("a"))
        await turn.commit()
        assert not deleting.done()

    assert await deleting is True
    assert await store.list() == ()


async def test_framed_text_is_stored_as_the_text_it_is(store: Store) -> None:
    await say(store, "k", ToolMessage("c", "fetch", (Text(Framed("<<<frame>>>")),)))

    assert await history(store, "k") == [ToolMessage("c", "fetch", (Text("<<<frame>>>"),))]


@pytest.mark.parametrize("key", ["", "../../etc/passwd", "a\0b", "/", "CON", "k" * 1_048_576, "é", "e\u0301", "K"])
async def test_any_text_is_a_session_key(store: Store, key: str) -> None:
    await say(store, key, user("a"))

    assert [s.key for s in await store.list()] == [key]
    assert await history(store, key) == [user("a")]


async def test_keys_that_look_alike_are_different_sessions(store: Store) -> None:
    keys = ["a", "A", "a ", "a\0", "\0a", "é", "e\u0301", "а", ""]
    for key in keys:
        await say(store, key, user(f"{key!r}"))

    assert [await history(store, key) for key in keys] == [[user(f"{key!r}")] for key in keys]


async def test_half_a_character_is_no_session_key(store: Store) -> None:
    with pytest.raises(UsageError, match=r"lone surrogate \(character 2 of the key"):
        async with store.turn("a\ud800", "main"):
            pass
    with pytest.raises(UsageError, match="lone surrogate"):
        await store.show("\udfff")
    with pytest.raises(UsageError, match="lone surrogate"):
        await store.delete("\udfff")


async def test_half_a_character_in_a_message_is_refused_at_once_and_the_turn_goes_on(store: Store) -> None:
    async with store.turn("k", "main") as turn:
        with pytest.raises(StoreError, match="lone surrogate"):
            turn.append(user("\ud800"))
        turn.append(user("fine"))

    assert await history(store, "k") == [user("fine")]


async def test_arguments_nested_too_deep_to_be_read_back_are_refused(store: Store) -> None:
    deep: dict[str, object] = {}
    for _ in range(100_000):
        deep = {"a": [deep]}

    async with store.turn("k", "main") as turn:
        with pytest.raises(StoreError, match="200 levels"):
            turn.append(AssistantMessage((ToolCall("c", "t", deep),)))


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    said=st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])), max_size=5
    )
)
async def test_every_key_finds_its_own_words_again(store: Store, said: dict[str, str]) -> None:
    for key, text in said.items():
        await say(store, key, user(text))

    found = {key: (await history(store, key))[-1:] for key in said}
    for key in said:
        assert await store.delete(key)
    assert found == {key: [user(text)] for key, text in said.items()}
    assert await store.list() == ()


# Notes

ANSWERED, NEXT = Custom("answer", "r1"), Custom("continued", "r1")


async def test_of_many_that_note_behind_the_last_event_one_does(store: Store) -> None:
    async with store.turn("k", "main") as turn:
        turn.append(user("hi"))
        turn.note(ANSWERED.name, ANSWERED.data)

    noted = await asyncio.gather(*(store.note_behind("k", ANSWERED, NEXT) for _ in range(8)))

    assert sorted(noted) == [False] * 7 + [True]
    assert [one.event for one in (await store.show("k")).entries] == [Said(user("hi")), ANSWERED, NEXT]


async def test_nothing_is_noted_behind_what_a_turn_has_gone_on_from_meanwhile(store: Store) -> None:
    async with store.turn("k", "main") as turn:
        turn.note(ANSWERED.name, ANSWERED.data)
    async with store.turn("k", "main") as turn:
        waiting = asyncio.create_task(store.note_behind("k", ANSWERED, NEXT))
        # It has seen the note, and waits for this turn.
        with pytest.raises(SessionBusyError):
            await store.note_behind("k", ANSWERED, NEXT, patience=0.0)
        turn.append(user("more"))

    assert not await waiting
    assert [one.event for one in (await store.show("k")).entries] == [ANSWERED, Said(user("more"))]
    # Where more was said, and where there is nothing, nobody waits for a turn.
    async with store.turn("k", "main"), store.turn("new", "main"):
        assert [await store.note_behind(key, ANSWERED, NEXT) for key in ("k", "new")] == [False, False]
