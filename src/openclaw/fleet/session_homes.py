"""Servers that a session has for itself (`isolation: "session"`) follow it: they run at the gateway where it goes on, and nowhere else.

A `SessionHomes` (mcp/placing.py). A gateway that starts such a server holds the lease `home:DIGEST` of the session until it has ended them
all. When the session's next turn is at another gateway, that one finds the lease taken, and says so by a notice; the first one ends the
servers, unless it is in the middle of a call, and gives the lease back. Where notices get lost it sees by itself, every few seconds, whose
turn it is. What such a server knew ends with its process.
"""

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import Final

from openclaw.errors import StoreError
from openclaw.fleet.database import Database
from openclaw.fleet.leases import Lease, Leases, Pauses, wait_for
from openclaw.fleet.notices import Notices
from openclaw.fleet.presence import Presence
from openclaw.mcp.placing import EndServers
from openclaw.sessions.lock import FOREVER, KeyLocks
from openclaw.to_the_end import to_the_end

_log = logging.getLogger(__name__)

HOME: Final = "home"
# How leases of sessions begin; members.py counts them.
PREFIX: Final = "home:"
# Seconds that another gateway has to end them, beyond the time after which a dead one is known to be dead.
_BEYOND: Final = 10.0
# Seconds between two looks at whether we may still run what we run.
_WATCH: Final = 1.0

_ELSEWHERE = "SELECT digest FROM openclaw.session WHERE digest = ANY($1) AND holder IS NOT NULL AND holder <> $2"


async def _nothing_to_end(session: str, must: bool) -> None:
    """Nobody runs servers here yet."""


class FleetSessionHomes:
    def __init__(self, database: Database, presence: Presence, leases: Leases, notices: Notices) -> None:
        self._database = database
        self._presence = presence
        self._leases = leases
        self._notices = notices
        self._end: EndServers = _nothing_to_end
        self._held: dict[str, Lease] = {}
        self._entering = KeyLocks()
        # Sessions that another gateway asked for, by their digests; "" when anything may have happened.
        self._asked: set[str] = set()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._exit = ExitStack()

    def on_wanted(self, end: EndServers) -> None:
        self._end = end

    async def enter(self, session: str) -> None:
        lease = self._held.get(session)
        if lease is not None and lease.holder == self._presence.id:
            return
        if lease is not None:
            # Of a life that is over: another gateway may have it by now.
            await self._give_up([session], must=True)
        async with self._entering.hold(session, FOREVER):
            if session not in self._held:
                self._start()
                self._held[session] = await self._taken(session)

    async def leave(self, session: str, is_used: Callable[[], bool]) -> None:
        # Who comes back at this moment takes it anew, and not before it was given.
        async with self._entering.hold(session, FOREVER):
            lease = None if is_used() else self._held.pop(session, None)
            if lease is None:
                return
            try:
                # Nothing is written under such a lease, so no fence of it has to be remembered, and there may be very many sessions.
                await to_the_end(self._leases.give(lease, forget=True))
            except StoreError as error:
                _log.warning("%s Servers of a conversation start elsewhere when this gateway is not heard.", error)

    async def close(self) -> None:
        self._exit.close()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _taken(self, session: str) -> Lease:
        name = lease_of(session)
        give_up = time.monotonic() + self._presence.times.ttl + _BEYOND
        pauses = Pauses()
        with self._notices.wake("lease", name) as free:
            while (lease := await self._leases.take(name)) is None:
                if time.monotonic() > give_up:
                    raise StoreError(
                        "The servers of this conversation still run at another gateway, where they are in use.",
                        hint="Try again in a moment.",
                    )
                self._notices.send(HOME, name.removeprefix(PREFIX))
                await pauses.wait(free)
        return lease

    def _start(self) -> None:
        if self._task is None:
            self._exit.enter_context(self._notices.watch(HOME, self._heard))
            self._exit.callback(self._presence.on_lost(self._wake.set))
            self._task = asyncio.create_task(self._follow(), name="fleet-homes")

    def _heard(self, digest: str) -> None:
        self._asked.add(digest)
        self._wake.set()

    async def _follow(self) -> None:
        while True:
            await wait_for(self._wake, _WATCH)
            if not self._presence.may_act() or self._presence.id is None:
                # Before it is anybody else's.
                await self._give_up(list(self._held), must=True)
                continue
            if lost := [one for one, lease in self._held.items() if lease.holder != self._presence.id]:
                await self._give_up(lost, must=True)
            asked, self._asked = self._asked, set()
            if "" in asked:
                asked |= await self._elsewhere()
            if asked:
                sessions = [one for one in self._held if lease_of(one).removeprefix(PREFIX) in asked]
                await self._give_up(sessions, must=False)

    async def _give_up(self, sessions: Sequence[str], *, must: bool) -> None:
        """All at once: when the database is away, none may wait for another."""
        await asyncio.gather(*(self._end(session, must) for session in sessions))

    async def _elsewhere(self) -> set[str]:
        """Sessions of ours whose turn is another gateway's now."""
        me, held = self._presence.id, [bytes.fromhex(lease_of(session).removeprefix(PREFIX)) for session in self._held]
        if not held:
            return set()
        try:
            rows = await self._database.rows(_ELSEWHERE, held, me)
        except StoreError as error:
            _log.debug("%s", error)
            return set()
        return {row["digest"].hex() for row in rows}


def lease_of(session: str) -> str:
    # The digest is that of the session in openclaw.session.
    return PREFIX + hashlib.sha256(session.encode()).hexdigest()
