"""The chat-completions wire: the many ways endpoints differ, read and written."""

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.content import AssistantMessage, Image, Message, Text, Thinking, ToolCall, ToolMessage, Usage, UserMessage
from openclaw.models.exchange import Pace
from openclaw.models.openai_chat import ChatWire, connect
from openclaw.models.openai_stream import ChatDecoder
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
from openclaw.tool import TOOL_CALL
from parts.media_server import png
from parts.model_requests import READ, USER, streamed
from parts.model_servers import KEY, MODEL, Answer, Call, ChatServer, Failure, Hold, Page, Raw, Reply

WIRE = ChatWire()
PLACE = ModelEndpoint("local", "http://127.0.0.1:1/v1")


def sent(
    messages: list[Message] = USER,
    endpoint: ModelEndpoint = PLACE,
    quirks: frozenset[str] = frozenset(),
    **request: Any,
) -> dict[str, Any]:
    body = WIRE.body(ModelRequest("m", request.pop("system", ""), messages, **request), endpoint, quirks)
    return msgspec.json.decode(body, type=dict[str, Any])


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


def finish(reason: str = "stop") -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def piece(name: str | None = None, arguments: Any = None, **fields: Any) -> dict[str, Any]:
    return delta(tool_calls=[{**fields, "function": {"name": name, "arguments": arguments}}])


def read(*chunks: dict[str, Any], done: bool = True) -> list[ModelEvent]:
    decoder = ChatDecoder()
    events: list[ModelEvent] = []
    for chunk in chunks:
        events += decoder.event(json.dumps(chunk))
    if done:
        events += decoder.event("[DONE]")
    rest, end = decoder.end()
    return [*events, *rest, end]


def calls(events: list[ModelEvent]) -> list[ToolCall]:
    return [event.call for event in events if isinstance(event, ToolCallEnd)]


async def asked(*replies: Reply, messages: list[Message] = USER, **request: Any) -> tuple[list[ModelEvent], ChatServer]:
    async with ChatServer(replies) as server:
        return await streamed(connect, server, messages, **request), server


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions"),
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434/v1/chat/completions"),
        ("https://host/api/v3", "https://host/api/v3/chat/completions"),
        ("https://host/x/chat/completions", "https://host/x/chat/completions"),
    ],
)
def test_the_address_is_built_from_any_usual_base_url(base: str, url: str) -> None:
    assert WIRE.url(base) == url


def test_a_plain_request_is_small() -> None:
    assert sent(system="Be brief.") == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_what_a_request_wants_of_the_sampling_is_passed_on() -> None:
    asked = sent(tools=[READ], tool_choice="required", temperature=1.5, stop=("a", "b", "c", "d", "e"))
    wanted = {"tool_choice": "required", "temperature": 1.5, "stop": ["a", "b", "c", "d"]}
    assert {key: asked[key] for key in wanted} == wanted
    assert "tool_choice" not in sent(tool_choice="required")


@pytest.mark.parametrize(
    ("base", "quirks", "name"),
    [
        ("https://api.openai.com/v1", [], "max_completion_tokens"),
        ("https://openrouter.ai/api/v1", [], "max_completion_tokens"),
        ("https://api.mistral.ai/v1", [], "max_tokens"),
        ("http://127.0.0.1:11434/v1", [], "max_tokens"),
        ("http://127.0.0.1:11434/v1", ["new-limit-name"], "max_completion_tokens"),
        ("https://api.openai.com/v1", ["old-limit-name"], "max_tokens"),
    ],
)
def test_the_limit_has_the_name_the_endpoint_knows(base: str, quirks: list[str], name: str) -> None:
    body = sent(endpoint=ModelEndpoint("x", base), quirks=frozenset(quirks), max_tokens=5)
    assert {key: value for key, value in body.items() if key.startswith("max_")} == {name: 5}


