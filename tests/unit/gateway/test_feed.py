"""What watchers of the gateway are told, and in what form."""

import asyncio
import logging
from pathlib import Path

from openclaw.event_hub import Event, EventHub
from openclaw.gateway.feed import KEPT, ConfigReloaded, Feed, LogLine, LogToEvents, published
from openclaw.mcp.events import Awaited, DefinitionsChanged, PromptsChanged, StateChanged
from openclaw.mcp.tools.pins import Change
from openclaw.redact import remember
from openclaw.security.audit import CallRecorded

HANG_GUARD = 60.0
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "http.md"


async def test_watchers_see_what_happens_from_now_on_and_the_kinds_they_asked_for() -> None:
    events = EventHub()
    feed = Feed(events)
    with feed.watch() as everything, feed.watch({"call"}) as calls:
        events.send(Awaited("main", ("files",)))
        events.send(PromptsChanged("files"))
        events.send(CallRecorded({"event": "request"}))
        seen = [await reader.next(HANG_GUARD) for reader in (everything, everything, calls)]
        assert feed.watchers == 2

    assert [event.value for event in seen if event is not None] == [
        PromptsChanged("files"),
        CallRecorded({"event": "request"}),
        CallRecorded({"event": "request"}),
    ]
    assert feed.watchers == 0


def test_the_last_events_are_kept_for_who_comes_back_but_no_log_lines() -> None:
    events = EventHub()
    feed = Feed(events)
    stop = feed.start()
    for number in range(KEPT + 5):
        events.send(CallRecorded({"n": number}))
    assert not events.has_subscribers(LogLine)
    events.send(StateChanged("files", "ready"))
    stop()
    events.send(StateChanged("files", "failed"))
    kept = feed.kept((), after=0)
    assert [event.value for event in kept] == [
        *(CallRecorded({"n": number}) for number in range(6, KEPT + 5)),
        StateChanged("files", "ready"),
    ]
    assert feed.kept((), after=kept[-2].id) == kept[-1:]
    assert feed.kept({"server"}, after=0) == kept[-1:]
    assert feed.kept((), after=kept[-1].id) == []


async def test_log_lines_of_any_thread_arrive_masked() -> None:
    remember("hunter2-hunter2")
    events = EventHub()
    handler = LogToEvents(events, asyncio.get_running_loop())
    with events.reader(LogLine) as reader:
        record = logging.makeLogRecord({"msg": "key hunter2-hunter2\x1b[31m", "levelname": "INFO", "name": "x"})
        await asyncio.to_thread(handler.emit, record)
        event = await reader.next(HANG_GUARD)

    assert event is not None
    assert event.value.line["message"] == "key [REDACTED]"


def test_a_call_is_told_as_the_audit_trail_has_it_and_everything_else_with_its_time() -> None:
    record = {"time": "2026-01-01T00:00:00.000Z", "event": "request"}
    assert published(Event(1, 0.0, CallRecorded(record))) == ("call", record)
    config = {"time": "1970-01-01T00:00:00.250Z", "ok": False, "problem": "a comma"}
    assert published(Event(2, 0.25, ConfigReloaded("a comma"))) == ("config", config)


def test_the_page_tells_what_changed_definitions_look_like() -> None:
    changed = DefinitionsChanged("part", (Change("echo", True, "- a\n+ b", "d1", "form"),), "Look at it.")
    kind, sent = published(Event(1, 0.0, changed))

    change = {"tool": "echo", "held": True, "diff": "- a\n+ b", "digest": "d1"}
    time = "1970-01-01T00:00:00.000Z"
    assert (kind, sent) == (
        "definition",
        {"time": time, "server": "part", "changes": [change], "message": "Look at it."},
    )
    (row,) = [line for line in PAGE.read_text().splitlines() if line.startswith("| `definition` |")]
    assert {"time", *row.split("`")[3::2]} == {*sent, *change}
