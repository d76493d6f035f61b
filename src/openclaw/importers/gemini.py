"""Gemini CLI (`settings.json`): `httpUrl` is Streamable HTTP there and `url` is HTTP+SSE, so the transport is written down."""

from collections.abc import Mapping
from typing import Any

import msgspec

from openclaw.importers.fields import Fields
from openclaw.importers.reading import Entry, Origin, Reading
from openclaw.importers.references import GEMINI
from openclaw.importers.servers import (
    APPROVALS,
    Value,
    filtered,
    oauth_client,
    process,
    read_servers,
    remote,
    switched,
    transport,
)

_KEY = "mcpServers"
_OAUTH = {"clientId": "clientId", "clientSecret": "clientSecret", "scopes": "scopes", "redirectUri": "redirectUrl"}
# What it does by itself, as we do.
_DISCOVERY = "dynamic_discovery"


def read_gemini(data: Mapping[str, Any], origin: Origin) -> Reading:
    reading = read_servers(data.get(_KEY), _entry, GEMINI, origin, _KEY)
    chosen = data.get("mcp")
    if not isinstance(chosen, dict):
        return reading
    if chosen.get("serverCommand"):
        note = "mcp.serverCommand is left out: it starts a server without a name"
        reading = msgspec.structs.replace(reading, notes=(*reading.notes, note))
    allowed, excluded = (_names(chosen.get(key)) for key in ("allowed", "excluded"))
    return msgspec.structs.replace(reading, entries=tuple(_chosen(one, allowed, excluded) for one in reading.entries))


def _names(value: Any) -> list[str] | None:
    return [str(name) for name in value] if isinstance(value, list) else None


def _chosen(entry: Entry, allowed: list[str] | None, excluded: list[str] | None) -> Entry:
    """`mcp.allowed` and `mcp.excluded` switch servers off by name."""
    if entry.name not in (excluded or ()) and (allowed is None or entry.name in allowed):
        return entry
    return msgspec.structs.replace(entry, value={**entry.value, "enabled": False})


def _entry(fields: Fields, origin: Origin) -> Value:
    value = _reached(fields, origin)
    if timeout := fields.milliseconds("timeout"):
        value["requestTimeoutMs"] = timeout
    filtered(fields, value, "includeTools", "excludeTools")
    fields.without("trust", APPROVALS)
    oauth = fields.part("oauth")
    if oauth is not None:
        oauth_client(oauth, value, _OAUTH)
        oauth.raw("enabled")
        for name in ("authorizationUrl", "tokenUrl"):
            oauth.without(name, "the server says itself where to sign in, or auth.authorizationServerUrl does")
        fields.note(*oauth.rest("oauth."))
    if fields.word("authProviderType") not in ("", _DISCOVERY):
        fields.without(
            "authProviderType", "Google's own ways to sign in are not known here; write an apiKey or headers"
        )
    return switched(fields, value)


def _reached(fields: Fields, origin: Origin) -> Value:
    if fields.has("httpUrl"):
        for name in ("url", "command", "type"):
            fields.without(name, "httpUrl counts before it")
        return remote(fields.text("httpUrl"), fields, transport="streamable-http")
    if fields.has("url"):
        fields.without("command", "url counts before it")
        return remote(fields.text("url"), fields, transport=transport(fields.word("type") or "sse"))
    fields.word("type")
    return process(fields, origin)
