"""What the programs of servers write to standard error, kept for `openclaw mcp logs` in this process and the next.

One file a server, appended line by line, and the one before it. A full file is put aside, which costs no more than a rename however long it
is. The first lines since the last start have a small file of their own: they mostly say what a server is and lacks, and a flood must not
wash them away. Also finds the line that says what went wrong. Lines arrive clean and masked. A file that cannot be written costs one
warning and nothing else.
"""

import logging
import os
import re
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from openclaw.appending import open_to_append
from openclaw.config.servers import ServerSpec
from openclaw.errors import StoreError
from openclaw.late_pattern import late_pattern
from openclaw.mcp.cache import identity

_log = logging.getLogger(__name__)

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

    def forget(self, spec: ServerSpec) -> None:
        """Nobody has the server any more: keep nothing of it in memory."""
        self._first.pop(identity(spec), None)
        self._lines.pop(identity(spec), None)

    def tail(self, spec: ServerSpec, count: int) -> list[str]:
        """The last `count` lines, oldest first."""
        return self._kept(identity(spec), count)[-count:]

    def file(self, spec: ServerSpec) -> Path | None:
        """The file that is being written; None when none is kept."""
        return None if self._directory is None else self._directory / f"{identity(spec)}.log"

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
        descriptor = open_to_append(path, anew=anew)
        try:
            # One write a line: several processes may keep the same file.
            os.write(descriptor, line.encode("utf-8", "replace") + b"\n")
            written = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        # Another process may have put it aside since.
        if written.st_size > MAX_BYTES and os.path.samestat(written, path.stat()):
            # On Windows not while somebody reads it: it goes on growing, and is tried again with the next line.
            with suppress(PermissionError):
                path.replace(_before(path))


# What each kind of line looks like, after its time. An exception as Python and JavaScript write it, with or without what went before.
_EXCEPTION = late_pattern(
    r"(?:Uncaught |Caused by: )?(?:[\w.$]+\.)?\w*(?:Error|Exception|SystemExit)\b(?: \[\w+\])?: ?\S", re.ASCII
)
_ERROR = late_pattern(
    r"\b(?:error|fatal|panic(?:ked)?|failed|failure|cannot|could not|not found|missing|required)\b", re.IGNORECASE
)
# News of the package manager, places in the code, and what runtimes write after an exception.
_BESIDE_THE_POINT = late_pattern(
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
