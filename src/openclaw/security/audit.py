"""The audit trail: who called which tool, with what kind of arguments, how it ended, and what a person was asked about it. One JSON line
each, appended, never changed.

Owns the records and the promise that writing one never raises into a call: a disk that is full costs one warning. A record is in the trail
within milliseconds, and before we end unless we are ended by force. Holds shapes, not values: no argument, no result and no session key is
ever written. Where the lines go is an `AuditTrail`: a file (`audit_file.py`), or a table that several gateways share (`fleet/audit.py`).
"""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

import msgspec
from msgspec import structs

from openclaw.content import ToolCall, to_json
from openclaw.conversation import PANEL
from openclaw.event_hub import EventHub
from openclaw.log import iso_time, one_line, short_hash
from openclaw.redact import known_forms, redact
from openclaw.security.policy import Decision
from openclaw.tool import Invocation, Tool

_log = logging.getLogger(__name__)

# Records are written together: none waits longer than so many seconds, and no more than so many wait. A write of its own would cost a
# call a third of its time; why losing these milliseconds to a `kill -9` is worth it is docs/decisions/0006.
WITHIN = 0.002
TOGETHER = 256

# A model chooses the names of arguments and how deep they are nested: a shape stays readable.
_LONGEST_NAME = 64
_LONGEST_TEXT = 200
_MOST_MEMBERS = 32
_DEEPEST = 4
_KINDS: dict[type, str] = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string"}


def shape(value: Any, *, depth: int = 0) -> Any:
    """What kind of value this is: names and types of members, lengths of lists, no contents. Numbers and texts are told by type alone."""
    if kind := _KINDS.get(type(value)):
        return kind
    if isinstance(value, list | tuple):
        return f"array({len(value)})"
    if not isinstance(value, dict):
        return type(value).__name__
    if depth >= _DEEPEST:
        return f"object({len(value)})"
    members = {
        one_line(str(name), _LONGEST_NAME): _KINDS.get(type(member)) or shape(member, depth=depth + 1)
        for name, member in islice(value.items(), _MOST_MEMBERS)
    }
    if len(value) > _MOST_MEMBERS:
        members["…"] = f"{len(value) - _MOST_MEMBERS} more"
    return members


# So many wordings are remembered, none longer than this: calls are much alike. Both lines of a call take 8 µs of processor time with it and
# 18 without, of some 50 that a call over stdio costs in all: a program that calls one tool many times notices (decision 6). Each session
# has wordings of its own: with many more, a gateway would keep a kilobyte each for sessions that are long over.
_MOST_WORDINGS = 256
_LONGEST_WORDING = 1_024

_CALLS = ("request", "outcome")
# Kinds of arguments whose shape is their kind.
_PLAIN = frozenset(_KINDS)


class _Wording(msgspec.Struct, frozen=True, eq=False):
    """What both records of a call say of it: what stands behind its id in the first, and in the second up to how it ended. `is_clean` when
    no known secret stands in them; `searched_for` is what was known then."""

    asked: str
    ended: str
    is_clean: bool
    searched_for: object


class AuditEntry(msgspec.Struct, eq=False):
    """One call in the trail: made by whoever makes the call, then noted when it is asked for and when it is over. The rest is ours."""

    call: ToolCall
    invocation: Invocation
    tool: Tool | None
    # What both records say, once one of them was written.
    wording: _Wording | None = None

    def worded(self, wording: _Wording) -> None:
        self.wording = wording


_UNWORDED = _Wording("", "", False, None)
# Like no call: to begin with, and after one whose arguments are nested.
_LIKE_NONE: list[Any] = []
# A call of a tool that does not exist is never decided about.
_UNDECIDED = Decision(False, "")

# What is written next: a call, what policy says of it or how it ended, when that was, and, of one that ended, the seconds it took and the
# bytes of its result; without a call, a record of something else as it stands. Plain tuples, all of one form: to set a field of an entry
# costs more than to make one, and to tell several forms apart more than the two places that stay empty.
_Note = tuple[AuditEntry | None, Any, float, float | None, int | None]


class CallRecorded(msgspec.Struct, frozen=True):
    """A call was asked for (`"event": "request"`) or is over (`"outcome"`): the record of it, which is in the audit trail by now."""

    record: dict[str, Any]


class Matching(msgspec.Struct, frozen=True):
    """The last records that were looked for, the newest last; how many there are in what was searched, and whether that was all."""

    records: list[dict[str, Any]]
    total: int
    is_whole: bool = True


def searched_for(words: Sequence[str]) -> Callable[[bytes], bool]:
    """Whether a line holds all words, in any case, and none of those after a `-`."""
    folded = [word.casefold() for word in words if not word.startswith("-")]
    without = [word[1:].casefold() for word in words if word.startswith("-") and len(word) > 1]

    def fits(line: bytes) -> bool:
        if not words:
            return True
        text = line.decode("utf-8", "replace").casefold()
        return all(word in text for word in folded) and not any(word in text for word in without)

    return fits


