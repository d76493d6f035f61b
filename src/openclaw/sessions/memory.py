"""Sessions in memory: the same store without a file, for embedding and for tests. Gone with the process."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec
from msgspec.structs import replace

from openclaw.sessions.event import Custom, Entry, Packed, Said, is_start, pack, unpack
from openclaw.sessions.key import check_key
from openclaw.sessions.lock import FOREVER, KeyLocks
from openclaw.sessions.retention import Keep, Pruned, Stored, outlived
from openclaw.sessions.store import (
    Found,
    SessionInfo,
    Transcript,
    entry,
    entry_number,
    new_session_id,
    unknown_session,
    wrong_agent,
)
from openclaw.sessions.title import opening_of
from openclaw.sessions.turn import Turn
from openclaw.sessions.view import Known, View


class _Session(msgspec.Struct):
    info: SessionInfo
    entries: list[Entry] = msgspec.field(default_factory=list)
    # Bytes of what was said, as a file would hold them.
    size: int = 0
    # What somebody called it, and the words it began with.
    name: str = ""
    opening: str = ""
    # The number of the event that what a model sees begins with, and what is known of it from the turn before.
    base: int = 0
    known: Known | None = None

    def add(self, packed: Sequence[Packed], now: float) -> None:
        events = [unpack(one.body, one.media) for one in packed]
        for event in events:
            self.entries.append(entry(len(self.entries) + 1, now, event))
            self.base = len(self.entries) if is_start(event) else self.base
        self.size += sum(len(one.body) + sum(map(len, one.media)) for one in packed)
        said = sum(isinstance(event, Said) for event in events)
        self.opening = opening_of(events, self.opening)
        self.info = replace(self.info, updated=now, messages=self.info.messages + said, title=self.title)

    def view(self) -> View:
        """For one turn, which adds to it what it says."""
        if self.known is None or self.known.base != self.base:
            self.known = Known(self.info.id, self.base, View())
        for one in self.entries[self.known.last :]:
            self.known.view.add(one.event)
        return self.known.view

    @property
    def title(self) -> str:
        return self.name or self.opening

    def rename(self, name: str) -> None:
        self.name = name
        self.info = replace(self.info, title=self.title)


class MemoryStore:
    """A Store for one process."""

    def __init__(self, *, clock: Callable[[], float] = time.time, new_id: Callable[[], str] = new_session_id) -> None:
        self._clock = clock
        self._new_id = new_id
        self._locks = KeyLocks()
        self._sessions: dict[str, _Session] = {}

    @property
    def place(self) -> str:
        return "memory"

    @property
    def software(self) -> str:
        return ""

    @asynccontextmanager
    async def turn(self, key: str, agent: str, *, patience: float = FOREVER) -> AsyncIterator[Turn]:
        check_key(key)

        async def write(events: Sequence[Packed]) -> None:
            self._append(key, agent, events)

        async with self._locks.hold(key, patience):
            session = self._sessions.get(key)
            if session is not None and session.info.agent != agent:
                raise wrong_agent(session.info.agent, agent)
            async with Turn(key, agent, View() if session is None else session.view(), write).taken() as turn:
                yield turn

    async def list(self, *, agent: str | None = None, active_within: float | None = None) -> tuple[SessionInfo, ...]:
        since = None if active_within is None else self._clock() - active_within
        found = [
            session.info
            for session in self._sessions.values()
            if (agent is None or session.info.agent == agent) and (since is None or session.info.updated >= since)
        ]
        found.sort(key=lambda info: info.updated)
        return tuple(reversed(found))

    async def show(self, key: str) -> Transcript:
        session = self._sessions.get(check_key(key))
        if session is None:
            raise unknown_session(key)
        return Transcript(session.info, tuple(session.entries))

    async def find(
        self,
        words: Sequence[str] = (),
        *,
        agent: str | None = None,
        active_within: float | None = None,
        skip: int = 0,
        limit: int,
    ) -> Found:
        folded = [word.casefold() for word in words]
        found = [
            info
            for info in await self.list(agent=agent, active_within=active_within)
            if all(word in f"{info.title}\n{info.key}".casefold() for word in folded)
        ]
        return Found(tuple(found[skip : skip + limit]), len(found))

    async def last(self, key: str, count: int, *, before: str = "") -> Transcript:
        whole = await self.show(key)
        # Numbers count from 1.
        end = entry_number(before) - 1 if before else len(whole.entries)
        return Transcript(whole.info, whole.entries[: max(end, 0)][-count:])

    async def key_of(self, id: str) -> str | None:
        return next((key for key, session in self._sessions.items() if session.info.id == id), None)

    async def rename(self, key: str, title: str) -> bool:
        session = self._sessions.get(check_key(key))
        if session is not None:
            session.rename(title)
        return session is not None

    async def note_behind(self, key: str, last: Custom, note: Custom, *, patience: float = FOREVER) -> bool:
        if not self._ends_with(check_key(key), last):
            return False
        async with self._locks.hold(key, patience):
            if not self._ends_with(key, last):
                return False
            self._append(key, self._sessions[key].info.agent, [pack(note)])
            return True

    async def delete(self, key: str, *, patience: float = FOREVER) -> bool:
        check_key(key)
        async with self._locks.hold(key, patience):
            return self._sessions.pop(key, None) is not None

    async def prune(self, keep: Keep, *, dry_run: bool = False) -> Pruned:
        stored = [Stored(key, one.info.updated, one.size) for key, one in self._sessions.items()]
        going = outlived(stored, keep, self._clock())
        free = [one for one in going if dry_run or not self._locks.is_held(one.key)]
        if not dry_run:
            for one in free:
                del self._sessions[one.key]
        busy = tuple(one.key for one in going if one not in free)
        return Pruned(tuple(free), busy, sum(one.size for one in free))

    def prune_beside(self, keep: Keep) -> None:
        """What is gone with the process needs no tidying beside a turn."""

    async def close(self) -> None:
        return None

    def _ends_with(self, key: str, last: Custom) -> bool:
        session = self._sessions.get(key)
        return session is not None and session.entries[-1].event == last

    def _append(self, key: str, agent: str, packed: Sequence[Packed]) -> None:
        # Whole milliseconds, as the file keeps them.
        now = round(self._clock() * 1000) / 1000
        session = self._sessions.get(key)
        if session is None:
            session = _Session(SessionInfo(key, self._new_id(), agent, now, now, 0))
            self._sessions[key] = session
        session.add(packed, now)