def test_images_of_results_follow_after_the_last_result() -> None:
    image = Image(png(), "image/png")
    part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(png()).decode()}"}}
    history: list[Message] = [
        UserMessage((Text("look"), image)),
        AssistantMessage((Text("ok"), ToolCall("c1", "shot", {"n": 1}), ToolCall("c2", "read", {}))),
        ToolMessage("c1", "shot", (Text("taken"), image)),
        ToolMessage("c2", "read", (Text("broken"),), is_error=True),
        UserMessage((Text("and?"),)),
    ]
    assert sent(history)["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "look"}, part]},
        {
            "role": "assistant",
            "content": "ok",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "shot", "arguments": '{"n":1}'}},
                {"id": "c2", "type": "function", "function": {"name": "read", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "taken\n[The image follows in the next message.]"},
        {"role": "tool", "tool_call_id": "c2", "content": "The call failed. broken"},
        {"role": "user", "content": [{"type": "text", "text": "Returned by the tool shot (call c1):"}, part]},
        {"role": "user", "content": "and?"},
    ]


def test_ids_are_nine_letters_and_digits_where_the_vendor_wants_that() -> None:
    history: list[Message] = [
        AssistantMessage((ToolCall("call_very_long_1", "read", {}), ToolCall("abc123XYZ", "read", {}))),
        ToolMessage("call_very_long_1", "read", (Text("x"),)),
        ToolMessage("abc123XYZ", "read", (Text("y"),)),
    ]
    messages = sent(history, ModelEndpoint("mistral", "https://api.mistral.ai/v1"))["messages"]
    first, second = [call["id"] for call in messages[0]["tool_calls"]]
    assert [message["tool_call_id"] for message in messages[1:]] == [first, second]
    assert len(first) == 9
    assert first.isalnum()
    assert second == "abc123XYZ"


def test_reasoning_goes_back_only_beside_calls() -> None:
    thought = Thinking("hm", "chat:reasoning_content")
    history: list[Message] = [
        AssistantMessage((thought, Text("an answer"))),
        AssistantMessage((thought, ToolCall("c1", "read", {}))),
        ToolMessage("c1", "read", (Text("x"),)),
    ]
    messages = sent(history)["messages"]
    assert [message.get("reasoning_content") for message in messages] == [None, "hm", None]


def test_signed_reasoning_goes_back_whole() -> None:
    events = read(
        delta(
            reasoning="a", reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "a", "signature": None}]
        ),
        delta(reasoning="b", reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "b"}]),
        delta(reasoning_details=[{"type": "reasoning.text", "index": 0, "signature": "sig"}]),
        delta(reasoning_details=[{"type": "reasoning.encrypted", "index": 1, "data": "xyz"}]),
        piece("read", "{}", index=0, id="c1"),
        finish("tool_calls"),
    )
    signature = next(event.signature for event in events if isinstance(event, ReasoningDelta) and event.signature)
    history: list[Message] = [
        AssistantMessage((Thinking("ab", signature), ToolCall("c1", "read", {}))),
        ToolMessage("c1", "read", (Text("x"),)),
    ]
    assert sent(history)["messages"][0]["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "sig"},
        {"type": "reasoning.encrypted", "index": 1, "data": "xyz"},
    ]


def test_calls_without_an_index_are_told_apart_by_id() -> None:
    events = read(
        piece("read", '{"a":', id="c1"), piece(None, "1}"), piece("ls", "{}", id="c2"), finish("stop"), done=False
    )
    assert events == [
        ToolCallStart(0, "c1", "read"),
        ToolCallDelta(0, '{"a":'),
        ToolCallDelta(0, "1}"),
        ToolCallStart(1, "c2", "ls"),
        ToolCallDelta(1, "{}"),
        ToolCallEnd(0, ToolCall("c1", "read", {"a": 1})),
        ToolCallEnd(1, ToolCall("c2", "ls", {})),
        Done("tools"),
    ]


