"""Tools, calls and results in the words of the vendors: read from their objects and from mappings, refused with a sentence otherwise."""

from types import SimpleNamespace
from typing import Any

import pytest
from openai.types.responses import FunctionToolParam
from openai.types.responses.response_input_item_param import FunctionCallOutput
from pydantic import TypeAdapter

from openclaw.content import Image, Text, ToolCall
from openclaw.errors import UsageError
from openclaw.mcp.model_messages import Vendor, answers_for, calls_of, tools_for
from openclaw.tool import Invocation, Tool, ToolResult, parameters

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


async def _run(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
    return ToolResult(())


TOOL = Tool("files__read", "Reads.", parameters(SCHEMA), _run)


@pytest.mark.parametrize(
    ("vendor", "shape"),
    [
        (
            "openai",
            {"type": "function", "function": {"name": "files__read", "description": "Reads.", "parameters": SCHEMA}},
        ),
        (
            "openai-responses",
            {
                "type": "function",
                "name": "files__read",
                "description": "Reads.",
                "parameters": SCHEMA,
                "strict": False,
            },
        ),
        ("anthropic", {"name": "files__read", "description": "Reads.", "input_schema": SCHEMA}),
    ],
)
def test_a_tool_has_the_shape_that_its_vendor_takes(vendor: Vendor, shape: dict[str, Any]) -> None:
    assert tools_for(vendor, [TOOL]) == [shape]


def test_what_a_vendor_refuses_in_a_schema_is_not_sent() -> None:
    schema = {"anyOf": [{"properties": {"odd name": {"type": "string"}}}]}
    (tool,) = tools_for("anthropic", [Tool("t", "", parameters(schema), _run)])
    assert (tool["input_schema"]["type"], tool["input_schema"]["properties"]) == ("object", {})


CALLS = [ToolCall("1", "files__read", {"path": "a"})]
MESSAGES: list[tuple[Vendor, dict[str, Any]]] = [
    ("openai", {"tool_calls": [{"id": "1", "function": {"name": "files__read", "arguments": '{"path": "a"}'}}]}),
    (
        "openai-responses",
        {
            "output": [
                {"type": "reasoning"},
                {"type": "function_call", "call_id": "1", "name": "files__read", "arguments": '{"path": "a"}'},
            ]
        },
    ),
    (
        "anthropic",
        {
            "content": [
                {"type": "text", "text": "Well."},
                {"type": "tool_use", "id": "1", "name": "files__read", "input": {"path": "a"}},
            ]
        },
    ),
]


def as_objects(value: Any) -> Any:
    match value:
        case {"path": _}:
            return value
        case dict():
            return SimpleNamespace(**{key: as_objects(one) for key, one in value.items()})
        case list():
            return [as_objects(one) for one in value]
    return value


@pytest.mark.parametrize(("vendor", "message"), MESSAGES)
def test_calls_are_found_in_objects_and_in_mappings(vendor: Vendor, message: dict[str, Any]) -> None:
    assert calls_of(vendor, message) == CALLS == calls_of(vendor, as_objects(message))


def test_a_whole_completion_is_as_good_as_its_message() -> None:
    assert calls_of("openai", {"choices": [{"message": MESSAGES[0][1]}]}) == CALLS


@pytest.mark.parametrize("vendor", ["openai", "openai-responses", "anthropic"])
def test_a_message_without_calls_needs_no_answer(vendor: Vendor) -> None:
    empty: dict[str, Any] = {"content": [], "tool_calls": None, "output": []}
    assert (calls_of(vendor, empty), answers_for(vendor, [], [])) == ([], [])


def test_arguments_that_are_not_json_fail_that_call_alone() -> None:
    broken = {"tool_calls": [{"id": "1", "function": {"name": "files__read", "arguments": "{path"}}]}
    assert calls_of("openai", broken)[0].fault == "The arguments of files__read are not JSON: send one JSON object."


PICTURE = Image(b"png", "image/png")
DATA = "data:image/png;base64,cG5n"
RESULT = ToolResult((Text("one"), PICTURE))
FAILED = ToolResult((Text("no"),), is_error=True)


@pytest.mark.parametrize(
    ("vendor", "answers"),
    [
        (
            "openai",
            [
                {"role": "tool", "tool_call_id": "1", "content": "one"},
                {"role": "tool", "tool_call_id": "2", "content": "The call failed. no"},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Returned by the tool t (call 1):"},
                        {"type": "image_url", "image_url": {"url": DATA}},
                    ],
                },
            ],
        ),
        (
            "openai-responses",
            [
                {
                    "type": "function_call_output",
                    "call_id": "1",
                    "output": [{"type": "input_text", "text": "one"}, {"type": "input_image", "image_url": DATA}],
                },
                {"type": "function_call_output", "call_id": "2", "output": "The call failed. no"},
            ],
        ),
        (
            "anthropic",
            [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "1",
                            "content": [
                                {"type": "text", "text": "one"},
                                {
                                    "type": "image",
                                    "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"},
                                },
                            ],
                        },
                        {
                            "type": "tool_result",
                            "tool_use_id": "2",
                            "content": [{"type": "text", "text": "no"}],
                            "is_error": True,
                        },
                    ],
                }
            ],
        ),
    ],
)
def test_results_go_back_with_their_pictures_and_failures(vendor: Vendor, answers: list[Any]) -> None:
    assert answers_for(vendor, [ToolCall("1", "t", {}), ToolCall("2", "u", {})], [RESULT, FAILED]) == answers


def test_what_the_responses_api_is_given_fits_the_types_of_its_library() -> None:
    # The other two are held by servers that are as strict as their vendors (tests/docs/test_tools_for_models.py).
    (tool,) = tools_for("openai-responses", [TOOL])
    assert TypeAdapter(FunctionToolParam).validate_python(tool, strict=True) == tool
    calls = [ToolCall("1", "t", {}), ToolCall("2", "u", {})]
    for answer in answers_for("openai-responses", calls, [RESULT, FAILED]):
        assert TypeAdapter(FunctionCallOutput).validate_python(answer) == answer


@pytest.mark.parametrize(("vendor", "message"), MESSAGES)
@pytest.mark.parametrize("asked", ["openai", "openai-responses", "anthropic"])
def test_calls_that_stand_where_another_vendor_has_them_are_not_passed_over(
    asked: Vendor, vendor: Vendor, message: dict[str, Any]
) -> None:
    if asked == vendor:
        assert calls_of(asked, message) == CALLS
        return
    with pytest.raises(UsageError) as caught:
        calls_of(asked, message)
    assert str(caught.value) == f"This message is not of {asked!r}. Its calls are those of {vendor!r}."
    with pytest.raises(UsageError):
        calls_of(asked, as_objects(message))


def test_a_vendor_that_is_not_known_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        tools_for("mistral", [TOOL])  # type: ignore[arg-type]  # what a program without types writes
    assert str(caught.value) == (
        "There is no vendor 'mistral'. Choose one of 'openai', 'openai-responses', 'anthropic'."
    )


def test_what_is_no_message_of_a_model_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        calls_of("anthropic", "Hello")
    assert str(caught.value) == "A str is no message of a model. Give what client.messages.create gave."
