"""Who may use the gateways from their page: a token that one gateway gave holds at every one, and ends everywhere at once.

Only digests are kept. What requests ask is a copy in memory, read anew when a page signs in or out anywhere; a token that is not in it is
looked up before it is refused, for its page may have signed in a moment ago elsewhere. Times are the database's.
"""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from openclaw.fleet.database import Connection, Database
from openclaw.fleet.revisions import Revisions
from openclaw.security.page_secrets import (
    IDLE_SECONDS,
    LONGEST_SECONDS,
    MOST_PAGES,
    NOTED_EVERY,
    TICKET_SECONDS,
    digest_of,
    new_ticket,
    new_token,
)

PAGE: Final = "page"

_TICKET, _IDLE, _LONGEST = (timedelta(seconds=one) for one in (TICKET_SECONDS, IDLE_SECONDS, LONGEST_SECONDS))
# How long each is good yet, and how long ago it was used.
_READ = (
    "SELECT digest, extract(epoch FROM least(used + $1, created + $2) - now.at)::float8 AS good,"
    " extract(epoch FROM now.at - used)::float8 AS idle"
    " FROM openclaw.page, (SELECT clock_timestamp() AS at) AS now WHERE least(used + $1, created + $2) > now.at"
)
_USE = (
    "UPDATE openclaw.page SET used = clock_timestamp() WHERE digest = $1 AND least(used + $2, created + $3) > clock_timestamp()"
    " RETURNING extract(epoch FROM least(used + $2, created + $3) - clock_timestamp())::float8"
)
_DROP = (
    "DELETE FROM openclaw.page WHERE least(used + $1, created + $2) <= clock_timestamp()"
    " OR digest IN (SELECT digest FROM openclaw.page ORDER BY used DESC, created DESC OFFSET $3)"
)


class FleetPages:
    """A `Pages` (gateway/page_tokens.py)."""

    def __init__(
        self, database: Database, revisions: Revisions, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._database = database
        self._revisions = revisions
        self._clock = clock
        # By digest: until when it is good, and when its last use was noted.
        self._tokens: dict[bytes, tuple[float, float]] = {}
        self._heard: list[Callable[[], None]] = []
        revisions.follow(PAGE, self._load)

    async def ticket(self) -> str:
        ticket = new_ticket()

        async def write(connection: Connection) -> None:
            await connection.execute("DELETE FROM openclaw.ticket WHERE expires <= clock_timestamp()")
            await connection.execute(
                "INSERT INTO openclaw.ticket (digest, expires) VALUES ($1, clock_timestamp() + $2)"
                " ON CONFLICT (digest) DO NOTHING",
                *(_digest(ticket), _TICKET),
            )

        await self._database.run(write)
        return ticket

    async def trade(self, ticket: str) -> str | None:
        # Never twice, also when the answer was lost on the way: then another ticket is needed.
        found = await self._database.value(
            "DELETE FROM openclaw.ticket WHERE digest = $1 RETURNING expires > clock_timestamp()", _digest(ticket)
        )
        return await self.issue() if found else None

    async def issue(self) -> str:
        token = new_token()

        async def write(connection: Connection) -> None:
            async with connection.transaction():
                await connection.fetchval("SELECT openclaw.bump($1)", PAGE)
                await connection.execute(
                    "INSERT INTO openclaw.page (digest) VALUES ($1) ON CONFLICT (digest) DO NOTHING", _digest(token)
                )
                await connection.execute(_DROP, _IDLE, _LONGEST, MOST_PAGES)

        await self._database.settled(write)
        await self._revisions.look()
        return token

    async def admits(self, token: str) -> bool:
        digest = _digest(token)
        await self._revisions.check()
        if digest not in self._tokens:
            await self._revisions.look()
        if not self.is_good(token):
            return False
        good_until, noted = self._tokens[digest]
        now = self._clock()
        if now - noted > NOTED_EVERY:
            self._tokens[digest] = (good_until, now)
            good = await self._database.value(_USE, digest, _IDLE, _LONGEST)
            if good is None:
                return False
            self._tokens[digest] = (now + good, now)
        return True

    def is_good(self, token: str) -> bool:
        found = self._tokens.get(_digest(token))
        return found is not None and self._clock() < found[0]

    async def count(self) -> int:
        return len(await self._database.rows(_READ, _IDLE, _LONGEST))

    async def revoke(self) -> int:
        async def write(connection: Connection) -> int:
            async with connection.transaction():
                await connection.fetchval("SELECT openclaw.bump($1)", PAGE)
                count = len(await connection.fetch(_READ, _IDLE, _LONGEST))
                await connection.execute("DELETE FROM openclaw.page")
            return count

        count = await self._database.settled(write)
        await self._revisions.look()
        return count

    async def forget(self, token: str) -> None:
        async def write(connection: Connection) -> None:
            async with connection.transaction():
                await connection.fetchval("SELECT openclaw.bump($1)", PAGE)
                await connection.execute("DELETE FROM openclaw.page WHERE digest = $1", _digest(token))

        await self._database.settled(write)
        await self._revisions.look()

    def on_revoked(self, heard: Callable[[], None]) -> None:
        self._heard.append(heard)

    async def _load(self) -> None:
        now = self._clock()
        before = self._tokens
        rows = await self._database.rows(_READ, _IDLE, _LONGEST)
        self._tokens = {row["digest"]: (now + row["good"], now - row["idle"]) for row in rows}
        if before.keys() - self._tokens.keys():
            for heard in self._heard:
                heard()


def _digest(secret: str) -> bytes:
    return bytes.fromhex(digest_of(secret))
