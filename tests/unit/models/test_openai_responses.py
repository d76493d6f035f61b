"""The Responses wire: what goes out of a conversation, and the ways endpoints differ in what they send. What every wire promises is in
test_exchange.py."""

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.agent.draft import Draft
from openclaw.content import AssistantMessage, Image, Message, Text, Thinking, ToolCall, ToolMessage, Usage, UserMessage
from openclaw.models.openai_responses import ResponsesWire, connect
from openclaw.models.openai_responses_stream import ResponsesDecoder
from openclaw.models.provider import (
    Done,
    ModelEvent,
    ModelRequest,
    Notice,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from openclaw.models.refusal import RefusalError, reason_of
from openclaw.models.spec import ModelEndpoint
from openclaw.protocol.sse import SseParser
from parts.media_server import png
from parts.model_requests import READ, USER, streamed
from parts.model_servers import MODEL, Answer, Call, Failure, Page, Reply
from parts.responses_server import ResponsesServer

WIRE = ResponsesWire()
PLACE = ModelEndpoint("local", "http://127.0.0.1:1/v1")
ITEM = {"id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "c2lnbmVk"}
THOUGHT = Thinking("hm", "responses:" + json.dumps(ITEM))


def sent(messages: list[Message] = USER, quirks: frozenset[str] = frozenset(), **request: Any) -> dict[str, Any]:
    body = WIRE.body(ModelRequest("m", request.pop("system", ""), messages, **request), PLACE, quirks)
    return msgspec.json.decode(body, type=dict[str, Any])


def read(*events: dict[str, Any], done: bool = True) -> list[ModelEvent]:
    decoder = ResponsesDecoder()
    read: list[ModelEvent] = []
    for event in events:
        read += decoder.event(json.dumps(event))
    if done:
        read += decoder.event(json.dumps({"type": "response.completed", "response": {}}))
    rest, end = decoder.end()
    return [*read, *rest, end]


def added(index: int = 0, **item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def closed(index: int = 0, **item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def delta(kind: str, text: str, index: int = 0) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": text}


async def asked(
    *replies: Reply, messages: list[Message] = USER, **request: Any
) -> tuple[list[ModelEvent], ResponsesServer]:
    async with ResponsesServer(replies) as server:
        return await streamed(connect, server, messages, **request), server


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1/responses"),
        ("http://127.0.0.1:1234", "http://127.0.0.1:1234/v1/responses"),
        ("https://host/openai/v1/responses", "https://host/openai/v1/responses"),
    ],
)
def test_the_address_is_built_from_any_usual_base_url(base: str, url: str) -> None:
    assert WIRE.url(base) == url


def test_a_plain_request_keeps_nothing_at_the_vendor() -> None:
    assert sent(system="Be brief.") == {
        "model": "m",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": "hi"}],
    }


def test_what_a_request_wants_is_passed_on_in_the_words_of_this_wire() -> None:
    asked = sent(tools=[READ], tool_choice="required", temperature=1.5, max_tokens=5, stop=("a",))
    tool = {"type": "function", "name": "read", "description": "Read a file.", "strict": False}
    wanted = {
        "tools": [{**tool, "parameters": {"type": "object", "properties": {}}}],
        "tool_choice": "required",
        "temperature": 1.5,
        "max_output_tokens": 16,
    }
    assert {key: asked.get(key) for key in (*wanted, "stop")} == {**wanted, "stop": None}


def test_an_answer_goes_back_in_its_items_and_results_with_their_pictures() -> None:
    url = f"data:image/png;base64,{base64.b64encode(png()).decode()}"
    picture = {"type": "input_image", "image_url": url, "detail": "auto"}
    history: list[Message] = [
        UserMessage((Text("look"), Image(png(), "image/png"))),
        AssistantMessage(
            (
                THOUGHT,
                Thinking("", "responses-phase:commentary"),
                Text("One moment."),
                ToolCall("c1", "shot", {"n": 1}),
                ToolCall("c2", "read", {}),
            )
        ),
        ToolMessage("c1", "shot", (Text("taken"), Image(png(), "image/png"))),
        ToolMessage("c2", "read", (Text("broken"),), is_error=True),
        AssistantMessage((Thinking("", "responses-phase:final_answer"), Text("\n\nDone."))),
        *USER,
    ]
    assert sent(history)["input"] == [
        {"role": "user", "content": [{"type": "input_text", "text": "look"}, picture]},
        {"type": "reasoning", **ITEM},
        {"role": "assistant", "content": "One moment.", "phase": "commentary"},
        {"type": "function_call", "call_id": "c1", "name": "shot", "arguments": '{"n":1}'},
        {"type": "function_call", "call_id": "c2", "name": "read", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [{"type": "input_text", "text": "taken"}, picture],
        },
        {"type": "function_call_output", "call_id": "c2", "output": "The call failed.\nbroken"},
        {"role": "assistant", "content": "Done.", "phase": "final_answer"},
        {"role": "user", "content": "hi"},
    ]


def test_reasoning_that_nothing_follows_stays_behind() -> None:
    history: list[Message] = [*USER, AssistantMessage((Text("so"), THOUGHT)), *USER]
    assert "rs_1" not in str(sent(history))


async def test_what_an_answer_was_made_of_goes_back_as_it_came() -> None:
    """Through the draft that keeps it, to a server that knows its own items again."""
    said = Answer("Let me see.", reasoning="hm", calls=(Call("c1", "read", {"path": "a"}), Call("c2", "read", {})))
    async with ResponsesServer([said, Answer("ok")], phases=True) as server:
        draft = Draft()
        for event in await streamed(connect, server, USER, tools=[READ]):
            draft.add(event)
        answer = draft.message(Done("tools"), "m")
        results = [ToolMessage(call.id, call.name, (Text("x"),)) for call in answer.tool_calls]
        await streamed(connect, server, [*USER, answer, *results], tools=[READ])
    assert server.refused == []
    assert [item.get("type", item.get("phase")) for item in server.requests[1]["input"][1:]] == [
        "reasoning",
        "commentary",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
    ]


@pytest.mark.parametrize(
    ("message", "gone"),
    [
        ("Encrypted content is not supported with this model.", "include"),
        ("Invalid value: 'reasoning.encrypted_content'. Supported values for 'include' are:", "include"),
        ("The encrypted content for item rs_1 could not be verified.", "'type': 'reasoning'"),
        ("Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.", "'type': 'reasoning'"),
        ("Item 'rs_1' of type 'reasoning' was provided without its required following item.", "'type': 'reasoning'"),
        ("Unknown parameter: 'input[2].phase'.", "phase"),
        ("Unsupported parameter: 'temperature' is not supported with this model.", "temperature"),
    ],
)
async def test_what_an_endpoint_refuses_is_left_out_and_the_rest_goes_out(message: str, gone: str) -> None:
    answer = AssistantMessage((THOUGHT, Thinking("", "responses-phase:final_answer"), Text("so")))
    refused = Failure(400, "invalid_request_error", message)
    events, server = await asked(refused, Answer("ok"), messages=[*USER, answer, *USER], temperature=1.0)
    assert events[:1] == [TextDelta("ok")]
    first, second = (str(request) for request in server.requests)
    assert (gone in first, gone in second, "so" in second) == (True, False, True)


async def test_leaving_out_tools_is_said() -> None:
    events, _ = await asked(Failure(400, "bad", "x does not support tools"), Answer("ok"), tools=[READ])
    assert events[0] == Notice("This model does not take tools: asking without them.")


def test_items_are_read_in_pieces_and_calls_numbered() -> None:
    assert read(
        {"type": "response.created", "response": {}},
        added(type="reasoning", id="rs_1"),
        delta("reasoning_summary_text", "one"),
        {"type": "response.reasoning_summary_part.added", "summary_index": 1},
        delta("reasoning_summary_text", "two"),
        closed(type="reasoning", id="rs_1", summary=[], encrypted_content="x"),
        added(1, type="function_call", id="fc_1", call_id="c1", name="read"),
        delta("function_call_arguments", '{"a":', 1),
        added(2, type="function_call", id="fc_2", call_id="c2", name="ls"),
        delta("function_call_arguments", "1}", 1),
        closed(1, type="function_call", call_id="c1", name="read", arguments='{"a":1}'),
        closed(2, type="function_call", call_id="c2", name="ls", arguments="{}"),
    ) == [
        ReasoningDelta("one"),
        ReasoningDelta("\n\n"),
        ReasoningDelta("two"),
        ReasoningDelta("", 'responses:{"id":"rs_1","summary":[],"encrypted_content":"x"}'),
        ToolCallStart(0, "c1", "read"),
        ToolCallDelta(0, '{"a":'),
        ToolCallStart(1, "c2", "ls"),
        ToolCallDelta(0, "1}"),
        ToolCallEnd(0, ToolCall("c1", "read", {"a": 1})),
        ToolCallEnd(1, ToolCall("c2", "ls", {})),
        Done("tools"),
    ]


def test_two_messages_of_an_answer_stand_apart() -> None:
    events = read(
        added(type="message", phase="commentary"),
        delta("output_text", "First."),
        added(1, type="message", phase="final_answer"),
        delta("output_text", "Last.", 1),
    )
    assert events == [
        ReasoningDelta("", "responses-phase:commentary"),
        TextDelta("First."),
        ReasoningDelta("", "responses-phase:final_answer"),
        TextDelta("\n\n"),
        TextDelta("Last."),
        Done("end"),
    ]


def test_reasoning_in_words_goes_back_and_reasoning_that_only_the_vendor_has_does_not() -> None:
    words = [{"type": "reasoning_text", "text": "hm"}]
    assert read(
        closed(type="reasoning", id="r1", content=words),
        closed(1, type="reasoning", id="r2", summary=[{"type": "summary_text", "text": "so"}]),
    ) == [
        ReasoningDelta("hm"),
        ReasoningDelta("", 'responses:{"id":"r1","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}'),
        ReasoningDelta("so"),
        Done("end"),
    ]


def test_a_refusal_is_text_and_the_reason_it_stopped() -> None:
    assert read(added(type="message"), delta("refusal", "I cannot.")) == [
        TextDelta("I cannot."),
        Done("refused", error="The model refused to answer. Ask in another way."),
    ]


@pytest.mark.parametrize(
    ("details", "reason"), [("max_output_tokens", "length"), ("content_filter", "refused"), ("steered", "end")]
)
def test_an_answer_that_is_not_whole_says_why(details: str, reason: str) -> None:
    incomplete = {"type": "response.incomplete", "response": {"incomplete_details": {"reason": details}}}
    done = read(delta("output_text", "cut sho"), incomplete, done=False)[-1]
    assert isinstance(done, Done)
    assert done.stop_reason == reason


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ({"code": "server_error", "message": "boom"}, "server"),
        ({"code": "rate_limit_exceeded", "message": "slow down"}, "rate"),
        ({"code": "context_length_exceeded", "message": "too long"}, "too-long"),
        ({"code": "invalid_prompt", "message": "not this"}, "request"),
        ({"code": "misalignment_policy_violation", "message": "not this"}, "request"),
    ],
)
def test_an_error_inside_a_stream_has_its_reason(error: dict[str, str], reason: str) -> None:
    for event in ({"type": "response.failed", "response": {"error": error}}, {"type": "error", **error}):
        with pytest.raises(RefusalError) as caught:
            read(event)
        assert reason_of(caught.value.refusal) == reason


