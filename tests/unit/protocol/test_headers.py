"""The mirrored headers of the 2026-07-28 revision."""

import base64
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.errors import ProtocolError
from openclaw.protocol.headers import ParamHeader, header_value, mirrored, param_headers, standard_headers


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def annotated(name: Any, type: Any = "string") -> dict[str, Any]:
    return {"type": type, "x-mcp-header": name}


def test_method_and_name_are_mirrored() -> None:
    assert standard_headers("tools/call", "get_weather") == {"Mcp-Method": "tools/call", "Mcp-Name": "get_weather"}
    assert standard_headers("tools/list") == {"Mcp-Method": "tools/list"}


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us-west1", "us-west1"),
        ("us west 1", "us west 1"),
        ("file:///a%20b?c=d", "file:///a%20b?c=d"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("=?base64?open", "=?base64?open"),
        ("", "=?base64??="),
        ("a\tb", "=?base64?YQli?="),
    ],
)
def test_values_are_encoded_as_the_specification_shows(value: str, header: str) -> None:
    assert header_value(value) == header


@settings(max_examples=200, deadline=None)
@given(value=st.text(max_size=50))
def test_any_text_makes_a_header_without_control_characters_that_decodes_to_it(value: str) -> None:
    header = header_value(value)
    assert header.isascii()
    assert header.isprintable()
    assert header == header.strip()
    if header.startswith("=?base64?") and header.endswith("?="):
        assert base64.b64decode(header[9:-2], validate=True) == value.encode("utf-8", "replace")
    else:
        assert header == value


def test_annotated_parameters_are_found_at_any_depth_of_properties() -> None:
    nested = schema(
        region=annotated("Region"), where=schema(zone=annotated("Zone", "integer")), query={"type": "string"}
    )
    assert param_headers(nested) == (
        ParamHeader("Mcp-Param-Region", ("region",)),
        ParamHeader("Mcp-Param-Zone", ("where", "zone")),
    )


def test_a_parameter_that_may_be_null_can_be_annotated() -> None:
    assert param_headers(schema(a=annotated("A", ["boolean", "null"]))) == (ParamHeader("Mcp-Param-A", ("a",)),)


@pytest.mark.parametrize(
    "given_schema",
    [
        schema(),
        True,
        None,
        {"type": "object"},
        schema(a={"default": {"x-mcp-header": "X"}}),
        {"enum": [annotated("X")]},
    ],
)
def test_a_schema_without_annotations_asks_for_nothing(given_schema: Any) -> None:
    assert param_headers(given_schema) == ()


def test_a_parameter_that_is_called_like_the_annotation_is_no_annotation() -> None:
    assert param_headers(schema(**{"x-mcp-header": {"type": "string"}})) == ()


@pytest.mark.parametrize(
    "name", ["", "My Region", "Region:Primary", "Région", "Region\t1", "a\r\nb", "a\nb", 5, None, ["A"]]
)
def test_a_name_that_is_no_header_name_is_malformed(name: Any) -> None:
    with pytest.raises(ProtocolError, match="is not a header name"):
        param_headers(schema(a=annotated(name)))


@pytest.mark.parametrize(
    "type", ["object", "array", "null", "number", ["string", "integer"], None, 5, [], [["string"]]]
)
def test_only_strings_integers_and_booleans_can_be_mirrored(type: Any) -> None:
    with pytest.raises(ProtocolError, match="not a string, an integer or a boolean"):
        param_headers(schema(a=annotated("A", type)))


@pytest.mark.parametrize(("one", "two"), [("Region", "Region"), ("MyField", "myfield")])
def test_a_header_name_may_be_used_once(one: str, two: str) -> None:
    with pytest.raises(ProtocolError, match="two parameters"):
        param_headers(schema(a=annotated(one), b=schema(c=annotated(two))))


@pytest.mark.parametrize(
    "given_schema",
    [
        {"type": "object", "x-mcp-header": "Root"},
        schema(a={"type": "array", "items": annotated("A")}),
        {"oneOf": [schema(a=annotated("A"))]},
        {"anyOf": [annotated("A")]},
        {"allOf": [annotated("A")]},
        {"not": annotated("A")},
        {"if": {}, "then": annotated("A")},
        {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": annotated("A")}},
        {"definitions": {"A": annotated("A")}},
        {"additionalProperties": annotated("A")},
        {"patternProperties": {"^a": annotated("A")}},
        {"dependentSchemas": {"b": schema(a=annotated("A"))}},
        {"propertyNames": annotated("A")},
        schema(a={"type": "array", "prefixItems": [annotated("A")]}),
    ],
)
def test_an_annotation_no_argument_path_leads_to_is_malformed(given_schema: Any) -> None:
    with pytest.raises(ProtocolError, match="not on a chain of properties"):
        param_headers(given_schema)


def test_a_very_deep_schema_is_walked() -> None:
    deep: dict[str, Any] = annotated("Deep")
    for _ in range(5000):
        deep = schema(a=deep)
    (header,) = param_headers(deep)
    assert len(header.path) == 5000


HEADERS = (
    ParamHeader("Mcp-Param-Region", ("region",)),
    ParamHeader("Mcp-Param-Zone", ("where", "zone")),
)


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "us", "where": {"zone": 42}}, {"Mcp-Param-Region": "us", "Mcp-Param-Zone": "42"}),
        ({"region": True, "where": {"zone": False}}, {"Mcp-Param-Region": "true", "Mcp-Param-Zone": "false"}),
        ({"region": -7, "where": {"zone": 3.0}}, {"Mcp-Param-Region": "-7", "Mcp-Param-Zone": "3"}),
        ({"region": None, "where": {}}, {}),
        ({"where": "not an object"}, {}),
        ({"region": ["a"], "where": {"zone": {"a": 1}}}, {}),
        ({"region": 2**53, "where": {"zone": 1.5}}, {}),
        ({}, {}),
    ],
)
def test_values_are_mirrored_where_there_are_any(arguments: dict[str, Any], headers: dict[str, str]) -> None:
    assert mirrored(HEADERS, arguments) == headers
