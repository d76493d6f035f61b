"""What a tool looked like when it was first seen, against what its server says now. Pure.

A server may change its tools after they were trusted. The model keeps the definition first seen (the pin): a change of text is
invisible to it, and a tool is held back only when a call valid under the pin may no longer be valid (drift.py). `/mcp trust`
replaces the pins. cache.py stores them; supervisor.py decides when to look.
"""

import difflib
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from openclaw.content import to_json, to_sorted_json
from openclaw.mcp.definition import NO_ARGUMENTS, NOTHING, Definition, schema_of
from openclaw.mcp.drift import still_admits

# Enough to see what changed; whoever wants the rest asks the server.
MAX_DIFF_LINES = 80
# difflib is slow on long inputs: of a longer definition only the first lines are compared.
MAX_COMPARED_LINES = 400


class Pin(msgspec.Struct, frozen=True, rename="camel"):
    """The parts of a definition that reach a model or a policy, as they came."""

    description: str = ""
    input_schema: Raw = NO_ARGUMENTS
    annotations: Raw = NOTHING


class Change(msgspec.Struct, frozen=True):
    """A tool that differs from its pin. `digest` names the new form, so that it is announced once."""

    tool: str
    held: bool
    diff: str
    digest: str


class Verdict(msgspec.Struct, frozen=True):
    """`offered` is what the model sees, `added` the pins to store beside those there are."""

    offered: tuple[Definition, ...]
    changes: tuple[Change, ...]
    added: Mapping[str, Pin]


def pin_of(definition: Definition) -> Pin:
    details = definition.details()
    return Pin(details.description or "", schema_of(details), details.annotations)


def weigh(definitions: Sequence[Definition], pins: Mapping[str, Pin]) -> Verdict:
    """Hold every definition against its pin. One seen for the first time is trusted as it is."""
    offered: list[Definition] = []
    changes: list[Change] = []
    added: dict[str, Pin] = {}
    for definition in definitions:
        live, pin = pin_of(definition), pins.get(definition.name)
        if pin is None:
            added[definition.name] = live
        if pin is None or _same(pin, live):
            offered.append(definition)
            continue
        held = not still_admits(_decoded(pin.input_schema), _decoded(live.input_schema))
        changes.append(Change(definition.name, held, _diff(pin, live), digest(live)))
        if not held:
            offered.append(_dressed(definition, pin))
    return Verdict(tuple(offered), tuple(changes), added)


def digest(pin: Pin) -> str:
    return hashlib.sha256(_canonical(pin)).hexdigest()[:16]


def _same(pin: Pin, live: Pin) -> bool:
    if pin.description != live.description:
        return False
    if bytes(pin.input_schema) == bytes(live.input_schema) and bytes(pin.annotations) == bytes(live.annotations):
        return True
    # The same content in another order or spacing is no change.
    return _canonical(pin) == _canonical(live)


def _dressed(definition: Definition, pin: Pin) -> Definition:
    """The live definition with the pinned parts in place: what the model keeps seeing."""
    parts = msgspec.json.decode(definition.raw, type=dict[str, Raw])
    parts |= {
        "description": Raw(to_json(pin.description)),
        "inputSchema": pin.input_schema,
        "annotations": pin.annotations,
    }
    return Definition(definition.name, Raw(to_json(parts)))


def _decoded(raw: Raw) -> Any:
    return msgspec.json.decode(raw)


def _plain(pin: Pin) -> dict[str, Any]:
    return {
        "description": pin.description,
        "inputSchema": _decoded(pin.input_schema),
        "annotations": _decoded(pin.annotations),
    }


def _canonical(pin: Pin) -> bytes:
    return to_sorted_json(_plain(pin))


def _lines(pin: Pin) -> list[str]:
    # ASCII only: what a server hides in its text (escape codes, bidi controls) is shown, not obeyed.
    return json.dumps(_plain(pin), indent=2, sort_keys=True, ensure_ascii=True).splitlines()[:MAX_COMPARED_LINES]


def _diff(pin: Pin, live: Pin) -> str:
    lines = list(difflib.unified_diff(_lines(pin), _lines(live), "first seen", "now", lineterm="", n=1))
    if len(lines) > MAX_DIFF_LINES:
        lines = [*lines[:MAX_DIFF_LINES], f"… {len(lines) - MAX_DIFF_LINES} more lines"]
    return "\n".join(lines)
