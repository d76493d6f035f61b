"""Arguments out of sentences: what is written out, what is found, and what no sentence can break."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.content import Text, UserMessage
from openclaw.models.arguments import fill
from openclaw.models.clues import PathTarget, Span, read_clues
from openclaw.models.offline import decide
from openclaw.tool import Invocation, Tool, ToolResult, parameters


async def never(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
    raise AssertionError("a provider never runs a tool itself")


def filled(text: str, properties: dict[str, Any], *required: str, name: str = "act") -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return fill(schema, name, "", read_clues(text)).arguments


@pytest.mark.parametrize(
    ("text", "spec", "value"),
    [
        ("act x=5", {"type": "integer"}, 5),
        ("act x=5", {"type": ["null", "number"]}, 5),
        ("act x=2.5", {"anyOf": [{"type": "null"}, {"type": "number"}]}, 2.5),
        ("act x=five", {"type": "integer"}, None),
        ("act --x yes", {"type": "boolean"}, True),
        ("act x=off", {"type": "boolean"}, False),
        ("act x=maybe", {"type": "boolean"}, None),
        ("act x=a,b", {"type": "array"}, ["a", "b"]),
        ('act x=["a", 1]', {"type": "array"}, ["a", 1]),
        ('act x={"k": [1]}', {"type": "object"}, {"k": [1]}),
        ("act x=text", {"type": "object"}, None),
        ("act x='two words'", {"type": "string"}, "two words"),
        ("act x: plain", {}, "plain"),
        ("act x=RED", {"enum": ["red", "blue"]}, "red"),
        ("act x=green", {"enum": ["red", "blue"]}, None),
        ("act 'one' and 'two'", {"type": "array"}, ["one", "two"]),
        ("act on https://a.test/b, please", {"type": "string", "format": "uri"}, "https://a.test/b"),
    ],
)
def test_a_value_takes_the_type_its_parameter_asks_for(text: str, spec: dict[str, Any], value: Any) -> None:
    assert filled(text, {"x": spec}, "x").get("x") == value


def test_a_number_beside_the_name_of_its_parameter_goes_there() -> None:
    spec = {"width": {"type": "integer"}, "height": {"type": "integer"}}
    assert filled("act with height 20 and width 30", spec, "width", "height") == {"width": 30, "height": 20}


def test_a_json_object_is_taken_as_it_is() -> None:
    assert filled('act {"anything": [1, {"b": null}]} now', {"x": {}}, "x") == {"anything": [1, {"b": None}]}


def test_names_with_dashes_are_found() -> None:
    assert filled("act old-text=a", {"old-text": {"type": "string"}}) == {"old-text": "a"}


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("and/or 1/2 10/12/2026 e.g. this", None),
        ("open 'my file.txt' in \"dir/a b.md\"", None),
        ("see (docs/a.md).", PathTarget(Span("docs/a.md", 5, 14), "file", placed=False)),
        ("open ~/notes", PathTarget(Span("~/notes", 5, 12), "unknown", placed=False)),
        ("in .", PathTarget(Span(".", 0, 4), "folder", placed=True)),
        ("the directory called build", PathTarget(Span("build", 4, 26), "folder", placed=True)),
    ],
)
def test_what_a_sentence_is_about_is_found(text: str, target: PathTarget | None) -> None:
    assert read_clues(text).target == target


def test_schemas_of_any_make_fill_without_failing() -> None:
    hostile: list[Any] = [
        {"properties": [], "required": {}},
        {"properties": {"a": 1, "b": None, "c": {"type": {}, "enum": [[], {}]}}, "required": [{}, 1, "a"]},
        {"properties": {f"p{number}": {"type": "string"} for number in range(500)}, "required": ["p499"]},
    ]
    for schema in hostile:
        fill(schema, "act", "", read_clues("act on a/b 5 'x' lines 1 to 99999999999999999999"))


TOKENS = """read list the in src/ a.txt 'q' " ' { } {"a":1} x=1 --x = 12 folder here https://x.test example.com ? first 5 lines to for
search of é 名前"""
words = st.sampled_from([*TOKENS.split(), "\ud800", "\x00"])
sentences = st.lists(words | st.text(max_size=6), max_size=12).map(" ".join)
schemas = st.recursive(
    st.none()
    | st.integers()
    | st.sampled_from(["string", "integer", "array", "object", "null", "boolean", "path", "url", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "required", "enum", "anyOf", "format", "path", "query", "n"]), inner
        )
    ),
    max_leaves=10,
)


@settings(max_examples=200)
@given(sentences, schemas)
def test_any_sentence_over_any_schema_ends_in_a_call_or_an_answer(text: str, schema: Any) -> None:
    odd = Tool(
        "read_list", "Search and list.", parameters({"type": "object", "properties": schema}), never, read_only=True
    )
    raw = Tool("act", "", msgspec.Raw(msgspec.json.encode(schema)), never, kind="mcp")
    assert decide([UserMessage((Text(text),))], [odd, raw])
