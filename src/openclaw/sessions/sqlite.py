"""Sessions in a SQLite file: the store every process on this machine shares.

The asynchronous shell of database.py: its calls run one after another in a thread of their own, so the event loop never waits for
the disk, and a call that has begun is waited for even when its caller is cancelled (a half-known outcome helps nobody).
"""

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TypeVar

from openclaw.errors import StoreError
from openclaw.sessions.database import Append, Database
from openclaw.sessions.event import Custom, Packed, pack
from openclaw.sessions.key import check_key
from openclaw.sessions.lock import FOREVER, FileLocks
from openclaw.sessions.prune import is_due, locks_of, prune
from openclaw.sessions.retention import Keep, Pruned
from openclaw.sessions.store import Found, SessionInfo, Transcript, entry_number, new_session_id, unknown_session
from openclaw.sessions.turn import Turn
from openclaw.sessions.view import View, Views
from openclaw.to_the_end import to_the_end

_log = logging.getLogger(__name__)

_T = TypeVar("_T")


class SqliteStore:
    """A Store. Nothing is opened or made before the first call that needs it. Serves one event loop."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = new_session_id,
    ) -> None:
        self.path = path
        self._clock = clock
        self._new_id = new_id
        self._locks = FileLocks(locks_of(path))
        self._database = Database(path)
        self._views = Views()
        self._pruning = False
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sessions")

    @property
    def place(self) -> str:
        return str(self.path)

    @property
    def software(self) -> str:
        return f"SQLite {sqlite3.sqlite_version}"

    @asynccontextmanager
    async def turn(self, key: str, agent: str, *, patience: float = FOREVER) -> AsyncIterator[Turn]:
        check_key(key)

        async def write(events: Sequence[Packed]) -> None:
            batch = Append(key, agent, self._new_id(), self._clock(), events)
            await self._run(lambda: self._database.append(batch))

        async with self._locks.hold(key, patience):
            before = self._views.take(key)
            known = await self._run(lambda: self._database.known(key, agent, before))
            async with Turn(key, agent, View() if known is None else known.view, write).taken() as turn:
                yield turn
            if known is not None:
                self._views.keep(key, known)

    async def list(self, *, agent: str | None = None, active_within: float | None = None) -> tuple[SessionInfo, ...]:
        since = None if active_within is None else self._clock() - active_within
        return await self._run(lambda: self._database.list(agent, since))

    async def show(self, key: str) -> Transcript:
        check_key(key)
        transcript = await self._run(lambda: self._database.transcript(key))
        if transcript is None:
            raise unknown_session(key)
        return transcript

    async def find(
        self,
        words: Sequence[str] = (),
        *,
        agent: str | None = None,
        active_within: float | None = None,
        skip: int = 0,
        limit: int,
    ) -> Found:
        since = None if active_within is None else self._clock() - active_within
        if words:
            # All titles are looked through: not in the store's own thread, which belongs to turns.
            return await asyncio.to_thread(self._search, words, agent, since, skip, limit)
        return await self._run(lambda: self._database.find(words, agent, since, skip, limit))

    async def last(self, key: str, count: int, *, before: str = "") -> Transcript:
        check_key(key)
        end = entry_number(before) if before else None
        transcript = await self._run(lambda: self._database.transcript(key, count=count, before=end))
        if transcript is None:
            raise unknown_session(key)
        return transcript

    async def key_of(self, id: str) -> str | None:
        return await self._run(lambda: self._database.key_of(id))

    async def rename(self, key: str, title: str) -> bool:
        check_key(key)
        return await self._run(lambda: self._database.rename(key, title))

    async def note_behind(self, key: str, last: Custom, note: Custom, *, patience: float = FOREVER) -> bool:
        check_key(key)
        body = pack(last).body

        def store() -> bool:
            agent = self._database.owner_if_last(key, body)
            if agent is None:
                return False
            self._database.append(Append(key, agent, self._new_id(), self._clock(), [pack(note)]))
            return True

        # Looked at first without the turn: where more was said nobody has to wait for it.
        if await self._run(lambda: self._database.owner_if_last(key, body)) is None:
            return False
        async with self._locks.hold(key, patience):
            return await self._run(store)

    async def delete(self, key: str, *, patience: float = FOREVER) -> bool:
        check_key(key)
        async with self._locks.hold(key, patience):
            return await self._run(lambda: self._delete(key))

    async def prune(self, keep: Keep, *, dry_run: bool = False) -> Pruned:
        # Not in the store's own thread, which belongs to turns.
        return await asyncio.to_thread(prune, self.path, keep, self._clock(), dry_run=dry_run)

    def prune_beside(self, keep: Keep) -> None:
        """Once a day, in a thread of its own that nobody waits for: it may end with the process, and the next one goes on."""
        if self._pruning or not is_due(self.path, self._clock()):
            return
        self._pruning = True
        threading.Thread(target=self._prune_quietly, args=(keep,), name="sessions-prune", daemon=True).start()

    async def close(self) -> None:
        await self._run(self._database.close)
        self._thread.shutdown()

    def _search(self, words: Sequence[str], agent: str | None, since: float | None, skip: int, limit: int) -> Found:
        with closing(Database(self.path)) as database:
            return database.find(words, agent, since, skip, limit)

    def _delete(self, key: str) -> bool:
        gone = self._database.delete(key)
        self._database.tidy()
        return gone

    def _prune_quietly(self, keep: Keep) -> None:
        try:
            prune(self.path, keep, self._clock())
        except StoreError as error:
            _log.warning("%s", error)
        finally:
            self._pruning = False

    async def _run(self, work: Callable[[], _T]) -> _T:
        """Do blocking work in the store's thread. Cancelled, it first lets work that was handed over come to its end."""
        return await to_the_end(asyncio.wrap_future(self._thread.submit(work)))
