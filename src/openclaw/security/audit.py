"""The audit trail: who called which tool, with what kind of arguments, and how it ended. One JSON line each, appended, never changed.

Owns the file (mode 0600, turned over by size), its records and the promise that writing one never raises into a call: a disk that is full
costs one warning. A record is in the file within milliseconds, and before we end unless we are ended by force. Holds shapes, not values: no
argument, no result and no session key is ever written. Several processes may write to one file: records are appended whole, and a file
that another process turned over is followed.
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
from typing import Any

import msgspec

from openclaw.content import ToolCall, to_json
from openclaw.files import make_directory
from openclaw.log import one_line, short_hash
from openclaw.redact import known_forms, redact
from openclaw.security.policy import Decision
from openclaw.tool import Invocation, Tool

_log = logging.getLogger(__name__)

# A file of this size holds some tens of thousands of calls; with those before it, months of ordinary use.
MAX_BYTES = 10 * 1024 * 1024
KEEP_FILES = 5
# Records are written together: none waits longer than so many seconds, and no more than so many wait. A write of its own would cost a
# call a third of its time; why losing these milliseconds to a `kill -9` is worth it is docs/decisions/0006.
WITHIN = 0.002
TOGETHER = 256
# How many records may pass before the file is looked at again, in case another process filled it or turned it over.
_LOOK_EVERY = 64

# A model chooses the names of arguments and how deep they are nested: a shape stays readable.
_LONGEST_NAME = 64
_LONGEST_TEXT = 200
_MOST_MEMBERS = 32
_DEEPEST = 4
_KINDS: dict[type, str] = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string"}

# What repeats from call to call is worked out once for each of this many: an agent, its conversation, a tool, a kind of arguments.
_MOST_REPEATED = 1_024
# And only when it is named with so many characters: longer names are nobody's habit.
_LONGEST_KEPT = 1_024


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


# A piece of a record as JSON text, and whether no secret stands in it as far as was known when it was made.
_Piece = tuple[str, bool]


class _Phrases:
    """The pieces of records that come again from call to call, each worked out once: who calls what with which plain arguments, a rule.

    Nothing here is worked out twice for a call that is like one before it; this is most of what the trail costs.
    """

    def __init__(self) -> None:
        self._abouts: dict[tuple[Any, ...], _Piece] = {}
        # By identity: each is kept beside its piece, so that no other decision can get its number.
        self._decisions: dict[int, tuple[Decision, _Piece]] = {}

    def forget(self) -> None:
        self._abouts.clear()
        self._decisions.clear()

    def about(self, call: ToolCall, invocation: Invocation, tool: Tool | None) -> _Piece:
        """Who calls what, and with what kind of arguments."""
        kind, origin = (tool.kind, tool.origin) if tool is not None else ("unknown", "")
        arguments = call.arguments
        key = invocation.agent, invocation.session, call.name, kind, origin, *arguments, *map(type, arguments.values())
        known = self._abouts.get(key)
        if known is None:
            who = _who(invocation.agent, invocation.session, call.name, kind, origin)
            known = _piece(f'{who},"arguments":{_json(shape(arguments))}')
            # Types alone do not tell how long a list is, and what an object holds. And a model chooses names: neither many nor long
            # ones may fill the memory.
            letters = sum(len(name) for name in key if isinstance(name, str))
            if _KINDS.keys() >= set(map(type, arguments.values())) and letters <= _LONGEST_KEPT:
                if len(self._abouts) >= _MOST_REPEATED:
                    self._abouts.clear()
                self._abouts[key] = known
        return known

    def decision(self, decision: Decision) -> _Piece:
        """What policy said."""
        known = self._decisions.get(id(decision))
        if known is None:
            if len(self._decisions) >= _MOST_REPEATED:
                self._decisions.clear()
            told = _piece(
                f'"allowed":{_json(decision.allowed)},"rule":{_json(decision.rule)},"where":{_json(decision.where)}'
            )
            known = self._decisions[id(decision)] = decision, told
        return known[1]


class AuditEntry(msgspec.Struct, eq=False):
    """One call in the trail: made by whoever makes the call, then noted when it is asked for and when it is over. The rest is ours."""

    call: ToolCall
    invocation: Invocation
    tool: Tool | None
    # What policy said, and how the call ended; nothing before it was noted.
    decision: Decision | None = None
    outcome: str = ""
    seconds: float = 0.0
    result_bytes: int | None = None
    # When it was asked for and when it ended. The first is taken away once its record is made.
    asked_at: float = 0.0
    ended_at: float = 0.0
    # What both records say, whether no secret stands in it, and the secrets that it was searched for.
    said: str = ""
    is_clean: bool = False
    clean_of: object = None


class AuditLog:
    """Appends records to one file. Thread-safe; opens the file with the first record."""

    def __init__(
        self, path: Path, *, max_bytes: int = MAX_BYTES, keep: int = KEEP_FILES, clock: Callable[[], float] = time.time
    ) -> None:
        # Called with every record once it is written; must neither block nor raise.
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
        self._notes: list[AuditEntry] = []
        self._due_in: asyncio.AbstractEventLoop | None = None
        # The time of the last record in milliseconds, in words, and its second in words.
        self._last, self._last_words = -1, ""
        self._second = (-1, "")
        self._phrases = _Phrases()
        # The secrets that these were searched for.
        self._clean_of = known_forms()

    def asked(self, entry: AuditEntry, decision: Decision) -> None:
        """A model asks for a call; `decision` is what policy says. Never raises."""
        entry.decision = decision
        entry.asked_at = self._clock()
        self._note(entry)

    def ended(self, entry: AuditEntry, outcome: str, seconds: float, *, result_bytes: int | None = None) -> None:
        """A call is over, or was never made: `ok`, `error`, `refused`, … Never raises."""
        entry.outcome, entry.seconds, entry.result_bytes = outcome, seconds, result_bytes
        entry.ended_at = self._clock()
        self._note(entry)

    def close(self) -> None:
        self.flush()
        with self._lock:
            self._close()

    def _note(self, entry: AuditEntry) -> None:
        """Written at once; in an event loop together with others, soon: the call is on its way by then, and does not wait for us."""
        self._notes.append(entry)
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
                self._append("".join(lines).encode())
                self._failing = False
            except OSError as error:
                self._failed(error)
        if self.listeners:
            for line in lines:
                record = msgspec.json.decode(line)
                for listener in self.listeners:
                    listener(record)

    def _lines(self, notes: list[AuditEntry]) -> list[str]:
        if self._clean_of is not known_forms():
            # More secrets are known: what was clean may not be.
            self._clean_of = known_forms()
            self._phrases.forget()
        # All of these names at once: looking for secrets costs more by the text than by the letter.
        names = "\n".join([entry.call.id for entry in notes])
        are_names_clean = redact(names) == names
        lines: list[str] = []
        for entry in notes:
            try:
                if entry.clean_of is not self._clean_of:
                    self._tell(entry, are_names_clean)
                lines.append(self._request(entry) if entry.asked_at else self._outcome(entry))
            except Exception as error:
                self._failed(error)
        return lines

    def _failed(self, error: Exception) -> None:
        """One warning, until it works again: a trail that breaks calls would be switched off, one that fails in silence not be missed."""
        if not self._failing:
            self._failing = True
            reason = error.strerror if isinstance(error, OSError) else type(error).__name__
            _log.warning("The audit trail at %s cannot be written: %s.", self._path, reason)

    def _tell(self, entry: AuditEntry, are_names_clean: bool) -> None:
        """What the request and the outcome of a call have in common: worked out for the first of them."""
        text, is_clean = self._phrases.about(entry.call, entry.invocation, entry.tool)
        name = one_line(entry.call.id, _LONGEST_TEXT)
        entry.said = f'"call":{_json(name)},{text}'
        entry.is_clean = is_clean and (are_names_clean or redact(name) == name)
        entry.clean_of = self._clean_of

    def _request(self, entry: AuditEntry) -> str:
        assert entry.decision is not None  # set together with the time
        moment, entry.asked_at = entry.asked_at, 0.0
        decision, is_clean = self._phrases.decision(entry.decision)
        line = f'{{"time":"{self._time(moment)}","event":"request",{entry.said},{decision}}}\n'
        return line if is_clean and entry.is_clean else _masked_line(line)

    def _outcome(self, entry: AuditEntry) -> str:
        size = "" if entry.result_bytes is None else f',"resultBytes":{entry.result_bytes}'
        facts = f'"outcome":{_quoted(entry.outcome)},"durationMs":{entry.seconds * 1000:.3f}{size}'
        line = f'{{"time":"{self._time(entry.ended_at)}","event":"outcome",{entry.said},{facts}}}\n'
        return line if entry.is_clean else _masked_line(line)

    def _time(self, moment: float) -> str:
        milliseconds = int(moment * 1000)
        if milliseconds != self._last:
            second, rest = divmod(milliseconds, 1000)
            if second != self._second[0]:
                self._second = (second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second)))
            self._last, self._last_words = milliseconds, f"{self._second[1]}.{rest:03d}Z"
        return self._last_words

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
            make_directory(self._path.parent)
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


def _piece(text: str) -> _Piece:
    return text, redact(text) == text


def _json(value: Any) -> str:
    return to_json(value).decode()


@lru_cache(maxsize=_MOST_REPEATED)
def _quoted(text: str) -> str:
    """A word, of which there are few."""
    return _json(text)


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


def _masked_line(line: str) -> str:
    return f"{_json(_masked(msgspec.json.decode(line)))}\n"


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {redact(name): _masked(member) for name, member in value.items()}
    return redact(value) if isinstance(value, str) else value
