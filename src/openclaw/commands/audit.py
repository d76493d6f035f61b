"""`openclaw audit`: what was called, when and how it ended, from the audit trail of this machine, or of all gateways that share one.

The trail holds shapes, not values; nothing here can print an argument or a result. It may be very long: what
happened last is read from its end, and all of it is printed as fast as it is taken.
"""

import json
from datetime import datetime
from typing import Any

from openclaw.commands.console import clock_time
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed

_SHOWN = 20


async def tail(context: Context, parsed: Parsed) -> int:
    count = parsed.count("lines", _SHOWN)
    async with context.open_engine() as engine:
        engine.audit.flush()
        last = await engine.audit.trail.last(count)
    if parsed.flag("json"):
        context.console.data(last)
        return 0
    if not last:
        context.console.line("No tool was called yet.")
    rows = [
        (
            _when(str(record.get("time", ""))),
            str(record.get("event", "")),
            # A form or a page is of no tool, but of the server that asks.
            str(record.get("tool") or record.get("asker", "")),
            str(record.get("agent", "")),
            _how(record),
        )
        for record in last
    ]
    context.console.table(("time", "what", "tool", "agent", "how"), rows)
    return 0


def _when(moment: str) -> str:
    """The trail is kept in UTC."""
    try:
        return clock_time(datetime.fromisoformat(moment).timestamp())
    except ValueError:
        # A line that somebody else wrote.
        return moment[:19]


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
    async with context.open_engine() as engine:
        engine.audit.flush()
        async for records in engine.audit.trail.batches():
            context.console.verbatim("\n".join(json.dumps(record) for record in records))
            await context.console.flush()
    return 0
