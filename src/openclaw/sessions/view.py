"""What a turn goes on from: the events of a session since its last start, taken in one after the other.

A `View` is the one rule that turns events into what a model sees next, and what else they tell of the conversation: whose text was read,
what was approved, what was noted. Taking in one more event costs the same however many there were, but for one that takes a message back.
`Views` are those that a store keeps between turns, so that the next turn of a conversation reads what was added since and nothing else.
Knows nothing of files.
"""

from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import msgspec

from openclaw.content import Message, Text, ToolMessage, UserMessage
from openclaw.conversation import MEDIA
from openclaw.grant import Grant
from openclaw.models.transcript import Pairing
from openclaw.sessions.event import (
    FOREIGN,
    GRANTED,
    Custom,
    Packed,
    Reset,
    Said,
    SessionEvent,
    Shortened,
    Undone,
    unpack,
    without_last_exchange,
)

# What a store keeps between turns: so many conversations, and so many bytes of what was said in them, which take about three times as much
# in memory. One that fills the largest window of a model has room.
MOST_VIEWS = 64
MOST_BYTES = 8_000_000


class Read(msgspec.Struct):
    """What a model has read in a conversation since its last reset, as far as the events tell.

    `foreign` is text of others behind its source, `length` its characters in all and `sources` whose it is; `written` is what the person
    wrote. `is_whole` is false when foreign text has given way to a summary. `media` are the sources of what is no text.
    """

    foreign: list[tuple[str, str]] = msgspec.field(default_factory=list)
    sources: dict[str, None] = msgspec.field(default_factory=dict)
    length: int = 0
    written: list[str] = msgspec.field(default_factory=list)
    is_whole: bool = True
    media: list[str] = msgspec.field(default_factory=list)

    def add(self, message: Message) -> None:
        match message:
            case UserMessage(notes=False, content=content, sources=sources):
                whose = sources or ("",) * len(content)
                for block, source in zip(content, whose, strict=False):
                    if isinstance(block, Text) and source:
                        self.add_foreign(source, block.text)
                    elif source:
                        self.media.append(f"{MEDIA}{source}")
                    elif isinstance(block, Text):
                        self.written.append(block.text)
            case ToolMessage(content=content, source=source) if source:
                for block in content:
                    if isinstance(block, Text):
                        self.add_foreign(source, block.text)
            case _:
                pass

    def add_foreign(self, source: str, text: str) -> None:
        self.foreign.append((source, text))
        self.sources[source] = None
        self.length += len(text)

    def lose(self, source: str, summary: str) -> None:
        """Of foreign text that is not to be had any more the summary is left, which a model wrote under its influence."""
        self.is_whole = False
        self.add_foreign(source, summary)

    def copy(self) -> "Read":
        foreign, written = [*self.foreign], [*self.written]
        return Read(foreign, {**self.sources}, self.length, written, self.is_whole, [*self.media])


class View:
    """`count` events have been taken in, of `size` bytes. The lists are the view's own: who changes one makes a copy."""

    def __init__(self, messages: Iterable[Message] = (), summary: str | None = None) -> None:
        self.count = self.size = 0
        # What the model sees: everything after the last reset, or the last compaction and what came after it.
        self.messages: list[Message]
        # Whose text, besides the person's and ours, the model has read since the last reset, as was noted, in the order it was met.
        self.foreign: dict[str, None] = {}
        # What a person approved since the last reset for the rest of the conversation, as was noted.
        self.granted: list[Grant] = []
        self.read = Read()
        # What was kept last under each name.
        self.notes: dict[str, Any] = {}
        # The summary that the events begin with, while whose text it sums up may still follow.
        self._summary = summary
        self._begin(messages)

    @classmethod
    def of(cls, events: Iterable[SessionEvent]) -> "View":
        view = cls()
        for event in events:
            view.add(event)
        return view

    def add(self, event: SessionEvent, size: int = 0) -> None:
        self.count += 1
        self.size += size
        summary, self._summary = self._summary, None
        match event:
            case Said(message=message):
                self.messages.append(message)
                self._pairing.add(message)
                self.read.add(message)
            case Shortened(summary=written, kept=kept):
                self._begin([UserMessage((Text(written),), notes=True), *kept] if written else kept)
                # What holds on after a summary is noted again behind it.
                self.granted = []
                # What was shortened further on stands before it. A store need not give back what came before the first.
                if self.count == 1:
                    self._summary = written
                    for message in kept:
                        self.read.add(message)
            case Reset():
                self._begin(())
                self.granted, self.foreign, self.read = [], {}, Read()
            case Undone():
                self._begin(without_last_exchange(self.messages))
            case Custom(name=name, data=data):
                self.notes[name] = data
                self._noted(name, data, summary)

    def _begin(self, messages: Iterable[Message]) -> None:
        self.messages = [*messages]
        self._pairing = Pairing()
        for message in self.messages:
            self._pairing.add(message)

    def _noted(self, name: str, data: Any, summary: str | None) -> None:
        if name == FOREIGN and isinstance(data, list):
            sources = [source for source in data if isinstance(source, str)]
            self.foreign.update(dict.fromkeys(sources))
            if summary is not None and sources:
                self.read.lose(sources[0], summary)
        elif name == GRANTED:
            # A note that nobody can read grants nothing.
            with suppress(msgspec.ValidationError):
                self.granted = [*self.granted, *msgspec.convert(data, list[Grant])]

    def take_in(self, batch: Iterable[Packed]) -> None:
        """Events that were stored just now, as the next turn would read them."""
        for packed in batch:
            self.add(unpack(packed.body, packed.media), size_of(packed.body, packed.media))

    def copy(self) -> "View":
        """Goes on by itself from here."""
        other = View(self.messages, self._summary)
        other.count, other.size = self.count, self.size
        other.foreign, other.granted, other.notes = {**self.foreign}, self.granted, {**self.notes}
        other.read = self.read.copy()
        return other

    def paired(self) -> list[Message]:
        """The messages made valid: every call with its result (`models/transcript.py`)."""
        return self._pairing.messages()


def size_of(body: bytes, media: Iterable[bytes | None]) -> int:
    return len(body) + sum(len(data or b"") for data in media)


class Known(msgspec.Struct):
    """A view of the session `id` whose events begin at the number `base` (0 for all of them)."""

    id: str
    base: int
    view: View

    @property
    def last(self) -> int:
        """The number of the last event in it."""
        return max(self.base, 1) - 1 + self.view.count


class Views:
    """What is known of the conversations used last, by their keys. One that is in a turn is the turn's alone."""

    def __init__(self, most_bytes: int = MOST_BYTES, most_views: int = MOST_VIEWS) -> None:
        self._most_bytes = most_bytes
        self._most_views = most_views
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._size = 0

    def take(self, key: str) -> Known | None:
        known = self._known.pop(key, None)
        if known is not None:
            self._size -= known.view.size
        return known

    def keep(self, key: str, known: Known) -> None:
        self.take(key)
        self._known[key] = known
        self._size += known.view.size
        while self._size > self._most_bytes or len(self._known) > self._most_views:
            _, oldest = self._known.popitem(last=False)
            self._size -= oldest.view.size
