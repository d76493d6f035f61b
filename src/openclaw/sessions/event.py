"""What a conversation is made of on disk: a closed set of events, appended and never changed.

Owns their JSON form, with and without the bytes of their media, the one rule that turns events into what a model sees next (`history`), and
what else they tell of the conversation: whose text was read, and what was approved. Knows nothing of files: database.py and memory.py keep
the packed events in order.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from openclaw.content import AssistantMessage, Audio, Block, Image, Message, Text, ToolMessage, UserMessage, to_json
from openclaw.conversation import MEDIA
from openclaw.errors import StoreError
from openclaw.grant import Grant

# JSON readers give up near 1,000 levels: what is stored must be readable again, whatever the stack looks like then.
MAX_DEPTH = 200


class Said(msgspec.Struct, frozen=True, tag_field="type", tag="message"):
    """One message of the conversation."""

    message: Message


class Shortened(msgspec.Struct, frozen=True, tag_field="type", tag="compaction"):
    """The model's view was shortened: from here on it is `summary` (as the model saw it), then `kept`."""

    summary: str
    kept: tuple[Message, ...] = ()


class Reset(msgspec.Struct, frozen=True, tag_field="type", tag="reset"):
    """The conversation starts afresh."""


class Undone(msgspec.Struct, frozen=True, tag_field="type", tag="undo"):
    """The person took their last message back, and with it all that followed. What tools did stays done."""


class Custom(msgspec.Struct, frozen=True, tag_field="type", tag="custom"):
    """Something a surface wants to remember beside the conversation; never shown to a model."""

    name: str
    data: Any = None


# The name of the note that says whose text the model has read.
FOREIGN = "foreign"
# The name of the note that says what a person approved for the rest of the conversation.
GRANTED = "approval"

SessionEvent = Said | Shortened | Reset | Undone | Custom


class Entry(msgspec.Struct, frozen=True):
    """An event in its place. Ids count up within a session; `at` is seconds since 1970."""

    id: str
    parent_id: str | None
    at: float
    event: SessionEvent


class Packed(msgspec.Struct, frozen=True):
    """An event as a store keeps it: `body` is its JSON without the bytes of pictures and recordings, which are `media`, in order."""

    event: SessionEvent
    body: bytes
    media: tuple[bytes, ...] = ()


_decoder: msgspec.json.Decoder[SessionEvent] = msgspec.json.Decoder(SessionEvent)


def encode(event: SessionEvent) -> bytes:
    """The event as JSON. Raises StoreError when it could not be read back."""
    try:
        if _depth(_open_data(event)) > MAX_DEPTH:
            raise StoreError(f"A message nested more than {MAX_DEPTH} levels deep cannot be stored.")
        return to_json(event)
    except UnicodeEncodeError:
        raise StoreError("A message that holds a lone surrogate (half a character) cannot be stored.") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise StoreError(f"A message cannot be stored as JSON: {error}.") from None


def decode(raw: bytes) -> SessionEvent:
    try:
        return _decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise StoreError(
            "An event of the session store cannot be read.",
            hint="It was damaged, or written by a later OpenClaw: update, or delete the session.",
        ) from None


def pack(event: SessionEvent) -> Packed:
    """Raises StoreError when it could not be read back."""
    media: list[bytes] = []

    def take_out(block: Image | Audio) -> Block:
        media.append(block.data)
        return replace(block, data=b"")

    return Packed(event, encode(_with_media(event, take_out)), tuple(media))


def unpack(body: bytes, media: Sequence[bytes | None] = ()) -> SessionEvent:
    """The event that was packed. In place of media that is gone (None) stands a sentence. Raises StoreError."""
    event = decode(body)
    if not media:
        return event
    rest: Iterator[bytes | None] = iter(media)

    def put_back(block: Image | Audio) -> Block:
        data = next(rest, None)
        gone = Text(f"[{block.mime_type} that is no longer in the session store]")
        return gone if data is None else replace(block, data=data)

    return _with_media(event, put_back)


def _with_media(event: SessionEvent, change: Callable[[Image | Audio], Block]) -> SessionEvent:
    """`event` with every picture and recording changed, in order."""

    def message_of(message: Message) -> Message:
        if isinstance(message, AssistantMessage) or not any(isinstance(b, Image | Audio) for b in message.content):
            return message
        return replace(
            message, content=tuple(change(b) if isinstance(b, Image | Audio) else b for b in message.content)
        )

    match event:
        case Said(message=message):
            return Said(message_of(message))
        case Shortened(summary=summary, kept=kept):
            return Shortened(summary, tuple(message_of(message) for message in kept))
        case _:
            return event


def is_start(event: SessionEvent) -> bool:
    """Whether nothing before this event matters to `history`."""
    return isinstance(event, Shortened | Reset)


