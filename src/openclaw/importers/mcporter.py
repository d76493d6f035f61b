"""mcporter (`config/mcporter.json`, `~/.mcporter/mcporter.json`). Its own `imports` are other programs, each of which has a reader here."""

import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from openclaw.importers.fields import Fields
from openclaw.importers.reading import Origin, Reading, Unusable
from openclaw.importers.references import MCPORTER, variable_of_word
from openclaw.importers.servers import Value, filtered, process, read_servers, remote, switched, with_bearer
from openclaw.log import one_line

_KEY = "mcpServers"
_ADDRESSES = ("baseUrl", "base_url", "url", "serverUrl", "server_url")
_OAUTH = {"oauthClientId": "clientId", "oauthClientSecret": "clientSecret", "oauthRedirectUrl": "redirectUrl"}


def read_mcporter(data: Mapping[str, Any], origin: Origin) -> Reading:
    reading = read_servers(data.get(_KEY), _entry, MCPORTER, origin, _KEY)
    imports = data.get("imports")
    if not isinstance(imports, list) or not imports:
        return reading
    names = ", ".join(one_line(str(name), 40) for name in imports[:20])
    note = f"its imports ({names}) are not followed: import those programs themselves"
    return msgspec.structs.replace(reading, notes=(*reading.notes, note))


def _entry(fields: Fields, origin: Origin) -> Value:
    address = next((name for name in _ADDRESSES if fields.has(name)), "")
    value = _remote(fields, address) if address else _process(fields, origin)
    filtered(fields, value, "allowedTools", "blockedTools")
    for name in ("lifecycle", "logging"):
        fields.without(name, "a gateway keeps servers up, and its log has what they do")
    for name in ("tokenCacheDir", "clientName"):
        fields.without(name, "sign-ins are kept in one place here; sign in again with openclaw mcp auth")
    return switched(fields, value)


def _process(fields: Fields, origin: Origin) -> Value:
    raw = fields.raw("command")
    if isinstance(raw, list):
        words = fields.texts("command")
        if not words:
            raise Unusable("its command is empty")
        return process(fields, origin, command=words[0], args=[*words[1:], *fields.texts("args")])
    if isinstance(raw, str) and " " in raw.strip() and not fields.has("args"):
        try:
            words = [fields.translated(word) for word in shlex.split(raw)]
        except ValueError:
            raise Unusable("a quote in its command is not closed") from None
        return process(fields, origin, command=words[0], args=words[1:])
    return process(fields, origin)


def _remote(fields: Fields, address: str) -> Value:
    value = remote(fields.text(address), fields)
    headers: dict[str, str] = value.get("headers", {})
    if token := fields.text("bearerToken"):
        headers = with_bearer(fields, headers, "bearerToken", token)
    if name := fields.word("bearerTokenEnv"):
        headers = with_bearer(fields, headers, "bearerTokenEnv", variable_of_word(name))
    if headers:
        value["headers"] = headers
    auth: Value = {ours: text for theirs, ours in _OAUTH.items() if (text := fields.text(theirs))}
    if name := fields.word("oauthClientSecretEnv"):
        auth["clientSecret"] = variable_of_word(name)
    if scope := fields.text("oauthScope"):
        auth["scopes"] = scope.split()
    if fields.word("auth") == "oauth" or auth:
        value["auth"] = auth or "oauth"
    return value
