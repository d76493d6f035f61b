"""What the system prompt says about MCP servers: which there are, how they are doing, what they want known, injected resources.

Names and numbers are escaped and bounded; servers' own words arrive framed.
"""

from collections.abc import Sequence

from openclaw.mcp.server.server import LiveServer
from openclaw.mcp.status import ServerStatus
from openclaw.mcp.wording import changed_tools, trust_command
from openclaw.security.external import clean_label

# More servers than anybody can keep in mind, a model included.
MAX_SERVERS = 100
MAX_NAME = 64


def context_of(statuses: Sequence[ServerStatus], servers: Sequence[LiveServer]) -> str:
    """Empty when there are no servers."""
    if not statuses:
        return ""
    lines = ["<available-mcp-servers>", *(_line(status) for status in statuses[:MAX_SERVERS])]
    if len(statuses) > MAX_SERVERS:
        lines.append(f"  <!-- {len(statuses) - MAX_SERVERS} more -->")
    parts = ["\n".join([*lines, "</available-mcp-servers>"])]
    parts += [held for status in statuses[:MAX_SERVERS] if (held := _held_back(status))]
    for server in servers:
        parts += server.context
    return "\n\n".join(parts)


def foreign_of(servers: Sequence[LiveServer]) -> list[tuple[str, str]]:
    """What of that text is servers' own words, and whose."""
    return [(f"mcp:{server.spec.name}", "\n\n".join(words)) for server in servers if (words := server.context)]


def _held_back(status: ServerStatus) -> str:
    """Which tools the model knows of from before and cannot have, and what the user can do about it."""
    held = [change for change in status.changes if change.held]
    if not held:
        return ""
    said = f"MCP server {clean_label(status.name, MAX_NAME)}: {changed_tools(held, status.upgrade)}."
    return (
        f"{said} The user sees and accepts the change with: {trust_command(status.name, status.owner, status.commands)}"
    )


def _line(status: ServerStatus) -> str:
    from html import escape

    name = escape(clean_label(status.name, MAX_NAME), quote=True)
    note = f' note="{escape(status.note, quote=True)}"' if status.note else ""
    return f'  <server name="{name}" tools="{status.tools}" status="{status.word}"{note}/>'
