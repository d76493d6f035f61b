"""Zed (`settings.json`): `context_servers`, whose command was an object once."""

from collections.abc import Mapping
from typing import Any

from openclaw.importers.fields import Fields
from openclaw.importers.reading import Origin, Reading, Unusable
from openclaw.importers.references import NONE
from openclaw.importers.servers import Value, oauth_client, process, read_servers, remote, switched

_KEY = "context_servers"
_OAUTH = {"client_id": "clientId", "client_secret": "clientSecret", "scopes": "scopes"}


def read_zed(data: Mapping[str, Any], origin: Origin) -> Reading:
    return read_servers(data.get(_KEY), _entry, NONE, origin, _KEY)


def _entry(fields: Fields, origin: Origin) -> Value:
    source = fields.word("source")
    if source == "extension" or (not fields.has("command") and not fields.has("url")):
        raise Unusable("an extension of Zed starts it, and the file does not say how")
    fields.without("settings", "they are for an extension of Zed")
    if isinstance(fields.raw("command"), dict):
        return switched(fields, _older(fields, origin))
    if fields.has("command"):
        fields.without("url", "its command is what is started")
        return switched(fields, process(fields, origin))
    value = remote(fields.text("url"), fields)
    oauth = fields.part("oauth")
    if oauth is not None:
        oauth_client(oauth, value, _OAUTH)
        fields.note(*oauth.rest("oauth."))
    return switched(fields, value)


def _older(fields: Fields, origin: Origin) -> Value:
    inner = fields.part("command")
    assert inner is not None
    value = process(inner, origin, command=inner.text("path"))
    fields.note(*inner.rest("command."))
    return value
