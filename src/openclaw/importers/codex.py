"""Codex (`config.toml`): `[mcp_servers.NAME]`."""

from collections.abc import Mapping
from typing import Any

from openclaw.importers.fields import Fields
from openclaw.importers.reading import Origin, Reading, Unusable
from openclaw.importers.references import NONE, variable_of_word
from openclaw.importers.servers import (
    APPROVALS,
    Value,
    filtered,
    oauth_client,
    process,
    read_servers,
    remote,
    switched,
    with_bearer,
)

_KEY = "mcp_servers"


def read_codex(data: Mapping[str, Any], origin: Origin) -> Reading:
    return read_servers(data.get(_KEY), _entry, NONE, origin, _KEY)


def _entry(fields: Fields, origin: Origin) -> Value:
    value = _process(fields, origin) if fields.has("command") else _remote(fields)
    for name, unit, ours in (
        ("startup_timeout_sec", 1000, "connectionTimeoutMs"),
        ("startup_timeout_ms", 1, "connectionTimeoutMs"),
        ("tool_timeout_sec", 1000, "requestTimeoutMs"),
    ):
        if (time := fields.milliseconds(name, unit)) is not None:
            value.setdefault(ours, time)
    filtered(fields, value, "enabled_tools", "disabled_tools")
    if fields.word("default_tools_approval_mode") == "prompt":
        value["approval"] = "ask"
    elif fields.has("default_tools_approval_mode"):
        fields.without("default_tools_approval_mode", APPROVALS)
    fields.without("tools", APPROVALS)
    if (parallel := fields.flag("supports_parallel_tool_calls")) is not None:
        value["supportsParallelToolCalls"] = parallel
    fields.without("required", "no server is required here: an agent goes on without it")
    return switched(fields, value)


def _process(fields: Fields, origin: Origin) -> Value:
    value = process(fields, origin)
    listed = fields.raw("env_vars") or []
    if not isinstance(listed, list):
        raise Unusable("its env_vars is not a list")
    if passed := [_variable_name(one) for one in listed]:
        value["env"] = {**{name: variable_of_word(name) for name in passed}, **value.get("env", {})}
    fields.without("url", "its command is what is started")
    return value


def _variable_name(one: Any) -> str:
    name = one.get("name") if isinstance(one, dict) else one
    if not isinstance(name, str):
        raise Unusable("an item of its env_vars names no variable")
    return name


def _remote(fields: Fields) -> Value:
    value = remote(fields.text("url"), fields, transport="streamable-http", headers="http_headers")
    headers: dict[str, str] = value.get("headers", {})
    headers |= {header: variable_of_word(name) for header, name in fields.pairs("env_http_headers").items()}
    if name := fields.word("bearer_token_env_var"):
        headers = with_bearer(fields, headers, "bearer_token_env_var", variable_of_word(name))
    if headers:
        value["headers"] = headers
    scopes = fields.raw("scopes")
    oauth = fields.part("oauth")
    oauth_client(oauth, value, {"client_id": "clientId"})
    if oauth is not None:
        fields.note(*oauth.rest("oauth."))
    if isinstance(scopes, list) and scopes and all(isinstance(scope, str) for scope in scopes):
        value.setdefault("auth", {})["scopes"] = [fields.translated(scope) for scope in scopes]
    fields.without("oauth_resource", "the address of the server is what a sign-in is for")
    for name in ("bearer_token", "headers"):
        fields.without(name, "Codex itself takes no notice of it")
    return value
