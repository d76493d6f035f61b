"""The rules that the local Responses server holds: a request that keeps them all passes, each breach is refused with its place."""

import base64
import copy
from typing import Any

import pytest

from parts.media_server import png
from parts.responses_rules import responses_fault

URL = f"data:image/png;base64,{base64.b64encode(png()).decode()}"
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}}
FUNCTION: dict[str, Any] = {"type": "function", "name": "read", "parameters": SCHEMA, "strict": False}
SEARCH: dict[str, Any] = {"type": "tool_search", "execution": "client", "parameters": SCHEMA}
GOOD: dict[str, Any] = {
    "model": "m",
    "stream": True,
    "store": False,
    "instructions": "Be brief.",
    "tools": [FUNCTION, SEARCH],
    "input": [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "image_url": URL, "detail": "auto"},
            ],
        },
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2lnbmVk"},
        {"role": "assistant", "content": "One moment.", "phase": "commentary"},
        {"type": "tool_search_call", "call_id": "c0", "execution": "client", "arguments": {"query": "x"}},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
        {
            "type": "tool_search_output",
            "call_id": "c0",
            "execution": "client",
            "tools": [{**FUNCTION, "defer_loading": True}],
        },
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "x"}]},
    ],
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The good request with one place of it replaced, or taken out for None."""
    request = copy.deepcopy(GOOD)
    *way, last = (int(step) if step.isdigit() else step for step in path.split("."))
    place: Any = request
    for step in way:
        place = place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return request


def test_a_request_that_keeps_every_rule_passes() -> None:
    assert responses_fault(GOOD, 1, searches=True) is None


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("stop", ["a"], "Invalid 'stop'"),
        ("messages", [], "Invalid 'messages'"),
        ("max_output_tokens", 5, "Expected a value >= 16"),
        ("input", [], "empty array"),
        ("input", None, "Missing required parameter"),
        ("tools.0.strict", None, "strict"),
        ("tools.0.name", "a b", "Invalid 'tools[0].name'"),
        ("tools.0.parameters", {"type": "string"}, "Invalid 'tools[0].parameters'"),
        ("tools", [FUNCTION] * 129, "maximum length 128"),
        ("tools", [FUNCTION, FUNCTION], "must be unique"),
        ("tools", [{**FUNCTION, "defer_loading": True}], "defer_loading"),
        ("input.0.content.0.text", "", "empty string"),
        ("input.0.content.1.image_url", "data:image/png;base64,aGVsbG8=", "Could not process image"),
        ("input.0.content.1.detail", None, "Invalid 'input[0].content[1]"),
        ("input.0.phase", "commentary", "only assistant messages have a phase"),
        ("input.1.encrypted_content", None, "Items are not persisted"),
        ("input.1.encrypted_content", "other", "could not be verified"),
        ("input.1.id", "msg_1", "begins with 'rs'"),
        ("input.4.arguments", "[]", "expected the JSON of an object"),
        ("input.4.call_id", "c0", "Duplicate call"),
        ("input.4.call_id", "c" * 65, "maximum length 64"),
        ("input.4", None, "No tool call found for function call output with call_id c1"),
        ("input.6", None, "No tool output found for function call c1"),
        ("input.5", None, "No tool output found for tool search call c0"),
        ("input.3", None, "No tool call found for tool search call output with call_id c0"),
        ("input.5.tools.0.name", "a b", "Invalid 'input[5].tools[0].name'"),
        ("input.6.output", "", "empty"),
        ("input.6.output.0.odd", 1, "odd"),
    ],
)
def test_each_breach_is_refused_with_its_place(path: str, value: Any, said: str) -> None:
    fault = responses_fault(changed(path, value), 1, searches=True)
    assert fault is not None
    assert said in fault.message


def test_reasoning_that_nothing_follows_is_refused() -> None:
    request = {**GOOD, "input": GOOD["input"][:2]}
    fault = responses_fault(request, 1, searches=True)
    assert fault is not None
    assert "without its required following item" in fault.message


def test_a_model_that_does_not_know_tool_search_refuses_each_part_of_it_by_name() -> None:
    requests = [
        GOOD,
        {**GOOD, "tools": [FUNCTION]},
        {**GOOD, "tools": [{**FUNCTION, "defer_loading": True}], "input": "hi"},
    ]
    faults = [responses_fault(request, 1) for request in requests]
    assert [fault.message if fault else "" for fault in faults] == [
        "Invalid 'tools[1].type': 'tool_search' is not supported with this model.",
        "Invalid 'input[3].type': 'tool_search_call' is not supported with this model.",
        "Invalid 'tools[0].defer_loading': Unknown parameter: 'defer_loading'.",
    ]
