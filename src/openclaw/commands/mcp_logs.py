"""`openclaw mcp logs`: what the program of a server wrote to standard error, and what it writes."""

import asyncio
from pathlib import Path

from openclaw.commands.dispatch import Context
from openclaw.commands.follow import follow
from openclaw.commands.opened import opened
from openclaw.commands.parse import Parsed
from openclaw.errors import UsageError
from openclaw.security.external import clean_label, clean_terminal

# Of what is there when following begins: a screen or two.
_LAST_LINES = 80


async def logs(context: Context, parsed: Parsed) -> int:
    count = parsed.count("lines", 0)
    if parsed.flag("follow") and context.surface not in ("terminal", "control"):
        # What it prints is shown here when it is over, which it never is.
        raise UsageError("--follow has no end.", hint=f"In a shell: openclaw mcp logs -f {parsed.text('name')}")
    async with opened(context, parsed) as (_, manager, agent):
        spec = manager.server(parsed.text("name"), agent).spec
        book = manager.stderr_log
        file = book.file(spec)
        if parsed.flag("follow") and file is not None:
            await _follow(context, parsed, file, count or _LAST_LINES)
        lines = (
            await asyncio.to_thread(book.tail, spec, count) if count else await asyncio.to_thread(book.excerpt, spec)
        )
    if parsed.flag("json"):
        context.console.data(lines)
    else:
        for line in lines or ["It has written nothing to standard error."]:
            context.console.verbatim(clean_terminal(line))
    return 0


async def _follow(context: Context, parsed: Parsed, file: Path, last: int) -> None:
    """The last lines and those that come, until the person has seen enough."""
    with context.console.live.waiting(f"Waiting for what {clean_label(parsed.text('name'), 60)} writes"):
        async for written in follow(file, last):
            for line in written:
                if parsed.flag("json"):
                    context.console.data(line)
                else:
                    context.console.verbatim(clean_terminal(line))
            await context.console.flush()