class AuditTrail(Protocol):
    """Where the lines go, and where they are read again."""

    def append(self, lines: Sequence[str]) -> None:
        """Keep these lines, which are whole, behind all others. One thread at a time. Raises OSError when that is not possible."""
        ...

    def shown(self) -> str:
        """Its name in a sentence."""
        ...

    def close(self) -> None: ...

    async def last(self, count: int) -> list[dict[str, Any]]:
        """The last records, the newest last. However long the trail is, only these are read."""
        ...

    async def matching(self, count: int, words: Sequence[str]) -> Matching:
        """The last records that `searched_for` fits. A search through a very long trail ends somewhere."""
        ...

    def batches(self) -> AsyncIterator[list[dict[str, Any]]]:
        """Every record, the oldest first, some hundreds at a time."""
        ...


class AuditLog:
    """Makes records, and appends them to a trail. Thread-safe. `events` is told of every record that was written."""

    def __init__(
        self,
        trail: AuditTrail,
        *,
        clock: Callable[[], float] = time.time,
        events: EventHub | None = None,
    ) -> None:
        self._events = events
        if events is not None:
            events.flush_before(self.flush)
        self.trail = trail
        self._clock = clock
        self._lock = threading.Lock()
        self._failing = False
        # What is not written yet, and the event loop that will see to it.
        self._notes: list[_Note] = []
        self._due_in: asyncio.AbstractEventLoop | None = None
        # How calls that are alike are worded, and the secrets that was searched for.
        self._wordings: dict[tuple[Any, ...], _Wording] = {}
        self._searched_for = known_forms()

    def asked(self, entry: AuditEntry, decision: Decision) -> None:
        """A model asks for a call; `decision` is what policy says. Never raises."""
        # Not called as attributes, in which methods are looked for first: that takes as long as all the rest.
        clock, notes, due_in = self._clock, self._notes, self._due_in
        notes.append((entry, decision, clock(), None, None))
        if due_in is None or len(notes) >= TOGETHER or due_in.is_closed():
            self._see_to_notes()

    def ended(self, entry: AuditEntry, outcome: str, seconds: float, *, result_bytes: int | None = None) -> None:
        """A call is over, or was never made: `ok`, `error`, `refused`, … Never raises."""
        clock, notes, due_in = self._clock, self._notes, self._due_in
        notes.append((entry, outcome, clock(), seconds, result_bytes))
        if due_in is None or len(notes) >= TOGETHER or due_in.is_closed():
            self._see_to_notes()

    def noted(self, event: str, facts: Mapping[str, Any]) -> None:
        """Something besides a call that belongs in the trail, such as a question to a person; `facts` hold no contents. Never raises."""
        now = self._clock()
        self._notes.append((None, {"time": iso_time(now), "event": event, **facts}, now, None, None))
        self._see_to_notes()

    def close(self) -> None:
        self.flush()
        with self._lock:
            self.trail.close()

    def _see_to_notes(self) -> None:
        """Written at once; in an event loop together with others, soon: a call is on its way by then, and does not wait for us."""
        if self._due_in is None or self._due_in.is_closed():
            # Asked for only then: it is a call of the system.
            try:
                self._due_in = asyncio.get_running_loop()
            except RuntimeError:
                self.flush()
            else:
                self._due_in.call_later(WITHIN, self.flush)
        elif len(self._notes) >= TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Append what was noted, all with one write, and tell of it."""
        with self._lock:
            self._due_in = None
            # Others may add to the end meanwhile.
            notes = self._notes[:]
            if not notes:
                return
            del self._notes[: len(notes)]
            lines = self._lines(notes)
            try:
                self.trail.append(lines)
                self._failing = False
            except OSError as error:
                self._failed(error)
        if self._events is not None and self._events.has_subscribers(CallRecorded):
            for line in lines:
                record = msgspec.json.decode(line)
                if record["event"] in _CALLS:
                    self._events.send(CallRecorded(record))

    def _lines(self, notes: "list[_Note]", *, looks_closely: bool = False) -> list[str]:
        """The records of these notes. The ids of calls are written as they stand, and looked at afterwards, all in one search: each is
        another one, which is not worth keeping. Hardly ever is there one that has to be written otherwise; then all is done again."""
        if self._searched_for is not known_forms():
            # More secrets are known: what was clean may not be.
            self._searched_for = known_forms()
            self._wordings.clear()
        known = self._searched_for
        lines: list[str] = []
        ids: list[str] = []
        # Many are of the same millisecond, and most calls are like the last one, or like the last one of the same tool.
        begins = ends = 0.0
        asked = ended = ""
        last, worded = _LIKE_NONE, _UNWORDED
        likes: dict[int, tuple[list[Any], _Wording]] = {}
        for entry, said, at, seconds, size in notes:
            try:
                if entry is None:
                    lines.append(_json_line(_masked(said)))
                    continue
                call, wording = entry.call, entry.wording
                id_ = call.id
                if wording is None or looks_closely or wording.searched_for is not known:
                    decision = said if seconds is None else _UNDECIDED
                    arguments = call.arguments
                    # One comparison of lists takes far fewer steps than one for each thing that has to be the same.
                    conversation = entry.invocation.conversation
                    kinds = map(type, arguments.values())
                    like = [entry.tool, decision, conversation, call.name, *arguments, *kinds]
                    if like != last:
                        last, worded = likes.get(id(entry.tool), (_LIKE_NONE, _UNWORDED))
                    if like != last:
                        worded = self._worded(entry, decision)
                        # What is nested has a shape of its own, which its kind does not tell.
                        last = like if _PLAIN.issuperset(map(type, arguments.values())) else _LIKE_NONE
                        likes[id(entry.tool)] = last, worded
                    wording = structs.replace(worded, is_clean=False) if looks_closely else worded
                    entry.worded(wording)
                    ids.append(id_)
                if not wording.is_clean:
                    id_ = _text(id_)
                if not begins <= at < ends:
                    begins = int(at * 1000) / 1000
                    ends, moment = begins + 0.001, iso_time(at)
                    asked = f'{{"time":"{moment}","event":"request","call":"'
                    ended = f'{{"time":"{moment}","event":"outcome","call":"'
                # Both lines stand here, and are put together in one go each: two functions for them take a call 0.3 µs.
                if seconds is None:
                    line = f"{asked}{id_}{wording.asked}"
                else:
                    end = "}\n" if size is None else f',"resultBytes":{size}}}\n'
                    line = f'{ended}{id_}{wording.ended}{said}","durationMs":{seconds * 1000:.3f}{end}'
                lines.append(line if wording.is_clean else _json_line(_masked(msgspec.json.decode(line))))
            except Exception as error:
                self._failed(error)
        if ids and not looks_closely and not _stand_for_themselves(ids):
            return self._lines(notes, looks_closely=True)
        return lines

    def _worded(self, entry: AuditEntry, decision: Decision) -> _Wording:
        arguments = entry.call.arguments
        kinds = tuple(map(type, arguments.values()))
        if not _PLAIN.issuperset(kinds):
            # What is nested has a shape of its own.
            return _wording(entry, decision, self._searched_for)
        tool, conversation = entry.tool, entry.invocation.conversation
        alike = (
            conversation.agent,
            conversation.session,
            conversation.surface,
            "" if tool is None else tool.kind,
            "" if tool is None else tool.origin,
            entry.call.name,
            decision.allowed,
            decision.rule,
            decision.where,
            *arguments,
            *kinds,
        )
        wording = self._wordings.get(alike)
        if wording is None:
            wording = _wording(entry, decision, self._searched_for)
            if len(wording.ended) <= _LONGEST_WORDING and all(len(name) <= _LONGEST_NAME for name in arguments):
                if len(self._wordings) >= _MOST_WORDINGS:
                    self._wordings.clear()
                self._wordings[alike] = wording
        return wording

    def _failed(self, error: Exception) -> None:
        """One warning, until it works again: a trail that breaks calls would be switched off, one that fails in silence not be missed."""
        if not self._failing:
            self._failing = True
            reason = error.strerror if isinstance(error, OSError) else type(error).__name__
            _log.warning("The audit trail at %s cannot be written: %s.", self.trail.shown(), reason)


def _wording(entry: AuditEntry, decision: Decision, known: object) -> _Wording:
    """Who calls what, with what kind of arguments, and what policy said."""
    kind, origin = (entry.tool.kind, entry.tool.origin) if entry.tool is not None else ("unknown", "")
    facts = {
        "agent": one_line(entry.invocation.agent, _LONGEST_TEXT),
        "session": short_hash(entry.invocation.session),
        "kind": kind,
        "origin": one_line(origin, _LONGEST_TEXT),
        "tool": one_line(entry.call.name, _LONGEST_TEXT),
        "arguments": shape(entry.call.arguments),
        **({"by": PANEL} if entry.invocation.conversation.surface == PANEL else {}),
    }
    said = {"allowed": decision.allowed, "rule": decision.rule, "where": decision.where}
    # Searched is all that we did not choose ourselves, but for the id of the call.
    searched = f"{to_json(facts).decode()}\n{decision.rule}\n{decision.where}"
    members = _members(facts)
    return _Wording(
        f'",{members},{_members(said)}}}\n', f'",{members},"outcome":"', redact(searched) == searched, known
    )


def _members(value: dict[str, Any]) -> str:
    return to_json(value).decode()[1:-1]


def _stand_for_themselves(ids: list[str]) -> bool:
    """Whether these ids are the same in a JSON text, short, and without a known secret."""
    text = " ".join(ids)
    return (
        text.isascii()
        and text.isprintable()
        and '"' not in text
        and "\\" not in text
        and max(map(len, ids)) <= _LONGEST_TEXT
        and redact(text) == text
    )


def _text(id: str) -> str:
    """As it stands in a JSON text, without the quotes."""
    return to_json(one_line(id, _LONGEST_TEXT)).decode()[1:-1]


def _json_line(record: dict[str, Any]) -> str:
    return f"{to_json(record).decode()}\n"


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {redact(name): _masked(member) for name, member in value.items()}
    return redact(value) if isinstance(value, str) else value
