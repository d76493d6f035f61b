"""The lines of a log file: the last ones, and those that are written from then on, also when the file is put aside and begun anew.

Looks at the file a few times a second, as `tail -F` does; whoever prints the lines cleans them.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

from openclaw.appending import open_to_read

# What a person takes for at once.
LOOK_EVERY = 0.25
# The longest file that a log of ours grows to, and its last piece beside it.
MOST_BYTES = 16 * 1024 * 1024


class LogFile:
    """One file, read on from where the last look ended. It need not be there yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: BinaryIO | None = None
        # The beginning of a line whose end is not written yet.
        self._begun = b""

    def written(self) -> list[str]:
        """Whole lines that were written since the last look. Raises nothing: a file that cannot be read has none."""
        data = self._read()
        if self._is_another():
            self.close()
            # Nothing more comes to the one that was put aside: its last line is as whole as it gets.
            data += (b"\n" if self._begun or (data and not data.endswith(b"\n")) else b"") + self._read()
        *lines, self._begun = (self._begun + data).split(b"\n")
        # On Windows a line of ours ends with both signs.
        return [line.removesuffix(b"\r").decode("utf-8", "replace") for line in lines]

    def close(self) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None

    def _read(self) -> bytes:
        try:
            if self._handle is None:
                self._handle = open_to_read(self._path)
            return self._handle.read(MOST_BYTES)
        except OSError:
            return b""

    def _is_another(self) -> bool:
        """Whether the name leads to another file than the one that is open, or that one was cut."""
        if self._handle is None:
            return False
        try:
            now, open_one = self._path.stat(), os.fstat(self._handle.fileno())
        except OSError:
            return False
        return not os.path.samestat(now, open_one) or now.st_size < self._handle.tell()


async def follow(path: Path, last: int) -> AsyncIterator[list[str]]:
    """The last lines that are there, then new ones as they come, without end."""
    file = LogFile(path)
    try:
        lines = await asyncio.to_thread(file.written)
        yield lines[-last:] if last else []
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if lines := await asyncio.to_thread(file.written):
                yield lines
    finally:
        file.close()


def last_lines(path: Path, count: int) -> list[str]:
    """The last lines of a file, and of the one that was put aside before it where it has fewer."""
    lines: list[str] = []
    for one in (path, path.with_name(f"{path.name}.1")):
        file = LogFile(one)
        try:
            lines = file.written() + lines
        finally:
            file.close()
        if len(lines) >= count:
            break
    return lines[-count:] if count else []
