"""What a tool looked like when it was first seen, against what its server says now. Pure.

A server may change its tools after they were trusted. The model keeps the definition first seen (the pin): a change of text is
invisible to it, and a tool is held back only when a call valid under the pin may no longer be valid (drift.py). A default may differ
at every start (a path, a date): that alone is no change, and the model keeps the first one. `mcp trust` replaces the pins by what it
showed. cache.py stores them; catalog.py looks when a list came.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from openclaw.content import to_json, to_sorted_json
from openclaw.mcp.tools.definition import NO_ARGUMENTS, NOTHING, Definition, schema_of
from openclaw.mcp.tools.drift import still_admits
from openclaw.plain_schema import NAMED_SCHEMAS

# Enough to see what changed; whoever wants the rest asks the server.
MAX_DIFF_LINES = 80
# difflib is slow on long inputs: of a longer definition only the first lines are compared.
MAX_COMPARED_LINES = 400
# Hexadecimal digits of a digest. Whoever writes both forms may search for two with one digest: 160 bits make that hopeless.
_DIGEST = 40
# Keywords of a schema whose values are no schemas.
_VALUES = frozenset({"enum", "const", "examples"})


class Pin(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The parts of a definition that reach a model or a policy, as they came. Pins of before titles were pinned have none."""

    description: str = ""
    input_schema: Raw = NO_ARGUMENTS
    annotations: Raw = NOTHING
    title: str | UnsetType = UNSET


class Change(msgspec.Struct, frozen=True):
    """A tool that differs from its pin. `digest` names the new form to the letter: who saw it accepts that one and no other.

    `form` leaves out what may differ at every start, so that the change is announced once.
    """

    tool: str
    held: bool
    diff: str
    digest: str
    form: str = ""


class Upgrade(msgspec.Struct, frozen=True):
    """The server calls itself by another version than when its tools were pinned."""

    before: str
    now: str


class Verdict(msgspec.Struct, frozen=True):
    """`offered` is what the model sees, `added` the pins to store beside those there are."""

    offered: tuple[Definition, ...]
    changes: tuple[Change, ...]
    added: Mapping[str, Pin]


def pin_of(definition: Definition) -> Pin:
    details = definition.details()
    return Pin(details.description or "", schema_of(details), details.annotations, details.title or "")


def weigh(definitions: Sequence[Definition], pins: Mapping[str, Pin]) -> Verdict:
    """Hold every definition against its pin. One seen for the first time is trusted as it is."""
    offered: list[Definition] = []
    changes: list[Change] = []
    added: dict[str, Pin] = {}
    for definition in definitions:
        live, pin = pin_of(definition), pins.get(definition.name)
        if pin is None:
            added[definition.name] = live
        elif pin.title is UNSET:
            pin = added[definition.name] = msgspec.structs.replace(pin, title=live.title)
        if pin is None or pin == live:
            offered.append(definition)
            continue
        form = _digest(_steady(live))
        # The same content in another order or spacing is no change.
        if form == _digest(_steady(pin)):
            offered.append(_dressed(definition, pin))
            continue
        held = not still_admits(_decoded(pin.input_schema), _decoded(live.input_schema))
        changes.append(Change(definition.name, held, _diff(pin, live), digest(live), form))
        if not held:
            offered.append(_dressed(definition, pin))
    return Verdict(tuple(offered), tuple(changes), added)


def digest(pin: Pin) -> str:
    return _digest(_plain(pin))


def digest_of(changes: Sequence[Change]) -> str:
    """The name of everything that was shown together; empty when nothing changed."""
    return _digest(sorted((change.tool, change.digest) for change in changes)) if changes else ""


def _digest(value: Any) -> str:
    return hashlib.sha256(to_sorted_json(value)).hexdigest()[:_DIGEST]


def _steady(pin: Pin) -> dict[str, Any]:
    """A definition without what may differ at every start."""
    return {**_plain(pin), "inputSchema": _without_defaults(_decoded(pin.input_schema))}


def _without_defaults(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_defaults(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key in NAMED_SCHEMAS and isinstance(value, dict):
            kept[key] = {name: _without_defaults(one) for name, one in value.items()}
        elif key != "default":
            kept[key] = value if key in _VALUES else _without_defaults(value)
    return kept


def _dressed(definition: Definition, pin: Pin) -> Definition:
    """The live definition with the pinned parts in place: what the model keeps seeing."""
    parts = msgspec.json.decode(definition.raw, type=dict[str, Raw])
    parts |= {
        "title": Raw(to_json(pin.title or None)),
        "description": Raw(to_json(pin.description)),
        "inputSchema": pin.input_schema,
        "annotations": pin.annotations,
    }
    return Definition(definition.name, Raw(to_json(parts)))


def _decoded(raw: Raw) -> Any:
    return msgspec.json.decode(raw)


def _plain(pin: Pin) -> dict[str, Any]:
    return {
        **({"title": pin.title} if pin.title else {}),
        "description": pin.description,
        "inputSchema": _decoded(pin.input_schema),
        "annotations": _decoded(pin.annotations),
    }


def _lines(pin: Pin) -> list[str]:
    # ASCII only: what a server hides in its text (escape codes, bidi controls) is shown, not obeyed.
    return json.dumps(_plain(pin), indent=2, sort_keys=True, ensure_ascii=True).splitlines()[:MAX_COMPARED_LINES]


def _diff(pin: Pin, live: Pin) -> str:
    from difflib import unified_diff

    lines = list(unified_diff(_lines(pin), _lines(live), "first seen", "now", lineterm="", n=1))
    if len(lines) > MAX_DIFF_LINES:
        lines = [*lines[:MAX_DIFF_LINES], f"… {len(lines) - MAX_DIFF_LINES} more lines"]
    return "\n".join(lines)
