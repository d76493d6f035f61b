"""The Anthropic messages wire: what goes out, and what streams in."""

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.content import AssistantMessage, Image, Message, Text, Thinking, ToolCall, ToolMessage, Usage, UserMessage
from openclaw.models.anthropic_messages import MessagesDecoder, MessagesWire, connect
from openclaw.models.exchange import Pace
from openclaw.models.provider import (
    NO_TOOL_SEARCH,
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
from openclaw.models.spec import ModelEndpoint, ModelSpec
from openclaw.models.vendors import VENDORS
from openclaw.protocol.sse import SseParser
from openclaw.tool import SEARCH_TOOLS, TOOL_CALL, TOOL_SEARCH
from parts.media_server import png
from parts.model_requests import READ, USER, streamed
from parts.model_servers import KEY, MODEL, Answer, Call, Failure, MessagesServer, Raw, Reply

WIRE = MessagesWire()
PLACE = ModelEndpoint("anthropic", "https://api.anthropic.com")
CACHED = {"type": "ephemeral"}


def sent(messages: list[Message] = USER, quirks: frozenset[str] = frozenset(), **request: Any) -> dict[str, Any]:
    body = WIRE.body(ModelRequest("m", request.pop("system", ""), messages, **request), PLACE, quirks)
    return msgspec.json.decode(body, type=dict[str, Any])


def read(*events: dict[str, Any], end: bool = True) -> list[ModelEvent]:
    decoder = MessagesDecoder()
    found = [out for event in events for out in decoder.event(json.dumps(event))]
    rest, done = decoder.end() if end else ([], Done("end"))
    return [*found, *rest, done]


START = {"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}}
STOP = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}
END = {"type": "message_stop"}


def begin(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def more(index: int, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


async def asked(
    *replies: Reply, messages: list[Message] = USER, **request: Any
) -> tuple[list[ModelEvent], MessagesServer]:
    async with MessagesServer(replies) as server:
        return await streamed(connect, server, messages, **request), server


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages"),
        ("https://host/anthropic", "https://host/anthropic/v1/messages"),
        ("https://host/v1/messages", "https://host/v1/messages"),
    ],
)
def test_the_address_is_built_from_any_usual_base_url(base: str, url: str) -> None:
    assert WIRE.url(base) == url


def test_a_plain_request_marks_what_the_vendor_may_cache() -> None:
    assert sent(system="Be brief.") == {
        "model": "m",
        "max_tokens": 32_000,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": CACHED}]}],
        "stream": True,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": CACHED}],
    }


def test_what_a_request_wants_of_the_sampling_is_passed_on() -> None:
    asked = sent(tools=[READ], tool_choice="required", temperature=1.5, stop=("a", " "))
    wanted = {"tool_choice": {"type": "any"}, "stop_sequences": ["a"]}
    assert {key: asked[key] for key in wanted} == wanted
    # The vendor refuses it.
    assert "temperature" not in asked
    assert sent(tools=[READ], tool_choice="none")["tool_choice"] == {"type": "none"}
    assert "tool_choice" not in sent(tool_choice="required")


def test_the_limit_of_a_model_is_kept() -> None:
    endpoint = ModelEndpoint("anthropic", "https://x", models=(ModelSpec("m", max_tokens=8_192),))
    body = WIRE.body(ModelRequest("m", "", USER), endpoint, frozenset())
    assert msgspec.json.decode(body)["max_tokens"] == 8_192


def test_results_of_parallel_calls_go_back_in_one_message_with_their_images() -> None:
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(png()).decode()},
    }
    history: list[Message] = [
        *USER,
        AssistantMessage(
            (
                Thinking("hm", "anthropic:sig"),
                Thinking("", "anthropic-redacted:data"),
                Text("ok"),
                ToolCall("c1", "shot", {"n": 1}),
                ToolCall("c2", "read", {}),
            )
        ),
        ToolMessage("c1", "shot", (Text("taken"), Image(png(), "image/png"))),
        ToolMessage("c2", "read", (), is_error=True),
        UserMessage((Text("and?"),)),
    ]
    assert sent(history, tools=[READ])["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "redacted_thinking", "data": "data"},
                {"type": "text", "text": "ok"},
                {"type": "tool_use", "id": "c1", "name": "shot", "input": {"n": 1}},
                {"type": "tool_use", "id": "c2", "name": "read", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "taken"}, image]},
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": [{"type": "text", "text": "(no output)"}],
                    "is_error": True,
                },
                {"type": "text", "text": "and?", "cache_control": CACHED},
            ],
        },
    ]


