"""The connection to PostgreSQL: a pool, one connection beside it for what must not wait, and how a lost link is got over.

Owns when something is tried again. There is one rule: whatever is handed to `Database.run` can be done twice and counts once, because a
broken link never says whether the last commit arrived. So a write carries what makes it recognisable (a fence and a position, a name, an
id), and the database itself looks up whether it was done. Sets nothing on a connection, so that it works through a pooler that hands out
another one for every transaction. Raises StoreError, and nothing else of its own.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

import asyncpg
import msgspec
from asyncpg.pool import PoolConnectionProxy

from openclaw.errors import StoreError
from openclaw.fleet.faults import UnreachableError, is_passing, store_error
from openclaw.fleet.migrations.steps import check_version, version_of
from openclaw.to_the_end import to_the_end

# Seconds for which a lost link is got over before somebody is told.
PATIENCE = 30.0
# Seconds between two attempts: at first, and at most.
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 5.0
# Seconds for a connection, and for one statement: a link that broke without a word must not hold anybody for longer.
CONNECT_SECONDS = 10.0
STATEMENT_SECONDS = 30.0
# Statements that are kept prepared on each connection. There are about forty in all.
PREPARED = 100

# Of an address: one host, or several with commas between them.
_HOST = r"(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(:[0-9]+)?"
_HOSTS = re.compile(f"{_HOST}(,{_HOST})*", re.ASCII)

Record = asyncpg.Record
# One of its own, or one that the pool lends.
Connection: TypeAlias = "asyncpg.Connection[Record] | PoolConnectionProxy[Record]"

T = TypeVar("T")


class Address(msgspec.Struct, frozen=True):
    """Where the database is, as the config says it, references to secrets resolved. `listen_url` is for what a pooler cannot carry."""

    url: str
    listen_url: str = ""
    pool_size: int = 8
    statement_cache: bool = True


class Database:
    """Opened when it is first needed. Serves one event loop."""

    def __init__(self, address: Callable[[], Awaitable[Address]], *, patience: float = PATIENCE) -> None:
        self._address_of = address
        self._address: Address | None = None
        self._place = "PostgreSQL"
        self._patience = patience
        self._pool: asyncpg.Pool[Record] | None = None
        # Pools before it, which are being closed.
        self._leaving: set[asyncio.Task[None]] = set()
        self._opening = asyncio.Lock()
        self._identity: tuple[UUID, int] | None = None
        self._software = "PostgreSQL"
        self._is_closed = False

    @property
    def place(self) -> str:
        """Its address without credentials, once it is known."""
        return self._place

    @property
    def software(self) -> str:
        return self._software

    async def run(self, work: Callable[[Connection], Awaitable[T]], *, patience: float | None = None) -> T:
        """Do `work`, again if the link breaks: it must be such that twice counts as once. Raises StoreError."""
        give_up = time.monotonic() + (self._patience if patience is None else patience)
        pause = FIRST_PAUSE
        while True:
            try:
                async with self.connected() as connection:
                    return await work(connection)
            except StoreError as error:
                if not isinstance(error, UnreachableError) or time.monotonic() + pause > give_up or self._is_closed:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def rows(self, statement: str, *values: object) -> Sequence[Record]:
        return await self.run(lambda connection: connection.fetch(statement, *values))

    async def row(self, statement: str, *values: object) -> Record | None:
        return await self.run(lambda connection: connection.fetchrow(statement, *values))

    async def value(self, statement: str, *values: object) -> Any:
        return await self.run(lambda connection: connection.fetchval(statement, *values))

    async def settled(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """The same as `run`, brought to its end also when its caller is cancelled: a half-known outcome helps nobody."""
        return await to_the_end(self.run(work))

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Connection]:
        """A connection of the pool; a fault of it is a StoreError, and nothing is tried again."""
        pool: asyncpg.Pool[Record] | None = None
        is_left = False
        try:
            pool = await self._opened()
            async with pool.acquire(timeout=CONNECT_SECONDS) as connection:
                try:
                    yield connection
                except asyncio.CancelledError:
                    is_left = True
                    raise
        except Exception as error:
            if is_left:
                # Over a dead link what was cancelled does not end either, which the pool tells instead.
                raise asyncio.CancelledError from error
            if getattr(error, "sqlstate", "") == "25006" and pool is self._pool:
                # It has become a standby: whatever else is open leads there too.
                self.renew()
            problem = store_error(self._place, error)
            if problem is None or problem is error:
                raise
            raise problem from error

    def renew(self) -> None:
        """Take new connections from now on: those that are open may lead nowhere. What is under way on them has its time."""
        pool, self._pool = self._pool, None
        if pool is not None:
            leaving = asyncio.create_task(_closed(pool), name="fleet-pool")
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)

    async def connect(self, *, listening: bool = False) -> Connection:
        """A connection beside the pool, for who keeps one. Raises StoreError."""
        address = await self._resolved()
        try:
            connection: Connection = await asyncpg.connect(
                (listening and address.listen_url) or address.url, **self._options(address)
            )
            try:
                await self._greet(connection)
            except BaseException:
                connection.terminate()
                raise
            return connection
        except Exception as error:
            problem = store_error(self.place, error)
            if problem is None or problem is error:
                raise
            raise problem from error

    async def bare(self) -> Connection:
        """A connection to a database that need not have our tables yet. Raises StoreError."""
        address = await self._resolved()
        options = {**self._options(address), "command_timeout": None}
        try:
            connection: Connection = await asyncpg.connect(address.url, **options)
            return connection
        except Exception as error:
            problem = store_error(self.place, error)
            if problem is None:
                raise
            raise problem from error

    async def close(self) -> None:
        self._is_closed = True
        self.renew()
        if self._leaving:
            _, late = await asyncio.wait(self._leaving, timeout=CONNECT_SECONDS)
            for leaving in late:
                leaving.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _resolved(self) -> Address:
        if self._address is None:
            self._address = await self._address_of()
            self._place = place_of(self._address.url)
        return self._address

    async def _opened(self) -> "asyncpg.Pool[Record]":
        if self._pool is None:
            address = await self._resolved()
            async with self._opening:
                # Now, and not before the address was known: what is opened after the end is closed by nobody.
                if self._is_closed:
                    raise StoreError("The session store is closed.")
                if self._pool is None:
                    self._pool = await asyncpg.create_pool(
                        address.url,
                        min_size=0,
                        max_size=address.pool_size,
                        init=self._greet,
                        reset=_nothing_to_reset,
                        **self._options(address),
                    )
        return self._pool

    def _options(self, address: Address) -> dict[str, Any]:
        return {
            "timeout": CONNECT_SECONDS,
            "command_timeout": STATEMENT_SECONDS,
            "statement_cache_size": PREPARED if address.statement_cache else 0,
        }

    async def _greet(self, connection: Connection) -> None:
        """Is this a database we can work with, and the one we have worked with so far?"""
        found = await version_of(connection)
        check_version(self.place, found)
        assert found is not None  # checked
        known = (found.identity, found.system)
        if self._identity is None:
            self._identity = known
            server = connection.get_server_version()
            self._software = f"PostgreSQL {server.major}.{server.micro}"
        elif self._identity != known:
            raise StoreError(
                f"The database {self.place} is another one than before: what was stored is not in it.",
                hint="Correct session.postgres.url, or restart the gateway if that is meant.",
            )


class Line:
    """One connection that is kept, beside the pool: for beats, which must not wait for anybody, and for notices.

    `opened` is called with every new one before anything else is done with it. Not more than one piece of work at a time.
    """

    def __init__(self, database: Database, opened: Callable[[Connection], Awaitable[None]] | None = None) -> None:
        self._database = database
        self._opened = opened
        self._connection: Connection | None = None
        self._turn = asyncio.Lock()

    async def run(self, work: Callable[[Connection], Awaitable[T]], *, timeout: float) -> T:
        """Nothing is tried again. Raises StoreError."""
        try:
            async with asyncio.timeout(timeout), self._turn:
                if self._connection is None or self._connection.is_closed():
                    self._connection = await self._open()
                return await work(self._connection)
        except Exception as error:
            if is_passing(error):
                self.drop()
            if isinstance(error, TimeoutError):
                # A link that died without a word, over which nobody has to find out once more for itself.
                self._database.renew()
            problem = store_error(self._database.place, error)
            if problem is None or problem is error:
                raise
            raise problem from error

    async def _open(self) -> Connection:
        connection = await self._database.connect(listening=True)
        try:
            if self._opened is not None:
                await self._opened(connection)
        except BaseException:
            # Also when whoever asked has left: one that was opened by half is never used.
            connection.terminate()
            raise
        return connection

    def drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()


async def _closed(pool: "asyncpg.Pool[Record]") -> None:
    try:
        async with asyncio.timeout(STATEMENT_SECONDS):
            await pool.close()
    except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError):
        pool.terminate()


async def _nothing_to_reset(connection: Connection) -> None:
    """We set nothing on a connection, and a question to the server after every use would double the cost of each."""


def place_of(url: str) -> str:
    """An address as people are told it: without user, password and options."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "PostgreSQL"
    hosts = parts.netloc.rpartition("@")[2]
    # What is not surely hosts with their ports may be part of a password that was not escaped.
    if not _HOSTS.fullmatch(hosts) or "@" in parts.path + parts.query + parts.fragment:
        return "PostgreSQL"
    return f"postgres://{hosts}{parts.path}"
