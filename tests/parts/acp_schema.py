"""The published JSON Schema of the Agent Client Protocol (version 1, as the npm package of the TypeScript SDK ships it), as a judge of
single messages.

Stricter than the schema as it stands in one way: a property that it does not name is a fault, unless it says that any are welcome. A
misspelt optional property would pass otherwise.
"""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

from parts.cache import npm_folder

Json = dict[str, Any]
# What combines schemas of one and the same value.
_COMBINED = ("allOf", "anyOf", "oneOf")


def schema_file() -> Path:
    return npm_folder() / "node_modules" / "@agentclientprotocol" / "sdk" / "schema" / "v1" / "schema.json"


@cache
def _definitions() -> Json:
    definitions: Json = json.loads(schema_file().read_text())["$defs"]
    return definitions


@cache
def _closed() -> Json:
    """The definitions, every object in them closed at its place: where it is a property or an item, not where it is part of a whole."""
    definitions = _definitions()

    def parts(schema: Json) -> Iterable[Json]:
        yield schema
        if reference := schema.get("$ref"):
            yield from parts(definitions[reference.rpartition("/")[2]])
        for word in _COMBINED:
            for part in schema.get(word, ()):
                yield from parts(part)

    def at_its_place(schema: Any) -> Any:
        if not isinstance(schema, dict):
            return schema
        inside = within(schema)
        named = any("properties" in part for part in parts(schema))
        return {**inside, "unevaluatedProperties": False} if named else inside

    def within(schema: Json) -> Json:
        changed = dict(schema)
        for word in _COMBINED:
            if word in changed:
                changed[word] = [within(part) for part in changed[word]]
        if "properties" in changed:
            changed["properties"] = {name: at_its_place(part) for name, part in changed["properties"].items()}
        for word in ("items", "additionalProperties"):
            if word in changed:
                changed[word] = at_its_place(changed[word])
        return changed

    return {name: within(schema) for name, schema in definitions.items()}


@cache
def _validator(name: str) -> jsonschema_rs.Validator:
    schema = {"$defs": _closed(), "$ref": f"#/$defs/{name}", "unevaluatedProperties": False}
    return jsonschema_rs.Draft202012Validator(schema)


@cache
def _names() -> dict[tuple[str, str, str], str]:
    """Definitions by the side that answers the method, the method, and what they are: request, response or notification."""
    found = {}
    for name, schema in _definitions().items():
        if method := schema.get("x-method"):
            kind = next(kind for kind in ("Request", "Response", "Notification") if name.endswith(kind))
            found[schema["x-side"], method, kind.lower()] = name
    return found


def methods(side: str) -> set[str]:
    """What `side` ("agent" or "client") answers."""
    return {method for answerer, method, kind in _names() if answerer == side and kind == "request"}


def faults(name: str, value: Any) -> list[str]:
    """What is wrong with a value, against the definition of that name."""
    return [f"{name}{_place(error.instance_path)}: {error.message}" for error in _validator(name).iter_errors(value)]


def _place(path: Iterable[Any]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def message_faults(message: Any, *, sender: str, asked: str = "") -> list[str]:
    """What is wrong with a whole message of `sender`. `asked` is the method that it answers."""
    if not isinstance(message, dict):
        return [f"{sender}: not one object: {str(message)[:80]}"]
    receiver = "client" if sender == "agent" else "agent"
    wrong = [] if message.get("jsonrpc") == "2.0" else ['"jsonrpc" is not "2.0"']
    if "method" in message:
        kind = "request" if "id" in message else "notification"
        wrong += _unknown(message, {"jsonrpc", "id", "method", "params"})
        method = str(message["method"])
        if method.startswith("_"):
            return wrong
        name = _names().get((receiver, method, kind)) or _names().get(("protocol", method, kind))
        if name is None:
            return [*wrong, f"{sender}: no {kind} {method} is in the schema"]
        return wrong + faults(name, message.get("params", {}))
    wrong += _unknown(message, {"jsonrpc", "id", "result", "error"})
    if ("result" in message) == ("error" in message):
        wrong.append(f"{sender}: an answer has a result or an error, and one of them")
    if "error" in message:
        return wrong + faults("Error", message["error"]) + faults("RequestId", message.get("id"))
    if asked.startswith("_"):
        return wrong
    name = _names().get((sender, asked, "response"))
    return wrong + (faults(name, message.get("result")) if name else [f"{sender}: an answer to {asked or 'nothing'}"])


def _unknown(message: Json, known: set[str]) -> list[str]:
    return [f"unknown member {name!r}" for name in message if name not in known]