def test_a_conversation_whose_beginning_was_dropped_starts_with_the_user() -> None:
    messages = sent([AssistantMessage((Text("earlier"),)), *USER])["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]


def test_thinking_that_the_vendor_keeps_to_itself_is_carried_along() -> None:
    assert read(START, begin(0, type="redacted_thinking", data="xyz"), STOP, END) == [
        ReasoningDelta("", "anthropic-redacted:xyz"),
        Done("end", Usage(3, 9)),
    ]


def test_two_blocks_of_thinking_have_two_signatures() -> None:
    events = read(
        START,
        begin(0, type="thinking", thinking="", signature=""),
        more(0, type="thinking_delta", thinking="one"),
        more(0, type="signature_delta", signature="s1"),
        {"type": "content_block_stop", "index": 0},
        begin(1, type="text", text=""),
        more(1, type="text_delta", text="so"),
        {"type": "content_block_stop", "index": 1},
        begin(2, type="thinking", thinking="two", signature="s2"),
        {"type": "content_block_stop", "index": 2},
        STOP,
    )
    assert events == [
        ReasoningDelta("one"),
        ReasoningDelta("", "anthropic:s1"),
        TextDelta("so"),
        ReasoningDelta("two"),
        ReasoningDelta("", "anthropic:s2"),
        Done("end", Usage(3, 9)),
    ]


def test_a_call_whose_input_came_at_once_and_was_never_closed_is_whole() -> None:
    events = read(START, begin(0, type="tool_use", id="c1", name="read", input={"path": "a"}), STOP, END)
    assert events == [
        ToolCallStart(0, "c1", "read"),
        ToolCallEnd(0, ToolCall("c1", "read", {"path": "a"})),
        Done("tools", Usage(3, 9)),
    ]


def test_pings_and_unknown_events_blocks_and_deltas_are_skipped() -> None:
    events = read(
        {"type": "ping"},
        START,
        {"type": "brand_new", "x": 1},
        begin(0, type="server_tool_use", id="x", name="web", input={}),
        more(0, type="citations_delta", citation={}),
        more(0, type="input_json_delta", partial_json="{"),
        STOP,
        END,
    )
    assert events == [Done("end", Usage(3, 9))]


def test_the_cached_part_of_the_prompt_is_part_of_the_prompt() -> None:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 1}
    events = read({"type": "message_start", "message": {"usage": usage}}, STOP, END)
    assert events == [Done("end", Usage(123, 9, 100))]


def test_the_other_wires_end_mark_is_an_end_too() -> None:
    decoder = MessagesDecoder()
    decoder.event(json.dumps(START))
    decoder.event("[DONE]")
    assert decoder.end() == ([], Done("end", Usage(3, 1)))


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("overloaded_error", "server"),
        ("rate_limit_error", "rate"),
        ("authentication_error", "key"),
        ("invalid_request_error", "request"),
        ("never_heard_of", "server"),
    ],
)
def test_an_error_inside_a_stream_has_its_reason(kind: str, reason: str) -> None:
    with pytest.raises(RefusalError) as caught:
        read({"type": "error", "error": {"type": kind, "message": "no"}})
    assert reason_of(caught.value.refusal) == reason


async def test_an_overload_inside_a_stream_before_the_first_word_is_tried_again() -> None:
    overloaded = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    async with MessagesServer([Raw([overloaded]), Answer("ok")]) as server:
        provider = connect(ModelEndpoint("local", server.url, KEY), Pace(first=0.0))
        events = [event async for event in provider.stream(ModelRequest(MODEL, "", USER))]
        await provider.close()
    doing = "local failed (529): trying again"
    assert events[:2] == [Notice(f"{doing} in 0.0 s.", "retry", doing), TextDelta("ok")]


