"""A session store whose uses are traced: each is a span, of a turn its beginning (with the wait for the one before), writes and its end."""

import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

from opentelemetry.trace import SpanKind

from openclaw.sessions.event import Custom
from openclaw.sessions.lock import FOREVER
from openclaw.sessions.retention import Keep, Pruned
from openclaw.sessions.store import Found, SessionInfo, Store, Transcript
from openclaw.sessions.turn import Turn, Write
from openclaw.telemetry import names
from openclaw.telemetry.spans import Spans, Value, error_type

T = TypeVar("T")


class TracedStore:
    """Keeps the contract of `sessions/store.py`, by way of another store."""

    def __init__(self, spans: Spans, store: Store) -> None:
        self._spans = spans
        self._store = store
        # `SQLite 3.40.1` → `sqlite`; a store in memory has no software.
        self._system = store.software.partition(" ")[0].lower() or "memory"

    @property
    def place(self) -> str:
        return self._store.place

    @property
    def software(self) -> str:
        return self._store.software

    def turn(self, key: str, agent: str, *, patience: float = FOREVER) -> AbstractAsyncContextManager[Turn]:
        return self._turn(self._store.turn(key, agent, patience=patience))

    @asynccontextmanager
    async def _turn(self, turn: AbstractAsyncContextManager[Turn]) -> AsyncIterator[Turn]:
        entered = await self._use("begin_turn", turn.__aenter__())
        entered.around_writes(self._written)
        try:
            yield entered
        except BaseException as error:
            if not await self._use("end_turn", turn.__aexit__(type(error), error, error.__traceback__)):
                raise
        else:
            await self._use("end_turn", turn.__aexit__(None, None, None))

    def _written(self, write: Write) -> Write:
        return lambda events: self._use("append", write(events))

    async def list(self, *, agent: str | None = None, active_within: float | None = None) -> tuple[SessionInfo, ...]:
        return await self._use("list", self._store.list(agent=agent, active_within=active_within))

    async def find(
        self,
        words: Sequence[str] = (),
        *,
        agent: str | None = None,
        active_within: float | None = None,
        skip: int = 0,
        limit: int,
    ) -> Found:
        found = self._store.find(words, agent=agent, active_within=active_within, skip=skip, limit=limit)
        return await self._use("find", found)

    async def show(self, key: str) -> Transcript:
        return await self._use("show", self._store.show(key))

    async def last(self, key: str, count: int, *, before: str = "") -> Transcript:
        return await self._use("last", self._store.last(key, count, before=before))

    async def key_of(self, id: str) -> str | None:
        return await self._use("key_of", self._store.key_of(id))

    async def rename(self, key: str, title: str) -> bool:
        return await self._use("rename", self._store.rename(key, title))

    async def note_behind(self, key: str, last: Custom, note: Custom, *, patience: float = FOREVER) -> bool:
        return await self._use("note_behind", self._store.note_behind(key, last, note, patience=patience))

    async def delete(self, key: str, *, patience: float = FOREVER) -> bool:
        return await self._use("delete", self._store.delete(key, patience=patience))

    async def prune(self, keep: Keep, *, dry_run: bool = False) -> Pruned:
        return await self._use("prune", self._store.prune(keep, dry_run=dry_run))

    def prune_beside(self, keep: Keep) -> None:
        self._store.prune_beside(keep)

    async def close(self) -> None:
        await self._store.close()

    async def _use(self, operation: str, work: Awaitable[T]) -> T:
        about: dict[str, Value] = {names.DATABASE: self._system, names.DATABASE_OPERATION: operation}
        began, error = time.monotonic(), ""
        try:
            with self._spans.current(f"{operation} sessions", about, kind=SpanKind.CLIENT):
                return await work
        except BaseException as problem:
            error = error_type(problem)
            raise
        finally:
            failed: dict[str, Value] = {names.ERROR: error} if error else {}
            self._spans.measure(names.STORE_SECONDS, time.monotonic() - began, {**about, **failed})
