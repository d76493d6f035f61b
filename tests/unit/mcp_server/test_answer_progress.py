"""What a waiting client is told, and how often."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Raw

from openclaw.agent.events import (
    Compacted,
    Event,
    MessageEnd,
    Notice,
    ReasoningDelta,
    TextDelta,
    ToolEnd,
    ToolProgress,
    ToolStart,
    TurnStart,
)
from openclaw.content import AssistantMessage, ToolCall
from openclaw.mcp_server.answer import Narrator
from openclaw.mcp_server.progress import LEAST_PAUSE, LONGEST_SILENCE, CallProgress
from openclaw.tool import ToolResult

CALL = ToolCall("1", "files__read", {})


class Clock(asyncio.SelectorEventLoop):
    """A loop whose time passes only when a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def time(self) -> float:
        return self.now

    async def pass_by(self, seconds: float) -> None:
        # In small steps, since timers are set by timers; each needs a round of the loop.
        end = self.now + seconds
        while self.now < end:
            self.now = min(self.now + 0.01, end)
            await asyncio.sleep(0)
            await asyncio.sleep(0)


def play(story: Callable[[CallProgress, Clock], Any]) -> list[dict[str, Any]]:
    written: list[bytes] = []
    clock = Clock()

    async def tell() -> None:
        await story(CallProgress(Raw(b'"t"'), written.append), clock)

    try:
        clock.run_until_complete(tell())
    finally:
        clock.close()
    return [json.loads(line) for line in written]


def told(*messages: str) -> list[dict[str, Any]]:
    return [
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": "t", "progress": number, "message": message},
        }
        for number, message in enumerate(messages, 1)
    ]


def test_the_first_sentence_goes_out_at_once() -> None:
    async def story(progress: CallProgress, clock: Clock) -> None:
        progress.tell("Thinking")

    assert play(story) == told("Thinking")


def test_of_many_sentences_ten_a_second_go_out_and_the_last_is_among_them() -> None:
    async def story(progress: CallProgress, clock: Clock) -> None:
        for number in range(1000):
            progress.tell(str(number))
            clock.now += 0.001
            await asyncio.sleep(0)
        await clock.pass_by(1)

    messages = [line["params"]["message"] for line in play(story)]
    assert len(messages) <= 1 + 1 / LEAST_PAUSE + 1
    assert (messages[0], messages[-1]) == ("0", "999")


def test_a_repeated_sentence_is_not_news() -> None:
    async def story(progress: CallProgress, clock: Clock) -> None:
        progress.tell("Thinking")
        await clock.pass_by(1)
        progress.tell("Thinking")
        await clock.pass_by(1)

    assert play(story) == told("Thinking")


def test_a_long_silence_is_broken() -> None:
    async def story(progress: CallProgress, clock: Clock) -> None:
        progress.tell("Thinking")
        await clock.pass_by(2 * LONGEST_SILENCE + 1)

    assert play(story) == told("Thinking", "Thinking (10 s)", "Thinking (20 s)")


def test_nothing_is_said_after_the_end() -> None:
    async def story(progress: CallProgress, clock: Clock) -> None:
        progress.tell("Thinking")
        progress.tell("Writing")
        progress.close()
        progress.tell("More")
        await clock.pass_by(30)

    assert play(story) == told("Thinking")


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (TurnStart(1), "Thinking"),
        (ReasoningDelta("x"), "Thinking"),
        (TextDelta("x"), "Writing the answer"),
        (ToolStart(CALL, "MCP: files/read"), "Calling tool read on server files"),
        (ToolStart(CALL, ""), "Calling tool files__read"),
        (ToolStart(CALL, "odd"), "Calling tool files__read"),
        (ToolProgress("1", "half\x1b[31m done\nnow"), "half done now"),
        (Notice("Trying again"), "Trying again"),
        (Compacted(3, "s"), "Making room in the conversation"),
        (ToolEnd(CALL, ToolResult(()), 0.1), ""),
        (MessageEnd(AssistantMessage(()), final=True), ""),
    ],
)
def test_events_are_told_in_words(event: Event, words: str) -> None:
    assert Narrator().words(event) == words


def test_what_a_tool_says_of_itself_is_told_with_its_name() -> None:
    narrator = Narrator()
    narrator.words(ToolStart(CALL, "MCP: files/read"))
    assert narrator.words(ToolProgress(CALL.id, "3 of 10")) == "Tool read on server files: 3 of 10"
