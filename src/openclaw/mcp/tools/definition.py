"""A tool as its server describes it, kept as the bytes that came; decoded only by who needs a part of it.

Owns what makes a description usable at all: a name, a schema that is one, no duplicates. Everything it refuses is named with a
reason, for `tools explain`. Holding 100,000 of these is cheap: two slots each and a view on the page they came in.
"""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from openclaw.errors import ProtocolError
from openclaw.json_schema import problems_of_schema
from openclaw.protocol.jsonrpc import parse

# The specification's own bound on tool names.
MAX_TOOL_NAME = 128
# What one tool's schema, and all that one server's tools tell a model, may have in bytes: several times what honest servers send.
MAX_SCHEMA = 128 * 1024
MAX_LIST = 4 * 1024 * 1024
# Controls, invisible characters, line and paragraph breaks, halves of characters: nothing a name is made of.
_UNFIT = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
NOTHING = Raw(b"null")
NO_ARGUMENTS = Raw(b'{"type":"object"}')


class Details(msgspec.Struct, frozen=True, rename="camel"):
    """The parts of a description that matter here. An absent part is JSON null."""

    title: str | None = None
    description: str | None = None
    input_schema: Raw = NOTHING
    output_schema: Raw = NOTHING
    annotations: Raw = NOTHING
    execution: Raw = NOTHING
    meta: Raw = msgspec.field(default=NOTHING, name="_meta")


class Definition(msgspec.Struct, frozen=True, gc=False):
    """`name` is the server's own; `raw` the whole description as JSON."""

    name: str
    raw: Raw

    def details(self) -> Details:
        return msgspec.json.decode(self.raw, type=Details)


class RefusedTool(msgspec.Struct, frozen=True):
    """A tool that cannot be offered, and why, as the end of a sentence that starts with its name."""

    name: str
    reason: str


class ToolReading(msgspec.Struct, frozen=True):
    """`repeated` are names of tools that are listed more than once, each time in the same words: they are usable.

    `hidden` are those for the server's own panels alone: a model is never offered them, so that they are among the refusals too.
    """

    definitions: tuple[Definition, ...]
    refusals: tuple[RefusedTool, ...]
    repeated: tuple[str, ...] = ()
    hidden: tuple[Definition, ...] = ()


class _Named(msgspec.Struct):
    name: str


class _Execution(msgspec.Struct, rename="camel"):
    task_support: str = ""


class _Meta(msgspec.Struct):
    ui: Any = None


class _Schema(msgspec.Struct):
    type: Any = None


# Who may call a tool (`_meta.ui.visibility`): a model, and the panels of its server. Both, when it does not say.
_EVERYBODY = frozenset({"model", "app"})
_HIDDEN = "it is for the pages of its server alone, not for a model (_meta.ui.visibility)"


def is_null(raw: Raw) -> bool:
    return raw is NOTHING or bytes(memoryview(raw)[:4]) in (b"null", b"")


def name_of(raw: Raw) -> str:
    """The name in a description that is known to have one."""
    return msgspec.json.decode(raw, type=_Named).name


def schema_of(details: Details) -> Raw:
    """The input schema; a tool that gives none takes no arguments."""
    return NO_ARGUMENTS if is_null(details.input_schema) else details.input_schema


def schema_value(details: Details) -> Any:
    """The input schema as Python has it."""
    return msgspec.json.decode(schema_of(details))


