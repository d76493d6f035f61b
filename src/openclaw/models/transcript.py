"""A conversation made fit for a vendor: calls and results in pairs, ids, names and arguments that every vendor takes, blocks that no wire
carries in words.

Pure. Sessions hold what happened: crashes, compaction, names and arguments that a model made up. A vendor refuses the whole conversation
for one of them, at every turn; so what would be refused is repaired on its way out. An agent begins a turn with pairs alone (`paired`), and
what a compaction keeps of those is stored; all else here leaves what is stored as it is. A message that is refused all the same goes out
in words alone (`WORDS`). Pictures are `pictures.py`'s.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

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
from openclaw.models.pictures import PictureLimits, fitted
from openclaw.tool_form import encoded

INTERRUPTED: Final = "The call was interrupted before it gave a result."
# OpenAI refuses ids longer than this.
LONGEST_ID: Final = 40
# What a tool may be called at every vendor.
LONGEST_NAME: Final = 64
# Parsers refuse JSON that nests deeper than 128, the request around the arguments included. Honest arguments nest a few levels.
DEEPEST_ARGUMENTS: Final = 64
# The quirk of an endpoint that refused a message of ours, with the message's digest.
WORDS: Final = "words="
# Refused messages that are remembered of one model: many conversations together have more, one hardly ever.
MOST_REFUSED: Final = 1_000

# Of the arguments of a call that is told in words.
_LONGEST_TOLD = 2_000
_UNPORTABLE = re.compile(r"[^A-Za-z0-9_-]")
_PORTABLE = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_ID}}}")


class Pairing:
    """A conversation that is made valid while it grows: one more message costs the same however many there were."""

    def __init__(self) -> None:
        self._valid: list[Message] = []
        # The calls of the last assistant message, each with its result. Two of them may share an id.
        self._calls: list[tuple[ToolCall, ToolMessage | None]] = []
        # Results without a call: they follow those that have one.
        self._strays: list[Message] = []

    def add(self, message: Message) -> None:
        if isinstance(message, ToolMessage):
            self._add_result(message)
            return
        if self._calls or self._strays:
            self._valid.extend(self._open())
            self._calls, self._strays = [], []
        self._valid.append(message)
        if isinstance(message, AssistantMessage):
            self._calls = [(call, None) for call in message.tool_calls]

    def _add_result(self, message: ToolMessage) -> None:
        for place, (call, result) in enumerate(self._calls):
            if call.id == message.call_id and result is None:
                self._calls[place] = (call, message)
                return
        note = Text(f"A result of {message.name}, whose call is no longer part of this conversation:")
        self._strays.append(UserMessage((note, *message.content)))

    def _open(self) -> list[Message]:
        """What follows the last message that is no result."""
        return [*(result or _interrupted(call) for call, result in self._calls), *self._strays]

    def messages(self) -> list[Message]:
        return [*self._valid, *self._open()]


def paired(messages: Iterable[Message]) -> list[Message]:
    """The same conversation made valid: every call is followed by its result, in the order of the calls, and no result stands alone. A call
    without one gets one that says so; a result without its call is told in words."""
    pairing = Pairing()
    for message in messages:
        pairing.add(message)
    return pairing.messages()


def _interrupted(call: ToolCall) -> ToolMessage:
    return ToolMessage(call.id, call.name, (Text(INTERRUPTED),), is_error=True)


class _Portable(msgspec.Struct):
    """Calls and results under ids, names and arguments that every vendor takes."""

    seen: set[str] = msgspec.field(default_factory=set)
    # The calls of the last assistant message as they go out, whose results follow in this order.
    calls: list[ToolCall] = msgspec.field(default_factory=list)

    def assistant(self, message: AssistantMessage) -> AssistantMessage | None:
        content: list[AssistantBlock] = []
        for block in message.content:
            if isinstance(block, ToolCall):
                call = msgspec.structs.replace(
                    block, id=self._fresh(block.id), name=_name(block.name), arguments=_shallow(block.arguments)
                )
                self.calls.append(call)
                content.append(call)
            elif not isinstance(block, Text) or block.text.strip():
                content.append(block)
        # An answer that broke off before it said anything, or reasoning alone: vendors refuse a message without content.
        if any(isinstance(block, Text | ToolCall) for block in content):
            return msgspec.structs.replace(message, content=tuple(content))
        return None

    def result(self, message: ToolMessage) -> ToolMessage:
        call = self.calls.pop(0)
        return msgspec.structs.replace(message, call_id=call.id, name=call.name)

    def _fresh(self, call_id: str) -> str:
        wanted = call_id if _PORTABLE.fullmatch(call_id) else "call_" + _digest(call_id)
        fresh, number = wanted, 1
        while fresh in self.seen:
            number += 1
            fresh = f"call_{_digest(f'{wanted} {number}')}"
        self.seen.add(fresh)
        return fresh


def _name(name: str) -> str:
    """The name as every vendor takes it: models call tools that nobody offered by names that nobody may have."""
    return _UNPORTABLE.sub("_", name)[:LONGEST_NAME] or "unnamed"


def _shallow(value: Any, depth: int = DEEPEST_ARGUMENTS) -> Any:
    """`value` without what nests deeper than any tool asks for."""
    if not isinstance(value, dict | list):
        return value
    if not depth:
        return "[nested too deeply]"
    if isinstance(value, dict):
        return {key: _shallow(item, depth - 1) for key, item in value.items()}
    return [_shallow(item, depth - 1) for item in value]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def repaired(messages: Sequence[Message]) -> list[Message]:
    """`messages` with every call answered once, right after it, under an id that is unique and portable."""
    portable = _Portable()
    fit: list[Message] = []
    for message in paired(messages):
        match message:
            case AssistantMessage():
                if (said := portable.assistant(message)) is not None:
                    fit.append(said)
            case ToolMessage():
                fit.append(portable.result(message))
            case UserMessage():
                fit.append(message)
    return fit


class Sent(msgspec.Struct, frozen=True):
    """A message as it goes out, and those of the conversation that it stands for."""

    message: Message
    sources: tuple[Message, ...]


def sendable(
    messages: Sequence[Message], limits: PictureLimits | None, quirks: frozenset[str], *, with_calls: bool
) -> list[Sent]:
    """The conversation as a vendor takes it; `limits` are None for a model that takes no images. Calls may have to go out in words."""
    fit = repaired(messages) if limits is None else fitted(repaired(messages), limits)
    refused = {quirk.removeprefix(WORDS) for quirk in quirks if quirk.startswith(WORDS)}
    sent: list[Sent] = []
    group: list[Message] = []

    def close() -> None:
        if not group:
            return
        calls = isinstance(group[0], AssistantMessage) and group[0].tool_calls
        if (calls and not with_calls) or (refused and any(digest(message) in refused for message in group)):
            sent.extend(Sent(message, tuple(group)) for message in _in_words(group))
        else:
            sent.extend(Sent(message, (message,)) for message in group)
        group.clear()

    for message in fit:
        # Calls and their results share their fate: vendors take neither without the other.
        if not isinstance(message, ToolMessage):
            close()
        group.append(message)
    close()
    return sent


def digest(message: Message) -> str:
    """What a message is known by while its endpoint refuses it. A picture counts by its hash: its text would be four times its size."""
    content = [
        msgspec.structs.replace(block, data=hashlib.sha256(block.data).digest())
        if isinstance(block, Image | Audio)
        else block
        for block in message.content
    ]
    return _digest(repr((msgspec.structs.replace(message, content=()), content)))


def remembering(quirks: frozenset[str], refused: Iterable[Message], conversation: Iterable[Message]) -> frozenset[str]:
    """`quirks` with the messages of `conversation` that were `refused`.

    Past the bound those of other conversations are forgotten: one that goes on is refused once more, and learned anew.
    """
    known = quirks | {WORDS + digest(message) for message in refused}
    if sum(quirk.startswith(WORDS) for quirk in known) <= MOST_REFUSED:
        return known
    own = {WORDS + digest(message) for message in conversation}
    return frozenset(quirk for quirk in known if quirk in own or not quirk.startswith(WORDS))


def _in_words(group: Sequence[Message]) -> list[Message]:
    """A message, or calls with their results, as text alone. What was called is told by us: a model would imitate its own words."""
    first = group[0]
    if isinstance(first, UserMessage):
        return [UserMessage(tuple(carried(block, images=False) for block in first.content))]
    if not isinstance(first, AssistantMessage):
        return list(group)
    said = [Text(first.text)] if first.text.strip() else []
    calls = {call.id: call for call in first.tool_calls}
    told: list[Block] = []
    for result in group[1:]:
        if isinstance(result, ToolMessage):
            given = encoded(calls[result.call_id].arguments).decode()[:_LONGEST_TOLD]
            failed = " and failed" if result.is_error else ""
            told.append(Text(f"[The tool {result.name} was called with {given}{failed}. Its answer:]"))
            told += [carried(block, images=False) for block in result.content]
    return [
        *([AssistantMessage(tuple(said), first.model)] if said else []),
        *([UserMessage(tuple(told))] if told else []),
    ]


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
            # Quoted, because the name came from outside; `media.safe_name` lets none hold a quote or a bracket.
            return Text(f'[The file "{block.name}" ({block.mime_type}, {block.size:,} bytes) at "{block.path}".]')
