"""How each MCP client is told about this server: the text to put into its config file, and where that file is.

Pure. `openclaw mcp-server --print-config CLIENT` prints it with the absolute command of this installation.
"""

import json
from collections.abc import Sequence

from openclaw.errors import UsageError

# Seconds a client should wait for an order: an agent may work for ten minutes. Most clients ask for progress and wait on.
ORDER_SECONDS = 600

# The client, and where its config is.
CLIENTS = {
    "claude-code": "`.mcp.json` in a project; or run: claude mcp add openclaw -- COMMAND ARGUMENTS",
    "claude-desktop": "claude_desktop_config.json (Settings → Developer → Edit Config)",
    "cursor": "~/.cursor/mcp.json, or .cursor/mcp.json in a project",
    "vscode": ".vscode/mcp.json in a project, or `MCP: Open User Configuration`",
    "codex": "~/.codex/config.toml",
}


def config_text(client: str, command: str, arguments: Sequence[str]) -> str:
    """What to write into the client's config. Raises UsageError for a client that is not known."""
    if client not in CLIENTS:
        raise UsageError(f"--print-config: there is no client {client!r}.", hint=f"Known: {', '.join(CLIENTS)}.")
    if client == "codex":
        return _toml(command, arguments)
    entry: dict[str, object] = {"command": command, "args": list(arguments)}
    if client == "vscode":
        return _json({"servers": {"openclaw": {"type": "stdio", **entry}}})
    return _json({"mcpServers": {"openclaw": entry}})


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _toml(command: str, arguments: Sequence[str]) -> str:
    # A basic string of TOML is a JSON string, as far as paths and options go.
    words = ", ".join(json.dumps(word, ensure_ascii=False) for word in arguments)
    return "\n".join(
        [
            "[mcp_servers.openclaw]",
            f"command = {json.dumps(command, ensure_ascii=False)}",
            f"args = [{words}]",
            f"tool_timeout_sec = {ORDER_SECONDS}",
        ]
    )