async def test_a_signature_that_the_vendor_refuses_is_not_sent_again() -> None:
    history: list[Message] = [*USER, AssistantMessage((Thinking("hm", "anthropic:stale"), Text("ok"))), *USER]
    events, server = await asked(Answer("fine"), messages=history)
    assert events[0] == TextDelta("fine")
    assert ["stale" in str(request) for request in server.requests] == [True, False]


async def test_a_limit_that_is_too_high_is_lowered_to_what_the_vendor_says() -> None:
    refused = Failure(400, "invalid_request_error", "max_tokens: 32000 > 8192, which is the maximum allowed for m")
    events, server = await asked(refused, Answer("ok"))
    assert events[0] == TextDelta("ok")
    assert [request["max_tokens"] for request in server.requests] == [32_000, 8_192]


STREAM = b"".join(
    piece
    for piece in MessagesServer().events(
        Answer("Grüße ☃", reasoning="hm", calls=(Call("c1", "read", {"p": "ä"}), Call("c2", "ls", {}))),
        {"model": MODEL},
    )
    if isinstance(piece, bytes)
)


def decoded(pieces: list[bytes]) -> list[ModelEvent]:
    parser, decoder = SseParser(), MessagesDecoder()
    events = [event for piece in pieces for block in parser.feed(piece) for event in decoder.event(block.data.decode())]
    rest, done = decoder.end()
    return [*events, *rest, done]


def test_a_stream_is_read_whole() -> None:
    assert decoded([STREAM]) == [
        ReasoningDelta("h"),
        ReasoningDelta("m"),
        ReasoningDelta("", "anthropic:c2lnbmVk"),
        TextDelta("Grüße ☃"),
        ToolCallStart(0, "c1", "read"),
        ToolCallDelta(0, '{"p": "'),
        ToolCallDelta(0, '\\u00e4"}'),
        ToolCallEnd(0, ToolCall("c1", "read", {"p": "ä"})),
        ToolCallStart(1, "c2", "ls"),
        ToolCallDelta(1, "{"),
        ToolCallDelta(1, "}"),
        ToolCallEnd(1, ToolCall("c2", "ls", {})),
        Done("tools", Usage(11, 7, 3)),
    ]


def test_a_split_at_any_byte_gives_the_same_events() -> None:
    whole = decoded([STREAM])
    for cut in range(len(STREAM)):
        assert decoded([STREAM[:cut], STREAM[cut:]]) == whole


def test_a_stream_that_ends_before_its_last_word_is_refused_at_any_byte() -> None:
    for cut in range(STREAM.index(b'"stop_reason": "tool_use"')):
        with pytest.raises(RefusalError) as caught:
            decoded([STREAM[:cut]])
        assert reason_of(caught.value.refusal) == "cut"


FIELDS = [
    "type",
    "index",
    "message",
    "content_block",
    "delta",
    "usage",
    "text",
    "thinking",
    "signature",
    "error",
    "input",
]
FIELDS += ["id", "name", "partial_json", "stop_reason", "input_tokens", "data"]
TYPES = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "tool_use",
]
LEAVES = st.none() | st.integers() | st.text() | st.sampled_from([*TYPES, "error", "message_stop", "input_json_delta"])


@settings(max_examples=200)
@given(
    st.lists(
        st.recursive(
            LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(FIELDS), inner), max_leaves=12
        )
    )
)
def test_any_json_is_read_or_refused(values: list[Any]) -> None:
    try:
        read(*values)
    except RefusalError:
        pass


# Tools that are searched for

