"""The audit trail of all gateways: each writes a chain of its own, and everybody reads all of them, in the order in which they came.

A line is on its way when it is appended, and in the table some milliseconds later: lines are inserted many at a time, by a task that nobody
waits for. While the database is away they wait here; past a number, and when we end before it is back, they go to the file of this machine
instead, with a warning, so that none is lost. Order is by the database's clock. Nothing is ever changed or removed here: how long lines
stay is the operator's choice, and a user of the database with INSERT and SELECT alone is enough for us.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from secrets import token_hex
from typing import Any, Final

from openclaw.errors import StoreError
from openclaw.fleet.database import Connection, Database, Record
from openclaw.security.audit import AuditTrail, Matching, searched_for
from openclaw.security.audit_file import MOST_SEARCHED, record_of

_log = logging.getLogger(__name__)

# Lines of one insert.
TOGETHER: Final = 500
# Lines that wait while the database is away: some megabytes.
MOST_WAITING: Final = 20_000
# Seconds for which our end waits for the database, and a reader for our own last lines.
_LEAVING: Final = 5.0
_READING: Final = 2.0
# Seconds between two attempts.
_PAUSE: Final = 1.0
# Lines read at a time.
_BATCH: Final = 1_000

_INSERT = (
    "INSERT INTO openclaw.audit (chain, n, line) SELECT $1, n, l FROM unnest($2::bigint[], $3::bytea[]) AS t (n, l)"
    " ON CONFLICT (chain, n) DO NOTHING"
)
_NEXT = (
    "SELECT at, chain, n, line FROM openclaw.audit WHERE (at, chain, n) > ($1, $2, $3) ORDER BY at, chain, n LIMIT $4"
)
_BEFORE = (
    "SELECT at, chain, n, line FROM openclaw.audit WHERE (at, chain, n) < ($1, $2, $3)"
    " ORDER BY at DESC, chain DESC, n DESC LIMIT $4"
)
_Place = tuple[datetime, str, int]


class FleetAudit:
    """An `AuditTrail` (security/audit.py). `name` is the gateway's; `instead` takes what the database cannot."""

    def __init__(self, database: Database, name: str, instead: AuditTrail) -> None:
        self._database = database
        # Of this life alone: what was inserted twice because an answer got lost is recognised by its number.
        self._chain = f"{name}/{token_hex(4)}"
        self._instead = instead
        self._waiting: deque[str] = deque()
        self._number = 0
        self._is_away = False
        self._is_leaving = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._writing: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._written = asyncio.Event()

    def start(self) -> None:
        """From now on lines go to the database. In the event loop."""
        if self._writing is None:
            self._loop = asyncio.get_running_loop()
            self._writing = self._loop.create_task(self._keep_writing(), name="fleet-audit")

    def append(self, lines: Sequence[str]) -> None:
        if self._writing is None or self._loop is None or self._loop.is_closed():
            self._instead.append(lines)
            return
        self._waiting.extend(lines)
        self._written.clear()
        # From whichever thread.
        self._loop.call_soon_threadsafe(self._wake.set)

    def shown(self) -> str:
        return self._database.place

    def close(self) -> None:
        """What is on its way goes on: `end` waits for it."""

    async def end(self) -> None:
        """Write what waits, in the file if need be."""
        writing = self._writing
        if writing is None:
            return
        self._is_leaving = True
        if self._waiting and not self._is_away:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LEAVING):
                    await self._written.wait()
        self._writing = None
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing
        if self._waiting:
            self._spill(len(self._waiting))
        self._instead.close()

    async def last(self, count: int) -> list[dict[str, Any]]:
        await self._caught_up()
        records: list[dict[str, Any]] = []
        async for rows in self._newest():
            records += [record for row in rows if (record := record_of(row["line"])) is not None]
            if len(records) >= count:
                break
        return records[:count][::-1]

    async def matching(self, count: int, words: Sequence[str]) -> Matching:
        await self._caught_up()
        if not words:
            total = await self._database.value("SELECT count(*) FROM openclaw.audit")
            return Matching(await self.last(count), total)
        found: list[dict[str, Any]] = []
        fits = searched_for(words)
        total = searched = 0
        async for rows in self._newest():
            searched += sum(len(row["line"]) for row in rows)
            if searched > MOST_SEARCHED:
                return Matching(found[::-1], total, is_whole=False)
            lines = await asyncio.to_thread(_fitting, rows, fits)
            total += len(lines)
            for line in islice(lines, max(0, count - len(found))):
                if (record := record_of(line)) is not None:
                    found.append(record)
        return Matching(found[::-1], total)

    async def batches(self) -> AsyncIterator[list[dict[str, Any]]]:
        await self._caught_up()
        rows = await self._database.rows(
            "SELECT at, chain, n, line FROM openclaw.audit ORDER BY at, chain, n LIMIT $1", _BATCH
        )
        while rows:
            yield [record for row in rows if (record := record_of(row["line"])) is not None]
            rows = await self._database.rows(_NEXT, *_place(rows[-1]), _BATCH)

    async def _newest(self) -> AsyncIterator[Sequence[Record]]:
        rows = await self._database.rows(
            "SELECT at, chain, n, line FROM openclaw.audit ORDER BY at DESC, chain DESC, n DESC LIMIT $1", _BATCH
        )
        while rows:
            yield rows
            rows = await self._database.rows(_BEFORE, *_place(rows[-1]), _BATCH)

    async def _caught_up(self) -> None:
        """What we wrote ourselves a moment ago is read too."""
        if self._waiting and self._writing is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_READING):
                    await self._written.wait()

    async def _keep_writing(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                # By their places: others may add to the end meanwhile.
                lines = [self._waiting[place] for place in range(min(len(self._waiting), TOGETHER))]
                try:
                    await insert(self._database, self._chain, self._number, lines)
                except StoreError as error:
                    if not self._is_away:
                        self._is_away = True
                        _log.warning("%s Lines of the audit trail wait until it is back.", error)
                    if self._is_leaving:
                        break
                    if len(self._waiting) > MOST_WAITING:
                        self._spill(len(self._waiting) - MOST_WAITING)
                    await asyncio.sleep(_PAUSE)
                    continue
                self._is_away = False
                self._number += len(lines)
                for _ in lines:
                    self._waiting.popleft()
            self._written.set()

    def _spill(self, count: int) -> None:
        lines = [self._waiting.popleft() for _ in range(count)]
        # They may have been inserted all the same: their numbers are not given out again.
        self._number += count
        try:
            self._instead.append(lines)
        except OSError as error:
            _log.error("%d lines of the audit trail are lost: %s.", count, error.strerror or error)
        else:
            _log.warning("%d lines of the audit trail are in %s instead.", count, self._instead.shown())


async def insert(database: Database, chain: str, before: int, lines: Sequence[str | bytes]) -> None:
    """Put lines into a chain behind the first `before` ones. Those that are there already stay. Raises StoreError."""
    numbers = [before + 1 + place for place in range(len(lines))]
    bodies = [line.encode() if isinstance(line, str) else line for line in lines]

    async def write(connection: Connection) -> None:
        await connection.execute(_INSERT, chain, numbers, bodies)

    await database.run(write, patience=0)


def _place(row: Record) -> _Place:
    return row["at"], row["chain"], row["n"]


def _fitting(rows: Sequence[Record], fits: Callable[[bytes], bool]) -> list[bytes]:
    return [row["line"] for row in rows if fits(row["line"])]
