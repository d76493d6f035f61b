"""Conversations made fit for vendors: pairs, ids, and tools in the form they accept."""

import re
import tracemalloc
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.content import (
    AssistantMessage,
    Audio,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from openclaw.models.transcript import INTERRUPTED, MOST_REFUSED, WORDS, digest, remembering, repaired
from openclaw.tool_form import EMPTY_SCHEMA, accepted_schema, encoded, finished_call


def call(call_id: str) -> ToolCall:
    return ToolCall(call_id, "read", {})


def result(call_id: str, text: str = "x") -> ToolMessage:
    return ToolMessage(call_id, "read", (Text(text),))


def user(text: str = "hi") -> UserMessage:
    return UserMessage((Text(text),))


def test_a_whole_conversation_stays_as_it_is() -> None:
    whole: list[Message] = [
        user(),
        AssistantMessage((Text("a"), call("1"), call("2"))),
        result("1"),
        result("2"),
        user(),
    ]
    assert repaired(whole) == whole


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    missing = ToolMessage("2", "read", (Text(INTERRUPTED),), is_error=True)
    assert repaired([AssistantMessage((call("1"), call("2"))), result("1"), user()]) == [
        AssistantMessage((call("1"), call("2"))),
        result("1"),
        missing,
        user(),
    ]


def test_a_result_without_its_call_becomes_words_after_those_that_have_one() -> None:
    note = Text("A result of read, whose call is no longer part of this conversation:")
    assert repaired([AssistantMessage((call("1"),)), result("lost", "y"), result("1")]) == [
        AssistantMessage((call("1"),)),
        result("1"),
        UserMessage((note, Text("y"))),
    ]


def test_ids_that_repeat_or_that_vendors_refuse_are_replaced_in_call_and_result() -> None:
    messages = repaired(
        [message for name in ("1", "1", "a b") for message in (AssistantMessage((call(name),)), result(name))]
    )
    calls = [
        m.content[0].id for m in messages if isinstance(m, AssistantMessage) and isinstance(m.content[0], ToolCall)
    ]
    results = [m.call_id for m in messages if isinstance(m, ToolMessage)]
    assert calls == results
    assert len(set(calls)) == 3
    assert calls[0] == "1"
    assert all(call_id.replace("_", "").isalnum() and len(call_id) <= 40 for call_id in calls)


def test_an_answer_that_said_nothing_is_left_out() -> None:
    assert repaired([user(), AssistantMessage(()), AssistantMessage((Thinking("hm"), Text("  "))), user("again")]) == [
        user(),
        user("again"),
    ]


ids = st.sampled_from(["1", "2", "a b", "", "x" * 50])
assistants = st.builds(
    AssistantMessage,
    st.lists(st.one_of(st.builds(call, ids), st.just(Text("t")), st.just(Thinking("h"))), max_size=3).map(tuple),
)
conversations = st.lists(st.one_of(assistants, st.builds(result, ids), st.builds(user)), max_size=12)


@settings(max_examples=200)
@given(conversations)
def test_any_conversation_ends_up_with_every_call_answered_once_right_after_it(messages: list[Message]) -> None:
    waiting: list[str] = []
    seen: set[str] = set()
    for message in repaired(messages):
        if isinstance(message, ToolMessage):
            waiting.remove(message.call_id)
            continue
        assert not waiting
        if isinstance(message, AssistantMessage):
            waiting = [call.id for call in message.tool_calls]
            assert len(set(waiting)) == len(waiting)
            assert seen.isdisjoint(waiting)
            seen |= set(waiting)
    assert not waiting


@settings(max_examples=100)
@given(conversations)
def test_repairing_twice_changes_nothing_more(messages: list[Message]) -> None:
    once = repaired(messages)
    assert repaired(once) == once


def test_a_picture_is_known_by_its_bytes_without_a_text_of_them() -> None:
    data = bytes(4_000_000)
    message = UserMessage((Text("look"), Image(data, "image/png")))
    tracemalloc.start()
    try:
        digest(message)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < len(data) // 10


def test_a_message_is_known_by_everything_in_it() -> None:
    said: list[Message] = [
        user(),
        user("ho"),
        UserMessage((Text("hi"),), notes=True),
        UserMessage((Text("h"), Text("i"))),
        UserMessage((Text("hi"), Image(b"1", "image/png"))),
        UserMessage((Text("hi"), Image(b"2", "image/png"))),
        UserMessage((Text("hi"), Image(b"1", "image/gif"))),
        UserMessage((Image(b"1", "image/png"), Text("hi"))),
        UserMessage((Text("hi"), Audio(b"1", "image/png"))),
        AssistantMessage((Text("hi"),)),
        ToolMessage("1", "read", (Text("hi"),)),
        ToolMessage("2", "read", (Text("hi"),)),
        ToolMessage("2", "read", (Text("hi"),), is_error=True),
    ]
    assert len({digest(message) for message in said}) == len(said)
    assert [digest(message) for message in said] == [digest(msgspec.structs.replace(message)) for message in said]


def test_of_refused_messages_those_of_other_conversations_are_forgotten_past_a_bound() -> None:
    others = [user(f"other {number}") for number in range(MOST_REFUSED)]
    own = [user("mine"), user("mine too"), user("not refused")]
    full = remembering(frozenset({"tools=128"}), others, others)
    assert len(full) == MOST_REFUSED + 1
    first = remembering(full, own[:1], own)
    assert first == {"tools=128", WORDS + digest(own[0])}
    assert remembering(first, own[1:2], own) == first | {WORDS + digest(own[1])}


DEEP = b'{"anyOf":' + b"[" * 5_000 + b"]" * 5_000 + b"}"


@pytest.mark.parametrize(
    "raw", [b"", b"nonsense", b"[]", b"true", b"null", b'{"type":"object"', b'{"a":' * 5_000, DEEP]
)
def test_a_schema_that_is_none_takes_no_arguments(raw: bytes) -> None:
    assert accepted_schema(msgspec.Raw(raw)) == EMPTY_SCHEMA


def test_a_schema_that_vendors_accept_is_the_same_bytes() -> None:
    raw = msgspec.Raw(b' {"properties" : {}, "type":"object", "description":"\\u00e4"} ')
    assert bytes(accepted_schema(raw)) == bytes(raw)


@pytest.mark.parametrize(
    "items", [b"", b',"items":{"type":"string"}'], ids=["an array that is rewritten", "an array that is taken"]
)
@pytest.mark.parametrize("names", [None, re.compile("[a-z]+")], ids=["any names", "some names"])
def test_a_schema_is_looked_through_once_however_often_it_is_sent(items: bytes, names: re.Pattern[str] | None) -> None:
    raw = b'{"type":"object","properties":{"list":{"type":"array"' + items + b"}}}"
    first = accepted_schema(msgspec.Raw(raw), names=names)
    # Each listing of a server's tools brings another object of the same bytes.
    again = accepted_schema(msgspec.Raw(bytearray(raw)), names=names)
    assert again is first


@pytest.mark.parametrize(
    ("schema", "accepted"),
    [
        ({"type": ["object", "null"], "properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
        (
            {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"], "anyOf": [{"required": ["b"]}, {}]},
            {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]},
        ),
        (
            {"allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}]},
            {"type": "object", "properties": {"b": {}, "a": {}}, "required": ["b", "a"]},
        ),
        (
            {
                "oneOf": [{"$ref": "#/definitions/x"}],
                "definitions": {"x": {"properties": {"a": {}}, "required": ["a"]}},
            },
            {
                "definitions": {"x": {"properties": {"a": {}}, "required": ["a"]}},
                "type": "object",
                "properties": {"a": {}},
                "required": ["a"],
            },
        ),
        ({"$ref": "#"}, {"type": "object", "properties": {}}),
        (
            {"$ref": "#/$defs/x", "$defs": {"x": {"$ref": "#/$defs/x"}}},
            {"$defs": {"x": {"$ref": "#/$defs/x"}}, "type": "object", "properties": {}},
        ),
        (
            {"type": "object", "properties": {"a": {}}, "required": "a", "enum": [1]},
            {"type": "object", "properties": {"a": {}}},
        ),
    ],
)
def test_what_vendors_refuse_at_the_top_is_rewritten(schema: Any, accepted: Any) -> None:
    assert msgspec.json.decode(accepted_schema(msgspec.Raw(msgspec.json.encode(schema)))) == accepted


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"a": NaN}', 1),
        ('{"a": "\\ud800"}', {"a": "?"}),
        ("  ", {}),
        ('{"a": 1}', {"a": 1}),
        (None, {}),
        ({"b": 2}, {"b": 2}),
    ],
)
def test_arguments_are_read_with_what_others_let_through(text: Any, arguments: Any) -> None:
    finished = finished_call("1", "read", text)
    assert finished.fault == ""
    assert (len(finished.arguments) if arguments == 1 else finished.arguments) == arguments


def test_deeply_nested_arguments_are_a_fault_and_not_a_crash() -> None:
    assert finished_call("1", "read", '{"a":' * 100_000).fault


def test_text_that_cannot_be_encoded_is_mended() -> None:
    assert encoded({"a\ud800": ["\udfff", 1]}) == b'{"a?":["?",1]}'
