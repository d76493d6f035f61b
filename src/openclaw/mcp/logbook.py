"""What servers write to standard error, kept for `openclaw mcp logs` in this process and the next.

One file a server, appended line by line and cut when it grows too long. Lines arrive clean and masked. A file that cannot be written
costs one warning and nothing else.
"""

import logging
import os
import time
from collections import deque
from pathlib import Path

from openclaw.config.servers import ServerSpec
from openclaw.errors import StoreError
from openclaw.files import make_directory, replace
from openclaw.mcp.cache import identity

_log = logging.getLogger(__name__)

# Half of it is dropped when a file has grown to this: enough for days of an honest server.
MAX_BYTES = 1024 * 1024
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
        try:
            text = (self._directory / f"{identity(spec)}.log").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return []
        return text.splitlines()[-count:]

    def _append(self, path: Path, line: str) -> None:
        make_directory(path.parent)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            # One write a line: several processes may keep the same file.
            os.write(descriptor, line.encode("utf-8", "replace") + b"\n")
            too_long = os.fstat(descriptor).st_size > MAX_BYTES
        finally:
            os.close(descriptor)
        if too_long:
            kept = path.read_bytes()[-MAX_BYTES // 2 :].partition(b"\n")[2]
            replace(path, kept, durable=False)
