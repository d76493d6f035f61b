"""What one server says beside its answers: log messages and progress, and what its program writes to standard error.

`ServerLog` writes messages and progress to our log, never to a model, and bounds how much: a server may flood us, and the log must stay
readable. Text is cleaned and masked by the log itself.

`StderrLog` keeps standard error for `openclaw mcp logs`, in this process and the next: one file a server, appended line by line, and the
one before it. A full file is put aside, which costs no more than a rename however long it is. The first lines since the last start have a
small file of their own: they mostly say what a server is and lacks, and a flood must not wash them away. Lines arrive clean and masked. A
file that cannot be written costs one warning and nothing else.
"""

import logging
import os
import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from openclaw.config.servers import ServerSpec
from openclaw.content import to_json
from openclaw.errors import ProtocolError, StoreError
from openclaw.files import make_directory
from openclaw.mcp.cache import identity
from openclaw.protocol.jsonrpc import parse
from openclaw.security.external import clean_label

_log = logging.getLogger(__name__)

# Enough to follow an honest server; a flood is counted instead of written, and so is a line that is said again and again.
MAX_MESSAGES = 50
PERIOD = 10.0
MAX_TEXT = 2_000

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.ERROR,
    "alert": logging.ERROR,
    "emergency": logging.ERROR,
}


class _LogMessage(msgspec.Struct):
    level: str = "info"
    logger: str | None = None
    data: Any = ""


