"""`openclaw audit`: what was called, when and how it ended, from the audit trail of this machine.

The trail holds shapes, not values; nothing here can print an argument or a result. It may be very long: what happened last is read from
its end, in a thread, and a search ends after so many bytes. All of it is printed as fast as it is taken.
"""

import asyncio
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed

_SHOWN = 20
# Records read and printed at a time: about a hundred kilobytes.
_BATCH = 256
# The file that is written to.
_NAME = "calls.jsonl"
# Bytes that are read at a time from the end, and of a line; a record has some hundred.
_BLOCK = 1 << 16
_LONGEST_LINE = 1 << 16
# Bytes that a search goes through: more than the trail has as we keep it, and less than a second.
MOST_SEARCHED = 100_000_000


async def tail(context: Context, parsed: Parsed) -> int:
    count = parsed.count("lines", _SHOWN)
    last = await asyncio.to_thread(last_records, context.paths.audit_dir, count)
    if parsed.flag("json"):
        context.console.data(last)
        return 0
    if not last:
        context.console.line("No tool was called yet.")
    rows = [
        (
            str(record.get("time", ""))[:19],
            str(record.get("event", "")),
            str(record.get("tool", "")),
            str(record.get("agent", "")),
            _how(record),
        )
        for record in last
    ]
    context.console.table(("time", "what", "tool", "agent", "how"), rows)
    return 0


def _how(record: dict[str, Any]) -> str:
    match record.get("event"):
        case "question":
            return "asked"
        case "approval":
            return str(record.get("answer"))
        case "answer":
            return str(record.get("option") or record.get("answer"))
        case _:
            return str(record.get("outcome") or ("allowed" if record.get("allowed") else "refused"))


async def export(context: Context, parsed: Parsed) -> int:
    records = _records(context.paths.audit_dir)
    while lines := await asyncio.to_thread(lambda: [json.dumps(record) for record in islice(records, _BATCH)]):
        context.console.verbatim("\n".join(lines))
        await context.console.flush()
    return 0


class Matching(msgspec.Struct, frozen=True):
    """The last records that were looked for, the newest last; how many there are in what was searched, and whether that was all."""

    records: list[dict[str, Any]]
    total: int
    is_whole: bool = True


def last_records(folder: Path, count: int) -> list[dict[str, Any]]:
    """The last records of the trail, the newest last. However long it is, only these are read."""
    found = (record for line in newest_lines(folder) if (record := _record(line)) is not None)
    return [*islice(found, count)][::-1]


def matching_records(folder: Path, count: int, words: Sequence[str], most_bytes: int = MOST_SEARCHED) -> Matching:
    """The last records that hold all words, in any case, and none of those after a `-`, among the last `most_bytes` of the trail."""
    folded = [word.casefold() for word in words if not word.startswith("-")]
    without = [word[1:].casefold() for word in words if word.startswith("-") and len(word) > 1]
    last: list[dict[str, Any]] = []
    total = searched = 0
    for line in newest_lines(folder):
        searched += len(line)
        if searched > most_bytes:
            return Matching(last[::-1], total, is_whole=False)
        text = line.decode("utf-8", "replace").casefold() if words else ""
        if all(word in text for word in folded) and not any(word in text for word in without):
            # Of those that nobody sees it is enough to know that they are there.
            total += 1
            if len(last) < count and (record := _record(line)) is not None:
                last.append(record)
    return Matching(last[::-1], total)


def newest_lines(folder: Path) -> Iterator[bytes]:
    """Every line, the newest first. A file is read from its end, and only as far as somebody asks."""
    with ExitStack() as stack:
        current: BinaryIO | None = None
        with suppress(FileNotFoundError):
            current = stack.enter_context((folder / _NAME).open("rb"))
            yield from _from_the_end(current)
        for path in reversed(_turned_over(folder)):
            # One that made room for a newer one since we looked is gone; the first may have been turned over meanwhile.
            with suppress(FileNotFoundError), path.open("rb") as file:
                if current is None or not os.path.sameopenfile(current.fileno(), file.fileno()):
                    yield from _from_the_end(file)


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


def _records(folder: Path) -> Iterator[dict[str, Any]]:
    """Every record, the oldest first. A torn line is passed over."""
    for file in [*_turned_over(folder), folder / _NAME]:
        # There is none yet, or it made room for a newer one since we looked.
        with suppress(FileNotFoundError), file.open("rb") as lines:
            for line in lines:
                if (record := _record(line)) is not None:
                    yield record


def _turned_over(folder: Path) -> list[Path]:
    """The files before the one that is written to; their names sort by time."""
    return sorted(folder.glob(f"{_NAME}.*"))


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None
