"""A conversation made fit for a vendor: calls and results in pairs, ids that every vendor takes, blocks that no wire carries in words.

Pure. Sessions hold what happened, crashes and compaction included; vendors refuse a conversation in which a call has no result or a
result no call. Nothing here changes what is stored.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Final

import msgspec

from openclaw.content import (
    PICTURES,
    AssistantBlock,
    AssistantMessage,
    Audio,
    Block,
    File,
    Image,
    Message,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
)

NO_RESULT: Final = "No result was recorded for this call."
# OpenAI refuses ids longer than this.
LONGEST_ID: Final = 40

_PORTABLE = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_ID}}}")


class _Pairing(msgspec.Struct):
    """The calls of the last assistant message that still wait for their result, under the ids they go out with."""

    messages: list[Message] = msgspec.field(default_factory=list)
    seen: set[str] = msgspec.field(default_factory=set)
    # The id in the session, and the call as it goes out. Two calls of one message may share an id.
    waiting: list[tuple[str, ToolCall]] = msgspec.field(default_factory=list)
    # Results without a call: they follow those that have one.
    strays: list[Message] = msgspec.field(default_factory=list)

    def close(self) -> None:
        self.messages += [
            ToolMessage(call.id, call.name, (Text(NO_RESULT),), is_error=True) for _, call in self.waiting
        ]
        self.waiting.clear()
        self.messages += self.strays
        self.strays.clear()

    def assistant(self, message: AssistantMessage) -> None:
        self.close()
        content: list[AssistantBlock] = []
        for block in message.content:
            if isinstance(block, ToolCall):
                call = msgspec.structs.replace(block, id=self._fresh(block.id))
                self.waiting.append((block.id, call))
                content.append(call)
            elif not isinstance(block, Text) or block.text.strip():
                content.append(block)
        # An answer that broke off before it said anything, or reasoning alone: vendors refuse a message without content.
        if any(isinstance(block, Text | ToolCall) for block in content):
            self.messages.append(msgspec.structs.replace(message, content=tuple(content)))

    def result(self, message: ToolMessage) -> None:
        pair = next((pair for pair in self.waiting if pair[0] == message.call_id), None)
        if pair is None:
            note = Text(f"A result of {message.name}, whose call is no longer part of this conversation:")
            self.strays.append(UserMessage((note, *message.content)))
        else:
            self.waiting.remove(pair)
            self.messages.append(msgspec.structs.replace(message, call_id=pair[1].id))

    def _fresh(self, call_id: str) -> str:
        wanted = call_id if _PORTABLE.fullmatch(call_id) else "call_" + _digest(call_id)
        fresh, number = wanted, 1
        while fresh in self.seen:
            number += 1
            fresh = f"call_{_digest(f'{wanted} {number}')}"
        self.seen.add(fresh)
        return fresh


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def repaired(messages: Sequence[Message]) -> list[Message]:
    """`messages` with every call answered once, right after it, under an id that is unique and portable."""
    pairing = _Pairing()
    for message in messages:
        match message:
            case AssistantMessage():
                pairing.assistant(message)
            case ToolMessage():
                pairing.result(message)
            case UserMessage():
                pairing.close()
                pairing.messages.append(message)
    pairing.close()
    return pairing.messages


def carried(block: Block, *, images: bool) -> Text | Image:
    """`block` when a wire can carry it, else a sentence about it."""
    match block:
        case Text():
            return block
        case Image() if images and block.mime_type in PICTURES:
            return block
        case Image():
            return Text(f"[An image ({block.mime_type}, {len(block.data):,} bytes) that this model cannot look at.]")
        case Audio():
            return Text(f"[A recording ({block.mime_type}, {len(block.data):,} bytes) that this model cannot hear.]")
        case File():
            # Quoted, because a stranger chose the name; `media.safe_name` lets none hold a quote or a bracket.
            return Text(f'[The file "{block.name}" ({block.mime_type}, {block.size:,} bytes) at "{block.path}".]')
