"""A tool's arguments as a person reads them: a signature with types, each argument in full, and a call to begin with.

Pure. All of it is made of a schema that a server sent: names and texts are cleaned and bounded here, references are followed within the
schema alone, and what is nested deeper than anybody reads is named by its kind.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from openclaw.security.external import clean_label
from openclaw.typed_words import quote_word

# Of an argument's name, a type in words, one value among several, a default, a text.
_LONGEST_NAME = 60
_LONGEST_TYPE = 200
_LONGEST_VALUE = 40
_LONGEST_DEFAULT = 100
_LONGEST_TEXT = 2_000
# How many values, or kinds, a signature lists before it says that there are more.
_MOST_VALUES = 6
# How deep a type is told: a list of lists of objects says enough.
_DEEPEST = 3
_KINDS = frozenset({"string", "number", "integer", "boolean", "null", "array", "object"})


class Parameter(msgspec.Struct, frozen=True):
    """One argument. `limits` are further bounds in words, `default` is what the server takes without it, as JSON."""

    name: str
    type: str
    required: bool
    text: str = ""
    default: str = ""
    limits: tuple[str, ...] = ()


def parameters_of(schema: object) -> list[Parameter]:
    """The arguments of a tool, those it must have first."""
    if not isinstance(schema, Mapping):
        return []
    required, properties = _required(schema), _properties(schema)
    found = [_parameter(name, one, name in required, schema) for name, one in properties.items()]
    return sorted(found, key=lambda one: not one.required)


def signature(name: str, schema: object) -> str:
    """`files__read(path: string, head?: number)`."""
    words = [f"{one.name}{'' if one.required else '?'}: {one.type}" for one in parameters_of(schema)]
    return f"{name}({', '.join(words)})"


def example(tool: str, schema: object) -> list[str]:
    """The words of a call with all that it must have, as they are typed after `mcp call`."""
    words = [tool]
    if isinstance(schema, Mapping):
        required = _required(schema)
        for name, one in _properties(schema).items():
            if name in required:
                value = _sample(one, schema, _DEEPEST)
                words.append(f"{name}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    return words


def typed(words: Sequence[str]) -> str:
    """Words as a shell takes them."""
    return " ".join(quote_word(clean_label(word, _LONGEST_TYPE)) for word in words)


def _parameter(name: str, given: object, required: bool, root: Mapping[str, Any]) -> Parameter:
    schema = _followed(given, root)
    text = schema.get("description") or schema.get("title")
    return Parameter(
        clean_label(name, _LONGEST_NAME),
        clean_label(_type(given, root, _DEEPEST), _LONGEST_TYPE),
        required,
        clean_label(text, _LONGEST_TEXT) if isinstance(text, str) else "",
        _json(schema["default"], _LONGEST_DEFAULT) if "default" in schema else "",
        tuple(_limits(schema)),
    )


def _required(schema: Mapping[str, Any]) -> frozenset[str]:
    required = schema.get("required")
    return frozenset(one for one in required if isinstance(one, str)) if isinstance(required, list) else frozenset()


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _followed(schema: object, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema, or the one of the same document that it refers to."""
    for _ in range(_DEEPEST):
        if not isinstance(schema, Mapping):
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        if not reference.startswith("#/"):
            return {}
        place: object = root
        for part in reference[2:].split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            place = place.get(key) if isinstance(place, Mapping) else None
        schema = place
    return schema if isinstance(schema, Mapping) and "$ref" not in schema else {}


def _type(given: object, root: Mapping[str, Any], depth: int) -> str:
    schema = _followed(given, root)
    if "const" in schema:
        return _json(schema["const"], _LONGEST_VALUE)
    values = schema.get("enum")
    if isinstance(values, list) and values:
        return _one_of([_json(value, _LONGEST_VALUE) for value in values])
    for word in ("anyOf", "oneOf"):
        kinds = schema.get(word)
        if isinstance(kinds, list) and kinds:
            return _one_of([_type(one, root, depth - 1) for one in kinds]) if depth else "…"
    kind = schema.get("type")
    if isinstance(kind, list):
        return _one_of([_plain(one, schema, root, depth) for one in kind])
    if kind is None:
        kind = "object" if _properties(schema) else "array" if "items" in schema else None
    return _plain(kind, schema, root, depth)


def _plain(kind: object, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    if kind == "array":
        items = _type(schema["items"], root, depth - 1) if depth and "items" in schema else "any"
        return f"({items})[]" if " " in items and not items.startswith("{") else f"{items}[]"
    if kind == "object":
        inner = parameters_of(schema) if depth == _DEEPEST else []
        names = [f"{one.name}{'' if one.required else '?'}" for one in inner[:_MOST_VALUES]]
        more = ", …" if len(inner) > _MOST_VALUES else ""
        return f"{{{', '.join(names)}{more}}}" if names else "object"
    return kind if isinstance(kind, str) and kind in _KINDS else "any"


def _one_of(kinds: Sequence[str]) -> str:
    kinds = list(dict.fromkeys(kinds))
    shown = [*kinds[:_MOST_VALUES], "…"] if len(kinds) > _MOST_VALUES else kinds
    return " | ".join(shown)


# What bounds a value, and how that is said.
_BOUNDS = (
    ("minimum", "from {}"),
    ("exclusiveMinimum", "above {}"),
    ("maximum", "to {}"),
    ("exclusiveMaximum", "below {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
    ("format", "format {}"),
    ("pattern", "pattern {}"),
)


def _limits(schema: Mapping[str, Any]) -> list[str]:
    found = []
    for word, sentence in _BOUNDS:
        value = schema.get(word)
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            found.append(sentence.format(clean_label(str(value), _LONGEST_VALUE)))
    return found


def _sample(given: object, root: Mapping[str, Any], depth: int) -> Any:
    """A value that a person can begin with: one that the server names, or one of the right kind."""
    schema = _followed(given, root)
    examples, values = schema.get("examples"), schema.get("enum")
    for named in (examples, values):
        if isinstance(named, list) and named:
            return named[0]
    for word in ("default", "const"):
        if word in schema:
            return schema[word]
    for word in ("anyOf", "oneOf"):
        kinds = schema.get(word)
        if isinstance(kinds, list) and kinds:
            return _sample(kinds[0], root, depth - 1) if depth else None
    kind = schema.get("type")
    match kind[0] if isinstance(kind, list) and kind else kind:
        case "integer" | "number":
            least = schema.get("minimum")
            return least if isinstance(least, int | float) and not isinstance(least, bool) else 1
        case "boolean":
            return True
        case "array":
            return [_sample(schema["items"], root, depth - 1)] if depth and "items" in schema else []
        case "object":
            required = _required(schema)
            inner = {name: one for name, one in _properties(schema).items() if name in required} if depth else {}
            return {name: _sample(one, root, depth - 1) for name, one in inner.items()}
        case "null":
            return None
        case _:
            return "TEXT"


def _json(value: object, most: int) -> str:
    return clean_label(json.dumps(value, ensure_ascii=False), most)
