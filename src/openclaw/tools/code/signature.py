"""How a tool is called in Python: its name and JSON Schema as the head of a function. Pure.

Names, titles and descriptions are a server's words. Here they are literals, comments and names that Python itself takes for names, and
nothing else: whatever they say, what comes out is one function with an empty body.
"""

import keyword
from collections.abc import Iterator, Mapping
from typing import Any

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

_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def signature_of(tool: Tool) -> str:
    """Lines of Python, whatever the tool says of itself. An argument that may be left out has `...` for a value."""
    schema = tool.schema
    properties = _mapping(schema.get("properties"))
    required = [name for name in _names(schema.get("required")) if name in properties]
    ordered = [*required, *(name for name in properties if name not in required)]
    shown = ordered[:MOST_ARGUMENTS]
    types = {name: _type(properties[name], schema) for name in shown}
    if is_name(tool.name) and all(map(is_name, ordered)):
        arguments = [f"{name}: {types[name]}" + ("" if name in required else " = ...") for name in shown]
        if len(shown) < len(ordered):
            arguments.append("**more: Any")
        head = f"async def {tool.name}({', '.join(['*', *arguments]) if arguments else ''}) -> Any:"
        if arguments == ["**more: Any"]:
            head = f"async def {tool.name}(**more: Any) -> Any:"
    else:
        # Python has no way to write some of these names.
        fields = [
            f"{_literal(name)}: {types[name] if name in required else f'NotRequired[{types[name]}]'}" for name in shown
        ]
        given = f'TypedDict("Arguments", {{{", ".join(fields)}}})'
        head = f"async def call(name: Literal[{_literal(tool.name)}], arguments: {given}) -> Any:"
    notes = [*_lines(clean_text(tool.description, LONGEST_DESCRIPTION)), *_notes(properties, shown)]
    return "\n".join([head, *(f"    # {line}".rstrip() for line in notes), "    ..."])


def is_name(text: str) -> bool:
    """Whether code can write this as a name. Not in every script: Python takes some characters for others."""
    return text.isascii() and text.isidentifier() and not keyword.iskeyword(text) and not text.startswith("__")


def _notes(properties: Mapping[str, Any], shown: list[str]) -> Iterator[str]:
    for name in shown:
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
