"""How a tool is called in Python: its name and JSON Schema as the head of a function. Pure.

Names, titles and descriptions are a server's words. Here they are literals, comments and names that Python itself takes for names, and
nothing else: whatever they say, what comes out is one function with an empty body.
"""

import keyword
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from openclaw.security.external import clean_label, clean_text
from openclaw.tool import Tool

# A signature is read at a glance: so many arguments, choices of one, and levels of one are written out.
MOST_ARGUMENTS = 60
MOST_CHOICES = 20
DEEPEST = 4
# Characters of what is said of a tool, of an argument, and of one choice.
LONGEST_DESCRIPTION = 1_000
LONGEST_NOTE = 300
LONGEST_CHOICE = 60

# What servers wrap an answer in that is no object: structured content has to be one.
WRAPPER = "result"
_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def signature_of(tool: Tool) -> str:
    """Lines of Python, whatever the tool says of itself. An argument that may be left out has `...` for a value."""
    properties = _mapping(tool.schema.get("properties"))
    notes = [*_lines(clean_text(tool.description, LONGEST_DESCRIPTION)), *_notes(properties, _ordered(tool.schema))]
    return "\n".join([head_of(tool), *(f"    # {line}".rstrip() for line in notes), "    ..."])


def head_of(tool: Tool) -> str:
    """The first line of that, without what the tool says of itself and its arguments."""
    schema = tool.schema
    properties = _mapping(schema.get("properties"))
    required = [name for name in _names(schema.get("required")) if name in properties]
    ordered = _ordered(schema)
    shown = ordered[:MOST_ARGUMENTS]
    answer = _answer(tool)
    types = {name: _type(properties[name], schema) for name in shown}
    if is_name(tool.name) and all(map(is_name, ordered)):
        arguments = [f"{name}: {types[name]}" + ("" if name in required else " = ...") for name in shown]
        if len(shown) < len(ordered):
            arguments.append("**more: Any")
        if arguments == ["**more: Any"]:
            return f"async def {tool.name}(**more: Any) -> {answer}:"
        return f"async def {tool.name}({', '.join(['*', *arguments]) if arguments else ''}) -> {answer}:"
    # Python has no way to write some of these names.
    given = _fields("Arguments", {name: types[name] for name in shown}, required)
    return f"async def call(name: Literal[{_literal(tool.name)}], arguments: {given}) -> {answer}:"


def _ordered(schema: Mapping[str, Any]) -> list[str]:
    """The names of all arguments, the required ones first."""
    properties = _mapping(schema.get("properties"))
    required = [name for name in _names(schema.get("required")) if name in properties]
    return [*required, *(name for name in properties if name not in required)]


def _answer(tool: Tool) -> str:
    """What a call gives, as far as the tool says so: with one field, `result`, that is what code gets (`run_code.py`)."""
    if tool.output is None:
        return "Any"
    try:
        schema = _mapping(msgspec.json.decode(tool.output))
    except (msgspec.MsgspecError, RecursionError):
        return "Any"
    properties = _mapping(schema.get("properties"))
    if properties.keys() == {WRAPPER}:
        return _type(properties[WRAPPER], schema)
    if not properties:
        return _type(schema, schema)
    shown = _ordered(schema)[:MOST_ARGUMENTS]
    return _fields("Answer", {name: _type(properties[name], schema) for name in shown}, _names(schema.get("required")))


def _fields(name: str, types: Mapping[str, str], required: Sequence[str]) -> str:
    fields = [f"{_literal(key)}: {one if key in required else f'NotRequired[{one}]'}" for key, one in types.items()]
    return f'TypedDict("{name}", {{{", ".join(fields)}}})'


def is_name(text: str) -> bool:
    """Whether code can write this as a name. Not in every script: Python takes some characters for others."""
    return text.isascii() and text.isidentifier() and not keyword.iskeyword(text) and not text.startswith("__")


def _notes(properties: Mapping[str, Any], named: list[str]) -> Iterator[str]:
    for name in named[:MOST_ARGUMENTS]:
        said = _mapping(properties[name]).get("description")
        if isinstance(said, str) and (text := clean_label(said, LONGEST_NOTE)):
            yield from _lines(f"{clean_label(name, LONGEST_CHOICE)}: {text}")


def _lines(text: str) -> list[str]:
    """Each is one line to everybody who reads Python, and to everybody who splits text."""
    return [" ".join(line.split()) for line in text.splitlines()]


def _type(schema: Any, root: Mapping[str, Any], depth: int = 0) -> str:
    schema = _mapping(schema)
    if depth >= DEEPEST:
        return "Any"
    if isinstance(reference := schema.get("$ref"), str):
        return _type(_referred(reference, root), root, depth + 1)
    if (choices := _choices(schema)) is not None:
        return choices
    for key in ("anyOf", "oneOf"):
        if isinstance(options := schema.get(key), list) and options:
            return _union([_type(one, root, depth + 1) for one in options[:MOST_CHOICES]])
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return _union([_type({**schema, "type": kind}, root, depth + 1) for kind in kinds if isinstance(kind, str)])
    if kinds == "array":
        return f"list[{_type(schema.get('items'), root, depth + 1)}]"
    if kinds == "object":
        return "dict[str, Any]"
    return _SCALARS.get(kinds, "Any") if isinstance(kinds, str) else "Any"


def _choices(schema: Mapping[str, Any]) -> str | None:
    found = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(found, list) or not 0 < len(found) <= MOST_CHOICES:
        return None
    if not all(one is None or isinstance(one, str | bool | int) for one in found):
        return None
    if any(isinstance(one, str) and len(one) > LONGEST_CHOICE for one in found):
        return None
    return f"Literal[{', '.join(_literal(one) for one in found)}]"


def _literal(value: str | int | bool | None) -> str:
    # Everything that is not plain is written as an escape.
    return ascii(value)


def _union(types: list[str]) -> str:
    kept = list(dict.fromkeys(types))
    return "Any" if not kept or "Any" in kept else " | ".join(kept)


def _referred(reference: str, root: Mapping[str, Any]) -> Any:
    """What a reference within the same schema is to; nothing for any other."""
    if not reference.startswith("#/"):
        return {}
    found: Any = root
    for part in reference[2:].split("/"):
        found = _mapping(found).get(part.replace("~1", "/").replace("~0", "~"))
    return found


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _names(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
