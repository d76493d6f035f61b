"""Claude Desktop (`claude_desktop_config.json`), Claude Code (`~/.claude.json`, `.mcp.json`, managed files), and the Copilot CLI, which
reads the same format."""

from collections.abc import Mapping
from typing import Any

import msgspec

from openclaw.importers.fields import Fields
from openclaw.importers.reading import Entry, Origin, Reading
from openclaw.importers.references import BRACES, NONE
from openclaw.importers.servers import (
    APPROVALS,
    Value,
    by_type,
    filtered,
    joined,
    oauth_client,
    read_servers,
    switched,
)
from openclaw.log import one_line

_KEY = "mcpServers"
# Claude Code listens there for the end of a sign-in.
_CALLBACK = "http://localhost:{}/callback"
# Characters of a list of names that is shown.
_NAMES = 300


def read_desktop(data: Mapping[str, Any], origin: Origin) -> Reading:
    return read_servers(data.get(_KEY), _desktop, NONE, origin, _KEY)


def _desktop(fields: Fields, origin: Origin) -> Value:
    return switched(fields, by_type(fields, origin))


def read_code(data: Mapping[str, Any], origin: Origin) -> Reading:
    """The person's servers, and those they have in this project alone, which count first."""
    here = _projects(data).get(origin.project, {})
    local = _of_project(here, origin)
    # A file with projects in it is a person's, wherever it stands.
    everywhere = msgspec.structs.replace(origin, project="") if "projects" in data else origin
    own = read_servers(data.get(_KEY), _code, BRACES, everywhere, _KEY)
    elsewhere = [path for path, one in _projects(data).items() if path != origin.project and one.get(_KEY)]
    notes = []
    if elsewhere:
        notes.append(f"servers of other projects stay where they are: run this in {', '.join(sorted(elsewhere)[:5])}")
    if refused := _names(here, "disabledMcpjsonServers"):
        notes.append(f"of this project's .mcp.json, not used in Claude Code: {one_line(', '.join(refused), _NAMES)}")
    found = joined(local, own, Reading(notes=tuple(notes)))
    off = _names(here, "disabledMcpServers")
    return msgspec.structs.replace(found, entries=tuple(_off(one) if one.name in off else one for one in found.entries))


def _names(part: Mapping[str, Any], key: str) -> list[str]:
    value = part.get(key)
    return [str(name) for name in value] if isinstance(value, list) else []


def _off(entry: Entry) -> Entry:
    """A server that its person switched off in the project one works in."""
    return msgspec.structs.replace(entry, value={**entry.value, "enabled": False})


def _projects(data: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    projects = data.get("projects")
    if not isinstance(projects, dict):
        return {}
    return {path: one for path, one in projects.items() if isinstance(one, dict)}


def _of_project(one: Mapping[str, Any], origin: Origin) -> Reading:
    return read_servers(one.get(_KEY), _code, BRACES, origin, f"projects[{origin.project!r}].{_KEY}")


def _code(fields: Fields, origin: Origin) -> Value:
    value = by_type(fields, origin)
    fields.without("headersHelper", "a program that makes headers is not run here; write them under headers")
    oauth = fields.part("oauth")
    if oauth is not None:
        oauth_client(oauth, value, {"clientId": "clientId", "scopes": "scopes"})
        port = oauth.raw("callbackPort")
        if isinstance(port, int) and not isinstance(port, bool):
            value.setdefault("auth", {})["redirectUrl"] = _CALLBACK.format(port)
        oauth.without(
            "authServerMetadataUrl", "the server says itself where to sign in, or auth.authorizationServerUrl does"
        )
        fields.note(*oauth.rest("oauth."))
    fields.without("alwaysAllow", APPROVALS)
    timeout = fields.milliseconds("timeout")
    if timeout:
        value["requestTimeoutMs"] = timeout
    return switched(fields, value)


def read_copilot(data: Mapping[str, Any], origin: Origin) -> Reading:
    return read_servers(data.get(_KEY), _copilot, BRACES, origin, _KEY)


def _copilot(fields: Fields, origin: Origin) -> Value:
    value = filtered(fields, by_type(fields, origin), "tools", "disabledTools")
    if timeout := fields.milliseconds("timeout"):
        value["requestTimeoutMs"] = timeout
    return switched(fields, value)