async def test_an_endpoint_that_does_not_stream_is_understood() -> None:
    output = [
        {"type": "message", "content": [{"type": "output_text", "text": "Here."}]},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path":"a"}'},
    ]
    usage = {"input_tokens": 3, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 1}}
    body = json.dumps({"object": "response", "status": "completed", "output": output, "usage": usage}).encode()
    events, _ = await asked(Page(body, content_type="application/json"), tools=[READ])
    assert events == [
        TextDelta("Here."),
        ToolCallStart(0, "c1", "read"),
        ToolCallEnd(0, ToolCall("c1", "read", {"path": "a"})),
        Done("tools", Usage(3, 2, 1), model=f"local/{MODEL}"),
    ]


STREAM = b"".join(
    piece
    for piece in ResponsesServer(phases=True).events(
        Answer("Grüße ☃", reasoning="hm", calls=(Call("c1", "read", {"p": "ä"}),)), {"model": MODEL}
    )
    if isinstance(piece, bytes)
)


def decoded(stream: bytes) -> list[ModelEvent]:
    parser, decoder = SseParser(), ResponsesDecoder()
    events = [event for block in parser.feed(stream) for event in decoder.event(block.data.decode())]
    rest, done = decoder.end()
    return [*events, *rest, done]


def test_a_stream_that_ends_after_any_event_is_whole_or_broke_off() -> None:
    events = [event + b"\n\n" for event in STREAM.split(b"\n\n")[:-1]]
    for number in range(len(events)):
        with pytest.raises(RefusalError) as caught:
            decoded(b"".join(events[:number]))
        assert reason_of(caught.value.refusal) == "cut"
    assert isinstance(decoded(STREAM)[-1], Done)


FIELDS = ["type", "output_index", "summary_index", "delta", "item", "response", "output", "usage", "incomplete_details"]
FIELDS += ["error", "id", "call_id", "name", "arguments", "content", "summary", "encrypted_content", "phase", "text"]
FIELDS += ["refusal", "reason", "cached_tokens", "code", "message"]
TYPES = ["response.output_item.added", "response.output_item.done", "response.completed", "message", "reasoning"]
LEAVES = st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from([*TYPES, "function_call", "error"])


@settings(max_examples=200)
@given(
    st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(FIELDS), inner), max_leaves=12)
)
def test_any_json_is_read_or_refused(value: Any) -> None:
    decoder = ResponsesDecoder()
    try:
        decoder.event(json.dumps(value))
        decoder.event("[DONE]")
        decoder.end()
    except RefusalError:
        pass
