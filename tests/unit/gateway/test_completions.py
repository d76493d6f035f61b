"""OpenAI's wire to our values and back."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.agent.attachments import Attachment
from openclaw.agent.events import Event, MessageEnd, TextDelta, TurnStart
from openclaw.content import AssistantMessage, Image, Text, Usage, UserMessage
from openclaw.errors import MediaError, UsageError
from openclaw.gateway.completions import (
    CompletionRequest,
    Envelope,
    TextFlow,
    UnknownModelError,
    agent_of,
    models_json,
    read_completion_request,
)

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
PNG_URL = "data:image/png;base64," + base64.b64encode(PNG).decode()


def ask(*messages: dict[str, Any], model: str = "openclaw", **more: Any) -> CompletionRequest:
    return read_completion_request(json.dumps({"model": model, "messages": messages, **more}).encode())


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def test_one_message_is_what_the_agent_is_asked() -> None:
    assert ask(user("hello")) == CompletionRequest(model="openclaw", agent="", message="hello")


def test_what_came_before_the_last_answer_is_history_and_system_texts_are_instructions() -> None:
    asked = ask(
        {"role": "system", "content": "Be brief."},
        user("one"),
        {"role": "assistant", "content": "first", "tool_calls": [{"id": "x"}]},
        {"role": "tool", "content": "result", "tool_call_id": "x"},
        {"role": "assistant", "content": "second"},
        {"role": "developer", "content": [{"type": "text", "text": "And kind."}]},
        user("two"),
        user("three"),
        model="openclaw/research",
        user="alice",
        stream=True,
        stream_options={"include_usage": True},
        temperature=0.2,
    )
    assert asked == CompletionRequest(
        model="openclaw/research",
        agent="research",
        message="two\n\nthree",
        history=(
            UserMessage((Text("one"),)),
            AssistantMessage((Text("first"),)),
            AssistantMessage((Text("second"),)),
        ),
        instructions="Be brief.\n\nAnd kind.",
        user="alice",
        stream=True,
        include_usage=True,
    )


def test_content_parts_become_text_and_attachments() -> None:
    speech = {"data": base64.b64encode(b"RIFF1234WAVE").decode(), "format": "wav"}
    document = {"filename": "a.txt", "file_data": "data:text/plain;base64,aGk="}
    asked = ask(
        user(
            [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": PNG_URL, "detail": "low"}},
                {"type": "input_audio", "input_audio": speech},
                {"type": "file", "file": document},
            ]
        )
    )
    assert (asked.message, asked.attachments) == (
        "look",
        (
            Attachment("image-1", "image/png", PNG),
            Attachment("audio-1", "audio/wav", b"RIFF1234WAVE"),
            Attachment("a.txt", "text/plain", b"hi"),
        ),
    )


def test_pictures_of_earlier_turns_stay_pictures_and_other_files_are_named() -> None:
    document = {"filename": "a.txt", "file_data": "data:text/plain;base64,aGk="}
    parts = [{"type": "image_url", "image_url": {"url": PNG_URL}}, {"type": "file", "file": document}]
    asked = ask(user(parts), {"role": "assistant", "content": "seen"}, user("and?"))

    assert asked.history[0] == UserMessage((Text(""), Image(PNG, "image/png"), Text('["a.txt" was sent here.]')))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"model":"openclaw"}',
        b'{"model":1,"messages":[]}',
        b'{"model":"openclaw","messages":[]}',
        b'{"model":"openclaw","messages":[{"role":"assistant","content":"hi"}]}',
        b'{"model":"openclaw","messages":[{"role":"user","content":"hi"}],"n":2}',
        b'{"model":"openclaw","messages":[{"role":"user","content":"hi"}],"tools":[{}]}',
        b'{"model":"openclaw","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://169.254.169.254/"}}]}]}',
        b'{"model":"openclaw","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png,raw"}}]}]}',
        b'{"model":"openclaw","messages":[{"role":"user","content":[{"type":"video"}]}]}',
        b'{"model":"openclaw","messages":[{"role":"user","content":"\\ud800"}]}',
        b'{"model":"openclaw","messages":' + b"[" * 100_000,
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_sentence(body: bytes) -> None:
    with pytest.raises(UsageError) as caught:
        read_completion_request(body)
    assert str(caught.value).strip()


def test_an_eleventh_picture_and_bad_base64_are_refused() -> None:
    picture = {"type": "image_url", "image_url": {"url": PNG_URL}}
    with pytest.raises(UsageError, match="At most 10 images"):
        ask(user([picture] * 11))
    with pytest.raises(MediaError, match="not valid Base64"):
        ask(user([{"type": "image_url", "image_url": {"url": "data:image/png;base64,!!!"}}]))


@pytest.mark.parametrize(
    ("model", "agent"),
    [("openclaw", ""), ("openclaw/default", ""), ("openclaw/main", "main"), ("openclaw/a/b", "a/b")],
)
def test_the_model_names_the_agent(model: str, agent: str) -> None:
    assert agent_of(model) == agent


@pytest.mark.parametrize("model", ["", "gpt-4", "openclaw/", "OPENCLAW", "openclaw-2"])
def test_other_models_do_not_exist(model: str) -> None:
    with pytest.raises(UnknownModelError):
        agent_of(model)


def test_the_texts_of_two_messages_stand_apart() -> None:
    flow = TextFlow()
    events: list[Event] = [
        TurnStart(1),
        TextDelta("Let me "),
        TextDelta("look."),
        MessageEnd(AssistantMessage(()), final=False),
        MessageEnd(AssistantMessage(()), final=False),
        TextDelta("Found"),
        TextDelta(" it."),
        MessageEnd(AssistantMessage(()), final=True),
    ]
    pieces = [flow.take(event) for event in events]

    assert pieces == ["", "Let me ", "look.", "", "", "\n\nFound", " it.", ""]
    assert flow.text == "Let me look.\n\nFound it."


@given(st.lists(st.one_of(st.text(max_size=5).map(TextDelta), st.just(MessageEnd(AssistantMessage(()), final=False)))))
def test_the_pieces_of_an_answer_add_up_to_it(events: list[TextDelta | MessageEnd]) -> None:
    flow = TextFlow()
    assert "".join(flow.take(event) for event in events) == flow.text


def test_an_answer_has_openais_shape() -> None:
    envelope = Envelope("chatcmpl-1", 5, "openclaw")
    whole = envelope.whole("hi", "stop", Usage(3, 2, 1), {"sessionKey": "k"})

    assert whole == {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 5,
        "model": "openclaw",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "hi", "refusal": None},
                "finish_reason": "stop",
                "logprobs": None,
            }
        ],
        "usage": {
            "prompt_tokens": 3,
            "completion_tokens": 2,
            "total_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 1},
        },
        "openclaw": {"sessionKey": "k"},
    }


def test_every_agent_is_a_model() -> None:
    assert [one["id"] for one in models_json(("main", "research"), 1)["data"]] == [
        "openclaw",
        "openclaw/default",
        "openclaw/main",
        "openclaw/research",
    ]
