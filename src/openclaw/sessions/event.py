"""What a conversation is made of on disk: a closed set of events, appended and never changed.

Owns their JSON form, with and without the bytes of their media. What they tell, taken together, is view.py's. Knows nothing of files:
database.py and memory.py keep the packed events in order.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from openclaw.content import AssistantMessage, Audio, Block, Image, Message, Text, UserMessage, to_json
from openclaw.errors import StoreError

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
    """Whether nothing before this event matters to what a model sees."""
    return isinstance(event, Shortened | Reset)


def without_last_exchange(messages: Sequence[Message]) -> list[Message]:
    """The messages before the last one that the person said; all of them when there is none."""
    said = [place for place, message in enumerate(messages) if isinstance(message, UserMessage) and not message.notes]
    return list(messages[: said[-1]] if said else messages)


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
