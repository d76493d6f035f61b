"""Routes as an OpenAPI document."""

from typing import Annotated, Literal

import msgspec

from openclaw.gateway.openapi import document
from openclaw.gateway.route import EVENTS, Route


class Wanted(msgspec.Struct, rename="camel"):
    which_one: Annotated[str, msgspec.Meta(description="its name")]
    limit: Annotated[int, msgspec.Meta(ge=0)] = 5


class NewThing(msgspec.Struct, rename="camel"):
    the_name: str
    kind: Literal["a", "b"] = "a"


class Thing(msgspec.Struct):
    id: str


def test_a_route_is_described_with_what_its_structs_say() -> None:
    routes = [
        Route("GET", "/v1/things/{what:red|green}", print, "Look", query=Wanted, gives=EVENTS),
        Route("POST", "/v1/things/{id:[0-9]+}", print, "Make", body=NewThing, gives=Thing, status=202),
        Route("GET", "/", print, "Open", gives="text/html"),
    ]
    made = document(routes, "1.2")

    assert [*made["paths"]] == ["/v1/things/{what}", "/v1/things/{id}", "/"]
    look = made["paths"]["/v1/things/{what}"]["get"]
    assert (look["operationId"], look["tags"]) == ("getThingsWhat", ["things"])
    assert look["parameters"] == [
        {"name": "what", "in": "path", "required": True, "schema": {"type": "string", "enum": ["red", "green"]}},
        {"name": "whichOne", "in": "query", "required": True, "description": "its name", "schema": {"type": "string"}},
        {"name": "limit", "in": "query", "required": False, "schema": {"type": "integer", "minimum": 0, "default": 5}},
    ]
    assert [*look["responses"]["200"]["content"]] == [EVENTS]
    make = made["paths"]["/v1/things/{id}"]["post"]
    assert make["parameters"][0]["schema"] == {"type": "string", "pattern": "^[0-9]+$"}
    assert make["requestBody"] == {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewThing"}}},
    }
    assert make["responses"]["202"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Thing"}
    assert made["components"]["schemas"]["NewThing"]["properties"]["kind"]["enum"] == ["a", "b"]
    # What needs no token says so; everything else needs one.
    assert made["security"] == [{"token": []}]
    assert [operation.get("security") for path in made["paths"].values() for operation in path.values()] == [
        None,
        None,
        [],
    ]
