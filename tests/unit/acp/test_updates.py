"""What a client is told of the events of a turn."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from openclaw import content
from openclaw.acp import wire
from openclaw.acp.updates import NATIVE_KINDS, TurnUpdates, block_of, locations_of, shown, title_of
from openclaw.agent.events import (
    Compacted,
    Event,
    MessageEnd,
    Notice,
    RunReason,
    TextDelta,
    ToolEnd,
    ToolProgress,
    ToolStart,
)
from openclaw.content import AssistantMessage, ToolCall, Usage
from openclaw.engine import NATIVE_NAMES
from openclaw.reply import Reply
from openclaw.security.external import frame
from openclaw.tool import ToolResult
from openclaw.typed_words import quote_word

HERE = Path("/projects")
ALL = wire.ClientCapabilities(session=wire.ClientSession(compaction={}, notices={}))


def updates(client: wire.ClientCapabilities | None = None, clock: Any = lambda: 0.0) -> TurnUpdates:
    return TurnUpdates((HERE,), client or wire.ClientCapabilities(), tool=lambda name: None, window=1_000, clock=clock)


def told(turn: TurnUpdates, *events: Event) -> list[Any]:
    return [msgspec.to_builtins(update) for event in events for update in turn.of(event)]


def test_text_of_others_is_shown_without_its_frame_and_without_what_drives_a_screen() -> None:
    turn = updates()
    framed = frame("the \x1b[31mweather", source="unknown", sender="web")
    shown = told(turn, TextDelta("It says: "), TextDelta(str(framed)), MessageEnd(AssistantMessage(()), final=True))
    assert "".join(one["content"]["text"] for one in shown) == "It says: the weather"


def test_progress_is_told_four_times_a_second_at_most_and_only_of_calls_that_run() -> None:
    now = 0.0
    turn = updates(clock=lambda: now)
    call = ToolCall("c", "wait", {})
    told(turn, ToolStart(call))
    shown = []
    for _ in range(20):
        shown += told(turn, ToolProgress("c", "working"), ToolProgress("another", "no"))
        now += 0.05
    assert len(shown) in (4, 5)


def test_a_turn_that_is_over_leaves_no_call_open() -> None:
    turn = updates()
    first, second = ToolCall("a", "read", {}), ToolCall("b", "read", {})
    told(turn, ToolStart(first), ToolStart(second), ToolEnd(first, ToolResult(()), 0.1))
    assert [msgspec.to_builtins(one) for one in turn.close()] == [
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "b",
            "status": "failed",
            "content": [{"type": "content", "content": {"type": "text", "text": "Cancelled."}}],
        }
    ]
    assert turn.close() == []


def test_notices_and_compaction_go_to_clients_that_show_them() -> None:
    events = (Notice("Another try."), Compacted(3, "They spoke of milk."))
    assert [one["sessionUpdate"] for one in told(updates(ALL), *events)] == ["notice", "compaction_update"]
    assert [one["sessionUpdate"] for one in told(updates(), *events)] == ["agent_thought_chunk"]


def test_usage_is_told_when_it_is_known() -> None:
    counted = AssistantMessage((), usage=Usage(90, 10))
    assert told(updates(), MessageEnd(counted, final=True), MessageEnd(AssistantMessage(()), final=True)) == [
        {"sessionUpdate": "usage_update", "used": 100, "size": 1_000}
    ]


@pytest.mark.parametrize(
    ("reason", "stopped_by", "expected"),
    [
        ("done", "end", "end_turn"),
        ("done", "length", "max_tokens"),
        ("done", "refused", "refusal"),
        ("error", "refused", "refusal"),
        ("error", "error", None),
        ("turn-limit", "tool_calls", "max_turn_requests"),
        ("deadline", "", "end_turn"),
        ("declined", "tool_calls", "end_turn"),
        ("cancelled", "cancelled", "cancelled"),
    ],
)
def test_why_a_turn_stopped(reason: RunReason, stopped_by: str, expected: str | None) -> None:
    turn = updates()
    told(turn, MessageEnd(AssistantMessage((), stop_reason=stopped_by), final=True))
    assert turn.stop_reason(Reply("", "key", "model", reason)) == expected


@pytest.mark.parametrize(
    ("name", "arguments", "label", "expected"),
    [
        ("read", {"path": "a b.txt"}, "Read", "Read a b.txt"),
        ("ls", {}, "List", "List ."),
        ("exec", {"command": ["ls", "a b"]}, "Run", f"Run ls {quote_word('a b')}"),
        ("grep", {"pattern": "x", "path": "src"}, "Search", "Search x"),
        ("db__query", {"sql": "…"}, "MCP: db/query", "db: query"),
        ("other", {}, "", "other"),
    ],
)
def test_a_call_has_a_title(name: str, arguments: dict[str, Any], label: str, expected: str) -> None:
    assert title_of(name, arguments, label) == expected


@pytest.mark.posix_only("paths as POSIX writes them")
def test_a_path_is_told_whole_with_its_line_and_only_of_tools_whose_paths_they_are() -> None:
    assert locations_of("read", {"path": "src/a.py", "offset": 7}, HERE) == [wire.Location("/projects/src/a.py", 7)]
    assert locations_of("edit", {"path": "/etc/x"}, HERE) == [wire.Location("/etc/x")]
    assert locations_of("db__read", {"path": "a"}, HERE) == []
    assert locations_of("read", {"path": "a\0b"}, HERE) == []


def test_a_picture_that_no_line_could_carry_is_told_of_in_words() -> None:
    assert block_of(content.Image(b"x" * (21 * 1_048_576), "image/png")) == wire.Text("[22,020,096 bytes of image/png]")


def test_pictures_of_one_result_that_no_line_could_carry_together_are_told_of_in_words() -> None:
    half = content.Image(b"x" * (11 * 1_048_576), "image/png")
    first, second, third = shown([half, half, content.Image(b"small", "image/png")])
    assert [type(part.content) for part in (first, second, third) if isinstance(part, wire.Shown)] == [
        *(wire.Image, wire.Text, wire.Image),
    ]


def test_every_native_tool_has_a_kind_that_editors_know() -> None:
    assert set(NATIVE_KINDS) == set(NATIVE_NAMES)
