"""The audit trail: who called which tool, with what kind of arguments, and how it ended. One JSON line each, appended, never changed.

Owns the file (mode 0600, turned over by size), its records and the promise that writing one never raises into a call: a disk that is full
costs one warning. A record is in the file before the event loop turns again, so that a call under way has left its request whatever
becomes of us. Holds shapes, not values: no argument, no result and no session key is ever written. Several processes may write to one
file: records are appended whole, and a file that another process turned over is followed.
"""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec

from openclaw.content import ToolCall
from openclaw.log import one_line, short_hash
from openclaw.redact import known_forms, redact
from openclaw.security.policy import Decision
from openclaw.tool import Invocation, Tool

logger = logging.getLogger(__name__)

# A file of this size holds some tens of thousands of calls; with those before it, months of ordinary use.
MAX_BYTES = 10 * 1024 * 1024
KEEP_FILES = 5
# How many records may pass before the file is looked at again, in case another process filled it or turned it over.
_LOOK_EVERY = 64

# A model chooses the names of arguments and how deep they are nested: a shape stays readable.
_LONGEST_NAME = 64
_LONGEST_TEXT = 200
_MOST_MEMBERS = 32
_DEEPEST = 4
_KINDS: dict[type, str] = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string"}

# What repeats from call to call is worked out once for each of this many: an agent, its conversation, a tool.
_MOST_REPEATED = 1_024


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


class _About(msgspec.Struct, frozen=True):
    """The part of a record that says which call it is about, as JSON, and whether no secret stands in it as far as was known then."""

    call: ToolCall
    told: str
    is_clean: bool
    forms: object


class _Note(msgspec.Struct, frozen=True):
    """Something that happened to a call. `outcome` and what follows belong to its end."""

    event: Literal["request", "outcome"]
    moment: float
    call: ToolCall
    invocation: Invocation
    tool: Tool | None
    decision: Decision | None
    outcome: str = ""
    seconds: float = 0.0
    result_bytes: int | None = None

    def facts(self) -> str:
        """The members of a record that are about this event alone, as JSON."""
        if self.event == "request":
            return '"allowed":true' if self.decision is not None and self.decision.allowed else '"allowed":false'
        size = "" if self.result_bytes is None else f',"resultBytes":{self.result_bytes}'
        return f'"outcome":{_quoted(self.outcome)},"durationMs":{self.seconds * 1000:.3f}{size}'


