"""One turn of one conversation: what was said before, and what is about to be added.

A Turn exists while its session is locked for it (`async with store.turn(…)`). What it collects reaches the store all at once
and is durable when `commit` returns; leaving the block commits too, and leaving it by an exception drops what was not committed.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from openclaw.content import Message
from openclaw.grant import Grant
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
    pack,
)
from openclaw.sessions.view import Read, View

# The name of the note behind an answer that a surface wants to find again.
ANSWER = "answer"
# The name of the note that says how often tools were called in what was left out.
USED = "toolsUsed"
# The name of the note that follows one which somebody goes on from: whoever goes on from it too gets a branch of their own.
CONTINUED = "continued"

Write = Callable[[Sequence[Packed]], Awaitable[None]]


class Turn:
    """`append`, `compact`, `reset` and `note` raise StoreError at once for what could not be read back later."""

    def __init__(self, key: str, agent: str, view: View, write: Write) -> None:
        """`view` is of what is stored, and takes in what this turn adds to it: it is this turn's until the block ends."""
        self.key = key
        self.agent = agent
        self._view = view
        self._foreign = [*view.foreign]
        self._granted = [*view.granted]
        self._staged: list[Packed] = []
        self._write = write
        self._ended = False

    def history(self) -> list[Message]:
        """The conversation as a model sees it next, with what this turn has added so far."""
        return [*self._view.messages] if not self._staged else self._with_staged().messages

    def paired(self) -> list[Message]:
        """The same made valid: every call is followed by its result, and no result stands alone."""
        return self._view.paired() if not self._staged else self._with_staged().paired()

    def append(self, *messages: Message) -> None:
        self._stage(*(Said(message) for message in messages))

    def compact(self, summary: str, kept: Sequence[Message] = ()) -> None:
        """From here on the history is `summary` as a user message (none when it is empty), then `kept`."""
        self._stage(Shortened(summary, tuple(kept)))
        # A store gives back what follows the last of these. What sums up foreign text is foreign too.
        if self._foreign:
            self.note(FOREIGN, self._foreign)
        if self._granted:
            self.note(GRANTED, msgspec.to_builtins(self._granted))

    def undo(self) -> None:
        """Take back the person's last message and what followed. Whose text was read in it stays known: a tool may have acted on it."""
        self._stage(Undone())

    def reset(self) -> None:
        self._stage(Reset())
        self._foreign = []
        self._granted = []

    @property
    def foreign(self) -> Sequence[str]:
        """Whose text, besides the person's and ours, the model has read (`conversation.ForeignSources`)."""
        return self._foreign

    def note_foreign(self, sources: Iterable[str]) -> None:
        """Keep whose text the model has read, too, from now on."""
        if new := [source for source in sources if source not in self._foreign]:
            self._foreign = [*self._foreign, *new]
            self.note(FOREIGN, new)

    def read(self) -> Read:
        """The texts that the model has read before this turn, as far as they are still there."""
        return self._view.read.copy()

    @property
    def granted(self) -> Sequence[Grant]:
        """What the person approved for the rest of the conversation."""
        return self._granted

    def note_granted(self, grants: Iterable[Grant]) -> None:
        """Keep what was approved, too, from now on."""
        if new := [grant for grant in grants if grant not in self._granted]:
            self._granted = [*self._granted, *new]
            self.note(GRANTED, msgspec.to_builtins(new))

    def note(self, name: str, data: Any = None) -> None:
        """Keep something beside the conversation. `data` is anything JSON can hold; no model sees it."""
        self._stage(Custom(name, data))

    def noted(self, name: str) -> Any:
        """What was kept last under a name; None when nothing was."""
        staged = (one.event for one in reversed(self._staged))
        for event in staged:
            if isinstance(event, Custom) and event.name == name:
                return event.data
        return self._view.notes.get(name)

    def around_writes(self, around: Callable[[Write], Write]) -> None:
        """For who measures them: `around` is given what writes, and what it returns writes from now on."""
        self._write = around(self._write)

    async def commit(self) -> None:
        """Make everything added so far durable.

        A StoreError means that nothing of it was stored, and it may be tried again. Cancelled, it ends when the store knows:
        all of it was stored, or nothing.
        """
        if self._ended:
            raise RuntimeError("This turn has ended; its session is no longer locked.")
        batch, self._staged = self._staged, []
        if not batch:
            return
        try:
            await self._write(batch)
        except Exception:
            self._staged = batch + self._staged
            raise
        self._view.take_in(batch)

    @asynccontextmanager
    async def taken(self) -> AsyncIterator["Turn"]:
        """For the store: committed when the block ends well, and over in any case, for the lock is given up after it."""
        try:
            yield self
            await self.commit()
        finally:
            self._ended = True

    def _with_staged(self) -> View:
        view = self._view.copy()
        for packed in self._staged:
            view.add(packed.event)
        return view

    def _stage(self, *events: SessionEvent) -> None:
        if self._ended:
            raise RuntimeError("This turn has ended; its session is no longer locked.")
        self._staged += [pack(event) for event in events]