def read_definitions(items: Sequence[Raw], known: Mapping[str, Definition] | None = None) -> ToolReading:
    """Sort what a server listed into usable tools and refusals. Of two different tools with one name neither is usable.

    A description that is byte for byte one of `known` is that one again, without being checked a second time.
    """
    known = known or {}
    definitions: list[Definition] = []
    refusals: list[RefusedTool] = []
    hidden: list[Definition] = []
    for item in items:
        try:
            name = parse(item, _Named).name
        except ProtocolError:
            refusals.append(RefusedTool("(unnamed)", "it is listed without a name"))
            continue
        if name in known and known[name].raw == item:
            definitions.append(known[name])
        elif fault := _fault(name, item):
            refusals.append(RefusedTool(name[:MAX_TOOL_NAME], fault))
            hidden += [Definition(name, item)] if fault is _HIDDEN else []
        else:
            definitions.append(Definition(name, item))
    definitions, more = _within_bounds(definitions)
    refusals += more
    counts = Counter(definition.name for definition in definitions)
    repeated: tuple[str, ...] = ()
    if len(counts) < len(definitions):
        # The same words twice are one tool said twice.
        definitions = list({(one.name, bytes(one.raw)): one for one in definitions}.values())
        fewer = Counter(definition.name for definition in definitions)
        repeated = tuple(sorted(name for name, count in fewer.items() if count == 1 < counts[name]))
        counts = fewer
    doubled = {name for name, count in counts.items() if count > 1}
    if doubled:
        definitions = [definition for definition in definitions if definition.name not in doubled]
        refusals += [
            RefusedTool(name, f"the server lists {counts[name]} tools of this name") for name in sorted(doubled)
        ]
    if hidden:
        # One name means one tool, whoever calls it.
        taken = Counter(definition.name for definition in (*definitions, *hidden))
        hidden = [definition for definition in hidden if taken[definition.name] == 1 and definition.name not in doubled]
    return ToolReading(tuple(definitions), tuple(refusals), repeated, tuple(hidden))


def _within_bounds(definitions: list[Definition]) -> tuple[list[Definition], list[RefusedTool]]:
    """The tools from the first on that together tell a model no more than it can be told, and the rest."""
    # Most lists are far smaller, counted in a way that can only be too much.
    if sum(memoryview(one.raw).nbytes for one in definitions) <= MAX_LIST:
        return definitions, []
    left, kept, refusals = MAX_LIST, [], []
    for definition in definitions:
        details = definition.details()
        left -= memoryview(schema_of(details)).nbytes + len(details.description or details.title or "")
        if left < 0:
            reason = f"the tools listed before it have the {MAX_LIST:,} bytes that one server's tools may have together"
            refusals.append(RefusedTool(definition.name, reason))
        else:
            kept.append(definition)
    return kept, refusals


def _fault(name: str, item: Raw) -> str:
    """What makes this description unusable; empty when nothing does."""
    if not name or len(name) > MAX_TOOL_NAME:
        return f"its name has {len(name)} characters (1 to {MAX_TOOL_NAME} are allowed)"
    if any(unicodedata.category(character) in _UNFIT for character in name):
        return "its name has control or invisible characters"
    try:
        details = parse(item, Details)
        if not is_null(details.execution) and parse(details.execution, _Execution).task_support == "required":
            return "it can only run as a task, which is not supported"
        if not is_null(details.annotations):
            parse(details.annotations, dict[str, Any])
        schema = schema_of(details)
        if (size := memoryview(schema).nbytes) > MAX_SCHEMA:
            return f"its input schema has {size:,} bytes ({MAX_SCHEMA:,} are allowed)"
        if parse(schema, _Schema).type not in (None, "object"):
            return "its input schema is not one of an object"
        # An output schema that cannot be used costs the check of results, not the tool.
        fault = _lowered(problems_of_schema(schema))
        return fault or (_HIDDEN if "model" not in audience(details.meta) else "")
    except ProtocolError as error:
        return f"its description is malformed: {error.message.rstrip('.')}"


def ui_of(meta: Raw) -> dict[str, Any]:
    """What the `_meta` of a tool or a resource says of panels (`_meta.ui`); empty when it says nothing."""
    try:
        ui = None if is_null(meta) else msgspec.json.decode(meta, type=_Meta).ui
    except msgspec.DecodeError:
        return {}
    return ui if isinstance(ui, dict) else {}


def audience(meta: Raw) -> frozenset[str]:
    """Who may call a tool: `model`, `app`, or both."""
    visibility = ui_of(meta).get("visibility")
    if not isinstance(visibility, list):
        return _EVERYBODY
    return frozenset(one for one in visibility if isinstance(one, str))


def _lowered(sentence: str | None) -> str:
    """A sentence as the end of another one."""
    return sentence[:1].lower() + sentence[1:].rstrip(".") if sentence else ""
