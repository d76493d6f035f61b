"""Windsurf (`~/.codeium/windsurf/mcp_config.json`). Older versions took `serverUrl` alone, so it counts before `url`."""

from collections.abc import Mapping
from typing import Any

from openclaw.importers.fields import Fields
from openclaw.importers.reading import Origin, Reading
from openclaw.importers.references import WINDSURF
from openclaw.importers.servers import APPROVALS, Value, by_type, filtered, read_servers, switched

_KEY = "mcpServers"


def read_windsurf(data: Mapping[str, Any], origin: Origin) -> Reading:
    return read_servers(data.get(_KEY), _entry, WINDSURF, origin, _KEY)


def _entry(fields: Fields, origin: Origin) -> Value:
    url = "serverUrl" if fields.has("serverUrl") else "url"
    value = by_type(fields, origin, url=url)
    if url == "serverUrl":
        fields.without("url", "serverUrl counts before it")
    for name in ("alwaysAllow", "autoApprove"):
        fields.without(name, APPROVALS)
    return switched(fields, filtered(fields, value, "enabledTools", "disabledTools"))
