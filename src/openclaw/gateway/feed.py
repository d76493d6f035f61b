"""What `GET /v1/events` tells: which events of the hub, under what names and in what form; the last of them are kept for who comes back.

Everything in these events is safe to show: those of servers, of calls and of questions hold no secret, no argument and no result, and log
lines are cleaned and masked.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from openclaw.asking.open_question import QuestionChanged, changed_json
from openclaw.commands.mcp import change_json
from openclaw.event_hub import Event, EventHub, EventReader
from openclaw.gateway.runs import RunChanged
from openclaw.log import JsonLine, iso_time
from openclaw.mcp.events import DefinitionsChanged, PromptsChanged, ResourceChanged, StateChanged, ToolsChanged
from openclaw.security.audit import CallRecorded

# Event streams open at the same time; each costs little, and nobody needs more.
MAX_WATCHERS = 64
# Events kept for a watcher whose connection broke: minutes of a busy gateway.
KEPT = 1_000


class ConfigReloaded(msgspec.Struct, frozen=True):
    """The config was read again; `problem` says why it cannot be used, empty when it is in use."""

    problem: str


class LogLine(msgspec.Struct, frozen=True):
    """A line of the log, as `log.JsonLine` writes it."""

    line: dict[str, Any]


Published = (
    StateChanged
    | ToolsChanged
    | DefinitionsChanged
    | ResourceChanged
    | PromptsChanged
    | CallRecorded
    | ConfigReloaded
    | QuestionChanged
    | RunChanged
    | LogLine
)
# The kinds of events a watcher may ask for.
TYPES_OF: dict[str, tuple[type[Published], ...]] = {
    "server": (StateChanged,),
    "tools": (ToolsChanged,),
    "definition": (DefinitionsChanged,),
    "resource": (ResourceChanged, PromptsChanged),
    "call": (CallRecorded,),
    "config": (ConfigReloaded,),
    "question": (QuestionChanged,),
    "run": (RunChanged,),
    "log": (LogLine,),
}


def published(event: Event[Published]) -> tuple[str, Mapping[str, Any]]:
    """The kind of an event and its data. Records and log lines have their own `time`: when it happened, not when it was told."""
    match event.value:
        case CallRecorded(record=record):
            return "call", record
        case LogLine(line=line):
            return "log", line
    kind, data = _kind_and_data(event.value)
    return kind, {"time": iso_time(event.time), **data}


def _kind_and_data(
    value: StateChanged
    | ToolsChanged
    | DefinitionsChanged
    | ResourceChanged
    | PromptsChanged
    | ConfigReloaded
    | QuestionChanged
    | RunChanged,
) -> tuple[str, dict[str, Any]]:
    match value:
        case StateChanged(server, state, reason, next_attempt, tell):
            at = {"nextAttemptSeconds": next_attempt, "tell": tell}
            return "server", {"server": server, "state": state, "reason": reason, **at}
        case ToolsChanged(server, added, removed):
            return "tools", {"server": server, "added": added, "removed": removed}
        case DefinitionsChanged(server, changes, sentence):
            changed = [change_json(change) for change in changes]
            return "definition", {"server": server, "changes": changed, "message": sentence}
        case ResourceChanged(server, uri):
            return "resource", {"server": server, "uri": uri}
        case PromptsChanged(server):
            return "resource", {"server": server, "prompts": True}
        case ConfigReloaded(problem):
            return "config", {"ok": not problem, "problem": problem}
        case QuestionChanged() as changed:
            return "question", changed_json(changed)
        case RunChanged(run, agent, session, reason):
            how = {"state": "over" if reason else "running", "reason": reason}
            return "run", {"run": run, "agent": agent, "sessionKey": session, **how}


class Feed:
    """Events for watchers, from `start` on."""

    def __init__(self, events: EventHub) -> None:
        self.watchers = 0
        self._events = events
        self._kept: deque[Event[Published]] = deque(maxlen=KEPT)

    def start(self) -> Callable[[], None]:
        """Keep the last events until the returned function is called. Log lines are not kept: they are in the log."""
        types = (kind for kind in _types(()) if kind is not LogLine)
        return self._events.subscribe(self._kept.append, *types)

    def kept(self, kinds: Iterable[str], *, after: int) -> list[Event[Published]]:
        """What happened after the event of this id, as far back as it is kept."""
        types = _types(kinds)
        return [event for event in self._kept if event.id > after and type(event.value) in types]

    @property
    def last_id(self) -> int:
        return self._events.last_id

    @contextmanager
    def watch(self, kinds: Iterable[str] = ()) -> Iterator[EventReader[Published]]:
        """Events from now on; all kinds when none are named."""
        self.watchers += 1
        try:
            with self._events.reader(*_types(kinds)) as reader:
                yield reader
        finally:
            self.watchers -= 1


def _types(kinds: Iterable[str]) -> tuple[type[Published], ...]:
    return tuple(kind for name in (tuple(kinds) or TYPES_OF) for kind in TYPES_OF[name])


class LogToEvents(logging.Handler):
    """Log lines as events, cleaned and masked like every other line. Lines may come from any thread."""

    def __init__(self, events: EventHub, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._events = events
        self._loop = loop
        self.setFormatter(JsonLine(tracebacks=False))

    def emit(self, record: logging.LogRecord) -> None:
        # What the hub says of a subscriber that failed would fail there again, without end.
        if not self._events.has_subscribers(LogLine) or record.name == EventHub.__module__:
            return
        try:
            line = msgspec.json.decode(self.format(record), type=dict[str, Any])
            self._loop.call_soon_threadsafe(self._events.send, LogLine(line))
        except Exception:
            # A watcher must not cost whoever logs anything.
            return
