"""What servers write to standard error, kept for `openclaw mcp logs` in this process and the next.

One file a server, appended line by line, and the one before it: a file that is full is put aside, which costs no more than a name
however long it is. Lines arrive clean and masked. A file that cannot be written costs one warning and nothing else.
"""

import logging
import os
import time
from collections import deque
from pathlib import Path

from openclaw.config.servers import ServerSpec
from openclaw.errors import StoreError
from openclaw.files import make_directory
from openclaw.mcp.cache import identity

_log = logging.getLogger(__name__)

# Of each of the two files of a server: together enough for days of an honest one.
MAX_BYTES = 512 * 1024
# Kept of a server's words when there is no directory to keep them in.
MAX_LINES = 500


class Logbook:
    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self._lines: dict[str, deque[str]] = {}
        self._is_broken = False

    def add(self, spec: ServerSpec, line: str) -> None:
        stamped = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {line}"
        if self._directory is None:
            self._lines.setdefault(identity(spec), deque(maxlen=MAX_LINES)).append(stamped)
        elif not self._is_broken:
            try:
                self._append(self._directory / f"{identity(spec)}.log", stamped)
            except (OSError, StoreError) as error:
                self._is_broken = True
                _log.warning("Servers' own words are not kept in %s: %s", self._directory, error)

    def tail(self, spec: ServerSpec, count: int) -> list[str]:
        """The last `count` lines, oldest first."""
        if self._directory is None:
            return list(self._lines.get(identity(spec), ()))[-count:]
        path = self._directory / f"{identity(spec)}.log"
        lines = _lines(path)
        if len(lines) < count:
            lines = _lines(_before(path)) + lines
        return lines[-count:]

    def _append(self, path: Path, line: str) -> None:
        make_directory(path.parent)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            # One write a line: several processes may keep the same file.
            os.write(descriptor, line.encode("utf-8", "replace") + b"\n")
            written = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        # Another process may have put it aside since.
        if written.st_size > MAX_BYTES and os.path.samestat(written, path.stat()):
            path.replace(_before(path))


def _before(path: Path) -> Path:
    """Where a full file is put aside."""
    return path.with_name(f"{path.name}.1")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
