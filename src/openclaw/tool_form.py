"""Tools in the form vendors accept, and calls in the form they send.

Pure. A tool's schema goes out as it is, raw; only what vendors are known to refuse at its top is rewritten, for the model's view alone:
arguments are still checked against the whole schema when the tool is called.
"""

import json
import re
from functools import lru_cache
from typing import Any, Final

import msgspec

from openclaw.content import ToolCall, to_json
from openclaw.plain_schema import NAMED_SCHEMAS

EMPTY_SCHEMA = msgspec.Raw(b'{"type":"object","properties":{}}')

# What a property may be called at Anthropic; a tool with another name in its schema makes the vendor refuse the request.
PROPERTY_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
# Both vendors answer 400 to every request that carries a tool with one of these at the top of its schema.
_REFUSED_AT_TOP = ("oneOf", "anyOf", "allOf", "enum", "not", "$ref")
_INNER_SCHEMAS = (
    "items",
    "prefixItems",
    "additionalProperties",
    "contains",
    "not",
    "anyOf",
    "oneOf",
    "allOf",
    "if",
    "then",
    "else",
)
# What a `$ref` at the top is followed through: real schemas nest it once.
_MOST_REFS = 8
# Schemas whose form is remembered, because every request of a turn carries them all: more tools than any model is offered.
_MOST_REMEMBERED = 4_096

_Members = dict[str, msgspec.Raw]
_MEMBERS = msgspec.json.Decoder(_Members)


def accepted_schema(schema: msgspec.Raw, *, names: re.Pattern[str] | None = None) -> msgspec.Raw:
    """`schema` as it is when vendors accept it, else the nearest object schema that they do. `names` is what a property may be called."""
    return _accepted(bytes(schema), names)


# By its bytes: a Raw keeps the whole message alive that it came in, and is another one after each listing.
@lru_cache(_MOST_REMEMBERED)
def _accepted(schema: bytes, names: re.Pattern[str] | None) -> msgspec.Raw:
    try:
        top = _MEMBERS.decode(schema)
        is_plain = _is_object(top) and "properties" in top and not any(keyword in top for keyword in _REFUSED_AT_TOP)
        if is_plain and b'"array"' not in schema and not (names and _misnamed(top["properties"], names)):
            return msgspec.Raw(schema)
        value = msgspec.json.decode(schema)
        accepted = _with_items(value if is_plain else _object(value))
        if names:
            accepted = _renamed(accepted, names)
        return msgspec.Raw(schema if accepted == value else to_json(accepted))
    except (msgspec.DecodeError, RecursionError):
        return EMPTY_SCHEMA


def _misnamed(properties: msgspec.Raw, names: re.Pattern[str]) -> list[str]:
    return [name for name in _MEMBERS.decode(properties) if not names.fullmatch(name)]


def _renamed(schema: dict[str, Any], names: re.Pattern[str]) -> dict[str, Any]:
    """The schema without the properties whose names are refused: they are told of in its description, and may be sent all the same."""
    properties = _mapping(schema.get("properties"))
    kept = {name: value for name, value in properties.items() if names.fullmatch(name)}
    if len(kept) == len(properties):
        return schema
    told = to_json({name: value for name, value in properties.items() if name not in kept}).decode()
    described = f"{schema.get('description', '')} Also takes these properties, by these names: {told}".strip()
    needed = [name for name in _list(schema.get("required")) if name in kept]
    rest = {key: value for key, value in schema.items() if key not in ("required", "additionalProperties")}
    return {**rest, "properties": kept, "description": described, **({"required": needed} if needed else {})}


def _with_items(schema: Any) -> Any:
    """The schema with `items` in every array: chat completions refuse one that does not say what it holds."""
    if isinstance(schema, list):
        return [_with_items(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    done = dict(schema)
    for keyword in NAMED_SCHEMAS:
        if isinstance(done.get(keyword), dict):
            done[keyword] = {name: _with_items(item) for name, item in done[keyword].items()}
    for keyword in _INNER_SCHEMAS:
        if keyword in done:
            done[keyword] = _with_items(done[keyword])
    kind = done.get("type")
    if "array" in (kind if isinstance(kind, list) else (kind,)) and "items" not in done:
        done["items"] = {}
    return done


def _is_object(top: _Members) -> bool:
    return "type" in top and bytes(top["type"]).strip() == b'"object"'


def _object(schema: dict[str, Any]) -> dict[str, Any]:
    """An object schema with the properties of every branch; required is what every alternative requires."""
    for _ in range(_MOST_REFS):
        target = _referred(schema, schema.get("$ref"))
        if target is None:
            break
        schema = {**{key: value for key, value in schema.items() if key != "$ref"}, **target}
    kept = {key: value for key, value in schema.items() if key not in _REFUSED_AT_TOP}
    properties: dict[str, Any] = dict(_mapping(schema.get("properties")))
    required = {name for name in _list(schema.get("required")) if isinstance(name, str)}
    for keyword in ("allOf", "anyOf", "oneOf"):
        branches = [_branch(schema, branch) for branch in _list(schema.get(keyword))]
        for branch in branches:
            properties = {**_mapping(branch.get("properties")), **properties}
        needs = [{name for name in _list(branch.get("required")) if isinstance(name, str)} for branch in branches]
        if needs:
            required |= set.union(*needs) if keyword == "allOf" else set.intersection(*needs)
    kept |= {"type": "object", "properties": properties}
    kept.pop("required", None)
    ordered = [name for name in properties if name in required]
    return {**kept, "required": ordered} if ordered else kept


def _branch(root: dict[str, Any], branch: Any) -> dict[str, Any]:
    branch = _mapping(branch)
    return _referred(root, branch.get("$ref")) or branch


def _referred(root: dict[str, Any], reference: Any) -> dict[str, Any] | None:
    """What a reference inside the same document points at."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    value: Any = root
    for step in reference[2:].split("/"):
        value = _mapping(value).get(step.replace("~1", "/").replace("~0", "~"))
    return value if isinstance(value, dict) else None


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def finished_call(call_id: str, name: str, arguments: Any) -> ToolCall:
    """A call whose arguments have all arrived: text that should be a JSON object, or, from some endpoints, the object itself."""
    if isinstance(arguments, dict):
        return ToolCall(call_id, name, arguments)
    text = arguments.strip() if isinstance(arguments, str) else ""
    if not text:
        return ToolCall(call_id, name, {})
    try:
        value = lenient_json(text)
    except ValueError:
        return ToolCall(call_id, name, {}, f"The arguments of {name} are not JSON: send one JSON object.")
    if not isinstance(value, dict):
        return ToolCall(call_id, name, {}, f"The arguments of {name} are not a JSON object: send one JSON object.")
    return ToolCall(call_id, name, value)


def lenient_json(text: str | bytes) -> Any:
    """JSON, with what msgspec refuses and others send: NaN, and halves of surrogate pairs (replaced). Raises ValueError."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return scrubbed(json.loads(text))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def scrubbed(value: Any) -> Any:
    """`value` with every half of a surrogate pair replaced, so that it can be encoded and stored."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {scrubbed(key): scrubbed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [scrubbed(item) for item in value]
    return value


def encoded(payload: Any) -> bytes:
    """JSON for a request. Text that cannot be encoded (halves of surrogate pairs) is mended rather than refused."""
    try:
        return to_json(payload)
    except UnicodeEncodeError:
        return to_json(scrubbed(payload))
