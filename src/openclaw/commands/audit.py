"""`openclaw audit`: what was called, when and how it ended, from the audit trail of this machine.

The trail holds shapes, not values; nothing here can print an argument or a result. It may be tens of megabytes long: it is read in a
thread, and printed as fast as it is taken.
"""

import asyncio
import json
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed

_SHOWN = 20
# Records read and printed at a time: about a hundred kilobytes.
_BATCH = 256


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


def last_records(folder: Path, count: int) -> list[dict[str, Any]]:
    """The last lines of the trail, the newest last."""
    return list(deque(_records(folder), maxlen=count))


def matching_records(folder: Path, count: int, words: Sequence[str]) -> tuple[list[dict[str, Any]], int]:
    """The last lines that hold all words in any case, the newest last, and how many such lines there are."""
    folded = [word.casefold() for word in words]
    last: deque[str] = deque(maxlen=count)
    total = 0
    # Of those that nobody sees it is enough to know that they are there.
    for line in _lines(folder):
        text = line.casefold() if folded else ""
        if all(word in text for word in folded):
            total += 1
            last.append(line)
    return [record for line in last if (record := _record(line)) is not None], total


def _records(folder: Path) -> Iterator[dict[str, Any]]:
    """Every record, the oldest first. A torn line is passed over."""
    for line in _lines(folder):
        if (record := _record(line)) is not None:
            yield record


def _record(line: str) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _lines(folder: Path) -> Iterator[str]:
    """Every line, the oldest first, files that were turned over included."""
    # Names of files that were turned over sort by time; the one that is written to comes last.
    for file in [*sorted(folder.glob("calls.jsonl.*")), folder / "calls.jsonl"]:
        try:
            lines = file.open(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            # There is none yet, or it made room for a newer one since we looked.
            continue
        with lines:
            yield from lines
