"""VS Code (`.vscode/mcp.json`, `mcp.json` of the user's profile): `servers`, and `inputs` that it asks its person for."""

from collections.abc import Mapping
from typing import Any

import msgspec

from openclaw.importers.fields import Fields
from openclaw.importers.reading import Entry, Input, Origin, Reading, Skipped
from openclaw.importers.references import VSCODE
from openclaw.importers.servers import Value, by_type, read_servers, switched
from openclaw.log import one_line

_KEY = "servers"
# A question has to fit on a line.
_DESCRIPTION = 200


def read_vscode(data: Mapping[str, Any], origin: Origin) -> Reading:
    if _KEY not in data and isinstance(data.get("mcp"), dict):
        # In a settings.json of some years ago both stood under `mcp`.
        data = data["mcp"]
    reading = read_servers(data.get(_KEY), _entry, VSCODE, origin, _KEY)
    inputs, refused = _inputs(data.get("inputs"))
    kept: list[Entry] = []
    skipped = list(reading.skipped)
    for entry in reading.entries:
        missing = [name for name in inputs_of(entry.value) if name not in inputs]
        if missing:
            why = refused.get(missing[0], "the file does not describe it")
            skipped.append(Skipped(entry.name, f"it needs ${{input:{one_line(missing[0], 60)}}}, and {why}"))
        else:
            kept.append(entry)
    return msgspec.structs.replace(reading, entries=tuple(kept), skipped=tuple(skipped), inputs=inputs)


def inputs_of(value: Any) -> list[str]:
    """The ids of the inputs that an entry needs."""
    if isinstance(value, str):
        return [
            found["input"]
            for found in VSCODE.finditer(value)
            if found["input"] and not _is_escaped(value, found.start())
        ]
    members = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return list(dict.fromkeys(name for member in members for name in inputs_of(member)))


def _is_escaped(text: str, start: int) -> bool:
    return text[:start].endswith("$")


def _inputs(raw: Any) -> tuple[dict[str, Input], dict[str, str]]:
    """Those that can be asked for, and why others cannot."""
    found: dict[str, Input] = {}
    refused: dict[str, str] = {}
    for one in raw if isinstance(raw, list) else ():
        if not isinstance(one, dict) or not isinstance(one.get("id"), str):
            continue
        name = one["id"]
        if one.get("type") not in ("promptString", "pickString"):
            refused[name] = "a program of VS Code would have to be run for it"
            continue
        options = one.get("options")
        found[name] = Input(
            name,
            one_line(str(one.get("description") or name), _DESCRIPTION),
            one.get("password") is True,
            str(one.get("default") or ""),
            tuple(map(_option, options)) if isinstance(options, list) else (),
        )
    return found, refused


def _option(option: Any) -> str:
    return str(option.get("value", "")) if isinstance(option, dict) else str(option)


def _entry(fields: Fields, origin: Origin) -> Value:
    value = by_type(fields, origin)
    fields.without("dev", "it is for developing the server in VS Code")
    for name in ("sandbox", "sandboxEnabled"):
        fields.without(name, "programs are not put into a sandbox here")
    return switched(fields, value)
