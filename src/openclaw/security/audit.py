"""The audit trail: who called which tool, with what kind of arguments, and how it ended. One JSON line each, appended, never changed.

Owns the file (mode 0600, turned over by size), its records and the promise that writing one never raises into a call: a disk that is full
costs one warning. Holds shapes, not values: no argument, no result and no session key is ever written. Several processes may write to
one file: each record is one append, and a file that another process turned over is followed.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from openclaw.content import ToolCall
from openclaw.log import one_line, short_hash
from openclaw.redact import redact
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


def shape(value: Any, *, depth: int = 0) -> Any:
    """What kind of value this is: names and types of members, lengths of lists, no contents. Numbers and texts are told by type alone."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return f"array({len(value)})"
        case dict() if depth >= _DEEPEST:
            return f"object({len(value)})"
        case dict():
            members = {
                one_line(str(name), _LONGEST_NAME): shape(member, depth=depth + 1)
                for name, member in list(value.items())[:_MOST_MEMBERS]
            }
            if len(value) > _MOST_MEMBERS:
                members["…"] = f"{len(value) - _MOST_MEMBERS} more"
            return members
        case _:
            return type(value).__name__


class AuditLog:
    """Appends records to one file. Thread-safe; opens the file with the first record."""

    def __init__(
        self, path: Path, *, max_bytes: int = MAX_BYTES, keep: int = KEEP_FILES, clock: Callable[[], float] = time.time
    ) -> None:
        # Called with every record, in the thread that writes it; must neither block nor raise.
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

    def asked(self, call: ToolCall, invocation: Invocation, tool: Tool | None, decision: Decision) -> None:
        """A model asks for a call; `decision` is what policy says. Never raises."""
        self._write("request", call, invocation, tool, {"allowed": decision.allowed, **_rule(decision)})

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
        facts: dict[str, Any] = {"outcome": outcome, "durationMs": round(seconds * 1000, 3)}
        if result_bytes is not None:
            facts["resultBytes"] = result_bytes
        self._write("outcome", call, invocation, tool, facts | _rule(decision))

    def close(self) -> None:
        with self._lock:
            self._close()

    def _write(
        self, event: str, call: ToolCall, invocation: Invocation, tool: Tool | None, facts: dict[str, Any]
    ) -> None:
        """Append one record. When it cannot be written, one warning says so until it works again."""
        try:
            record = self._record(event, call, invocation, tool, facts)
            for listener in self.listeners:
                listener(record)
            line = msgspec.json.encode(record) + b"\n"
            with self._lock:
                self._append(line)
            self._failing = False
        except Exception as error:
            # An audit trail that breaks calls would be switched off; one that fails in silence would not be missed.
            if not self._failing:
                self._failing = True
                reason = error.strerror if isinstance(error, OSError) else type(error).__name__
                logger.warning("The audit trail at %s cannot be written: %s.", self._path, reason)

    def _record(
        self, event: str, call: ToolCall, invocation: Invocation, tool: Tool | None, facts: dict[str, Any]
    ) -> dict[str, Any]:
        moment = self._clock()
        record = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(moment))}.{int(moment % 1 * 1000):03d}Z",
            "event": event,
            "agent": one_line(invocation.agent, _LONGEST_TEXT),
            "session": short_hash(invocation.session),
            "call": one_line(call.id, _LONGEST_TEXT),
            "kind": tool.kind if tool else "unknown",
            "origin": one_line(tool.origin, _LONGEST_TEXT) if tool else "",
            "tool": one_line(call.name, _LONGEST_TEXT),
            "arguments": shape(call.arguments),
            **facts,
        }
        # A secret among the names is rare; one look at the whole record is cheap.
        text = msgspec.json.encode(record).decode()
        return record if redact(text) == text else dict(_masked(record))

    def _append(self, line: bytes) -> None:
        descriptor = self._open()
        # After a record that was cut off by a full disk, this one starts on a line of its own.
        data = b"\n" + line if self._torn else line
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


def _rule(decision: Decision | None) -> dict[str, str]:
    return {"rule": decision.rule, "where": decision.where} if decision else {}


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {redact(name): _masked(member) for name, member in value.items()}
    return redact(value) if isinstance(value, str) else value
