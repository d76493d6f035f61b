"""`openclaw audit`: what was called, when and how it ended, from the audit trail of this machine.

The trail holds shapes, not values; nothing here can print an argument or a result.
"""

import json
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed

_SHOWN = 20


async def tail(context: Context, parsed: Parsed) -> int:
    count = parsed.count("lines", _SHOWN)
    last = deque(_records(context.paths.audit_dir), maxlen=count)
    if parsed.flag("json"):
        context.console.data(list(last))
        return 0
    if not last:
        context.console.line("No tool was called yet.")
    rows = [
        (
            str(record.get("time", ""))[:19],
            str(record.get("event", "")),
            str(record.get("tool", "")),
            str(record.get("agent", "")),
            str(record.get("outcome") or ("allowed" if record.get("allowed") else "refused")),
        )
        for record in last
    ]
    context.console.table(("time", "what", "tool", "agent", "how"), rows)
    return 0


async def export(context: Context, parsed: Parsed) -> int:
    for record in _records(context.paths.audit_dir):
        context.console.line(json.dumps(record))
    return 0


def _records(folder: Path) -> Iterator[dict[str, Any]]:
    """Every record, the oldest first, files that were turned over included. A torn line is passed over."""
    files = sorted(folder.glob("calls.jsonl*"), key=lambda file: file.stat().st_mtime)
    for file in files:
        with file.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                try:
                    record = json.loads(line)
                except ValueError:
                    continue
                if isinstance(record, dict):
                    yield record
