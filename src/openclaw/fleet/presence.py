"""Who this gateway is to the others, and for how long it may be taken for alive.

One row and one small update every few seconds, whatever the gateway holds: its turns and leases are its own for as long as that row is
alive by the database's clock. Here only monotonic time is looked at, to stop in time: a gateway whose last good beat was sent too long ago
starts nothing any more (`may_act`), and ends what it has begun when others may have taken it over. One that the database takes for dead
never comes back under the same id; it goes on under a new one, holding nothing.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from uuid import UUID, uuid4

import msgspec

from openclaw.errors import StoreError
from openclaw.fleet.database import Connection, Database, Line
from openclaw.single_flight import SingleFlight

_log = logging.getLogger(__name__)


class Times(msgspec.Struct, frozen=True):
    """Seconds. A gateway beats every `beat`; without one it starts nothing after `fence`, and others take over after `ttl`.

    Between fence and ttl there is time for what was started just before to be noticed, also where two clocks do not run alike.
    """

    beat: float = 3.0
    ttl: float = 15.0
    fence: float = 10.0


class Who(msgspec.Struct, frozen=True):
    """What others see of a gateway. `name` stays over restarts; `replaces`: whoever had it before is surely dead."""

    name: str
    version: str
    url: str = ""
    config: str = ""
    replaces: bool = False


class Presence:
    """Begins with `begin`, which may be asked for any number of times; ends with `close`. Serves one event loop."""

    def __init__(self, database: Database, line: Line, who: Who, times: Times = Times()) -> None:  # noqa: B008 (frozen)
        self._database = database
        self._line = line
        self._who = who
        self.times = times
        self._id: UUID | None = None
        # When the last good beat was sent: the database's clock has counted from then on, or later.
        self._sent = 0.0
        self._flights: SingleFlight[UUID] = SingleFlight("fleet-join", goes_on=True)
        self._beating: asyncio.Task[None] | None = None
        self._heard: list[Callable[[], None]] = []
        self._is_closed = False

    @property
    def id(self) -> UUID | None:
        """None before it has begun, and while it is between two lives."""
        return self._id

    @property
    def name(self) -> str:
        return self._who.name

    @property
    def url(self) -> str:
        """Where others reach this gateway; empty when they cannot."""
        return self._who.url

    async def reached_at(self, url: str) -> None:
        """Others reach this gateway there from now on. Raises StoreError."""
        await self._become(msgspec.structs.replace(self._who, url=url))

    def may_act(self) -> bool:
        """Whether something may be started now. A process that never began holds nothing that it could lose."""
        if self._beating is None:
            return True
        return self._id is not None and time.monotonic() - self._sent < self.times.fence

    def on_lost(self, heard: Callable[[], None]) -> Callable[[], None]:
        """`heard` is called when everything this gateway held may be another's. Returns what ends that."""
        self._heard.append(heard)
        return lambda: self._heard.remove(heard)

    async def begin(self) -> UUID:
        """The id under which something may be taken now. Raises StoreError when the database cannot be reached."""
        if self._id is not None:
            return self._id
        return await self._flights.join("", self._join)

    def keep(self) -> None:
        """Go on trying to be there, for as long as it takes; until then nothing may be started."""
        if self._beating is None and not self._is_closed:
            self._beating = asyncio.create_task(self._beat(), name="fleet-beat")

    async def gone(self, id: UUID) -> UUID:
        """The database has said that `id` is no more: everything it held is lost. A new id. Raises StoreError."""
        self._lose(id)
        return await self.begin()

    async def configured(self, digest: str) -> None:
        """This gateway has another config from now on. Raises StoreError."""
        await self._become(msgspec.structs.replace(self._who, config=digest))

    async def close(self) -> None:
        """Leave in order: whatever is held is free at once."""
        self._is_closed = True
        beating, self._beating = self._beating, None
        if beating is not None:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating
        id, self._id = self._id, None
        if id is not None:
            try:
                await self._database.run(
                    lambda connection: connection.execute("DELETE FROM openclaw.gateway WHERE id = $1", id), patience=0
                )
                await self._database.value("SELECT pg_notify('openclaw', 'gateway ')")
            except StoreError as error:
                _log.warning("%s What this gateway held is free in %g seconds.", error, self.times.ttl)
        self._line.drop()

    async def _join(self) -> UUID:
        if self._is_closed:
            raise StoreError("The session store is closed.")
        who = self._who
        # The same over all attempts: a row that was made and not heard of is this one, unless it is dead by now.
        while not await self._joined(new := uuid4(), who):
            pass
        while who is not self._who:
            # Told meanwhile.
            who = self._who
            await self._tell(new, who)
        # Only at the start of a process is it sure that nobody else has this name.
        self._who = msgspec.structs.replace(self._who, replaces=False)
        self._id = new
        self.keep()
        return new

    async def _become(self, who: Who) -> None:
        if who == self._who:
            return
        # First, so that whoever is joining now tells it, too.
        before, self._who = self._who, who
        if self._id is not None:
            try:
                await self._tell(self._id, who)
            except StoreError:
                if self._who is who:
                    self._who = before
                raise

    async def _tell(self, id: UUID, who: Who) -> None:
        await self._database.value(
            "UPDATE openclaw.gateway SET url = $2, config = $3 WHERE id = $1 RETURNING 1", id, who.url, who.config
        )

    async def _joined(self, new: UUID, who: Who) -> bool:
        async def join(connection: Connection) -> bool:
            self._sent = time.monotonic()
            await connection.execute(
                "SELECT openclaw.join_fleet($1, $2, $3, $4, $5, $6, $7)",
                *(new, who.name, who.version, who.url, who.config, self._ttl, who.replaces),
            )
            # Of a row that was made and not heard of the time goes on from then.
            return await self._say_alive(new, connection)

        return await self._database.run(join)

    @property
    def _ttl(self) -> timedelta:
        return timedelta(seconds=self.times.ttl)

    async def _beat(self) -> None:
        told = False
        while True:
            await asyncio.sleep(self.times.beat)
            id, sent = self._id, time.monotonic()
            try:
                if id is None:
                    await self.begin()
                # Asked also when the time is over, as after it was frozen: the database is the judge. But not for long.
                elif await self._line.run(
                    partial(self._say_alive, id), timeout=min(self.times.fence, max(self._left, self.times.beat))
                ):
                    self._sent = sent
                    if told:
                        _log.info("The database is back.")
                    told = False
                else:
                    _log.warning("The database has taken this gateway for dead: it was silent for too long.")
                    self._lose(id)
                    await self.begin()
            except StoreError as error:
                if not told:
                    _log.warning("%s", error)
                told = True
                if id is not None and not self._left:
                    self._lose(id)

    @property
    def _left(self) -> float:
        """Seconds until others may take over what is held here."""
        return max(0.0, self._sent + self.times.ttl - time.monotonic())

    async def _say_alive(self, id: UUID, connection: Connection) -> bool:
        return bool(await connection.fetchval("SELECT openclaw.beat($1, $2)", id, self._ttl))

    def _lose(self, id: UUID) -> None:
        if self._id != id:
            return
        self._id = None
        for heard in tuple(self._heard):
            heard()
