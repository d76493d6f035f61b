"""`openclaw mcp trust`: what changed in a server's tools since they were accepted, put before a person, and accepted as it was shown.

A digest names what was shown: a server that says something else by the time of the answer gets nothing accepted, whichever process or
surface the answer comes from.
"""

from collections.abc import Sequence

from openclaw.commands.dispatch import Context
from openclaw.commands.mcp import change_json
from openclaw.commands.opened import opened
from openclaw.commands.parse import Parsed
from openclaw.commands.render import change_lines
from openclaw.errors import OpenClawError, UsageError
from openclaw.mcp.status import ServerStatus
from openclaw.mcp.tools.pins import Change, digest_of
from openclaw.mcp.wording import changed_tools, trouble
from openclaw.security.external import clean_label


async def trust(context: Context, parsed: Parsed) -> int:
    """Show what changed in a server's tools, and accept exactly that when a person says so."""
    console = context.console
    async with opened(context, parsed) as (_, manager, agent):
        server = manager.server(parsed.text("name"), agent)
        await server.refresh()
        found = server.status()
        if said := trouble(found):
            # What it says now was held against nothing.
            raise OpenClawError(said)
        shown = parsed.text("digest") or digest_of(found.changes)
        if found.changes and not parsed.text("digest") and not parsed.flag("yes") and not await _agreed(context, found):
            console.note("Nothing was accepted.")
            return 1
        accepted = await server.trust(shown) if shown else ()
    if parsed.flag("json"):
        console.data([change_json(change) for change in accepted])
        return 0
    for line in change_lines(accepted):
        console.line(line)
    console.line(f"Accepted: {_count(accepted)}." if accepted else "Nothing has changed.")
    return 0


async def _agreed(context: Context, status: ServerStatus) -> bool:
    """Put what changed before a person. Nobody to ask means no."""
    name = clean_label(status.name, 100)
    context.console.note(f"MCP server '{name}': {changed_tools(status.changes, status.upgrade)}.")
    for line in change_lines(status.changes):
        context.console.note(line)
    agreed = await context.console.agreed(f"Accept {_count(status.changes)} as shown? [y/N] ")
    if agreed is None:
        raise UsageError(
            "Nobody is there to accept what changed.",
            hint=f"Accept exactly what was shown: --digest {digest_of(status.changes)}",
        )
    return agreed


def _count(changes: Sequence[Change]) -> str:
    return f"{len(changes)} changed tool{'' if len(changes) == 1 else 's'}"
