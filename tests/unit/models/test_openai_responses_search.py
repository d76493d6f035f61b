"""Tools that are searched for, over the Responses wire: the vendor's own form where a model knows it, ours everywhere else."""

from typing import Any

import msgspec
import pytest

from openclaw.content import AssistantMessage, Message, Text, ToolCall, ToolMessage
from openclaw.models.exchange import Pace
from openclaw.models.openai_responses import ResponsesWire, connect
from openclaw.models.provider import (
    NO_TOOL_SEARCH,
    Done,
    ModelRequest,
    TextDelta,
    ToolCallEnd,
    ToolCallStart,
)
from openclaw.models.spec import ModelEndpoint, ModelSpec
from openclaw.models.vendors import VENDORS
from openclaw.tool import Tool, parameters
from parts.model_requests import READ, USER
from parts.model_servers import KEY, MODEL, Answer, Call
from parts.responses_server import ResponsesServer

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"query": {"type": "string"}}}
SEARCH, DESCRIBE, CALL, SEND, POST = (
    Tool(name, f"About {name}.", parameters(SCHEMA), READ.run)
    for name in ("tool_search", "tool_describe", "tool_call", "mail__send", "mail__post")
)
SHOWN = [READ, CALL, DESCRIBE, SEARCH]
# Two searches, the second of which found nothing that is still there, beside another call; then a call of what was found.
SEARCHED: list[Message] = [
    *USER,
    AssistantMessage((ToolCall("c1", "tool_search", {"query": "send"}),)),
    ToolMessage("c1", "tool_search", (Text("mail__send, gone"),), found=("mail__send", "gone__tool")),
    AssistantMessage((ToolCall("c2", "tool_search", {"query": "x"}), ToolCall("c3", "read", {}))),
    ToolMessage("c2", "tool_search", (Text("No tool fits."),)),
    ToolMessage("c3", "read", (Text("a file"),)),
    AssistantMessage((ToolCall("c4", "mail__send", {"to": "Ann"}, through="tool_call"),)),
    ToolMessage("c4", "mail__send", (Text("sent"),)),
]
ABLE = ModelEndpoint("local", "http://127.0.0.1:1/v1", models=(ModelSpec("m", tool_search=True),))
PLAIN = ModelEndpoint("local", "http://127.0.0.1:1/v1")


def searched(endpoint: ModelEndpoint, quirks: frozenset[str] = frozenset()) -> dict[str, Any]:
    request = ModelRequest("m", "", SEARCHED, SHOWN, deferred={"mail__send": SEND, "mail__post": POST})
    return msgspec.json.decode(ResponsesWire().body(request, endpoint, quirks), type=dict[str, Any])


def test_a_model_that_knows_the_vendors_search_is_answered_with_definitions() -> None:
    body = searched(ABLE)
    search = {"type": "tool_search", "execution": "client", "description": "About tool_search.", "parameters": SCHEMA}
    assert [tool.get("name") for tool in body["tools"]] == ["read", None]
    assert body["tools"][1] == search
    made = {"execution": "client", "status": "completed"}
    found = {"type": "function", "name": "mail__send", "description": "About mail__send.", "parameters": SCHEMA}
    assert body["input"][1:] == [
        {"type": "tool_search_call", "call_id": "c1", **made, "arguments": {"query": "send"}},
        {
            "type": "tool_search_output",
            "call_id": "c1",
            **made,
            "tools": [{**found, "strict": False, "defer_loading": True}],
        },
        {"type": "tool_search_call", "call_id": "c2", **made, "arguments": {"query": "x"}},
        {"type": "function_call", "call_id": "c3", "name": "read", "arguments": "{}"},
        {"type": "tool_search_output", "call_id": "c2", **made, "tools": []},
        {"type": "function_call_output", "call_id": "c3", "output": "a file"},
        {"role": "user", "content": "The search for tools found none. It says:\nNo tool fits."},
        {"type": "function_call", "call_id": "c4", "name": "mail__send", "arguments": '{"to":"Ann"}'},
        {"type": "function_call_output", "call_id": "c4", "output": "sent"},
    ]


@pytest.mark.parametrize(
    ("endpoint", "quirks"),
    [(PLAIN, frozenset[str]()), (ABLE, frozenset({NO_TOOL_SEARCH}))],
    ids=["not known to", "refused"],
)
def test_any_other_model_gets_the_search_tools_and_its_calls_as_it_made_them(
    endpoint: ModelEndpoint, quirks: frozenset[str]
) -> None:
    body = searched(endpoint, quirks)
    assert [tool["name"] for tool in body["tools"]] == ["read", "tool_call", "tool_describe", "tool_search"]
    assert ("tool_search_call" in str(body), "mail__send, gone" in str(body)) == (False, True)
    call = {"type": "function_call", "call_id": "c4", "name": "tool_call"}
    assert body["input"][-2] == {**call, "arguments": '{"id":"mail__send","arguments":{"to":"Ann"}}'}


@pytest.mark.parametrize(
    ("model", "is_able"),
    [("gpt-5.6-terra", True), ("gpt-5.4", True), ("gpt-6-astra", True), ("gpt-5.2", False), ("gpt-5", False)],
)
def test_which_models_know_it_is_in_the_table(model: str, *, is_able: bool) -> None:
    endpoint = ModelEndpoint("openai", "", searching=VENDORS["openai"].searching)
    assert endpoint.searches(model) is is_able


@pytest.mark.parametrize("searches", [True, False])
async def test_an_endpoint_that_refuses_it_is_asked_through_the_neutral_door_from_then_on(*, searches: bool) -> None:
    asks = Answer(calls=(Call("c9", "tool_search", {"query": "post"}),))
    async with ResponsesServer([asks, Answer("two")], searches=searches) as server:
        endpoint = ModelEndpoint("local", server.url, KEY, models=(ModelSpec(MODEL, tool_search=True),))
        provider = connect(endpoint, Pace(attempts=1))
        request = ModelRequest(MODEL, "", SEARCHED, SHOWN, deferred={"mail__send": SEND})
        said = [[event async for event in provider.stream(request)] for _ in range(2)]
        await provider.close()
    # Whichever door it came through, a search is a call of our tool.
    call = ToolCall("c9", "tool_search", {"query": "post"})
    first = [event for event in said[0] if isinstance(event, ToolCallStart | ToolCallEnd)]
    assert first == [ToolCallStart(0, "c9", "tool_search"), ToolCallEnd(0, call)]
    assert isinstance(said[0][-1], Done)
    assert said[1][0] == TextDelta("two")
    own = ["defer_loading" in str(request) for request in server.requests]
    assert own == ([True, True] if searches else [True, False, False])
    assert len(server.refused) == (0 if searches else 1)
