"""How a tool is called in Python, and that no word of a server is more than a word in there."""

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from openclaw.tool import Invocation, Tool, ToolResult, parameters
from openclaw.tools.code.signature import head_of, signature_of


async def nothing(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
    return ToolResult(())


def tool(name: str = "github__create_issue", about: str = "Opens an issue.", **schema: Any) -> Tool:
    return Tool(name, about, parameters({"type": "object", **schema}), nothing, kind="mcp", origin="github")


def test_required_arguments_come_first_and_others_may_be_left_out() -> None:
    properties: dict[str, Any] = {
        "body": {"type": "string", "description": "The text.\nIn Markdown."},
        "title": {"type": "string"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "state": {"enum": ["open", "closed", None]},
        "number": {"type": ["integer", "null"]},
        "who": {"anyOf": [{"$ref": "#/$defs/person"}, {"type": "boolean"}]},
        "other": {},
    }
    defs: dict[str, Any] = {"person": {"type": "object", "properties": {"name": {"type": "string"}}}}
    schema: dict[str, Any] = {"properties": properties, "required": ["title"], "$defs": defs}
    assert signature_of(tool(**schema)) == (
        "async def github__create_issue(*, title: str, body: str = ..., labels: list[str] = ..., "
        "state: Literal['open', 'closed', None] = ..., number: int | None = ..., who: dict[str, Any] | bool = ..., "
        "other: Any = ...) -> Any:\n"
        "    # Opens an issue.\n"
        "    # body: The text. In Markdown.\n"
        "    ..."
    )


def test_what_python_cannot_write_as_a_name_is_called_by_name() -> None:
    properties = {"from-date": {"type": "string"}, "class": {"type": "integer"}}
    assert signature_of(tool("web-shop__find", "", properties=properties, required=["class"])) == (
        "async def call(name: Literal['web-shop__find'], arguments: "
        "TypedDict(\"Arguments\", {'class': int, 'from-date': NotRequired[str]})) -> Any:\n    ..."
    )
    assert signature_of(tool("noted", "")) == "async def noted() -> Any:\n    ..."


OUTPUTS: list[tuple[Any, str]] = [
    (None, "Any"),
    ({"type": "object", "properties": {"result": {"type": "array", "items": {"type": "string"}}}}, "list[str]"),
    (
        {"type": "object", "properties": {"id": {"type": "integer"}, "url": {"type": "string"}}, "required": ["id"]},
        "TypedDict(\"Answer\", {'id': int, 'url': NotRequired[str]})",
    ),
    ({"type": "object"}, "dict[str, Any]"),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "boolean"}}}, "bool"),
    ([], "Any"),
]


@pytest.mark.parametrize(("output", "written"), OUTPUTS)
def test_a_tool_that_says_what_its_answers_are_says_so_in_python(output: Any, written: str) -> None:
    given = None if output is None else parameters(output)
    assert head_of(replace(tool("noted"), output=given)) == f"async def noted() -> {written}:"


BREAK_OUTS = [
    '"""\nimport os\n"""',
    "'''\nimport os\n'''",
    "...\n\nasync def other(): ...",
    "\\\nimport os",
    "text\r\nimport os",
    "text\rimport os",
    "text\x0cimport os",
    "text\x0bimport os",
    "text\u2028import os",
    "text\u2029import os",
    "text\x85import os",
    "text\x1cimport os\x1dimport os\x1eimport os",
    "text\x00import os",
    "): pass\nimport os\ndef f(",
    "a, *, b=__import__('os').system('true')",
    "x: Any = open('/etc/passwd')",
    "'] , arguments: exec('import os')",
    '"]; import os #',
    "# coding: utf-7\n+AGkAbQBwAG8AcgB0-",
    "\u202eso tropmi",
    "ｉｍｐｏｒｔ os",
    "{__import__('os')}",
    "%s" * 50,
    "\\N{LINE FEED}import os",
    "\\u000aimport os",
    "\ufffd import os",
    "def",
    "__class__",
    "\n" * 500 + "import os",
    "x" * 100_000,
]
# Hypothesis warns of examples that are too long to print, and a warning is an error.
anything = st.text() | st.sampled_from([words for words in BREAK_OUTS if len(words) < 10_000])


def judge(written: Tool) -> None:
    [function] = ast.parse(signature_of(written)).body
    assert isinstance(function, ast.AsyncFunctionDef)
    [only] = function.body
    assert isinstance(only, ast.Expr)
    assert isinstance(only.value, ast.Constant)
    assert only.value.value is ...
    # Nothing in its head is called but the one word of ours.
    called = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    assert all(isinstance(one, ast.Name) and one.id == "TypedDict" for one in called)
    assert len(signature_of(written)) < 250_000


@pytest.mark.parametrize("words", BREAK_OUTS, ids=range(len(BREAK_OUTS)))
def test_no_word_of_a_server_breaks_out(words: str) -> None:
    for schema in (
        {"properties": {words: {"type": words, "description": words, "enum": [words]}}, "required": [words]},
        {"properties": {"a": {"const": words, "title": words}, "b": {"$ref": words}, "c": {"description": words}}},
        {"properties": words, "required": words},
    ):
        judge(tool(words, words, **schema))
        judge(tool(about=words, **schema))
        judge(replace(tool(words), output=parameters({"type": "object", **schema})))


@given(name=anything, about=anything, key=anything, said=anything, choices=st.lists(anything | st.integers()))
def test_whatever_a_server_says_it_is_one_function_with_an_empty_body(
    name: str, about: str, key: str, said: str, choices: list[str | int]
) -> None:
    properties = {key: {"description": said, "enum": choices}, "b": {"anyOf": [{"const": said}, {"type": said}]}}
    judge(tool(name, about, properties=properties, required=[key, said]))
