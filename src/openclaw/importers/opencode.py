"""opencode (`opencode.json`, `opencode.jsonc`): `mcp`, and in its second version `mcp.servers`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from openclaw.importers.fields import Fields
from openclaw.importers.reading import Origin, Reading, Unusable
from openclaw.importers.references import OPENCODE
from openclaw.importers.servers import Value, oauth_client, process, read_servers, remote, switched

_OAUTH = {"clientId": "clientId", "clientSecret": "clientSecret", "scope": "scopes", "redirectUri": "redirectUrl"}


def read_opencode(data: Mapping[str, Any], origin: Origin) -> Reading:
    servers, key = data.get("mcp"), "mcp"
    if isinstance(servers, dict) and isinstance(inner := servers.get("servers"), dict) and "type" not in inner:
        servers, key = inner, "mcp.servers"
    reading = read_servers(servers, _entry, OPENCODE, origin, key)
    tools = data.get("tools")
    if not isinstance(tools, dict) or not reading.entries:
        return reading
    note = "tools is left out: which tools an agent has is said by tools.allow and tools.deny here"
    return msgspec.structs.replace(reading, notes=(*reading.notes, note))


def _entry(fields: Fields, origin: Origin) -> Value:
    kind = fields.word("type")
    if not kind and not fields.has("command") and not fields.has("url"):
        raise Unusable("it only switches a server of another file on or off")
    value = _local(fields, origin) if kind == "local" or (not kind and fields.has("command")) else _remote(fields, kind)
    if timeout := fields.milliseconds("timeout"):
        value["connectionTimeoutMs"] = timeout
    return switched(fields, value)


def _local(fields: Fields, origin: Origin) -> Value:
    if isinstance(fields.raw("command"), str):
        return process(fields, origin, env="environment")
    words = fields.texts("command")
    if not words:
        raise Unusable("its command is empty")
    return process(fields, origin, command=words[0], args=words[1:], env="environment")


def _remote(fields: Fields, kind: str) -> Value:
    if kind not in ("remote", ""):
        raise Unusable("its type is neither local nor remote")
    value = remote(fields.text("url"), fields)
    if fields.raw("oauth") is False:
        value["auth"] = "none"
        return value
    oauth = fields.part("oauth")
    oauth_client(oauth, value, _OAUTH)
    if oauth is not None:
        fields.note(*oauth.rest("oauth."))
    return value
