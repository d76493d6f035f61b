"""Leases by name: what one gateway of all may do at a time, such as redeeming a refresh token or running a server.

A lease holds for as long as its gateway is alive (presence.py) and is free at once when that one leaves in order. Its fence grows with
every holder, so that nobody gives back what another has by now. A lease alone guards no write: a sealed record is kept only in the place of
the revision that was read (tokens.py), so that a holder that was replaced without knowing it writes nothing. For whoever has nothing like
that there is `openclaw.check_lease`, in the transaction that writes.
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from uuid import UUID

import msgspec

from openclaw.errors import SessionBusyError, StoreError
from openclaw.fleet.database import Connection, Database
from openclaw.fleet.faults import GoneError, UnreachableError
from openclaw.fleet.notices import Notices
from openclaw.fleet.presence import Presence
from openclaw.fleet.settling import Settling, Work
from openclaw.sessions.lock import FOREVER, KeyLocks
from openclaw.to_the_end import ended, to_the_end

_log = logging.getLogger(__name__)

# Seconds that whoever takes a lease again waits until it was given back.
_GIVING = 5.0
# Seconds between two looks at a lease that somebody has: at first, and at most.
FIRST_LOOK = 0.1
LONGEST_LOOK = 1.0


class Lease(msgspec.Struct, frozen=True):
    """The values that `openclaw.check_lease` asks for."""

    name: str
    holder: UUID
    fence: int


class Leases:
    def __init__(self, database: Database, presence: Presence, notices: Notices, settling: Settling) -> None:
        self._database = database
        self._presence = presence
        self._notices = notices
        self._settling = settling
        # Tasks of one process wait for each other here: to the database they are one holder.
        self._here = KeyLocks()
        # By name: leases that are over, of which the database does not know yet.
        self._giving: dict[str, asyncio.Task[None]] = {}

    async def take(self, name: str) -> Lease | None:
        """The lease, if it is free or this gateway's already; None when another has it. Cancelled, it is not kept. Raises StoreError."""
        me = await self._presence.begin()
        await self._given(name)
        while True:
            asking = asyncio.ensure_future(self._database.value("SELECT openclaw.take_lease($1, $2)", name, me))
            try:
                fence = await asyncio.shield(asking)
            except GoneError:
                me = await self._presence.gone(me)
                continue
            except UnreachableError:
                self._give_unheard(name, me)
                raise
            except asyncio.CancelledError:
                await ended(asking)
                problem = asking.exception()
                if problem is None and asking.result() is not None:
                    await to_the_end(self._give_quietly(Lease(name, me, asking.result())))
                elif isinstance(problem, UnreachableError):
                    self._give_unheard(name, me)
                raise
            return None if fence is None else Lease(name, me, fence)

    async def give(self, lease: Lease, *, forget: bool = False) -> None:
        """At once, or as soon as the database answers. Raises StoreError; then it is free when this gateway is no longer alive.

        With `forget` nothing is left of it: for leases of which there may be very many, and under which nothing is written.
        """
        give = partial(_forget if forget else _give, lease)
        try:
            await self._database.run(give, patience=0)
        except UnreachableError:
            self._give_later(lease.name, give, lease.holder)

    async def _give_quietly(self, lease: Lease) -> None:
        try:
            await self.give(lease)
        except StoreError as error:
            _log.debug("the lease %s was not given back: %s", lease.name, error)

    def _give_unheard(self, name: str, me: UUID) -> None:
        """The database may have given us a lease and could not say so."""
        self._give_later(name, partial(_give_whatever, name, me), me)

    def _give_later(self, name: str, give: Work, me: UUID) -> None:
        giving = self._giving[name] = self._settling.later(f"the lease {name}", give, me)
        giving.add_done_callback(partial(self._given_back, name))

    def _given_back(self, name: str, giving: "asyncio.Task[None]") -> None:
        if self._giving.get(name) is giving:
            del self._giving[name]

    async def _given(self, name: str) -> None:
        """Whoever takes a lease again has the same fence: what gives it back must be over by then."""
        giving = self._giving.get(name)
        if giving is None:
            return
        await asyncio.wait({giving}, timeout=_GIVING)
        giving.cancel()
        await ended(giving)

    @asynccontextmanager
    async def hold(self, name: str, *, patience: float = FOREVER) -> AsyncIterator[Lease]:
        """The lease when it is ours, given back at the end. Raises StoreError when it is not within `patience` seconds."""
        give_up = time.monotonic() + patience
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._here.hold(name, patience))
            except SessionBusyError:
                raise _busy(name) from None
            lease = await self._waited(name, give_up)
            try:
                yield lease
            finally:
                await to_the_end(self.give(lease))

    async def _waited(self, name: str, give_up: float) -> Lease:
        pauses = Pauses()
        with self._notices.wake("lease", name) as free:
            while (lease := await self.take(name)) is None:
                left = give_up - time.monotonic()
                if left <= 0:
                    raise _busy(name)
                await pauses.wait(free, left)
        return lease


async def _forget(lease: Lease, connection: Connection) -> None:
    await connection.execute(
        "WITH given AS (DELETE FROM openclaw.lease WHERE name = $1 AND holder = $2 AND fence = $3 RETURNING name)"
        " SELECT pg_notify('openclaw', 'lease ' || name) FROM given",
        *(lease.name, lease.holder, lease.fence),
    )


async def _give(lease: Lease, connection: Connection) -> None:
    await connection.execute("SELECT openclaw.give_lease($1, $2, $3)", lease.name, lease.holder, lease.fence)


async def _give_whatever(name: str, me: UUID, connection: Connection) -> None:
    await connection.execute(
        "SELECT openclaw.give_lease(name, holder, fence) FROM openclaw.lease WHERE name = $1 AND holder = $2", name, me
    )


def _busy(name: str) -> StoreError:
    return StoreError(f"The lease {name!r} is held for longer than could be waited for.", hint="Try again in a moment.")


class Pauses:
    """Between two looks at what another gateway has: until a notice says that it is free, or a little longer each time."""

    def __init__(self) -> None:
        self._pause = FIRST_LOOK

    async def wait(self, free: asyncio.Event, at_most: float = FOREVER) -> None:
        await wait_for(free, min(at_most, jittered(self._pause)))
        self._pause = min(2 * self._pause, LONGEST_LOOK)


def jittered(seconds: float, chance: Callable[[], float] = random.random) -> float:
    """A little more or less, so that those who wait do not all ask at once."""
    return seconds * (0.8 + 0.4 * chance())


async def wait_for(event: asyncio.Event, seconds: float) -> None:
    """Until it is set, or so many seconds have gone by. It is not set afterwards."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
    event.clear()
