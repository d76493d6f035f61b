"""What came of one message to an agent: the answer, what it cost, and every tool call on the way.

`App.reply` gives one. Plain values, which each surface writes down in its own form.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import structs

from openclaw.agent.events import Event, MessageEnd, RunEnd, RunReason, Sink, ToolEnd, ToolStart
from openclaw.agent.loop import RunOutcome
from openclaw.content import Audio, File, Image, Text, ToolCall, Usage


class CallRecord(msgspec.Struct, frozen=True):
    """One tool call of a run, as a surface reports it."""

    name: str
    arguments: Mapping[str, Any]
    is_error: bool


class Reply(msgspec.Struct, frozen=True):
    """`text` is the model's final answer; `error` is a sentence whenever `reason` is not `done`."""

    text: str
    session_key: str
    model: str
    reason: RunReason = "done"
    error: str = ""
    media: tuple[Image | Audio | File, ...] = ()
    usage: Usage = Usage()
    tool_calls: tuple[CallRecord, ...] = ()


class ReplyEnded(msgspec.Struct, frozen=True):
    """A run is over, well or not. Of one that was cancelled, or raised, the reply is what had come by then, which nobody else is given."""

    agent: str
    reply: Reply


class Collector(msgspec.Struct):
    """Sees every event of a run on its way to the surface, and keeps what the reply needs. `model` is the one that answered last.

    Calls that ran side by side are told in the order in which the model asked for them, whichever was done first.
    """

    forward: Sink | None
    model: str
    text: str = ""
    over: RunEnd | None = None
    begun: list[ToolCall] = msgspec.field(default_factory=list)
    ended: list[ToolEnd] = msgspec.field(default_factory=list)

    def __call__(self, event: Event) -> None:
        match event:
            case ToolStart(call=call):
                self.begun.append(call)
            case ToolEnd():
                self.ended.append(event)
            case MessageEnd(message=message):
                self.model = message.model or self.model
                self.text = message.text
            case RunEnd():
                self.over = event
            case _:
                pass
        if self.forward is not None:
            self.forward(event)

    def cut_reply(self, session_key: str) -> Reply | None:
        """What came of a run that has no outcome, because it was cancelled or raised; None when none had begun."""
        if (over := self.over) is None:
            return None
        error = over.error or "The run was cancelled."
        return structs.replace(self.reply(RunOutcome(over.reason, (), over.usage, error), session_key), text=self.text)

    def reply(self, outcome: RunOutcome, session_key: str) -> Reply:
        # By the object: some models give every call the same id.
        place = {id(call): number for number, call in enumerate(self.begun)}
        ended = sorted(self.ended, key=lambda end: place.get(id(end.call), len(place)))
        return Reply(
            text=outcome.text,
            session_key=session_key,
            model=self.model,
            reason=outcome.reason,
            error=outcome.error,
            media=tuple(block for end in ended for block in end.result.content if not isinstance(block, Text)),
            usage=outcome.usage,
            tool_calls=tuple(CallRecord(end.call.name, end.call.arguments, end.result.is_error) for end in ended),
        )
