"""The interface of a session store, and the values it answers with.

Three implementations: sqlite.py (a file shared by processes), memory.py, and `fleet/sessions.py` (PostgreSQL, shared by gateways). None
raises anything but StoreError, UsageError (a key that is not text) and CancelledError.
"""

import re
import secrets
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from openclaw.errors import StoreError, UsageError
from openclaw.log import one_line
from openclaw.sessions.event import Custom, Entry, SessionEvent
from openclaw.sessions.lock import FOREVER
from openclaw.sessions.retention import Keep, Pruned
from openclaw.sessions.turn import Turn

# Keys may be a megabyte long; a sentence about one is not.
_SHOWN_KEY = 80
# 128 bits: session ids never meet.
_ID_BYTES = 16
_ENTRY_ID = re.compile(r"[0-9a-f]{8,15}")


class UnknownSessionError(StoreError):
    pass


class SessionInfo(msgspec.Struct, frozen=True):
    """One line of `openclaw sessions`. Times are seconds since 1970; `messages` counts all that were ever said. `title` is the name
    somebody gave it, or the words it began with."""

    key: str
    id: str
    agent: str
    created: float
    updated: float
    messages: int
    title: str = ""


class Found(msgspec.Struct, frozen=True):
    """Some of the sessions that were looked for, and how many there are in all."""

    sessions: tuple[SessionInfo, ...]
    total: int


class Transcript(msgspec.Struct, frozen=True):
    """A session, everything before compactions and resets included: whole, or some entries of it (`Store.last`)."""

    info: SessionInfo
    entries: tuple[Entry, ...]


class Store(Protocol):
    @property
    def place(self) -> str:
        """Where sessions are kept, as people are told: a file, an address without credentials, or `memory`."""
        ...

    @property
    def software(self) -> str:
        """What keeps them there, with its version; empty when that is nothing but this program."""
        ...

    def turn(self, key: str, agent: str, *, patience: float = FOREVER) -> AbstractAsyncContextManager[Turn]:
        """One turn at a time per session, whatever process asks. Waiting for the one before may be cancelled.

        Raises SessionBusyError when that one has not ended after `patience` seconds.
        A key that belongs to another agent is refused.
        """
        ...

    async def list(self, *, agent: str | None = None, active_within: float | None = None) -> tuple[SessionInfo, ...]:
        """All sessions, last used first; only those used within so many seconds when `active_within` is given. There may be very many:
        who wants some of them, or their number, asks `find`."""
        ...

    async def find(
        self,
        words: Sequence[str] = (),
        *,
        agent: str | None = None,
        active_within: float | None = None,
        skip: int = 0,
        limit: int,
    ) -> Found:
        """The sessions whose title or key holds all words, in any case, last used first: at most `limit`, so many skipped.

        Without words, a page of them costs the same however many there are.
        """
        ...

    async def show(self, key: str) -> Transcript:
        """Raises UnknownSessionError when there is no such session."""
        ...

    async def last(self, key: str, count: int, *, before: str = "") -> Transcript:
        """The last entries, or the last before the entry of the id `before`. Nothing else of the session is read.

        Raises UnknownSessionError, and UsageError for what is no id.
        """
        ...

    async def key_of(self, id: str) -> str | None:
        """The key of the session that has this id; None when there is none."""
        ...

    async def rename(self, key: str, title: str) -> bool:
        """Give a session a title, in place of the words it began with; an empty one gives it those back. False when there is none."""
        ...

    async def note_behind(self, key: str, last: Custom, note: Custom, *, patience: float = FOREVER) -> bool:
        """Store `note` if `last` is what the session ends with; between two turns. False when it is not, or there is no such session.

        Of any number that ask, whatever process they are in, one is told True. Raises SessionBusyError as `turn` does.
        """
        ...

    async def delete(self, key: str, *, patience: float = FOREVER) -> bool:
        """Forget a session, after the turn it may be in. False when there was none. Raises SessionBusyError as `turn` does."""
        ...

    async def prune(self, keep: Keep, *, dry_run: bool = False) -> Pruned:
        """Forget the sessions that have outlived `keep`, but none that is in a turn; with `dry_run`, only say which."""
        ...

    def prune_beside(self, keep: Keep) -> None:
        """The same at most once a day, without making anybody wait."""
        ...

    async def close(self) -> None: ...


def new_session_id() -> str:
    return secrets.token_hex(_ID_BYTES)


def entry(seq: int, at: float, event: SessionEvent) -> Entry:
    """Ids are the event's number in its session: stable, and unique where they are used."""
    return Entry(f"{seq:08x}", f"{seq - 1:08x}" if seq > 1 else None, at, event)


def entry_number(id: str) -> int:
    """The number that an id is. Raises UsageError for what is none."""
    if not _ENTRY_ID.fullmatch(id):
        raise UsageError("The id of an entry is eight digits, as the session has them.")
    return int(id, 16)


def unknown_session(key: str) -> UnknownSessionError:
    return UnknownSessionError(
        f"There is no session with the key {one_line(key, _SHOWN_KEY)!r}.", hint="`openclaw sessions` lists them."
    )


def wrong_agent(owner: str, agent: str) -> StoreError:
    return StoreError(
        f"This session belongs to agent {owner!r}; agent {agent!r} cannot continue it.",
        hint="Use another session key.",
    )