class AuditLog:
    """Appends records to one file. Thread-safe; opens the file with the first record."""

    def __init__(
        self, path: Path, *, max_bytes: int = MAX_BYTES, keep: int = KEEP_FILES, clock: Callable[[], float] = time.time
    ) -> None:
        # Called with every record when it is written; must neither block nor raise.
        self.listeners: list[Callable[[Mapping[str, Any]], None]] = []
        self._path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._clock = clock
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        # The size of the file as far as we know, and the records since we last looked.
        self._size = 0
        self._unlooked = 0
        self._torn = False
        self._failing = False
        # What is not written yet, and the event loop that will see to it.
        self._notes: list[_Note] = []
        self._due_in: asyncio.AbstractEventLoop | None = None
        # The time of the last record, in milliseconds and in words.
        self._last = (-1, "")
        # Parts of records in which no secret stands, as far as was known then.
        self._clean: set[str] = set()
        self._clean_for = known_forms()
        # Calls that were asked for and are not over.
        self._open_calls: dict[int, _About] = {}

    def asked(self, call: ToolCall, invocation: Invocation, tool: Tool | None, decision: Decision) -> None:
        """A model asks for a call; `decision` is what policy says. Never raises."""
        self._take(_Note("request", self._clock(), call, invocation, tool, decision))

    def ended(
        self,
        call: ToolCall,
        invocation: Invocation,
        tool: Tool | None,
        outcome: str,
        seconds: float,
        *,
        result_bytes: int | None = None,
        decision: Decision | None = None,
    ) -> None:
        """A call is over, or was never made: `ok`, `error`, `refused`, … Never raises."""
        self._take(_Note("outcome", self._clock(), call, invocation, tool, decision, outcome, seconds, result_bytes))

    def close(self) -> None:
        self._flush()
        with self._lock:
            self._close()

    def _take(self, note: _Note) -> None:
        """Write it at once; in an event loop at the end of this turn: the call is on its way by then, and does not wait for us."""
        with self._lock:
            self._notes.append(note)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._flush()
            return
        if self._due_in is not loop:
            self._due_in = loop
            loop.call_soon(self._flush)

    def _flush(self) -> None:
        """Append what was noted, all with one write."""
        with self._lock:
            self._due_in = None
            notes, self._notes = self._notes, []
        lines: list[bytes] = []
        for note in notes:
            try:
                lines.append(self._line(note))
            except Exception as error:
                self._failed(error)
        try:
            with self._lock:
                self._append(b"".join(lines))
            self._failing = False
        except OSError as error:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        """One warning, until it works again: a trail that breaks calls would be switched off, one that fails in silence not be missed."""
        if not self._failing:
            self._failing = True
            reason = error.strerror if isinstance(error, OSError) else type(error).__name__
            logger.warning("The audit trail at %s cannot be written: %s.", self._path, reason)

    def _line(self, note: _Note) -> bytes:
        about, decision = self._about(note.call, note.invocation, note.tool), note.decision
        facts, is_clean = note.facts(), about.is_clean
        if decision is not None:
            rule = f'"rule":{_quoted(decision.rule)},"where":{_quoted(decision.where)}'
            is_clean = is_clean and self._is_clean(rule)
            facts = f"{facts},{rule}"
        line = f'{{"time":"{self._time(note.moment)}","event":"{note.event}",{about.told},{facts}}}'.encode()
        if not is_clean:
            line = msgspec.json.encode(_masked(msgspec.json.decode(line)))
        for listener in self.listeners:
            listener(msgspec.json.decode(line))
        return line + b"\n"

    def _about(self, call: ToolCall, invocation: Invocation, tool: Tool | None) -> "_About":
        """What the request and the outcome of a call have in common: worked out for the first of them."""
        known = self._open_calls.pop(id(call), None)
        if known is not None and known.call is call and known.forms is known_forms():
            return known
        kind, origin = (tool.kind, tool.origin) if tool else ("unknown", "")
        who = _who(invocation.agent, invocation.session, call.name, kind, origin)
        repeated = f'{who},"arguments":{_json(shape(call.arguments))}'
        number = one_line(call.id, _LONGEST_TEXT)
        is_clean = self._is_clean(repeated) and redact(number) == number
        about = _About(call, f'"call":{_json(number)},{repeated}', is_clean, known_forms())
        if len(self._open_calls) >= _MOST_REPEATED:
            self._open_calls.clear()
        self._open_calls[id(call)] = about
        return about

    def _time(self, moment: float) -> str:
        milliseconds = int(moment * 1000)
        if milliseconds != self._last[0]:
            second, rest = divmod(milliseconds, 1000)
            words = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
            self._last = (milliseconds, f"{words}.{rest:03d}Z")
        return self._last[1]

    def _is_clean(self, text: str) -> bool:
        """Whether no secret stands in a part that repeats. Looked for once, and again whenever more secrets are known."""
        if self._clean_for is not (known := known_forms()) or len(self._clean) >= _MOST_REPEATED:
            self._clean, self._clean_for = set(), known
        if text in self._clean:
            return True
        if redact(text) != text:
            return False
        self._clean.add(text)
        return True

    def _append(self, lines: bytes) -> None:
        if not lines:
            return
        descriptor = self._open()
        # After a record that was cut off by a full disk, the next starts on a line of its own.
        data = b"\n" + lines if self._torn else lines
        written = os.write(descriptor, data)
        self._size += written
        self._torn = written < len(data)
        if self._torn:
            raise OSError(0, "the record was cut off")

    def _open(self) -> int:
        """The file to append to: opened anew when it was turned over, by us or by another process."""
        if self._descriptor is not None and (self._size >= self._max_bytes or self._unlooked >= _LOOK_EVERY):
            self._look(self._descriptor)
        while self._descriptor is None:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
            self._descriptor = os.open(self._path, flags, 0o600)
            self._look(self._descriptor)
        self._unlooked += 1
        return self._descriptor

    def _look(self, descriptor: int) -> None:
        """Leave the file when it is full or is no longer the one at our path."""
        ours = os.fstat(descriptor)
        self._size, self._unlooked = ours.st_size, 0
        if not _is_at(self._path, ours):
            self._close()
        elif ours.st_size >= self._max_bytes:
            self._turn_over(ours)

    def _turn_over(self, ours: os.stat_result) -> None:
        """Give the full file a name that sorts by time, and drop the oldest. No two processes choose the same name."""
        self._close()
        old = self._path.with_name(f"{self._path.name}.{time.time_ns():020d}-{os.getpid()}")
        try:
            if _is_at(self._path, ours):
                os.rename(self._path, old)
        except FileNotFoundError:
            # Another process was quicker.
            pass
        kept = sorted(self._path.parent.glob(f"{self._path.name}.*"))
        for file in kept[: max(0, len(kept) - self._keep)]:
            file.unlink(missing_ok=True)

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _is_at(path: Path, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), status)
    except OSError:
        return False


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


@lru_cache(maxsize=_MOST_REPEATED)
def _quoted(text: str) -> str:
    """A word or a rule, of which there are few."""
    return _json(text)


@lru_cache(maxsize=_MOST_REPEATED)
def _who(agent: str, session: str, tool: str, kind: str, origin: str) -> str:
    """The members of a record that say who called what."""
    names = {
        "agent": one_line(agent, _LONGEST_TEXT),
        "session": short_hash(session),
        "kind": kind,
        "origin": one_line(origin, _LONGEST_TEXT),
        "tool": one_line(tool, _LONGEST_TEXT),
    }
    return _json(names)[1:-1]


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {redact(name): _masked(member) for name, member in value.items()}
    return redact(value) if isinstance(value, str) else value
