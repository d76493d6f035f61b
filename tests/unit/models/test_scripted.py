"""The provider that plays a script: what it streams, what it remembers, and scripts from files."""

import asyncio
import json
from contextlib import aclosing
from pathlib import Path

import pytest

from openclaw.content import Message, Text, ToolCall, ToolMessage, Usage, UserMessage
from openclaw.errors import ModelError
from openclaw.models.provider import (
    Done,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from openclaw.models.scripted import Scripted, ScriptedCall, ScriptedTurn, load


def asking(*messages: Message) -> ModelRequest:
    return ModelRequest("play", "", list(messages) or [UserMessage((Text("hi"),))])


async def played(provider: Scripted, request: ModelRequest | None = None) -> list[ModelEvent]:
    return [event async for event in provider.stream(request or asking())]


async def test_turns_are_played_one_a_request() -> None:
    provider = Scripted(
        [
            ScriptedTurn(text=("Hel", "lo"), reasoning="hm", signature="x:1", usage=Usage(1, 2)),
            ScriptedTurn(tool_calls=(ScriptedCall("ls", {"path": "."}), ScriptedCall("read", id="mine"))),
            ScriptedTurn(error="Broken.", retryable=True),
        ]
    )
    assert await played(provider) == [
        ReasoningDelta("hm"),
        ReasoningDelta("", "x:1"),
        TextDelta("Hel"),
        TextDelta("lo"),
        Done("end", Usage(1, 2), model="scripted/play"),
    ]
    assert await played(provider) == [
        ToolCallStart(0, "call_2_1", "ls"),
        ToolCallDelta(0, '{"path":"."}'),
        ToolCallEnd(0, ToolCall("call_2_1", "ls", {"path": "."})),
        ToolCallStart(1, "mine", "read"),
        ToolCallDelta(1, "{}"),
        ToolCallEnd(1, ToolCall("mine", "read", {})),
        Done("tools", model="scripted/play"),
    ]
    assert await played(provider) == [Done("error", error="Broken.", retryable=True, model="scripted/play")]


async def test_a_script_that_is_over_answers_with_an_error() -> None:
    assert await played(Scripted([])) == [
        Done("error", error="The script has no turn 1. Add one, or ask less.", model="scripted/play")
    ]


async def test_requests_are_remembered_as_they_were() -> None:
    provider = Scripted([ScriptedTurn("a")])
    messages: list[Message] = [UserMessage((Text("first"),))]
    await played(provider, ModelRequest("play", "Be brief.", messages))
    messages.append(UserMessage((Text("later"),)))
    assert provider.requests == [ModelRequest("play", "Be brief.", (UserMessage((Text("first"),)),), ())]


async def test_a_turn_may_react_to_what_was_asked() -> None:
    provider = Scripted([lambda request: ScriptedTurn(f"asked {len(request.messages)}")])
    assert (await played(provider))[0] == TextDelta("asked 1")


async def test_text_may_quote_the_last_result() -> None:
    request = asking(ToolMessage("1", "ls", (Text("old"),)), ToolMessage("2", "ls", (Text("a.txt"),)))
    assert (await played(Scripted([ScriptedTurn("Found: {result}.")]), request))[0] == TextDelta("Found: a.txt.")


async def test_a_turn_that_holds_its_breath_waits_to_be_cancelled() -> None:
    provider = Scripted([ScriptedTurn("so", hold=True)])
    seen: list[ModelEvent] = []

    async def read() -> None:
        async with aclosing(provider.stream(asking())) as events:
            async for event in events:
                seen.append(event)

    reading = asyncio.create_task(read())
    await provider.holding.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert seen == [TextDelta("so")]
    assert not provider.holding.is_set()


def test_a_file_is_a_list_of_turns_or_an_object_with_turns(tmp_path: Path) -> None:
    turns = [{"text": "a"}, {"toolCalls": [{"name": "ls"}], "usage": {"inputTokens": 3}}]
    file = tmp_path / "script.json"
    file.write_text(json.dumps(turns))
    expected = (ScriptedTurn("a"), ScriptedTurn(tool_calls=(ScriptedCall("ls"),), usage=Usage(3)))
    assert load(file) == expected
    file.write_text(json.dumps({"turns": turns}))
    assert load(file) == expected


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "is not a list of turns"),
        (b'[{"txt": "a"}]', "Object contains unknown field `txt`"),
        (b'"text"', "is not a list of turns"),
        (b"\xff\xfe", "is not a list of turns"),
        (b"[" * 100_000, "is not a list of turns"),
    ],
)
def test_a_file_that_is_no_script_gets_one_sentence(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "script.json"
    file.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        load(file)
    assert said in caught.value.message


def test_a_file_that_is_not_there_gets_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        load(tmp_path / "none.json")
    assert caught.value.message.endswith("none.json cannot be read: No such file or directory.")
