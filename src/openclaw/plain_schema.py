"""Values that surely fit their JSON Schema, because it is plain: an object whose members are texts, numbers and switches.

Owns no verdict: what it does not vouch for may fit just as well, and json_schema.py says so. It exists so that a short command that makes
one call does without the library: to load it and compile the schema of `echo` takes 17 ms of processor time (52 ms and more by the clock
on a busy machine), to find out here that the arguments fit 0.05 ms; `openclaw mcp call` as a whole takes about 300 ms (medians of 15
alternating runs). A schema that is used again is compiled: a check takes 1.4 µs then, and 42 µs here.
"""

from typing import Any

import msgspec

# The drafts a `$schema` may mean, by what its address holds.
DRAFTS = ("draft-04", "draft-06", "draft-07", "2019-09", "2020-12")
# Keywords of a schema under which names stand for schemas.
NAMED_SCHEMAS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
# A longer schema takes longer to read here than it may save.
_LONGEST_PLAIN = 2_000
# Keywords that mean the same in every draft, and those that mean nothing to a check, with the type each must have.
_NOTES = {"title": str, "description": str, "$comment": str, "examples": list, "deprecated": bool, "default": object}
_PLAIN_OBJECT = {*_NOTES, "$schema", "type", "properties", "required", "additionalProperties"}
_PLAIN_MEMBER = {*_NOTES, "type"}
_PLAIN_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
# Larger numbers are left to the library.
_LARGEST_PLAIN = 2.0**53


def surely_fits(raw: bytes | msgspec.Raw, value: Any) -> bool:
    """Whether `value` fits a schema so plain that no library is needed to say so. False says nothing."""
    if len(bytes(raw)) > _LONGEST_PLAIN or not isinstance(value, dict):
        return False
    try:
        schema = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return False
    if not _is_plain_object(schema):
        return False
    members, required = schema.get("properties", {}), schema.get("required", [])
    return (
        all(isinstance(name, str) and name in value for name in required)
        and len(set(required)) == len(required)
        and value.keys() <= members.keys()
        and all(_is_of(member, members[name]["type"]) for name, member in value.items())
    )


def _is_plain_object(schema: Any) -> bool:
    if not isinstance(schema, dict) or not schema.keys() <= _PLAIN_OBJECT or schema.get("type") != "object":
        return False
    members, declared = schema.get("properties", {}), schema.get("$schema", "2020-12")
    return (
        isinstance(members, dict)
        and isinstance(schema.get("required", []), list)
        and isinstance(schema.get("additionalProperties", True), bool)
        and isinstance(declared, str)
        and any(draft in declared for draft in DRAFTS)
        and _has_sound_notes(schema)
        and all(map(_is_plain_member, members.values()))
    )


def _is_plain_member(schema: Any) -> bool:
    if not isinstance(schema, dict) or not schema.keys() <= _PLAIN_MEMBER:
        return False
    kind = schema.get("type")
    return isinstance(kind, str) and kind in _PLAIN_TYPES and _has_sound_notes(schema)


def _has_sound_notes(schema: dict[str, Any]) -> bool:
    return all(isinstance(schema[name], kind) for name, kind in _NOTES.items() if name in schema)


def _is_of(value: Any, kind: str) -> bool:
    if type(value) not in _PLAIN_TYPES[kind]:
        return False
    if isinstance(value, str):
        # Other texts may hold what JSON cannot.
        return value.isascii()
    return value is None or abs(value) < _LARGEST_PLAIN
