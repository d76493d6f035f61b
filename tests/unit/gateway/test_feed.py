"""Events to everybody who watches."""

import asyncio
import json
import logging
from pathlib import Path

from openclaw.gateway.feed import MAX_BEHIND, Feed, FeedEvent, LogToFeed
from openclaw.gateway.observer import Observer
from openclaw.mcp.events import DefinitionsChanged
from openclaw.mcp.tools.pins import Change
from openclaw.redact import remember

HANG_GUARD = 60.0
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "http.md"


async def test_watchers_see_what_happens_from_now_on_and_what_they_asked_for() -> None:
    feed = Feed()
    feed.publish("call", {"n": 0})
    with feed.watch() as everything, feed.watch({"call"}) as calls:
        feed.publish("server", {"n": 1})
        feed.publish("call", {"n": 2})
        seen = [await everything.next(HANG_GUARD), await everything.next(HANG_GUARD), await calls.next(HANG_GUARD)]

    assert seen == [FeedEvent("server", b'{"n":1}'), FeedEvent("call", b'{"n":2}'), FeedEvent("call", b'{"n":2}')]
    assert feed.watchers == 0


async def test_a_watcher_that_falls_behind_is_told_how_much_it_missed_and_sees_the_newest() -> None:
    feed = Feed()
    with feed.watch() as watch:
        for number in range(MAX_BEHIND + 5):
            feed.publish("call", {"n": number})
        first, second = await watch.next(HANG_GUARD), await watch.next(HANG_GUARD)

    assert (first, second) == (FeedEvent("dropped", b'{"events":5}'), FeedEvent("call", b'{"n":5}'))


async def test_a_closed_feed_lets_watchers_see_what_is_left_and_then_the_end() -> None:
    feed = Feed()
    with feed.watch() as watch:
        feed.publish("call", {})
        feed.close()
        first, second = await watch.next(HANG_GUARD), await watch.next(HANG_GUARD)

    assert (first, second, watch.is_closed) == (FeedEvent("call", b"{}"), None, True)
    with feed.watch() as late:
        assert await late.next(HANG_GUARD) is None


async def test_silence_ends_the_wait_and_not_the_watch() -> None:
    feed = Feed()
    with feed.watch() as watch:
        assert await watch.next(0) is None
        feed.publish("call", {})
        assert await watch.next(HANG_GUARD) == FeedEvent("call", b"{}")


async def test_log_lines_of_any_thread_arrive_masked() -> None:
    remember("hunter2-hunter2")
    feed = Feed()
    handler = LogToFeed(feed, asyncio.get_running_loop())
    with feed.watch({"log"}) as watch:
        record = logging.makeLogRecord({"msg": "key hunter2-hunter2\x1b[31m", "levelname": "INFO", "name": "x"})
        await asyncio.to_thread(handler.emit, record)
        event = await watch.next(HANG_GUARD)

    assert event is not None
    assert b'"message":"key [REDACTED]"' in event.data


async def test_the_page_tells_what_changed_definitions_look_like() -> None:
    observer = Observer()
    with observer.feed.watch() as watch:
        observer.engine(DefinitionsChanged("part", (Change("echo", True, "- a\n+ b", "d1", "form"),), "Look at it."))
        event = await watch.next(HANG_GUARD)

    change = {"tool": "echo", "held": True, "diff": "- a\n+ b", "digest": "d1"}
    sent = {"server": "part", "changes": [change], "message": "Look at it."}
    assert event is not None
    assert (event.kind, json.loads(event.data)) == ("definition", sent)
    (row,) = [line for line in PAGE.read_text().splitlines() if line.startswith("| `definition` |")]
    assert set(row.split("`")[3::2]) == {*sent, *change}
