"""The headers that the 2026-07-28 revision mirrors from a request's body, so that proxies can route without reading it.

Owns `Mcp-Method`, `Mcp-Name`, and the `Mcp-Param-*` headers a tool's schema asks for with `x-mcp-header`; how a value becomes
a header; and which annotations are malformed: such a tool is not offered over HTTP. Sending is `transport/http.py`'s business.
"""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from openclaw.errors import ProtocolError

ANNOTATION = "x-mcp-header"
PREFIX = "Mcp-Param-"

# Numbers that every JSON reader holds exactly.
_MAX_SAFE_INTEGER = 2**53 - 1
# RFC 9110 section 5.6.2.
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
# Visible ASCII, with spaces inside only. A tab is legal but not every server agrees.
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_PRIMITIVES = frozenset(("string", "integer", "boolean"))
# Keywords that hold data: what looks like an annotation in there is none.
_DATA = frozenset(("const", "default", "enum", "example", "examples"))


class ParamHeader(msgspec.Struct, frozen=True):
    """One annotated parameter: the header's name, and where its value stands in the arguments."""

    name: str
    path: tuple[str, ...]


def standard_headers(method: str, name: str = "") -> dict[str, str]:
    """`name` is the tool, prompt or resource the request is about."""
    headers = {"Mcp-Method": method}
    if name:
        headers["Mcp-Name"] = header_value(name)
    return headers


def header_value(text: str) -> str:
    """`text` as a header: as it is when that is safe, else in Base64 between the markers of the specification."""
    if _PLAIN.fullmatch(text) and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    # An empty value is wrapped too: some stacks drop empty headers.
    return f"=?base64?{b64encode(text.encode('utf-8', 'replace')).decode('ascii')}?="


def param_headers(schema: Any) -> tuple[ParamHeader, ...]:
    """The annotated parameters of an input schema. Raises ProtocolError, with the reason, when an annotation is malformed."""
    found: dict[str, ParamHeader] = {}
    # Each schema with the chain of `properties` that leads to it; None when something else lies between.
    pending: list[tuple[Any, tuple[str, ...] | None]] = [(schema, ())]
    while pending:
        node, path = pending.pop()
        if isinstance(node, list):
            pending += [(item, None) for item in node]
        if not isinstance(node, dict):
            continue
        if ANNOTATION in node:
            header = _declared(node, path)
            if header.name.lower() in found:
                raise ProtocolError(f"two parameters are annotated with the header name {node[ANNOTATION]!r}")
            found[header.name.lower()] = header
        for keyword, value in node.items():
            if keyword == "properties" and isinstance(value, dict):
                pending += [(child, None if path is None else (*path, name)) for name, child in value.items()]
            elif keyword not in _DATA:
                pending.append((value, None))
    return tuple(sorted(found.values(), key=lambda header: header.path))


def _declared(node: Mapping[str, Any], path: tuple[str, ...] | None) -> ParamHeader:
    name = node[ANNOTATION]
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise ProtocolError(f"{ANNOTATION} {name!r:.80} is not a header name")
    if not path:
        raise ProtocolError(
            f"{ANNOTATION} {name!r} stands where no argument can be named: not on a chain of properties"
        )
    kinds = set(_types(node)) - {"null"}
    if len(kinds) != 1 or not kinds <= _PRIMITIVES:
        raise ProtocolError(f"{ANNOTATION} {name!r} is on a parameter that is not a string, an integer or a boolean")
    return ParamHeader(PREFIX + name, path)


def _types(node: Mapping[str, Any]) -> list[str]:
    match node.get("type"):
        case str() as kind:
            return [kind]
        case list() as kinds:
            return [kind if isinstance(kind, str) else "" for kind in kinds]
        case _:
            return []


def mirrored(headers: Sequence[ParamHeader], arguments: Mapping[str, Any]) -> dict[str, str]:
    """The `Mcp-Param-*` headers of one call. A parameter that is absent or null has none."""
    values = ((header.name, _text_of(_value_at(arguments, header.path))) for header in headers)
    return {name: header_value(text) for name, text in values if text is not None}


def _value_at(arguments: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(arguments, Mapping):
            return None
        arguments = arguments.get(name)
    return arguments


def _text_of(value: Any) -> str | None:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case float() if value.is_integer():
            return _text_of(int(value))
        case int() if abs(value) <= _MAX_SAFE_INTEGER:
            return str(value)
        case _:
            # Not a value the schema allows: the server, or our own check of the arguments, says so.
            return None
