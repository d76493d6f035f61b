"""How each MCP client is told about this server: the text to put into its config file, and where that file is.

Pure. `openclaw mcp-server --print-config CLIENT` prints it with the absolute command of this installation.
"""

import json
from collections.abc import Mapping, Sequence

from openclaw.errors import UsageError
from openclaw.typed_words import join_words

# Seconds a client should wait for an order: an agent may work for ten minutes. Most clients ask for progress and wait on.
ORDER_SECONDS = 600

# The client, and where its config is.
CLIENTS = {
    "claude-code": "`.mcp.json` in a project; or run: claude mcp add ENVIRONMENTopenclaw -- COMMAND ARGUMENTS",
    "claude-desktop": "claude_desktop_config.json (Settings → Developer → Edit Config)",
    "cursor": "~/.cursor/mcp.json, or .cursor/mcp.json in a project",
    "vscode": ".vscode/mcp.json in a project, or `MCP: Open User Configuration`",
    "codex": "~/.codex/config.toml",
    "gemini-cli": "~/.gemini/settings.json, or .gemini/settings.json in a project",
    "opencode": "~/.config/opencode/opencode.json, or opencode.json in a project",
    "cline": "cline_mcp_settings.json (MCP Servers → Configure MCP Servers); for its command line in ~/.cline/data/settings",
    "continue": ".continue/mcpServers/openclaw.yaml in a project",
    "windsurf": "~/.codeium/windsurf/mcp_config.json",
    "zed": "~/.config/zed/settings.json (zed: open settings file), or .zed/settings.json in a project",
}


def config_text(client: str, command: str, arguments: Sequence[str], env: Mapping[str, str]) -> str:
    """What to write into the client's config. `env` is what the client's own environment may lack. Raises UsageError for a client that is
    not known."""
    if client not in CLIENTS:
        raise UsageError(f"--print-config: there is no client {client!r}.", hint=f"Known: {', '.join(CLIENTS)}.")
    if client == "codex":
        return _toml(command, arguments, env)
    if client == "continue":
        return _yaml(command, arguments, env)
    if client == "opencode":
        return _json({"mcp": {"openclaw": _opencode_entry(command, arguments, env)}})
    entry: dict[str, object] = {"command": command, "args": list(arguments)}
    if env:
        entry["env"] = dict(env)
    if client == "vscode":
        return _json({"servers": {"openclaw": {"type": "stdio", **entry}}})
    if client == "zed":
        return _json({"context_servers": {"openclaw": {**entry, "timeout": ORDER_SECONDS}}})
    if client == "cline":
        entry["timeout"] = ORDER_SECONDS
    if client == "gemini-cli":
        entry["timeout"] = ORDER_SECONDS * 1000
    return _json({"mcpServers": {"openclaw": entry}})


def place_text(client: str, command: str, arguments: Sequence[str], env: Mapping[str, str]) -> str:
    """Where that belongs."""
    settings = [word for name, value in env.items() for word in ("--env", f"{name}={value}")]
    # `--env` takes as many words as follow it: another option ends them.
    options = [*settings, "--transport", "stdio"] if settings else []
    place = CLIENTS[client].replace("COMMAND ARGUMENTS", join_words([command, *arguments]))
    return place.replace("ENVIRONMENT", f"{join_words(options)} " if options else "")


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _opencode_entry(command: str, arguments: Sequence[str], env: Mapping[str, str]) -> dict[str, object]:
    entry: dict[str, object] = {"type": "local", "command": [command, *arguments], "enabled": True}
    if env:
        entry["environment"] = dict(env)
    return {**entry, "timeout": ORDER_SECONDS * 1000}


def _yaml(command: str, arguments: Sequence[str], env: Mapping[str, str]) -> str:
    lines = [
        "name: openclaw",
        "version: 0.0.1",
        "schema: v1",
        "mcpServers:",
        "  - name: openclaw",
        f"    command: {_string(command)}",
        "    args:",
        *(f"      - {_string(word)}" for word in arguments),
        # Continue waits as long for an answer as for the start.
        f"    connectionTimeout: {ORDER_SECONDS * 1000}",
    ]
    settings = [f"      {name}: {_string(value)}" for name, value in env.items()]
    return "\n".join([*lines, "    env:", *settings] if settings else lines)


def _toml(command: str, arguments: Sequence[str], env: Mapping[str, str]) -> str:
    lines = [
        "[mcp_servers.openclaw]",
        f"command = {_string(command)}",
        f"args = [{', '.join(_string(word) for word in arguments)}]",
        f"tool_timeout_sec = {ORDER_SECONDS}",
    ]
    settings = [f"{name} = {_string(value)}" for name, value in env.items()]
    return "\n".join([*lines, "", "[mcp_servers.openclaw.env]", *settings] if settings else lines)


def _string(text: str) -> str:
    # A basic string of TOML, and a double-quoted one of YAML, is a JSON string, as far as paths and options go.
    return json.dumps(text, ensure_ascii=False)
