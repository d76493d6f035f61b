"""Arguments against a schema, and schemas that are not to be trusted."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.json_schema import CHECKERS, MAX_BYTES, MAX_SUBSCHEMAS, Checker, CheckerCache, problems_of_schema
from openclaw.plain_schema import surely_fits

FILE = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "maxLength": 5},
        "lines": {"type": "array", "items": {"type": "integer"}},
        "mode": {"enum": ["text", "bytes"]},
    },
    "required": ["path"],
    "additionalProperties": False,
}
NO_FIT = "The arguments do not fit their schema: "


def raw(schema: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(schema))


def nested(depth: int, leaf: Any = 0) -> Any:
    for _ in range(depth):
        leaf = [leaf]
    return leaf


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"path": "a"}, None),
        ({"path": "a", "lines": [1, 2], "mode": "text"}, None),
        ({}, NO_FIT + '"path" is a required property.'),
        ({"path": 3}, NO_FIT + 'path is not of type "string".'),
        ({"path": "abcdef"}, NO_FIT + "path is longer than 5 characters."),
        ({"path": "a", "lines": [1, "x"]}, NO_FIT + 'lines[1] is not of type "integer".'),
        ({"path": "a", "mode": "tape"}, NO_FIT + 'mode is not one of "text" or "bytes".'),
        ({"path": "a", "x": 1}, NO_FIT + "Additional properties are not allowed ('x' was unexpected)."),
        ([], NO_FIT + 'the value is not of type "object".'),
        (
            {"path": 3, "mode": "tape"},
            NO_FIT + 'path is not of type "string"; mode is not one of "text" or "bytes".',
        ),
    ],
)
def test_a_fault_is_one_sentence_that_says_where_and_why(arguments: Any, fault: str | None) -> None:
    assert Checker(raw(FILE)).check(arguments) == fault


def test_only_the_first_few_faults_are_listed() -> None:
    fault = Checker(raw({"items": {"type": "string"}})).check([1] * 10)
    assert fault == (
        NO_FIT + '[0] is not of type "string"; [1] is not of type "string"; [2] is not of type "string"; and more.'
    )


def test_a_fault_does_not_repeat_the_value() -> None:
    fault = Checker(raw({"properties": {"key": {"type": "integer"}}})).check({"key": "a-secret-value"})
    assert fault == NO_FIT + 'key is not of type "integer".'


@pytest.mark.parametrize("either", ["anyOf", "oneOf"])
def test_of_an_argument_that_may_be_null_the_fault_is_about_what_else_it_may_be(either: str) -> None:
    words = {either: [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}
    checker = Checker(raw({"properties": {"tags": words, "id": {either: [{"type": "string"}, {"type": "integer"}]}}}))
    assert checker.check({"tags": "a secret"}) == NO_FIT + 'tags is not of type "array".'
    assert checker.check({"tags": ["a", 1]}) == NO_FIT + 'tags[1] is not of type "string".'
    assert checker.check({"tags": None}) is None
    # Which of two was meant nobody knows.
    assert "under any of the schemas" in str(checker.check({"id": []}))


def test_a_fault_about_a_result_says_so() -> None:
    assert Checker(raw(FILE), what="results").check({}) == (
        'The results do not fit their schema: "path" is a required property.'
    )


def test_names_in_a_fault_cannot_drive_a_terminal() -> None:
    fault = Checker(raw(FILE)).check({"path": "a", "\x1b[31mred\n\u202e": 1})
    assert fault == NO_FIT + "Additional properties are not allowed ('red\\n\\u202e' was unexpected)."


@pytest.mark.parametrize("value", ["\ud800", {1: 2}, object(), b"x", {"a": {1, 2}}])
def test_a_value_that_is_no_json_is_a_fault_and_not_an_exception(value: Any) -> None:
    fault = Checker(raw(FILE)).check(value)
    assert fault is not None
    assert fault.startswith("The arguments are not valid JSON: ")


@pytest.mark.parametrize(
    ("schema", "fits", "fails"),
    [
        ({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 3, "exclusiveMinimum": True}, 4, 3),
        ({"$schema": "http://json-schema.org/draft-06/schema#", "exclusiveMinimum": 3}, 4, 3),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}, ["a"], [1]),
        ({"$schema": "https://json-schema.org/draft-07/schema", "items": [{"type": "string"}]}, ["a"], [1]),
        ({"$schema": "https://json-schema.org/draft/2019-09/schema", "items": [{"type": "string"}]}, ["a"], [1]),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema", "prefixItems": [{"const": 1}]}, [1], [2]),
        ({"prefixItems": [{"const": 1}]}, [1], [2]),
        (True, 1, None),
        ({}, 1, None),
        ({"$defs": {"n": {"type": "string"}}, "items": {"$ref": "#/$defs/n"}}, ["a"], [1]),
        ({"type": "object", "properties": {"next": {"$ref": "#"}}}, {"next": {"next": {}}}, {"next": {"next": 1}}),
        ({"$defs": {"a": {"$anchor": "x", "type": "string"}}, "items": {"$ref": "#x"}}, ["a"], [1]),
        ({"format": "email"}, "not an address", None),
        ({"pattern": "^(?=a)ab$"}, "ab", "ac"),
    ],
)
def test_all_drafts_and_local_references_work(schema: Any, fits: Any, fails: Any) -> None:
    checker = Checker(raw(schema))
    assert checker.check(fits) is None
    if fails is not None:
        assert checker.check(fails) is not None


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (FILE, None),
        (True, None),
        ({"$ref": "http://127.0.0.1:1/x.json"}, "Resource 'http://127.0.0.1:1/x.json' is not present in a registry"),
        ({"$ref": "file:///etc/passwd"}, "Resource 'file:///etc/passwd' is not present in a registry"),
        ({"$id": "http://127.0.0.1:1/a", "items": {"$ref": "b"}}, "Resource 'http://127.0.0.1:1/b' is not present"),
        ({"$ref": "other.json"}, "Resource 'other.json' is not present in a registry"),
        ({"$ref": "#/$defs/missing"}, "Pointer '/$defs/missing' does not exist"),
        ({"$schema": "http://127.0.0.1:1/mine"}, "Unknown meta-schema: 'http://127.0.0.1:1/mine'"),
        ({"properties": {"a": {"type": "objec"}}}, "properties.a.type is not valid under any"),
        ({"pattern": "("}, 'pattern is not a "regex"'),
        ({"pattern": "((a{100}){100}){100}"}, 'pattern is not a "regex"'),
        ({"$ref": "#"}, "its references multiply or go round in circles"),
        ([], 'the value is not of types "boolean", "object"'),
        ("text", 'the value is not of types "boolean", "object"'),
    ],
)
def test_a_schema_that_cannot_be_used_is_explained(schema: Any, problem: str | None) -> None:
    found = problems_of_schema(raw(schema))
    if problem is None:
        assert found is None
    else:
        assert found is not None
        assert found.startswith(f"The schema cannot be used: {problem}")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff",
        b'{"a":"\\ud800"}',
        b'{"$ref":"#/a","a":' + b'{"properties":{"a":' * 400 + b"{}" + b"}}" * 400 + b"}",
        b'{"properties":{"a":' * 5_000 + b"{}" + b"}}" * 5_000,
        b'{"description":"' + b"x" * MAX_BYTES + b'"}',
        b'{"allOf":[' + b"{}," * MAX_SUBSCHEMAS + b"{}]}",
    ],
    ids=["empty", "half", "not UTF-8", "surrogate", "deep with references", "deep", "large", "many"],
)
def test_broken_huge_and_deep_schemas_are_refused(data: bytes) -> None:
    found = problems_of_schema(data)
    assert found is not None
    assert found.startswith("The schema cannot be used: ")
    assert Checker(data).check({}) == found.replace("The schema", "The schema of the arguments")


def test_a_schema_that_multiplies_by_references_is_refused() -> None:
    definitions: dict[str, Any] = {
        f"a{n}": {"anyOf": [{"$ref": f"#/$defs/a{n + 1}"}, {"$ref": f"#/$defs/a{n + 1}"}]} for n in range(40)
    }
    schema = {"$ref": "#/$defs/a0", "$defs": {**definitions, "a40": {"type": "string"}}}
    assert problems_of_schema(raw(schema)) == (
        "The schema cannot be used: its references multiply or go round in circles."
    )


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_a_schema_that_multiplies_with_the_depth_of_the_value_stays_cheap(keyword: str) -> None:
    """Explaining this failure in full would take all memory; checking it level by level, all time."""
    again = {"type": "array", "items": {keyword: "#tree"}}
    checker = Checker(raw({"$dynamicAnchor": "tree", "anyOf": [{**again, "minItems": 1}, again, {"type": "string"}]}))
    assert checker.check(nested(3, "leaf")) is None
    assert str(checker.check(nested(3))).startswith(NO_FIT)
    assert checker.check(nested(14)) == "The arguments do not fit their schema."
    assert checker.check(nested(60)) == "The arguments are nested too deeply for their schema."


def test_an_honest_recursive_schema_takes_deep_values() -> None:
    checker = Checker(raw({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "n": {"type": "integer"}}}))
    tree: dict[str, Any] = {"n": 1}
    for _ in range(60):
        tree = {"left": tree, "right": {"n": 2}}
    assert checker.check(tree) is None


def test_a_hostile_pattern_does_not_hang() -> None:
    assert Checker(raw({"pattern": "^(a+)+$"})).check("a" * 50_000 + "b") is not None
    assert Checker(raw({"pattern": "^(?=a)(a+)+\\1$"})).check("a" * 50_000 + "b") is not None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(json_values, json_values)
@settings(max_examples=150, deadline=None)
def test_no_schema_and_no_value_raise(schema: Any, value: Any) -> None:
    data = json.dumps(schema).encode()
    fault = Checker(data).check(value)
    assert fault is None or fault.endswith(".")
    if problems_of_schema(data) is not None:
        assert fault is not None


PLAIN = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["text"],
}


def test_a_plain_value_is_vouched_for_without_the_library() -> None:
    assert surely_fits(raw(PLAIN), {"text": "a", "count": 3})


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (PLAIN, {"count": 3}),
        (PLAIN, {"text": 3}),
        (PLAIN, {"text": "a", "count": True}),
        (PLAIN, {"text": "a", "count": 2**70}),
        (PLAIN, {"text": "a", "more": 1}),
        (PLAIN, {"text": "\ud800"}),
        (PLAIN, []),
        ({**PLAIN, "minProperties": 3}, {"text": "a"}),
        ({**PLAIN, "title": 3}, {"text": "a"}),
        ({**PLAIN, "$schema": "https://example.com/own"}, {"text": "a"}),
        ({**PLAIN, "properties": {"text": {"type": "string", "maxLength": 1}}}, {"text": "a"}),
        ({**PLAIN, "properties": {"text": {"type": ["string"]}}}, {"text": "a"}),
        ({"type": "object", "properties": {"a": True}}, {"a": 1}),
    ],
)
def test_nothing_else_is(schema: Any, value: Any) -> None:
    assert not surely_fits(raw(schema), value)


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
NAMES = st.sampled_from(["a", "b", "c"])
MEMBERS = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "odd"])},
    optional={"title": VALUES, "maxLength": st.integers(), "description": VALUES, "default": VALUES},
)
SCHEMAS = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(NAMES, MEMBERS)},
    optional={"required": st.lists(NAMES), "additionalProperties": st.booleans() | VALUES, "$schema": VALUES},
)


@given(SCHEMAS, st.dictionaries(NAMES, VALUES))
@settings(max_examples=200, deadline=None)
def test_what_is_vouched_for_fits(schema: Any, value: Any) -> None:
    try:
        written = raw(schema)
    except (ValueError, OverflowError):
        return
    if surely_fits(written, value):
        checker = Checker(written)
        # The library is asked from the second time on.
        assert [checker.check(value), checker.check(value)] == [None, None]


def test_a_checker_is_made_once_per_schema_and_the_cache_is_bounded() -> None:
    cache, schema = CheckerCache(), msgspec.Raw(b'{"properties": {"count": {"type": "integer"}}}')
    for _ in range(3):
        assert cache.check(schema, {"count": 1}) is None
    assert cache.check(schema, {"count": "one"})
    assert len(cache) == 1

    for _ in range(CHECKERS):
        assert cache.check(msgspec.Raw(b"{}"), {}) is None
    assert len(cache) == CHECKERS


def test_a_cache_says_of_every_value_what_its_checker_says() -> None:
    deep: Any = {}
    for _ in range(100):
        deep = {"next": deep}
    values = [{}, {"next": {}}, {"next": 1}, deep, {"next": object()}, {"count": 1}]
    for schema in (
        {"type": "object", "properties": {"next": {"type": "object"}}},
        {"type": "object", "properties": {"next": {"$ref": "#"}}},
        {"type": "wrong"},
    ):
        cache, checker, written = CheckerCache(), Checker(raw(schema)), msgspec.Raw(raw(schema))
        for value in values * 2:
            assert cache.check(written, value) == checker.check(value)
