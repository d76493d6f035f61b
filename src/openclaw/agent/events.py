"""The closed set of things that happen in a run, in the order a surface sees them.

RunStart (TurnStart (TextDelta | ReasoningDelta | Notice)* MessageEnd (ToolStart | ToolProgress | ToolEnd)*)* RunEnd.
`Compacted` may come before a turn. A sink is a plain function: it must not block and must not raise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from openclaw.content import AssistantMessage, ToolCall, Usage
from openclaw.tool import ToolResult

RunReason = Literal["done", "turn-limit", "deadline", "cancelled", "error"]


@dataclass(frozen=True, slots=True)
class RunStart:
    agent: str
    model: str
    session_key: str


@dataclass(frozen=True, slots=True)
class TurnStart:
    number: int


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    text: str


@dataclass(frozen=True, slots=True)
class MessageEnd:
    """One assistant message is complete. `final` is true when no tool call follows."""

    message: AssistantMessage
    final: bool


@dataclass(frozen=True, slots=True)
class ToolStart:
    call: ToolCall
    label: str = ""


@dataclass(frozen=True, slots=True)
class ToolProgress:
    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolEnd:
    call: ToolCall
    result: ToolResult
    seconds: float


@dataclass(frozen=True, slots=True)
class Compacted:
    dropped_messages: int
    summary: str


@dataclass(frozen=True, slots=True)
class Notice:
    text: str


@dataclass(frozen=True, slots=True)
class RunEnd:
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
