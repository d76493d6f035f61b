"""The closed set of things that happen in a run, in the order a surface sees them.

RunStart (TurnStart (TextDelta | ReasoningDelta | Notice)* MessageEnd (ToolStart | ToolProgress | ToolEnd)*)* RunEnd.
`Compacted` may come before a turn. A sink is a plain function: it must not block and must not raise.
"""

from collections.abc import Callable
from typing import Literal

import msgspec

from openclaw.content import AssistantMessage, ToolCall, Usage
from openclaw.tool import ToolResult

RunReason = Literal["done", "turn-limit", "deadline", "cancelled", "error"]


class RunStart(msgspec.Struct, frozen=True):
    agent: str
    model: str
    session_key: str


class TurnStart(msgspec.Struct, frozen=True):
    number: int


class TextDelta(msgspec.Struct, frozen=True):
    text: str


class ReasoningDelta(msgspec.Struct, frozen=True):
    text: str


class MessageEnd(msgspec.Struct, frozen=True):
    """One assistant message is complete. `final` is true when no tool call follows."""

    message: AssistantMessage
    final: bool


class ToolStart(msgspec.Struct, frozen=True):
    call: ToolCall
    label: str = ""


class ToolProgress(msgspec.Struct, frozen=True):
    call_id: str
    text: str


class ToolEnd(msgspec.Struct, frozen=True):
    call: ToolCall
    result: ToolResult
    seconds: float


class Compacted(msgspec.Struct, frozen=True):
    dropped_messages: int
    summary: str


class Notice(msgspec.Struct, frozen=True):
    text: str


class RunEnd(msgspec.Struct, frozen=True):
    reason: RunReason
    usage: Usage
    error: str = ""


Event = (
    RunStart
    | TurnStart
    | TextDelta
    | ReasoningDelta
    | MessageEnd
    | ToolStart
    | ToolProgress
    | ToolEnd
    | Compacted
    | Notice
    | RunEnd
)
Sink = Callable[[Event], None]
