"""Grants that all gateways share: what a person allowed at one counts at every one, and so does taking it back.

Calls ask a copy in memory, which is read anew whenever a grant was added or revoked anywhere. A copy that was not checked for some seconds
grants nothing: what may have been revoked is asked about again.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any, Final

import msgspec

from openclaw.content import to_json
from openclaw.errors import StoreError
from openclaw.fleet.database import Connection, Database, Record
from openclaw.fleet.revisions import Revisions
from openclaw.grant import Grant
from openclaw.security.grants import KeptGrant, fresh_of

_log = logging.getLogger(__name__)

GRANT: Final = "grant"

_READ = "SELECT id, body::text, last_used::date AS last_used FROM openclaw.approval_grant ORDER BY created, id"
_grant = msgspec.json.Decoder(Grant)


class FleetGrants:
    """A `Grants` (security/grants.py)."""

    def __init__(self, database: Database, revisions: Revisions) -> None:
        self._database = database
        self._revisions = revisions
        self._grants: tuple[Grant, ...] = ()
        self._used: dict[str, str] = {}
        self._revision = 0
        self._day = date.today()
        self._noting: set[asyncio.Task[None]] = set()
        self._followers: list[Callable[[], None]] = []
        revisions.follow(GRANT, self._load)

    @property
    def revision(self) -> int:
        # Another number while nothing is known: whoever kept a verdict decides anew.
        if not self._revisions.is_checked:
            return -1
        if (day := date.today()) != self._day:
            self._day = day
            self._revision += 1
        return self._revision

    @property
    def good_until(self) -> float:
        return self._revisions.good_until

    def follow(self, changed: Callable[[], None]) -> None:
        self._followers.append(changed)

    def all(self) -> tuple[Grant, ...]:
        return self._grants if self._revisions.is_checked else ()

    def has(self, ids: Iterable[str]) -> bool:
        return set(ids) <= {one.id for one in self.all()}

    def used(self, ids: Iterable[str]) -> None:
        today = date.today().isoformat()
        fresh = [one for one in ids if self._used.get(one, today) != today]
        if fresh:
            self._used.update(dict.fromkeys(fresh, today))
            task = asyncio.get_running_loop().create_task(self._note(fresh), name="fleet-grant-used")
            self._noting.add(task)
            task.add_done_callback(self._noting.discard)

    async def check(self) -> None:
        await self._database.rows(_READ)

    async def kept(self) -> tuple[KeptGrant, ...]:
        return tuple(await read_all(self._database))

    async def add(self, *grants: Grant) -> None:
        async def write(connection: Connection) -> None:
            async with connection.transaction():
                # One at a time, for there may not be too many together.
                await connection.fetchval("SELECT openclaw.bump($1)", GRANT)
                there = [one.grant for one in _readable(await connection.fetch(_READ))]
                await insert(connection, [KeptGrant(one) for one in fresh_of(there, grants)])

        await self._database.settled(write)
        await self._revisions.look()

    async def revoke(self, grant_id: str) -> bool:
        async def write(connection: Connection) -> bool:
            async with connection.transaction():
                await connection.fetchval("SELECT openclaw.bump($1)", GRANT)
                gone = await connection.fetch(
                    "DELETE FROM openclaw.approval_grant WHERE id = $1 RETURNING id", grant_id
                )
            return bool(gone)

        was_there = await self._database.settled(write)
        await self._revisions.look()
        return was_there

    async def close(self) -> None:
        if self._noting:
            await asyncio.wait(self._noting)

    async def _note(self, ids: list[str]) -> None:
        try:
            await self._database.value(
                "UPDATE openclaw.approval_grant SET last_used = clock_timestamp()"
                " WHERE id = ANY($1::text[]) AND (last_used IS NULL OR last_used::date < clock_timestamp()::date)",
                ids,
            )
        except StoreError as error:
            _log.warning("It cannot be noted that a grant was used: %s", error)

    async def _load(self) -> None:
        kept = await read_all(self._database)
        grants = tuple(one.grant for one in kept)
        self._used = {one.grant.id: one.last_used for one in kept}
        if grants != self._grants:
            self._grants = grants
            self._revision += 1
            for changed in self._followers:
                changed()


async def read_all(database: Database) -> list[KeptGrant]:
    """Raises StoreError."""
    return _readable(await database.rows(_READ))


async def insert(connection: Connection, kept: Iterable[KeptGrant]) -> None:
    """One that is there already stays as it is."""
    await connection.executemany(
        "INSERT INTO openclaw.approval_grant (id, body, last_used) VALUES ($1, $2::text::jsonb, $3::text::timestamptz)"
        " ON CONFLICT (id) DO NOTHING",
        [_values(one) for one in kept],
    )


def _values(kept: KeptGrant) -> tuple[Any, ...]:
    return kept.grant.id, to_json(kept.grant).decode(), kept.last_used or None


def _readable(rows: Iterable[Record]) -> list[KeptGrant]:
    kept: list[KeptGrant] = []
    for row in rows:
        try:
            kept.append(_kept(row))
        except msgspec.MsgspecError:
            # Of a later version of this program, in whose fleet we still are. All others hold.
            _log.warning("The grant %s cannot be read, and is not in force here.", row["id"])
    return kept


def _kept(row: Record) -> KeptGrant:
    return KeptGrant(_grant.decode(row["body"]), row["last_used"].isoformat() if row["last_used"] else "")