def history(events: Iterable[SessionEvent]) -> list[Message]:
    """What the model sees: everything after the last reset, or the last compaction and what came after it."""
    messages: list[Message] = []
    for event in events:
        match event:
            case Said(message=message):
                messages.append(message)
            case Shortened(summary=summary, kept=kept):
                opening: list[Message] = [UserMessage((Text(summary),), notes=True)] if summary else []
                messages = [*opening, *kept]
            case Reset():
                messages = []
            case Undone():
                messages = without_last_exchange(messages)
            case Custom():
                pass
    return messages


def without_last_exchange(messages: Sequence[Message]) -> list[Message]:
    """The messages before the last one that the person said; all of them when there is none."""
    said = [place for place, message in enumerate(messages) if isinstance(message, UserMessage) and not message.notes]
    return list(messages[: said[-1]] if said else messages)


def foreign_sources(events: Iterable[SessionEvent]) -> list[str]:
    """Whose text, besides the person's and ours, the model has read since the last reset, as was noted (`conversation.ForeignSources`)."""
    sources: dict[str, None] = {}
    for event in events:
        match event:
            case Custom(name=name, data=list() as noted) if name == FOREIGN:
                sources.update(dict.fromkeys(source for source in noted if isinstance(source, str)))
            case Reset():
                sources.clear()
            case _:
                pass
    return [*sources]


class Read(msgspec.Struct):
    """What a model has read in a conversation since its last reset, as far as the events tell.

    `foreign` is text of others behind its source, `written` what the person wrote. `is_whole` is false when foreign text has given way to
    a summary. `media` are the sources of what is no text.
    """

    foreign: list[tuple[str, str]] = msgspec.field(default_factory=list)
    written: list[str] = msgspec.field(default_factory=list)
    is_whole: bool = True
    media: list[str] = msgspec.field(default_factory=list)

    def add(self, message: Message) -> None:
        match message:
            case UserMessage(notes=False, content=content, sources=sources):
                whose = sources or ("",) * len(content)
                for block, source in zip(content, whose, strict=False):
                    if isinstance(block, Text) and source:
                        self.foreign.append((source, block.text))
                    elif source:
                        self.media.append(f"{MEDIA}{source}")
                    elif isinstance(block, Text):
                        self.written.append(block.text)
            case ToolMessage(content=content, source=source) if source:
                self.foreign += [(source, block.text) for block in content if isinstance(block, Text)]
            case _:
                pass

    def begin_with(self, start: Shortened, sources: Sequence[str]) -> None:
        """What came before is not to be had: of foreign text the summary is left, which a model wrote under its influence."""
        for message in start.kept:
            self.add(message)
        if sources:
            self.is_whole = False
            self.foreign.append((sources[0], start.summary))


def read_in(events: Sequence[SessionEvent]) -> Read:
    read = Read()
    for place, event in enumerate(events):
        match event:
            case Said(message=message):
                read.add(message)
            case Shortened() if place == 0:
                # A store need not give back what came before. Whose text that was is noted behind it.
                read.begin_with(event, foreign_sources(events[1:2]))
            case Reset():
                read = Read()
            case _:
                # What was shortened here stands before it.
                pass
    return read


def granted_in(events: Iterable[SessionEvent]) -> list[Grant]:
    """What a person approved since the last reset for the rest of the conversation, as was noted."""
    grants: list[Grant] = []
    for event in events:
        match event:
            case Custom(name=name, data=data) if name == GRANTED:
                # A note that nobody can read grants nothing.
                with suppress(msgspec.ValidationError):
                    grants += msgspec.convert(data, list[Grant])
            case Shortened() | Reset():
                # What holds on after a summary is noted again behind it.
                grants.clear()
            case _:
                pass
    return grants


def _open_data(event: SessionEvent) -> list[Any]:
    """The parts whose shape we do not fix: tool arguments and custom data. Everything else is flat."""
    match event:
        case Said(message=message):
            messages: tuple[Message, ...] = (message,)
        case Shortened(kept=kept):
            messages = kept
        case Custom(data=data):
            return [data]
        case _:
            return []
    return [call.arguments for m in messages if isinstance(m, AssistantMessage) for call in m.tool_calls]


def _depth(values: list[Any]) -> int:
    """How deep the containers in `values` nest. Level by level, so that no input can exhaust the stack; stops past the bound."""
    depth = 0
    level = values
    while level and depth <= MAX_DEPTH:
        inner: list[Any] = []
        for value in level:
            if isinstance(value, Mapping):
                inner.extend(value.values())
            elif isinstance(value, list | tuple):
                inner.extend(value)
        level = inner
        depth += bool(inner)
    return depth
