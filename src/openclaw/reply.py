"""What came of one message to an agent: the answer, what it cost, and every tool call on the way.

`App.reply` gives one. Plain values, which each surface writes down in its own form.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from openclaw.agent.events import Event, MessageEnd, RunReason, Sink, ToolEnd
from openclaw.agent.loop import RunOutcome
from openclaw.content import Audio, File, Image, Text, Usage


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


class Collector(msgspec.Struct):
    """Sees every event of a run on its way to the surface, and keeps what the reply needs. `model` is the one that answered last."""

    forward: Sink | None
    model: str
    calls: list[CallRecord] = msgspec.field(default_factory=list)
    media: list[Image | Audio | File] = msgspec.field(default_factory=list)

    def __call__(self, event: Event) -> None:
        match event:
            case ToolEnd(call=call, result=result):
                self.calls.append(CallRecord(call.name, call.arguments, result.is_error))
                self.media += [block for block in result.content if not isinstance(block, Text)]
            case MessageEnd(message=message):
                self.model = message.model or self.model
            case _:
                pass
        if self.forward is not None:
            self.forward(event)

    def reply(self, outcome: RunOutcome, session_key: str) -> Reply:
        return Reply(
            text=outcome.text,
            session_key=session_key,
            model=self.model,
            reason=outcome.reason,
            error=outcome.error,
            media=tuple(self.media),
            usage=outcome.usage,
            tool_calls=tuple(self.calls),
        )
