"""Schema drift: a tool is held back only when a call valid before may be invalid now."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.mcp.tools.drift import still_admits


def properties(**schemas: Any) -> dict[str, Any]:
    return {"type": "object", "properties": schemas}


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
LIST = {"type": "array"}
NOT_T = properties(a={"not": {"$ref": "#/$defs/t"}})
OPEN = {"additionalProperties": True}
CLOSED = {"additionalProperties": False}
WIDER = [
    ("the same schema", properties(a=TEXT), properties(a=TEXT)),
    ("another description", properties(a={**TEXT, "description": "x"}), properties(a={**TEXT, "description": "y"})),
    ("a new optional property", properties(a=TEXT), properties(a=TEXT, b=WHOLE)),
    ("a new optional property of a closed object", {**properties(a=TEXT), **CLOSED}, properties(a=TEXT, b=TEXT)),
    ("a property that is no longer required", {**properties(a=TEXT), "required": ["a"]}, properties(a=TEXT)),
    ("one more value", properties(a={"enum": ["x"]}), properties(a={"enum": ["x", "y"]})),
    ("values opened to text", properties(a={"enum": ["x"]}), properties(a=TEXT)),
    ("integer to number", properties(a=WHOLE), properties(a={"type": "number"})),
    ("text or nothing", properties(a=TEXT), properties(a={"type": ["string", "null"]})),
    ("a list of types as branches", properties(a={"type": ["string", "null"]}), properties(a={"anyOf": [TEXT, {"type": "null"}]})),
    ("branches as a list of types", properties(a={"anyOf": [TEXT, {"type": "null"}]}), properties(a={"type": ["string", "null"]})),
    ("looser bounds", properties(a={**WHOLE, "minimum": 1, "maximum": 5}), properties(a={**WHOLE, "minimum": 0, "maximum": 9})),
    ("an exclusive bound made inclusive", properties(a={**WHOLE, "exclusiveMinimum": 1}), properties(a={**WHOLE, "minimum": 1})),
    ("the bounds of safe integers", properties(a=WHOLE), properties(a={**WHOLE, "minimum": 1 - 2**53, "maximum": 2**53 - 1})),
    ("a coarser step", properties(a={**WHOLE, "multipleOf": 6}), properties(a={**WHOLE, "multipleOf": 3})),
    ("longer text", properties(a={**TEXT, "maxLength": 5}), properties(a={**TEXT, "maxLength": 9})),
    ("a property that is simply gone", properties(a=TEXT, b=TEXT), properties(a=TEXT)),
    ("an opened object", {**properties(a=TEXT), **CLOSED}, properties(a=TEXT)),
    ("a schema moved into definitions", properties(a=TEXT), {**properties(a={"$ref": "#/$defs/t"}), "$defs": {"t": TEXT}}),
    ("definitions written out", {**properties(a={"$ref": "#/$defs/t"}), "$defs": {"t": TEXT}}, properties(a=TEXT)),
    ("a wider list item", properties(a={**LIST, "items": {"enum": [1]}}), properties(a={**LIST, "items": WHOLE})),
    ("an untouched opaque part", properties(a={"not": TEXT}, b=TEXT), properties(a={"not": TEXT})),
    ("one conjunct dropped", properties(a={"allOf": [TEXT, {"maxLength": 3}]}), properties(a=TEXT)),
]  # fmt: skip
NARROWER = [
    ("a new required property", properties(a=TEXT), {**properties(a=TEXT, b=TEXT), "required": ["b"]}),
    ("a property that became required", properties(a=TEXT), {**properties(a=TEXT), "required": ["a"]}),
    ("another type", properties(a=TEXT), properties(a=WHOLE)),
    ("number to integer", properties(a={"type": "number"}), properties(a=WHOLE)),
    ("a value withdrawn", properties(a={"enum": ["x", "y"]}), properties(a={"enum": ["x"]})),
    ("true is not one", properties(a={"const": 1}), properties(a={"const": True})),
    ("text narrowed to values", properties(a=TEXT), properties(a={"enum": ["x"]})),
    ("tighter bounds", properties(a={**WHOLE, "minimum": 0}), properties(a={**WHOLE, "minimum": 1})),
    ("a bound where there was none", properties(a=WHOLE), properties(a={**WHOLE, "maximum": 9})),
    ("an inclusive bound made exclusive", properties(a={**WHOLE, "minimum": 1}), properties(a={**WHOLE, "exclusiveMinimum": 1})),
    ("a lower bound beyond what can be told apart", properties(a=WHOLE), properties(a={**WHOLE, "minimum": 2**53 - 1})),
    ("a finer step", properties(a={**WHOLE, "multipleOf": 3}), properties(a={**WHOLE, "multipleOf": 6})),
    ("a new pattern", properties(a=TEXT), properties(a={**TEXT, "pattern": "^x"})),
    ("shorter text", properties(a={**TEXT, "maxLength": 9}), properties(a={**TEXT, "maxLength": 5})),
    ("a property removed from a closed object", properties(a=TEXT, b=TEXT), {**properties(a=TEXT), **CLOSED}),
    ("an expressly open object closed", {**properties(a=TEXT), **OPEN}, {**properties(a=TEXT), **CLOSED}),
    ("an expressly open object with a new typed property", {**properties(), **OPEN}, properties(b=TEXT)),
    ("fewer branches", properties(a={"anyOf": [TEXT, {"type": "null"}]}), properties(a={"anyOf": [TEXT]})),
    ("a changed exclusive choice", properties(a={"oneOf": [TEXT]}), properties(a={"oneOf": [TEXT, {"minLength": 1}]})),
    ("a definition changed behind the same reference", {**NOT_T, "$defs": {"t": {"const": 1}}}, {**NOT_T, "$defs": {"t": {}}}),
    ("a first item that items now covers too",
     properties(a={**LIST, "prefixItems": [TEXT], "items": WHOLE}), properties(a={**LIST, "items": WHOLE})),
    ("at least one match where none was needed",
     properties(a={**LIST, "contains": TEXT, "minContains": 0}), properties(a={**LIST, "contains": TEXT})),
    ("an outside reference", properties(a=TEXT), properties(a={"$ref": "https://example.com/s.json"})),
    ("a schema that admits nothing", properties(a=TEXT), False),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), [pytest.param(*pair, id=name) for name, *pair in WIDER])
def test_a_call_valid_before_is_still_valid(old: Any, new: Any) -> None:
    assert still_admits(old, new)


@pytest.mark.parametrize(("old", "new"), [pytest.param(*pair, id=name) for name, *pair in NARROWER])
def test_a_call_valid_before_may_be_invalid_now(old: Any, new: Any) -> None:
    assert not still_admits(old, new)


def test_a_recursive_schema_is_compared_in_finite_time() -> None:
    def tree(leaf: Any) -> dict[str, Any]:
        return {
            **properties(root={"$ref": "#/$defs/node"}),
            "$defs": {"node": properties(value=leaf, children={**LIST, "items": {"$ref": "#/$defs/node"}})},
        }

    assert still_admits(tree(WHOLE), tree({"type": "number"}))
    assert not still_admits(tree({"type": "number"}), tree(WHOLE))


def test_alternatives_nested_without_end_are_not_weighed_for_ever() -> None:
    def maze(leaf: Any) -> dict[str, Any]:
        def door(name: str, room: int) -> dict[str, Any]:
            return {**properties(**{name: {"$ref": f"#/$defs/r{room}"}}), "required": [name]}

        rooms = {f"r{n}": {"anyOf": [door("x", n + 1), door("x", n + 1)]} for n in range(30)}
        return {**door("a", 0), "$defs": {**rooms, "r30": leaf}}

    assert not still_admits(maze({"type": "number"}), maze(WHOLE))


scalars = st.sampled_from(
    [
        TEXT, WHOLE, {"type": "number"}, {"type": "boolean"}, {"enum": ["a", "b"]}, {"enum": ["a"]}, {"const": 1},
        {**WHOLE, "minimum": 1}, {"type": ["string", "null"]}, {"type": "string", "maxLength": 1}, True, False, {},
    ]
)  # fmt: skip
schemas = st.recursive(
    scalars,
    lambda inner: (
        st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner)
        | st.builds(lambda a, b: {"allOf": [a, b]}, inner, inner)
        | st.builds(lambda a: {"not": a}, inner)
        | st.builds(lambda a: {**LIST, "items": a}, inner)
        | st.builds(
            lambda a, b, required, more: {
                "type": "object", "properties": {"p": a, "q": b}, "required": required, "additionalProperties": more,
            },
            inner, inner, st.lists(st.sampled_from("pq"), unique=True), st.booleans(),
        )
    ),
    max_leaves=4,
)  # fmt: skip
values = st.recursive(
    st.sampled_from([None, True, 0, 1, 2, 1.5, "", "a", "ab"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("pqr"), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=200)
@given(schemas, schemas, st.lists(values, min_size=1, max_size=20))
def test_a_yes_is_never_contradicted_by_a_validator(old: Any, new: Any, candidates: list[Any]) -> None:
    old, new = ({**properties(v=schema), "required": ["v"], **CLOSED} for schema in (old, new))
    if still_admits(old, new):
        calls = [{"v": value} for value in candidates]
        assert not [c for c in calls if jsonschema_rs.is_valid(old, c) and not jsonschema_rs.is_valid(new, c)]