def test_calls_without_index_and_id_are_told_apart_by_name_and_get_ids() -> None:
    found = calls(read(piece("read", '{"a":1}'), piece("read", '{"a":2}'), finish()))
    assert [call.arguments for call in found] == [{"a": 1}, {"a": 2}]
    assert len({call.id for call in found}) == 2


def test_calls_that_all_claim_index_zero_are_told_apart_by_id() -> None:
    found = calls(read(piece("a", "{}", index=0, id="c1"), piece("b", "{}", index=0, id="c2"), finish()))
    assert found == [ToolCall("c1", "a", {}), ToolCall("c2", "b", {})]


def test_ids_and_names_repeated_in_every_piece_are_one_call() -> None:
    found = calls(read(piece("a", '{"x":', index=0, id="c1"), piece("a", "1}", index=0, id="c1"), finish()))
    assert found == [ToolCall("c1", "a", {"x": 1})]


def test_arguments_that_come_as_an_object_are_taken() -> None:
    assert calls(read(piece("a", {"x": 1}, index=0, id="c1"), finish())) == [ToolCall("c1", "a", {"x": 1})]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_has_two_names(name: str) -> None:
    assert read(delta(**{name: "hm"}), delta(content="so"), finish()) == [
        ReasoningDelta("hm"),
        ReasoningDelta("", f"chat:{name}"),
        TextDelta("so"),
        Done("end"),
    ]


def test_reasoning_sent_under_both_names_is_heard_once() -> None:
    events = read(delta(reasoning_content="hm", reasoning="hm"), finish())
    assert events == [ReasoningDelta("hm"), ReasoningDelta("", "chat:reasoning_content"), Done("end")]


def test_content_in_parts_is_text_and_reasoning() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    assert read(delta(content=[thought]), delta(content=[{"type": "text", "text": "so"}]), finish()) == [
        ReasoningDelta("hm"),
        TextDelta("so"),
        Done("end"),
    ]


def test_a_refusal_is_text_and_the_reason_it_stopped() -> None:
    assert read(delta(refusal="I cannot."), finish()) == [
        TextDelta("I cannot."),
        Done("refused", error="The model refused to answer. Ask in another way."),
    ]


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 2}, Usage(5, 2)),
        ({"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}, Usage(5, 2, 4)),
        ({"prompt_tokens": 5, "completion_tokens": 2, "prompt_cache_hit_tokens": 3}, Usage(5, 2, 3)),
        ({"prompt_tokens": None, "completion_tokens": "many"}, Usage()),
    ],
)
def test_usage_is_counted_in_every_form(usage: dict[str, Any], counted: Usage) -> None:
    assert read(finish(), {"choices": [], "usage": usage}) == [Done("end", counted)]


def test_an_end_mark_without_a_reason_is_an_end() -> None:
    assert read(delta(content="hi")) == [TextDelta("hi"), Done("end")]


def test_a_reason_without_an_end_mark_is_an_end() -> None:
    assert read(delta(content="hi"), finish(), done=False) == [TextDelta("hi"), Done("end")]


def test_no_reason_and_no_end_mark_is_an_answer_that_broke_off() -> None:
    with pytest.raises(RefusalError) as caught:
        read(delta(content="hi"), done=False)
    assert reason_of(caught.value.refusal) == "cut"


def test_empty_chunks_and_other_objects_of_the_wire_are_skipped() -> None:
    assert read({"choices": [], "prompt_filter_results": []}, {"object": "chat.completion.chunk"}, finish()) == [
        Done("end")
    ]


def test_halves_of_surrogate_pairs_are_replaced() -> None:
    decoder = ChatDecoder()
    assert decoder.event('{"choices":[{"delta":{"content":"a\\ud83d"}}]}') == [TextDelta("a?")]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ({"code": 429, "message": "slow"}, "rate"),
        ({"code": "rate_limit_exceeded", "message": "slow"}, "rate"),
        ({"type": "server_error", "message": "boom"}, "server"),
        ({"code": "context_length_exceeded", "message": "long"}, "too-long"),
        ("boom", "server"),
    ],
)
def test_an_error_inside_a_stream_has_its_reason(error: Any, reason: str) -> None:
    with pytest.raises(RefusalError) as caught:
        read({"error": error})
    assert reason_of(caught.value.refusal) == reason


