"""The closed set of things that happen in a run, in the order a surface sees them.

RunStart (TurnStart (TextDelta | ReasoningDelta | Notice)* MessageEnd (ToolStart | ToolProgress | ToolEnd)*)* RunEnd.
`Compacted` may come before a turn, and a `Notice` before RunStart: of a session that is busy. A sink is a plain function: it must not
block and must not raise.
"""

from collections.abc import Callable
from typing import Literal

import msgspec

from openclaw.content import AssistantMessage, ToolCall, Usage
from openclaw.tool import ToolResult

# `declined`: a person said no to several calls in a row.
RunReason = Literal["done", "turn-limit", "deadline", "cancelled", "declined", "error"]
NoticeKind = Literal["note", "retry", "held"]


class RunStart(msgspec.Struct, frozen=True):
    """A message was taken. `session_key` is the full key, as `openclaw sessions` shows it."""

    agent: str
    model: str
    session_key: str
    # Tokens that the model can take in; 0 when that is not known.
    window: int = 0


class TurnStart(msgspec.Struct, frozen=True):
    """The model is asked; the first time is number 1."""

    number: int


class TextDelta(msgspec.Struct, frozen=True):
    """A piece of the answer, as it comes."""

    text: str


class ReasoningDelta(msgspec.Struct, frozen=True):
    """A piece of the model's thinking, as it comes. Never part of the answer."""

    text: str


class MessageEnd(msgspec.Struct, frozen=True):
    """One assistant message is complete. `final` is true when no tool call follows."""

    message: AssistantMessage
    final: bool


class ToolStart(msgspec.Struct, frozen=True):
    """A tool call begins. Several may run at the same time; `call.id` tells them apart."""

    call: ToolCall
    label: str = ""


class ToolProgress(msgspec.Struct, frozen=True):
    """A sentence from a running call, for the person who waits."""

    call_id: str
    text: str


class ToolEnd(msgspec.Struct, frozen=True):
    """A call is over, well or not: see `result.is_error`. `seconds` are those it took, without any in which a person was asked."""

    call: ToolCall
    result: ToolResult
    seconds: float


class Compacted(msgspec.Struct, frozen=True):
    """Old messages gave way to a summary so that the conversation fits the model."""

    dropped_messages: int
    summary: str


class Notice(msgspec.Struct, frozen=True):
    """A sentence of ours for the person: another try, another model, an answer that was cut short. `kind` is `retry` when it only says why
    this takes longer, which `doing` says without the moment in which that begins; `held` when a turn elsewhere is waited for."""

    text: str
    kind: NoticeKind = "note"
    doing: str = ""


class RunEnd(msgspec.Struct, frozen=True):
    """The run is over. `error` is a sentence whenever `reason` is not `done`."""

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
