"""One answer of a model while it streams in: blocks in the order they came, and call ids that are unique in the conversation.

Pure. loop.py feeds it model events and asks for the message at the end, or for what there is when the run is cut.
"""

from collections.abc import Callable, Container

import msgspec

from openclaw.agent.transcript import whole
from openclaw.content import AssistantBlock, AssistantMessage, Text, Thinking, ToolCall
from openclaw.models.provider import Done, ModelEvent, ReasoningDelta, TextDelta, ToolCallEnd

# An answer that was cut is kept for what it said. Its calls never ran, and vendors refuse reasoning that is not whole.
_CUT = ("error", "cancelled")


class Draft(msgspec.Struct):
    """`used` is asked for the ids that the conversation has, when the first call comes: most answers have none."""

    used: Callable[[], Container[str]] = frozenset
    _blocks: list[AssistantBlock] = msgspec.field(default_factory=list)
    _text: list[str] = msgspec.field(default_factory=list)
    _thought: list[str] = msgspec.field(default_factory=list)
    _ids: set[str] = msgspec.field(default_factory=set)

    def add(self, event: ModelEvent) -> None:
        match event:
            case TextDelta(text=text):
                self._end_thought()
                self._text.append(text)
            case ReasoningDelta(text=text, signature=signature):
                self._end_text()
                self._thought.append(text)
                if signature:
                    # It closes a block of reasoning: what follows is the next one.
                    self._end_thought(signature)
            case ToolCallEnd(call=call):
                self._end_thought()
                self._end_text()
                self._blocks.append(self._identified(call))
            case _:
                pass

    def message(self, done: Done, model: str) -> AssistantMessage:
        self._end_thought()
        self._end_text()
        blocks = tuple(self._blocks)
        if done.stop_reason in _CUT:
            blocks = tuple(block for block in blocks if isinstance(block, Text))
        return AssistantMessage(blocks, done.model or model, done.usage, done.stop_reason)

    def _end_text(self) -> None:
        text = whole("".join(self._text))
        if text:
            self._blocks.append(Text(text))
        self._text.clear()

    def _end_thought(self, signature: str = "") -> None:
        text = whole("".join(self._thought))
        if text or signature:
            self._blocks.append(Thinking(text, signature))
        self._thought.clear()

    def _identified(self, call: ToolCall) -> ToolCall:
        """Results find their call by id alone, so an id that is empty or was used before gets a number."""
        name, number, used = call.id or "call-1", 1, self.used()
        while name in used or name in self._ids:
            number += 1
            name = f"{call.id or 'call'}-{number}"
        self._ids.add(name)
        return call if name == call.id else msgspec.structs.replace(call, id=name)
