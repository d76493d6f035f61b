"""What a tool takes, read from its schema."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.commands.signature import Parameter, example, parameters_of, signature, typed
from openclaw.typed_words import join_words

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "required", "items", "anyOf", "enum", "$ref", "const", "default", "x"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


def tool(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"enum": ["asc", "desc"]}, '"asc" | "desc"'),
        ({"enum": list(range(9))}, "0 | 1 | 2 | 3 | 4 | 5 | …"),
        ({"const": 3}, "3"),
        ({"type": "array", "items": {"type": "integer"}}, "integer[]"),
        ({"type": "array", "items": {"type": ["integer", "string"]}}, "(integer | string)[]"),
        ({"type": "array"}, "any[]"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null"),
        (tool(("a",), b={"type": "string"}, a={"type": "number"}), "{a, b?}"),
        ({"type": "object"}, "object"),
        ({"$ref": "#/$defs/Colour"}, '"red" | "green"'),
        ({"$ref": "#/$defs/Round"}, "any"),
        ({"$ref": "elsewhere.json"}, "any"),
        ({}, "any"),
        (True, "any"),
    ],
)
def test_every_kind_of_type_is_shown_in_a_few_words(schema: Any, shown: str) -> None:
    definitions = {"Colour": {"enum": ["red", "green"]}, "Round": {"$ref": "#/$defs/Round"}}
    assert signature("t", {**tool(("x",), x=schema), "$defs": definitions}) == f"t(x: {shown})"


def test_what_must_be_given_comes_first_and_what_may_be_left_out_is_marked() -> None:
    schema = tool(("path",), head={"type": "number"}, path={"type": "string"})
    assert signature("files__read", schema) == "files__read(path: string, head?: number)"
    assert signature("nothing", {"type": "object"}) == "nothing()"


def test_an_argument_has_its_text_default_and_limits() -> None:
    limit = {"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "How many\nto list."}
    assert parameters_of(tool((), limit=limit)) == [
        Parameter(
            "limit", "integer", required=False, text="How many to list.", default="10", limits=("from 1", "to 50")
        )
    ]


def test_an_example_has_what_must_be_given_with_values_that_fit() -> None:
    schema = tool(
        ("name", "count", "flag", "list", "how", "where"),
        name={"type": "string"},
        count={"type": "integer", "minimum": 2},
        flag={"type": "boolean"},
        list={"type": "array", "items": {"type": "string"}},
        how={"enum": ["fast"]},
        where=tool(("x",), x={"type": "number"}, y={"type": "number"}),
        left={"type": "string"},
    )
    words = ("t", "name=TEXT", "count=2", "flag=true", 'list=["TEXT"]', "how=fast", 'where={"x": 1}')
    assert typed(example("t", schema)) == join_words(words)


def test_what_a_server_sends_drives_no_terminal_and_fills_no_screen() -> None:
    schema = tool(
        ("a\x1b[2J",), **{"a\x1b[2J": {"enum": ["\x1b]0;title\x07" + "x" * 9_999], "description": "y" * 99_999}}
    )
    (found,) = parameters_of(schema)
    assert "\x1b" not in f"{found} {signature('t', schema)} {typed(example('t', schema))}"
    assert len(found.type) < 300
    assert len(found.text) <= 2_000


@given(ANY_JSON)
def test_any_schema_gives_a_signature_and_an_example(schema: Any) -> None:
    assert signature("t", schema).startswith("t(")
    assert typed(example("t", schema)).startswith("t")
