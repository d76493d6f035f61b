"""The schema itself, generated from the types: JSON Schema for editors, and every field with its meaning for the reference page.

Owns no rule: `sections.py` and `entry.py` are the source, `check.py` holds a file against them.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

from openclaw.config.check import FOREIGN_SECTIONS, PLUGIN_CONFIG
from openclaw.config.entry import AgentMcp, Part, PluginConfig, ServerEntry
from openclaw.config.include import INCLUDE
from openclaw.config.sections import Root
from openclaw.config.wording import words_for
from openclaw.content import to_json

_DEFINITIONS = "#/$defs/{name}"


class Field(msgspec.Struct, frozen=True):
    """One setting: `path` has `<name>` for keys that people choose and `[]` for list items."""

    path: str
    # What may be written, in words.
    kind: str
    # JSON text; empty when there is no single default.
    default: str
    description: str
    secret: bool = False
    required: bool = False


class Table(msgspec.Struct, frozen=True):
    """The settings of one object, and every place such an object may stand."""

    places: tuple[str, ...]
    description: str
    fields: tuple[Field, ...]


def tables() -> tuple[Table, ...]:
    """Every kind of object of the file once, in the order in which they are met."""
    found: dict[type, tuple[list[str], list[Field]]] = {}
    _collect(inspect.type_info(Root), "", found)
    return tuple(Table(tuple(places), _first(cls), tuple(rows)) for cls, (places, rows) in found.items())


def fields() -> Iterator[Field]:
    """Every setting at every place it may stand."""
    for table in tables():
        for place in table.places:
            for field in table.fields:
                path = f"{place}.{field.path}" if place else field.path
                yield Field(path, field.kind, field.default, field.description, field.secret, field.required)


def json_schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of openclaw.json."""
    (root, plugin), definitions = msgspec.json.schema_components([Root, PluginConfig], ref_template=_DEFINITIONS)
    structs: list[type[Part]] = [Part]
    for cls in structs:
        structs.extend(cls.__subclasses__())
    for cls in structs:
        if cls.__name__ in definitions:
            # Another program's keys and `$include` may stand beside ours.
            properties = definitions[cls.__name__]["properties"]
            properties.update({name: {} for name in sorted(cls.foreign)})
            properties[INCLUDE] = {"type": ["string", "array"], "items": {"type": "string"}}
    for one in definitions.values():
        one.update({"description": _one_line(one["description"])} if "description" in one else {})
    _close_servers(definitions)
    definitions["Root"]["properties"].update({name: {} for name in sorted(FOREIGN_SECTIONS)})
    definitions["EnvSection"]["patternProperties"] = {"^[A-Z_][A-Z0-9_]*$": {"type": "string"}}
    entry = definitions["PluginEntry"]
    engine = {**entry, "properties": {**entry["properties"], PLUGIN_CONFIG[-1]: plugin}}
    definitions["PluginsSection"]["properties"]["entries"]["properties"] = {PLUGIN_CONFIG[2]: engine}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **root, "$defs": definitions}


def _close_servers(definitions: dict[str, Any]) -> None:
    """Only below `mcp.servers` (check.py's OPEN_SERVERS) may a server have keys that are not ours."""
    closed = "ClosedServerEntry"
    definitions[closed] = {**definitions[ServerEntry.__name__], "additionalProperties": False}
    for cls in (AgentMcp, PluginConfig):
        servers = definitions[cls.__name__]["properties"]["servers"]
        servers["additionalProperties"] = {"$ref": _DEFINITIONS.format(name=closed)}


def _collect(kind: inspect.Type, place: str, found: dict[type, tuple[list[str], list[Field]]]) -> None:
    match kind:
        case inspect.Metadata():
            _collect(kind.type, place, found)
        case inspect.UnionType():
            for option in kind.types:
                _collect(option, place, found)
        case inspect.DictType():
            _collect(kind.value_type, f"{place}.<name>", found)
        case inspect.VarTupleType():
            _collect(kind.item_type, f"{place}[]", found)
        case inspect.StructType():
            known = kind.cls in found
            places, rows = found.setdefault(kind.cls, ([], []))
            places.append(place)
            if not known:
                rows.extend(_field(field) for field in kind.fields)
            for field in kind.fields:
                _collect(_type_at(place, field), f"{place}.{field.encode_name}" if place else field.encode_name, found)


def _type_at(place: str, field: inspect.Field) -> inspect.Type:
    """Settings of the bundled plugin are typed, though those of plugins in general are not."""
    if place == "plugins.entries.<name>" and field.encode_name == PLUGIN_CONFIG[-1]:
        return inspect.type_info(PluginConfig)
    return field.type


def _field(field: inspect.Field) -> Field:
    schema: dict[str, Any] = {}
    secret = False
    if isinstance(field.type, inspect.Metadata):
        schema = field.type.extra_json_schema or {}
        secret = bool((field.type.extra or {}).get("secret"))
    has_default = not field.required and field.default is not msgspec.NODEFAULT and field.default is not None
    plain = has_default and not isinstance(field.default, msgspec.Struct)
    return Field(
        path=field.encode_name,
        kind=words_for(field.type),
        default=to_json(field.default).decode() if plain else "",
        description=str(schema.get("description", "")),
        secret=secret,
        required=field.required,
    )


def _first(cls: type) -> str:
    return _one_line(cls.__doc__ or "")


def _one_line(text: str) -> str:
    """How Python keeps a docstring of several lines depends on its version."""
    return " ".join(text.split())
