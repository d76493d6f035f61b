"""Cursor (`~/.cursor/mcp.json`, `.cursor/mcp.json`), and LM Studio (`~/.lmstudio/mcp.json`) with its format but without references."""

from collections.abc import Mapping
from typing import Any

from openclaw.importers.fields import Fields
from openclaw.importers.reading import Origin, Reading
from openclaw.importers.references import CURSOR, NONE
from openclaw.importers.servers import APPROVALS, Value, by_type, oauth_client, read_servers, switched

_KEY = "mcpServers"


def read_cursor(data: Mapping[str, Any], origin: Origin) -> Reading:
    return read_servers(data.get(_KEY), _cursor, CURSOR, origin, _KEY)


def _cursor(fields: Fields, origin: Origin) -> Value:
    value = by_type(fields, origin)
    auth = fields.part("auth")
    if auth is not None:
        oauth_client(auth, value, {"CLIENT_ID": "clientId", "CLIENT_SECRET": "clientSecret", "scopes": "scopes"})
        fields.note(*auth.rest("auth."))
    for name in ("alwaysAllow", "autoApprove"):
        fields.without(name, APPROVALS)
    return switched(fields, value)


def read_lm_studio(data: Mapping[str, Any], origin: Origin) -> Reading:
    return read_servers(data.get(_KEY), _lm_studio, NONE, origin, _KEY)


def _lm_studio(fields: Fields, origin: Origin) -> Value:
    value = by_type(fields, origin)
    if timeout := fields.milliseconds("timeout"):
        value["requestTimeoutMs"] = timeout
    return switched(fields, value)