SEND = msgspec.structs.replace(READ, name="mail__send", description="Send a letter.")
POST = msgspec.structs.replace(READ, name="mail__post")
SHOWN = [READ, *(msgspec.structs.replace(READ, name=name) for name in sorted(SEARCH_TOOLS))]
ABLE = ModelEndpoint("anthropic", "https://api.anthropic.com", models=(ModelSpec("m", tool_search=True),))
FOUND = ToolMessage("c1", TOOL_SEARCH, (Text("mail__send, mail__gone"),), found=("mail__send", "mail__gone"))
SEARCHED: list[Message] = [
    *USER,
    AssistantMessage((ToolCall("c1", TOOL_SEARCH, {"query": "letter"}),)),
    FOUND,
    AssistantMessage((ToolCall("c2", "mail__send", {"to": "Ann"}, through=TOOL_CALL),)),
    ToolMessage("c2", "mail__send", (Text("sent"),)),
]
SENT_DEFERRED = {
    "name": "mail__send",
    "description": "Send a letter.",
    "input_schema": {"type": "object", "properties": {}},
    "defer_loading": True,
}


def searched(endpoint: ModelEndpoint, quirks: frozenset[str] = frozenset()) -> dict[str, Any]:
    request = ModelRequest("m", "", SEARCHED, SHOWN, deferred={"mail__send": SEND, "mail__post": POST})
    return msgspec.json.decode(WIRE.body(request, endpoint, quirks), type=dict[str, Any])


def test_a_model_that_takes_deferred_tools_gets_what_was_found_by_reference() -> None:
    body = searched(ABLE)
    assert [tool["name"] for tool in body["tools"]] == ["read", "tool_search", "mail__send"]
    assert body["tools"][-1] == SENT_DEFERRED
    assert body["messages"][2]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "c1",
            "content": [{"type": "tool_reference", "tool_name": "mail__send"}],
        }
    ]
    assert body["messages"][3]["content"][0] == {
        "type": "tool_use",
        "id": "c2",
        "name": "mail__send",
        "input": {"to": "Ann"},
    }


@pytest.mark.parametrize(
    ("endpoint", "quirks"),
    [(PLACE, frozenset[str]()), (ABLE, frozenset({NO_TOOL_SEARCH}))],
    ids=["not known to", "refused"],
)
def test_any_other_model_gets_the_search_tools_and_its_calls_as_it_made_them(
    endpoint: ModelEndpoint, quirks: frozenset[str]
) -> None:
    body = searched(endpoint, quirks)
    assert [tool["name"] for tool in body["tools"]] == ["read", "tool_call", "tool_describe", "tool_search"]
    assert body["messages"][2]["content"][0]["content"] == [{"type": "text", "text": "mail__send, mail__gone"}]
    assert body["messages"][3]["content"][0] == {
        "type": "tool_use",
        "id": "c2",
        "name": "tool_call",
        "input": {"id": "mail__send", "arguments": {"to": "Ann"}},
    }


@pytest.mark.parametrize(
    ("model", "listed", "is_able"),
    [
        ("claude-sonnet-5-5", (), True),
        ("claude-opus-4-5-20251101", (), True),
        ("claude-opus-4-1", (), False),
        ("claude-3-haiku", (), False),
        ("mine", (), False),
        ("mine", (ModelSpec("mine", tool_search=True),), True),
        ("claude-sonnet-5-5", (ModelSpec("claude-sonnet-5-5", tool_search=False),), False),
    ],
)
def test_which_models_take_deferred_tools_is_known_or_configured(
    model: str, listed: tuple[ModelSpec, ...], is_able: bool
) -> None:
    endpoint = ModelEndpoint("anthropic", "", models=listed, searching=VENDORS["anthropic"].searching)
    assert endpoint.searches(model) is is_able


@pytest.mark.parametrize("searches", [True, False])
async def test_an_endpoint_that_refuses_deferred_tools_is_asked_through_the_neutral_door_from_then_on(
    searches: bool,
) -> None:
    async with MessagesServer([Answer("one"), Answer("two")], searches=searches) as server:
        endpoint = ModelEndpoint("local", server.url, KEY, models=(ModelSpec(MODEL, tool_search=True),))
        provider = connect(endpoint, Pace(attempts=1))
        request = ModelRequest(MODEL, "", SEARCHED, SHOWN, deferred={"mail__send": SEND})
        said = [[event async for event in provider.stream(request)] for _ in range(2)]
        await provider.close()
    assert [events[0] for events in said] == [TextDelta("one"), TextDelta("two")]
    own = ["defer_loading" in str(request) for request in server.requests]
    assert own == ([True, True] if searches else [True, False, False])