class ServerLog:
    """The log messages and progress of one server, as lines of our log."""

    def __init__(self, server: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._server = server
        self._clock = clock
        self._period_ends = 0.0
        self._written = 0
        self._left_out = 0
        # The last line that was written, and how often it was said again since.
        self._last: tuple[int, str] | None = None
        self._repeated = 0

    def log_message(self, params: Raw) -> None:
        """One `notifications/message`."""
        try:
            message = parse(params, _LogMessage)
        except ProtocolError as error:
            self.note(logging.DEBUG, f"a log message that cannot be read: {error}")
            return
        data = message.data if isinstance(message.data, str) else to_json(message.data).decode()
        origin = f"{message.logger}: " if message.logger else ""
        self.note(_LEVELS.get(message.level, logging.INFO), f"{origin}{data}")

    def note(self, level: int, text: str) -> None:
        """Write one line about the server, unless it is the last one again or too many were written lately."""
        now = self._clock()
        if now >= self._period_ends:
            self.flush()
            self._period_ends, self._written = now + PERIOD, 0
        elif (level, text) == self._last:
            self._repeated += 1
            return
        else:
            self._tell_repeated()
        if self._written >= MAX_MESSAGES:
            self._left_out += 1
            return
        self._last = (level, text)
        self._write(level, text[:MAX_TEXT])

    def flush(self) -> None:
        """Say how much was not written: after a while, and when the connection ends."""
        self._tell_repeated()
        if self._left_out:
            _log.warning("MCP server '%s': %d more messages were not written.", self._server, self._left_out)
        self._left_out, self._last = 0, None

    def _tell_repeated(self) -> None:
        repeated, self._repeated = self._repeated, 0
        if repeated and self._last is not None:
            if self._written < MAX_MESSAGES:
                self._write(self._last[0], f"… {repeated} more like it")
            else:
                self._left_out += repeated

    def _write(self, level: int, text: str) -> None:
        self._written += 1
        _log.log(level, "MCP server '%s': %s", self._server, text)


class Progress(msgspec.Struct, eq=False):
    """The progress of one call: to the log, and in clean words to whoever waits. `seen` tells whether there was any."""

    log: ServerLog
    tool: str
    show: Callable[[str], None] | None
    seen: bool = False

    def __call__(self, progress: float, total: float | None, message: str) -> None:
        self.seen = True
        amount = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
        words = clean_label(f"{message} ({amount})" if message else amount, MAX_TEXT)
        self.log.note(logging.DEBUG, f"{self.tool}: {words}")
        if self.show is not None:
            self.show(words)


# Of each of the two files of a server: together enough for days of an honest one.
MAX_BYTES = 512 * 1024
# Kept of a server's words when there is no directory to keep them in.
MAX_LINES = 500
# How an excerpt is made up: what a server said when it started, and what it said last.
FIRST_LINES = 20
LAST_LINES = 80


class StderrLog:
    """What the programs of all servers write to standard error. Without a directory it is kept in memory."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self._lines: dict[str, deque[str]] = {}
        # The first lines since the last start in this process.
        self._first: dict[str, list[str]] = {}
        self._is_broken = False

    def begin(self, spec: ServerSpec) -> None:
        """The server is being started: what it says from now on is of a new process."""
        self._first.pop(identity(spec), None)

    def add(self, spec: ServerSpec, line: str) -> None:
        stamped = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {line}"
        name = identity(spec)
        first = self._first.setdefault(name, [])
        is_early = len(first) < FIRST_LINES
        if is_early:
            first.append(stamped)
        if self._directory is None:
            self._lines.setdefault(name, deque(maxlen=MAX_LINES)).append(stamped)
        elif not self._is_broken:
            try:
                self._append(self._directory / f"{name}.log", stamped)
                if is_early:
                    self._append(self._directory / f"{name}.first", stamped, anew=len(first) == 1)
            except (OSError, StoreError) as error:
                self._is_broken = True
                _log.warning("What servers write to standard error is not kept in %s: %s", self._directory, error)

    def tail(self, spec: ServerSpec, count: int) -> list[str]:
        """The last `count` lines, oldest first."""
        return self._kept(identity(spec), count)[-count:]

    def error_line(self, spec: ServerSpec) -> str:
        """Of the last lines the one that says what is wrong; empty when there are none."""
        return error_line_of(self.tail(spec, LAST_LINES))

    def excerpt(self, spec: ServerSpec) -> list[str]:
        """The last lines; where the server has said more since it was started, after the first ones and a word about the rest."""
        name = identity(spec)
        first = self._first.get(name, []) if self._directory is None else _lines(self._directory / f"{name}.first")
        most, width = FIRST_LINES + LAST_LINES, len(first)
        lines = self._kept(name, None)
        begin = next((at for at in range(len(lines) - width, -1, -1) if lines[at : at + width] == first), None)
        if width < FIRST_LINES or (begin is not None and len(lines) - begin <= most):
            return lines[-most:]
        count = "" if begin is None else f"{len(lines) - begin - most:,} "
        return [*first, f"… {count}lines left out", *lines[-LAST_LINES:]]

    def _kept(self, name: str, enough: int | None) -> list[str]:
        """All lines there are; without the older file when the newer one has `enough`."""
        if self._directory is None:
            return list(self._lines.get(name, ()))
        path = self._directory / f"{name}.log"
        lines = _lines(path)
        return lines if enough is not None and len(lines) >= enough else _lines(_before(path)) + lines

    def _append(self, path: Path, line: str, *, anew: bool = False) -> None:
        make_directory(path.parent)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_TRUNC if anew else 0), 0o600)
        try:
            # One write a line: several processes may keep the same file.
            os.write(descriptor, line.encode("utf-8", "replace") + b"\n")
            written = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        # Another process may have put it aside since.
        if written.st_size > MAX_BYTES and os.path.samestat(written, path.stat()):
            path.replace(_before(path))


# What each kind of line looks like, after its time. An exception as Python and JavaScript write it, with or without what went before.
_EXCEPTION = re.compile(
    r"(?:Uncaught |Caused by: )?(?:[\w.$]+\.)?\w*(?:Error|Exception|SystemExit)\b(?: \[\w+\])?: ?\S", re.ASCII
)
_ERROR = re.compile(
    r"\b(?:error|fatal|panic(?:ked)?|failed|failure|cannot|could not|not found|missing|required)\b", re.IGNORECASE
)
# News of the package manager, places in the code, and what runtimes write after an exception.
_BESIDE_THE_POINT = re.compile(
    r"\s*(?:npm (?:notice|warn)\b|Node\.js v|at \S|File \"|node:|\^|\}|\{|A complete log of this run|npm error A complete log|$)",
    re.IGNORECASE,
)


def error_line_of(stamped: Sequence[str]) -> str:
    """Which of these lines says what is wrong: the last exception, else the last that speaks of an error, else the last of any weight."""
    lines = [(line, line.partition(" ")[2]) for line in stamped]
    told = [(line, words) for line, words in lines if not _BESIDE_THE_POINT.match(words)]
    for kind in (_EXCEPTION.match, _ERROR.search):
        for line, words in reversed(told):
            if kind(words):
                return line
    return (told or lines or [("", "")])[-1][0]


def _before(path: Path) -> Path:
    """Where a full file is put aside."""
    return path.with_name(f"{path.name}.1")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