async def test_an_endpoint_that_does_not_stream_is_understood() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}}
    message = {"role": "assistant", "content": "Here.", "tool_calls": [call]}
    body = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }
    events, _ = await asked(Page(json.dumps(body).encode(), content_type="application/json"), tools=[READ])
    assert events == [
        TextDelta("Here."),
        ToolCallStart(0, "c1", "read"),
        ToolCallDelta(0, '{"path":"a"}'),
        ToolCallEnd(0, ToolCall("c1", "read", {"path": "a"})),
        Done("tools", Usage(3, 2), model=f"local/{MODEL}"),
    ]


async def test_an_endpoint_that_keeps_the_stream_open_after_the_last_word_is_not_waited_for() -> None:
    *pieces, _ = ChatServer().events(Answer("hi"), {"model": MODEL})
    async with ChatServer([Raw([*pieces, Hold()])]) as server:
        provider = connect(ModelEndpoint("local", server.url, KEY), Pace(attempts=1, after_outcome=0.01))
        events = [event async for event in provider.stream(ModelRequest(MODEL, "", USER))]
        await provider.close()
        await server.gone.wait()
    assert events == [TextDelta("hi"), Done("end", model=f"local/{MODEL}")]


async def test_an_event_without_its_blank_line_at_the_very_end_is_read() -> None:
    events, _ = await asked(
        Raw(
            [
                b'data: {"choices":[{"delta":{"content":"hi"}}]}\n\ndata: {"choices":[{"delta":{},"finish_reason":"stop"}]}'
            ]
        )
    )
    assert events == [TextDelta("hi"), Done("end", model=f"local/{MODEL}")]


@pytest.mark.parametrize(
    ("message", "field", "before", "after"),
    [
        ("Unrecognized request argument: stream_options", "stream_options", True, False),
        (
            "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
            "max_tokens",
            True,
            False,
        ),
        ("local-model does not support tools", "tools", True, False),
        ("No endpoints found that support tool use", "tools", True, False),
    ],
)
async def test_what_an_endpoint_refuses_is_left_out_and_stays_left_out(
    message: str, field: str, *, before: bool, after: bool
) -> None:
    async with ChatServer([Failure(400, "invalid_request_error", message), Answer("ok"), Answer("ok")]) as server:
        provider = connect(ModelEndpoint("local", server.url, KEY), Pace(attempts=1))
        for _ in range(2):
            request = ModelRequest(MODEL, "", USER, tools=[READ], max_tokens=5)
            events = [event async for event in provider.stream(request)]
            assert events[-2] == TextDelta("ok")
        await provider.close()
    assert [field in asked for asked in server.requests] == [before, after, after]


async def test_leaving_out_tools_is_said() -> None:
    refused = Failure(400, "invalid_request_error", "registry.ollama.ai/library/x does not support tools")
    events, _ = await asked(refused, Answer("ok"), tools=[READ])
    assert events[0] == Notice("This model does not take tools: asking without them.")


async def test_a_model_that_refuses_tools_because_it_thinks_is_asked_not_to_and_the_person_is_told_what_is_better() -> (
    None
):
    message = "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. Use /v1/responses."
    events, server = await asked(Failure(400, "invalid_request_error", message), Answer("ok"), tools=[READ])
    told = "This model does not think while it is offered tools over this wire. Set its provider's api to openai-responses."
    assert events[:2] == [Notice(told), TextDelta("ok")]
    assert [request.get("reasoning_effort") for request in server.requests] == [None, "none"]


