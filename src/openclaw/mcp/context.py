"""What the system prompt says about MCP servers: which there are, how they are doing, what they want known, injected resources.

Names and numbers are escaped and bounded; servers' own words arrive framed.
"""

from collections.abc import Sequence
from html import escape

from openclaw.mcp.server.server import Supervisor
from openclaw.mcp.status import ServerStatus
from openclaw.mcp.wording import changed_tools, trust_command
from openclaw.security.external import clean_label

# More servers than anybody can keep in mind, a model included.
MAX_SERVERS = 100
MAX_NAME = 64


def context_of(servers: Sequence[ServerStatus], supervisors: Sequence[Supervisor]) -> str:
    """Empty when there are no servers."""
    if not servers:
        return ""
    lines = ["<available-mcp-servers>", *(_line(server) for server in servers[:MAX_SERVERS])]
    if len(servers) > MAX_SERVERS:
        lines.append(f"  <!-- {len(servers) - MAX_SERVERS} more -->")
    parts = ["\n".join([*lines, "</available-mcp-servers>"])]
    parts += [held for server in servers[:MAX_SERVERS] if (held := _held_back(server))]
    for supervisor in supervisors:
        parts += [part for part in (supervisor.instructions.text, supervisor.injection.text) if part]
    return "\n\n".join(parts)


def _held_back(server: ServerStatus) -> str:
    """Which tools the model knows of from before and cannot have, and what the user can do about it."""
    held = [change for change in server.changes if change.held]
    if not held:
        return ""
    said = f"MCP server {clean_label(server.name, MAX_NAME)}: {changed_tools(held, server.upgrade)}."
    return f"{said} The user sees and accepts the change with: {trust_command(server.name, server.owner)}"


def _line(server: ServerStatus) -> str:
    name = escape(clean_label(server.name, MAX_NAME), quote=True)
    note = f' note="{escape(server.note, quote=True)}"' if server.note else ""
    return f'  <server name="{name}" tools="{server.tools}" status="{server.word}"{note}/>'
