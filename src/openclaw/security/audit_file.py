"""The audit trail of one machine: a file of JSON lines, and those that were full before it.

Owns the file (mode 0600, turned over by size). Several processes may write to one file: lines are appended whole, and a file that another
process turned over is followed. It may be very long: what happened last is read from its end, in a thread, and a search ends after so many
bytes. A torn line is passed over.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from openclaw.appending import open_to_append, open_to_read
from openclaw.security.audit import Matching, searched_for

# A file of this size holds some tens of thousands of calls; with those before it, months of ordinary use.
MAX_BYTES = 10 * 1024 * 1024
KEEP_FILES = 5
# How many records may pass before the file is looked at again, in case another process filled it or turned it over.
_LOOK_EVERY = 64
# Records read at a time: about a hundred kilobytes.
_BATCH = 256
# Bytes that are read at a time from the end, and of a line; a record has some hundred.
_BLOCK = 1 << 16
_LONGEST_LINE = 1 << 16
# Bytes that a search goes through: more than the trail has as we keep it, and less than a second.
MOST_SEARCHED = 100_000_000


class AuditFile:
    """Opens the file with the first line."""

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES, keep: int = KEEP_FILES) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._descriptor: int | None = None
        # The size of the file as far as we know, and the lines since we last looked.
        self._size = 0
        self._unlooked = 0
        self._torn = False

    def shown(self) -> str:
        return str(self._path)

    def append(self, lines: Sequence[str]) -> None:
        if not lines:
            return
        descriptor = self._open()
        # After a record that was cut off by a full disk, the next starts on a line of its own.
        text = "".join(lines).encode()
        data = b"\n" + text if self._torn else text
        written = os.write(descriptor, data)
        self._size += written
        self._torn = written < len(data)
        if self._torn:
            raise OSError(0, "the record was cut off")

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    async def last(self, count: int) -> list[dict[str, Any]]:
        return await asyncio.to_thread(self.last_records, count)

    async def matching(self, count: int, words: Sequence[str]) -> Matching:
        return await asyncio.to_thread(self.matching_records, count, words)

    async def batches(self) -> AsyncIterator[list[dict[str, Any]]]:
        records = self._records()
        while batch := await asyncio.to_thread(lambda: list(islice(records, _BATCH))):
            yield batch

    # Blocking

    def last_records(self, count: int) -> list[dict[str, Any]]:
        found = (record for line in self.newest_lines() if (record := record_of(line)) is not None)
        return [*islice(found, count)][::-1]

    def matching_records(self, count: int, words: Sequence[str], most_bytes: int = MOST_SEARCHED) -> Matching:
        """Among the last `most_bytes` of the trail."""
        fits = searched_for(words)
        last: list[dict[str, Any]] = []
        total = searched = 0
        for line in self.newest_lines():
            searched += len(line)
            if searched > most_bytes:
                return Matching(last[::-1], total, is_whole=False)
            if fits(line):
                # Of those that nobody sees it is enough to know that they are there.
                total += 1
                if len(last) < count and (record := record_of(line)) is not None:
                    last.append(record)
        return Matching(last[::-1], total)

    def newest_lines(self) -> Iterator[bytes]:
        """Every line, the newest first. A file is read from its end, and only as far as somebody asks."""
        with ExitStack() as stack:
            current: BinaryIO | None = None
            with suppress(FileNotFoundError):
                current = stack.enter_context(open_to_read(self._path))
                yield from _from_the_end(current)
            for path in reversed(self._turned_over()):
                # One that made room for a newer one since we looked is gone; the first may have been turned over meanwhile.
                with suppress(FileNotFoundError), open_to_read(path) as file:
                    if current is None or not os.path.sameopenfile(current.fileno(), file.fileno()):
                        yield from _from_the_end(file)

    def lines(self) -> Iterator[bytes]:
        """Every line, the oldest first."""
        for file in [*self._turned_over(), self._path]:
            # There is none yet, or it made room for a newer one since we looked.
            with suppress(FileNotFoundError), open_to_read(file) as lines:
                yield from lines

    def _records(self) -> Iterator[dict[str, Any]]:
        return (record for line in self.lines() if (record := record_of(line)) is not None)

    def _turned_over(self) -> list[Path]:
        """The files before the one that is written to; their names sort by time."""
        return sorted(self._path.parent.glob(f"{self._path.name}.*"))

    def _open(self) -> int:
        """The file to append to: opened anew when it was turned over, by us or by another process."""
        if self._descriptor is not None and (self._size >= self._max_bytes or self._unlooked >= _LOOK_EVERY):
            self._look(self._descriptor)
        while self._descriptor is None:
            self._descriptor = open_to_append(self._path)
            self._look(self._descriptor)
        self._unlooked += 1
        return self._descriptor

    def _look(self, descriptor: int) -> None:
        """Leave the file when it is full or is no longer the one at our path."""
        ours = os.fstat(descriptor)
        self._size, self._unlooked = ours.st_size, 0
        if not _is_at(self._path, ours):
            self.close()
        elif ours.st_size >= self._max_bytes:
            self._turn_over(ours)

    def _turn_over(self, ours: os.stat_result) -> None:
        """Give the full file a name that sorts by time, and drop the oldest. No two processes choose the same name."""
        old = self._path.with_name(f"{self._path.name}.{time.time_ns():020d}-{os.getpid()}")
        try:
            if _is_at(self._path, ours):
                os.rename(self._path, old)
        except FileNotFoundError:
            # Another process was quicker.
            pass
        except PermissionError:
            # A folder that lets us add to the file and nothing else, or on Windows a program that reads it and is none of ours: it goes
            # on growing, and is tried again with the next records. None is lost.
            return
        self.close()
        kept = self._turned_over()
        for file in kept[: max(0, len(kept) - self._keep)]:
            with suppress(FileNotFoundError, PermissionError):
                file.unlink()


def _from_the_end(file: BinaryIO) -> Iterator[bytes]:
    end, rest = file.seek(0, os.SEEK_END), b""
    while end > 0:
        start = max(0, end - _BLOCK)
        file.seek(start)
        first, *lines = (file.read(end - start) + rest).split(b"\n")
        yield from (line for line in reversed(lines) if line)
        # A line this long is none of ours, and is not put together.
        rest, end = first[:_LONGEST_LINE], start
    if rest:
        yield rest


def record_of(line: bytes) -> dict[str, Any] | None:
    """What a line says; None for one that is torn."""
    try:
        record = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _is_at(path: Path, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), status)
    except OSError:
        return False
