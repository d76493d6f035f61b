"""The HTTP port as an OpenAPI document, made from its routes and the structs they read. Pure.

Owns the form: paths, parameters, bodies, answers, the one shape of errors, and who needs a token. What stands in it is what `route.py`
says of each route; `GET /v1/openapi.json` gives it to whoever has the gateway's token.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from openclaw.gateway.guard import OPEN_FOLDER, OPEN_PATHS, SIGN_IN_PATH
from openclaw.gateway.route import Route

VERSION = "3.1.1"
_REFERENCE = "#/components/schemas/{name}"
_JSON = "application/json"
# A part of a path that a caller fills in, with what it has to look like.
_HOLE = re.compile(r"\{(\w+)(?::([^{}]+))?\}")
_WORDS = re.compile(r"[a-z]+(\|[a-z]+)+")
_ANYTHING = ".+"


class Fault(msgspec.Struct, frozen=True, rename="camel"):
    """`message` is a sentence for a person, `code` a word for a program, `param` the field that is wrong, `exitCode` what a command ends
    with after the same error."""

    message: str
    type: str
    param: str | None
    code: str
    exit_code: int


class Failure(msgspec.Struct, frozen=True):
    """What every request that fails is answered with."""

    error: Fault


def document(routes: Sequence[Route], version: str) -> dict[str, Any]:
    structs = [one for route in routes for one in (route.body, route.gives) if one is not None and _is_struct(one)]
    types = [*dict.fromkeys(structs), Failure]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    of = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(_HOLE.sub(r"{\1}", route.path), {})[route.method.lower()] = _operation(route, of)
    return {
        "openapi": VERSION,
        "info": {
            "title": "OpenClaw gateway",
            "version": version,
            "description": "What docs/reference/http.md says, for programs.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route, of: dict[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": _name(route),
        "summary": route.about,
        "tags": [_tag(route.path)],
        "parameters": [*_in_path(route.path), *_in_query(route.query)],
        "responses": {
            str(route.status): {"description": "It worked.", "content": _answer(route.gives, of)},
            "default": {"description": "It did not, and why.", "content": {_JSON: {"schema": of[Failure]}}},
        },
    }
    if route.body is not None:
        needs = any(field.required for field in msgspec.structs.fields(route.body))
        operation["requestBody"] = {"required": needs, "content": {_JSON: {"schema": of[route.body]}}}
    if _is_open(route):
        operation["security"] = []
    return operation


def _answer(gives: Any, of: dict[Any, Any]) -> dict[str, Any]:
    if isinstance(gives, str):
        return {gives: {"schema": {"type": "string"}}}
    return {_JSON: {"schema": {"type": "object"} if gives is None else of[gives]}}


def _in_path(path: str) -> Iterator[dict[str, Any]]:
    for name, form in _HOLE.findall(path):
        schema: dict[str, Any] = {"type": "string"}
        if _WORDS.fullmatch(form):
            schema["enum"] = form.split("|")
        elif form and form != _ANYTHING:
            schema["pattern"] = f"^{form}$"
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _in_query(query: Any) -> Iterator[dict[str, Any]]:
    if query is None:
        return
    schema = msgspec.json.schema_components([query], ref_template=_REFERENCE)[1][query.__name__]
    for name, field in schema["properties"].items():
        rest = {word: value for word, value in field.items() if word != "description"}
        told = {"description": field["description"]} if "description" in field else {}
        yield {"name": name, "in": "query", "required": name in schema.get("required", ()), **told, "schema": rest}


def _is_struct(gives: Any) -> bool:
    return not isinstance(gives, str)


def _is_open(route: Route) -> bool:
    signs_in = (route.method, route.path) == ("POST", SIGN_IN_PATH)
    return route.path in OPEN_PATHS or route.path.startswith(OPEN_FOLDER) or signs_in


def _tag(path: str) -> str:
    words = [word for word in path.split("/") if word and word != "v1"]
    return words[0].partition(".")[0] if words else "page"


def _name(route: Route) -> str:
    words = re.findall(r"[A-Za-z]+", _HOLE.sub(r"\1", route.path).replace("/v1/", "/"))
    return route.method.lower() + "".join(word[0].upper() + word[1:] for word in words)
