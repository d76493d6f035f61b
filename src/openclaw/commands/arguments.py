"""What a person types about a call: its arguments, as one JSON object or `key=value` words, read by the tool's schema or the prompt's list;
and patterns of calls."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from openclaw.commands.parse import Parsed
from openclaw.config.wording import nearest
from openclaw.errors import UsageError
from openclaw.mcp.tools.results import PromptEntry
from openclaw.security.external import clean_label
from openclaw.security.patterns import parse

# Of the name of an argument, which a server chose or a person typed.
_NAME = 64


def arguments_of(words: Sequence[str], schema: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """`{"a": 5}`, or `a=5 b=text`. A value is JSON where the schema wants something other than text. Raises UsageError."""
    text = " ".join(words).strip()
    if text.startswith("{"):
        try:
            value = msgspec.json.decode(text)
        except msgspec.DecodeError as error:
            raise UsageError(
                f"The arguments are not JSON: {error}.", hint="Quote them for your shell: '{\"a\": 5}'"
            ) from None
        if isinstance(value, dict):
            return value
    found: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            required = (schema or {}).get("required")
            key = clean_label(str(required[0]), _NAME) if isinstance(required, list) and len(required) == 1 else "key"
            raise UsageError(f"{word!r} is not an argument.", hint=f"Write {key}=value, or one JSON object.")
        found[key] = _value(value, _types(schema, key))
    return found


def misnamed(arguments: Mapping[str, Any], schema: object) -> str:
    """Of arguments that do not fit: which of them the schema does not name, or all that it has where one is missing; empty otherwise."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(schema, Mapping) or not isinstance(properties, Mapping):
        return ""
    known = [clean_label(name, _NAME) for name in properties]
    for name in arguments:
        if name not in properties:
            # What is there already was not meant.
            near = nearest(name, [one for one in known if one not in arguments]) or f"It takes: {', '.join(known)}."
            return f'It has no argument "{clean_label(name, _NAME)}". {near}'
    required = schema.get("required")
    is_short = isinstance(required, list) and any(name not in arguments for name in required)
    return f"It takes: {', '.join(known)}." if is_short else ""


def allowed_calls(parsed: Parsed) -> tuple[str, ...]:
    """The patterns of `--allow`. Raises UsageError for one that is none."""
    given = tuple(parsed.many("allow"))
    for text in given:
        parse(text)
    return given


def prompt_arguments(entry: PromptEntry, words: Sequence[str]) -> dict[str, str]:
    """The same for a prompt, whose arguments are all text. One word alone is the one argument it must have. Raises UsageError."""
    required = [argument.name for argument in entry.arguments or [] if argument.required]
    if len(words) == len(required) == 1 and "=" not in words[0] and not words[0].startswith("{"):
        return {required[0]: words[0]}
    texts = {"properties": {argument.name: {"type": "string"} for argument in entry.arguments or []}}
    return {key: str(value) for key, value in arguments_of(words, texts).items()}


def _types(schema: Mapping[str, Any] | None, key: str) -> frozenset[str]:
    """The JSON types a property may have; empty when the schema does not say."""
    properties = (schema or {}).get("properties")
    declared = properties.get(key) if isinstance(properties, Mapping) else None
    if not isinstance(declared, Mapping):
        return frozenset()
    kinds = [declared, *(part for word in ("anyOf", "oneOf") for part in declared.get(word) or ())]
    found: set[str] = set()
    for part in kinds:
        kind = part.get("type") if isinstance(part, Mapping) else None
        found |= {kind} if isinstance(kind, str) else set(kind or ())
    return frozenset(found)


def _value(text: str, types: frozenset[str]) -> Any:
    if types == {"string"}:
        return text
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    # Without a schema a number stays a number, but what only looks like one under a text type stays text.
    return text if "string" in types and isinstance(value, str) else value