async def test_images_are_described_to_an_endpoint_that_refuses_them() -> None:
    refused = Failure(500, "server_error", "image input is not supported - hint: you may need to provide the mmproj")
    picture: list[Message] = [UserMessage((Text("look"), Image(png(), "image/png")))]
    events, server = await asked(refused, Answer("ok"), messages=picture)
    assert events[:2] == [Notice("This model does not take images: describing them instead."), TextDelta("ok")]
    assert "that this model cannot look at" in str(server.requests[1])


async def test_reasoning_that_an_endpoint_misses_is_sent_empty() -> None:
    refused = Failure(
        400, "invalid_request_error", "The `reasoning_content` in the thinking mode must be passed back to the API."
    )
    history: list[Message] = [
        *USER,
        AssistantMessage((ToolCall("c1", "read", {}),)),
        ToolMessage("c1", "read", (Text("x"),)),
    ]
    _, server = await asked(refused, Answer("ok"), messages=history)
    assert server.requests[1]["messages"][1]["reasoning_content"] == ""


STREAM = b"".join(
    piece
    for piece in ChatServer().events(
        Answer("Grüße ☃", reasoning="hm", calls=(Call("c1", "read", {"p": "ä"}), Call("c2", "ls", {}))),
        {"model": MODEL, "stream_options": {"include_usage": True}},
    )
    if isinstance(piece, bytes)
)


def decoded(pieces: list[bytes]) -> list[ModelEvent]:
    parser, decoder = SseParser(), ChatDecoder()
    events = [event for piece in pieces for block in parser.feed(piece) for event in decoder.event(block.data.decode())]
    rest, done = decoder.end()
    return [*events, *rest, done]


def test_a_split_at_any_byte_gives_the_same_events() -> None:
    whole = decoded([STREAM])
    for cut in range(len(STREAM)):
        assert decoded([STREAM[:cut], STREAM[cut:]]) == whole


def test_a_stream_that_ends_at_any_byte_is_whole_or_refused() -> None:
    whole = decoded([STREAM])
    last_word = STREAM.index(b'"finish_reason": "tool_calls"')
    for cut in range(last_word):
        with pytest.raises(RefusalError) as caught:
            decoded([STREAM[:cut]])
        assert reason_of(caught.value.refusal) == "cut"
    for cut in range(STREAM.index(b"\n\n", last_word) + 2, len(STREAM)):
        assert decoded([STREAM[:cut]])[:-1] == whole[:-1]


FIELDS = [
    "choices",
    "delta",
    "message",
    "tool_calls",
    "function",
    "arguments",
    "name",
    "id",
    "index",
    "content",
    "usage",
]
FIELDS += ["error", "finish_reason", "reasoning", "reasoning_details", "refusal", "text", "type"]
LEAVES = st.none() | st.booleans() | st.integers() | st.text()


@settings(max_examples=200)
@given(
    st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(FIELDS), inner), max_leaves=12)
)
def test_any_json_is_read_or_refused(value: Any) -> None:
    decoder = ChatDecoder()
    try:
        decoder.event(json.dumps(value))
        decoder.event("[DONE]")
        decoder.end()
    except RefusalError:
        pass


def test_a_call_made_through_another_tool_goes_back_as_it_was_made_and_deferred_tools_stay_behind() -> None:
    history: list[Message] = [
        *USER,
        AssistantMessage((ToolCall("c1", "mail__send", {"to": "Ann"}, through=TOOL_CALL),)),
        ToolMessage("c1", "mail__send", (Text("sent"),)),
    ]
    body = sent(history, tools=[READ], deferred={"mail__send": msgspec.structs.replace(READ, name="mail__send")})
    assert [tool["function"]["name"] for tool in body["tools"]] == ["read"]
    (call,) = body["messages"][1]["tool_calls"]
    assert call["function"]["name"] == "tool_call"
    assert json.loads(call["function"]["arguments"]) == {"id": "mail__send", "arguments": {"to": "Ann"}}
