"""What a conversation is made of on disk: a closed set of events, appended and never changed.

Owns their JSON form and the one rule that turns events into what a model sees next (`history`). Knows nothing of files:
database.py and memory.py keep the encoded events in order.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from openclaw.content import AssistantMessage, Message, Text, UserMessage, to_json
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


class Custom(msgspec.Struct, frozen=True, tag_field="type", tag="custom"):
    """Something a surface wants to remember beside the conversation; never shown to a model."""

    name: str
    data: Any = None


SessionEvent = Said | Shortened | Reset | Custom


class Entry(msgspec.Struct, frozen=True):
    """An event in its place. Ids count up within a session; `at` is seconds since 1970."""

    id: str
    parent_id: str | None
    at: float
    event: SessionEvent


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
            case Custom():
                pass
    return messages


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
