"""What a server asks a model: what is taken, what is refused, which model answers, and what is shown of it."""

from typing import Any

import pytest

from openclaw.asking.samples import Sample, SampleRequest, chosen_model, read_request, result_of, shown_prompt
from openclaw.config.servers import SamplingSpec
from openclaw.content import AssistantMessage, Image, Text, Thinking, ToolCall, ToolMessage, UserMessage
from openclaw.errors import RpcError

ALLOWED = SamplingSpec(enabled=True, models=("local/fast", "local/wise"), max_tokens=50)
HELLO = {"role": "user", "content": {"type": "text", "text": "Hello"}}
USE = {"type": "tool_use", "id": "u1", "name": "dice", "input": {"sides": 6}}
RESULT = {"type": "tool_result", "toolUseId": "u1", "content": [{"type": "text", "text": "4"}]}


def asked(*messages: dict[str, Any], **more: Any) -> SampleRequest:
    return read_request({"messages": list(messages), "maxTokens": 100, **more}, ALLOWED, "main")


def test_a_plain_prompt_goes_to_the_first_allowed_model_with_the_servers_words_alone() -> None:
    assert asked(
        HELLO, systemPrompt="Be brief.", temperature=0.5, stopSequences=["."], includeContext="allServers"
    ) == (
        SampleRequest("local/fast", "main", "Be brief.", (UserMessage((Text("Hello"),)),), (), "auto", 50, 0.5, (".",))
    )


@pytest.mark.parametrize(
    ("hints", "models", "chosen"),
    [
        ([], ["a/fast", "b/wise"], "a/fast"),
        (["wise"], ["a/fast", "b/wise"], "b/wise"),
        (["gpt", "WISE"], ["a/fast", "b/wise"], "b/wise"),
        (["gpt-9"], ["a/fast"], "a/fast"),
        ([""], ["a/fast", "b/wise"], "a/fast"),
        (["wise"], [], ""),
    ],
)
def test_a_hint_chooses_among_the_allowed_models_only(hints: list[str], models: list[str], chosen: str) -> None:
    assert chosen_model(hints, models) == chosen


def test_tools_and_their_results_are_passed_on_and_pictures_too() -> None:
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    request = asked(
        {"role": "user", "content": [HELLO["content"], picture]},
        {"role": "assistant", "content": [{"type": "text", "text": "I roll."}, USE]},
        {"role": "user", "content": [RESULT]},
        tools=[{"name": "dice", "description": "Rolls.", "inputSchema": {"type": "object"}}],
        toolChoice={"mode": "required"},
    )
    assert request.messages == (
        UserMessage((Text("Hello"), Image(b"hi", "image/png"))),
        AssistantMessage((Text("I roll."), ToolCall("u1", "dice", {"sides": 6}))),
        ToolMessage("u1", "dice", (Text("4"),)),
    )
    (tool,) = request.tools
    assert (tool.name, tool.description, bytes(tool.parameters)) == ("dice", "Rolls.", b'{"type":"object"}')
    assert request.tool_choice == "required"


@pytest.mark.parametrize(
    "messages",
    [
        [HELLO, {"role": "assistant", "content": [USE]}],
        [HELLO, {"role": "assistant", "content": [USE]}, HELLO],
        [HELLO, {"role": "assistant", "content": [USE]}, {"role": "user", "content": [RESULT, HELLO["content"]]}],
        [HELLO, {"role": "user", "content": [RESULT]}],
        [HELLO, {"role": "assistant", "content": [USE, USE]}, {"role": "user", "content": [RESULT]}],
        [{"role": "user", "content": [USE]}],
        [{"role": "user", "content": {"type": "resource"}}],
        [{"role": "user", "content": {"type": "image", "data": "%%%", "mimeType": "image/png"}}],
        [{"role": "system", "content": {"type": "text", "text": "x"}}],
        [],
    ],
)
def test_what_the_protocol_forbids_is_refused(messages: list[dict[str, Any]]) -> None:
    with pytest.raises(RpcError) as refused:
        asked(*messages)
    assert refused.value.code == -32602


@pytest.mark.parametrize("more", [{"maxTokens": 0}, {"tools": [{"name": "a tool"}]}, {"toolChoice": {"mode": "maybe"}}])
def test_what_nobody_could_send_on_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(RpcError) as refused:
        asked(HELLO, **more)
    assert refused.value.code == -32602


def test_an_answer_is_written_as_the_protocol_has_it_without_what_the_model_thought() -> None:
    text, call = Text("Four."), ToolCall("u2", "dice", {})
    assert result_of(Sample((Thinking("hm"), text), "end", "local/fast")) == {
        "role": "assistant",
        "content": {"type": "text", "text": "Four."},
        "model": "local/fast",
        "stopReason": "endTurn",
    }
    assert result_of(Sample((text, call), "tools", "m"))["content"] == [
        {"type": "text", "text": "Four."},
        {"type": "tool_use", "id": "u2", "name": "dice", "input": {}},
    ]
    assert [result_of(Sample((text,), reason))["stopReason"] for reason in ("tools", "length", "refused")] == [
        "toolUse",
        "maxTokens",
        "refused",
    ]


def test_a_person_sees_the_whole_prompt_or_how_much_more_there_is() -> None:
    shown = shown_prompt(asked(HELLO, systemPrompt="Be\x1b[2J brief."))
    assert shown == ("I want local/fast to answer this, with at most 50 tokens:\n[system] Be brief.\n[user] Hello")
    long = shown_prompt(asked({"role": "user", "content": {"type": "text", "text": "x" * 103_200}}))
    assert long.endswith("… (3,265 more characters)")
