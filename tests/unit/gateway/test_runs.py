"""What is kept of a run, and what a watcher is given."""

import asyncio
from typing import Any

import msgspec

from openclaw.agent.events import Notice, ReasoningDelta, RunEnd, Sink, TextDelta
from openclaw.content import Usage
from openclaw.event_hub import EventHub
from openclaw.gateway import runs as module
from openclaw.gateway.runs import KEPT_EVENTS, Run, Runs
from openclaw.reply import Reply
from parts.processes import HANG_GUARD

REPLY = Reply("", "agent:main:x", "play/one")


async def taken(run: Run, after: int = 0) -> list[tuple[int, str, Any]]:
    """What a watcher gets up to the end of the run, without the times."""
    found = []
    async with asyncio.timeout(HANG_GUARD):
        async for event in run.events(after, HANG_GUARD):
            assert event is not None
            data = msgspec.json.decode(event.body)
            data.pop("at", None)
            found.append((event.seq, event.kind, data))
    return found


async def test_pieces_that_come_together_are_one_event_and_kinds_stay_apart() -> None:
    run = Run("r", "main", "agent:main:x")
    for event in (TextDelta("a"), TextDelta("b"), ReasoningDelta("c"), TextDelta("d"), Notice("n"), TextDelta("e")):
        run.take(event)
    run.end("done")

    assert await taken(run) == [
        (1, "text", {"delta": "ab"}),
        (2, "reasoning", {"delta": "c"}),
        (3, "text", {"delta": "d"}),
        (4, "notice", {"text": "n"}),
        (5, "text", {"delta": "e"}),
    ]


async def test_a_watcher_that_comes_too_late_is_told_how_much_it_missed() -> None:
    run = Run("r", "main", "agent:main:x")
    for number in range(KEPT_EVENTS + 10):
        run.take(Notice(str(number)))
    run.end("done")

    found = await taken(run, after=3)
    assert found[0] == (10, "gap", {"missed": 7})
    assert [number for number, _, _ in found[1:]] == [*range(11, KEPT_EVENTS + 11)]


async def test_large_events_push_out_old_ones_but_never_themselves(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "KEPT_BYTES", 1_000)
    run = Run("r", "main", "agent:main:x")
    run.take(Notice("small"))
    run.take(Notice("x" * 5_000))
    run.end("done")

    assert [(number, kind) for number, kind, _ in await taken(run)] == [(1, "gap"), (2, "notice")]


async def test_watchers_see_events_as_they_come_and_the_end() -> None:
    runs, go_on = Runs(EventHub()), asyncio.Event()

    async def work(sink: Sink) -> Reply:
        sink(Notice("first"))
        await go_on.wait()
        sink(RunEnd("done", Usage()))
        return REPLY

    run = await runs.begin("", "main", "agent:main:x", work, said={"text": "hello", "files": []})
    stream = run.events(0, HANG_GUARD)
    first = [await anext(stream), await anext(stream)]
    assert [event.kind for event in first if event is not None] == ["said", "notice"]
    go_on.set()
    assert [event.kind async for event in stream if event is not None] == ["ended"]
    assert run.is_over


async def test_runs_are_drained_when_the_gateway_stops() -> None:
    runs = Runs(EventHub())

    async def work(sink: Sink) -> Reply:
        await asyncio.Event().wait()
        return REPLY

    run = await runs.begin("", "main", "agent:main:x", work, said={"text": "hello", "files": []})
    assert runs.under_way == 1
    await runs.finish(0)

    assert (runs.under_way, run.reason) == (0, "cancelled")
    assert [(kind, data["reason"]) for _, kind, data in await taken(run, after=1)] == [("ended", "cancelled")]


async def test_a_fault_of_ours_ends_the_run_with_a_sentence_and_without_its_words() -> None:
    runs = Runs(EventHub())

    async def work(sink: Sink) -> Reply:
        raise RuntimeError("hunter2")

    run = await runs.begin("", "main", "agent:main:x", work, said={"text": "hello", "files": []})
    ((_, kind, data),) = await taken(run, after=1)
    assert (kind, data["reason"]) == ("ended", "error")
    assert "hunter2" not in data["error"]
