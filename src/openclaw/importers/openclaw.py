"""Another OpenClaw's file (`~/.openclaw/openclaw.json`): `mcp.servers` in the words that we read too, so that an entry stays as it is."""

from collections.abc import Mapping
from typing import Any

import msgspec

from openclaw.config.entry import ServerEntry
from openclaw.importers.fields import Fields
from openclaw.importers.reading import Origin, Reading, Unusable
from openclaw.importers.references import OURS
from openclaw.importers.servers import APPROVALS, Value, anchored, read_servers

_KEY = "mcp.servers"
# Relative to the file they stand in.
_PATHS = ("cwd", "workingDirectory", "caCert", "clientCert", "client_cert", "clientKey", "client_key")
# What would let a server of a file that came from anywhere be called without a question.
_TRUSTING = {"approval": "allow", "annotations": "trusted"}
# What believes a server more than is usual: taken, as the file is written in our words, and told.
_RELAXING = {"trust": "follow", "sslVerify": False, "ssl_verify": False, "allowPrivate": True, "allowSecretForms": True}
_KNOWN = tuple(field.encode_name for field in msgspec.structs.fields(ServerEntry))


def read_openclaw(data: Mapping[str, Any], origin: Origin) -> Reading:
    mcp = data.get("mcp")
    return read_servers(mcp.get("servers") if isinstance(mcp, dict) else None, _entry, OURS, origin, _KEY)


def _entry(fields: Fields, origin: Origin) -> Value:
    value = {name: raw for name in _KNOWN if (raw := fields.raw(name)) is not None}
    for name, word in _TRUSTING.items():
        if value.get(name) == word:
            del value[name]
            fields.note(f"{name} is left out: {APPROVALS}")
    relaxed = [name for name, word in _RELAXING.items() if name in value and value[name] == word]
    if relaxed := [*relaxed, *(name for name in ("allowEnv", "sampling") if value.get(name))]:
        fields.note(f"taken as it is there: {', '.join(relaxed)}")
    if not any(name in value for name in ("command", "url", "httpUrl", "serverUrl", "baseUrl")):
        raise Unusable("it only switches a server of another section on or off")
    return value | {name: anchored(path, origin) for name in _PATHS if isinstance(path := value.get(name), str)}
