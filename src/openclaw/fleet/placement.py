"""Where a server runs of which the fleet has one process (`placement: "one"`): at the gateway that holds its lease.

A `Place` (mcp/placing.py). Whoever wants to connect to such a server takes the lease `server:NAME:DIGEST` and runs it, or finds out who
has the lease and reaches the server there (forwarding.py). The lease is held for exactly as long as the process is kept: a gateway that
dies, stops, or cannot start the server leaves it to another one. A gateway that has lost touch with the database ends the process before
its lease is anybody else's. Entries count as one server when they are the same at all gateways, whatever they say of timeouts and tools.

What only members of the fleet have is `tokenStore.key`. From it comes what a gateway shows another one to be let in, which is in no
database and good at that one address alone: who changes an address in the database learns nothing that opens any gateway.
"""

import asyncio
import hashlib
import hmac
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from openclaw.config.rules import is_loopback, plaintext_fault
from openclaw.config.servers import ServerSpec
from openclaw.content import to_json
from openclaw.errors import ConnectError, DeadlineError, LinkLostError, StoreError
from openclaw.fleet.database import Database
from openclaw.fleet.forwarding import Destination, GatewayTransport, is_served
from openclaw.fleet.leases import FIRST_LOOK, Lease, Leases, Pauses
from openclaw.fleet.notices import Notices
from openclaw.fleet.presence import Presence
from openclaw.mcp.placing import Placed
from openclaw.security.egress import parse_url
from openclaw.sessions.lock import FOREVER, KeyLocks
from openclaw.to_the_end import to_the_end

_log = logging.getLogger(__name__)

# How leases of servers begin; members.py reads them.
PREFIX: Final = "server:"
_DIGITS: Final = 16
# What the key between gateways is made of, beside the key of the tokens.
_PURPOSE: Final = b"openclaw fleet: calls between gateways, 1"
# Seconds that a holder which cannot be reached is waited for beyond the time after which a dead one is known to be dead.
_BEYOND: Final = 3.0
# Seconds between two looks at whether we may still run what we run.
_WATCH: Final = 1.0


class Here(msgspec.Struct, eq=False):
    """A server that runs here. `over` ends it; from `leave` on others are sent away, and `calls` of theirs are finished first."""

    spec: ServerSpec
    over: asyncio.Event
    calls: int = 0
    leaving: asyncio.Event = msgspec.field(default_factory=asyncio.Event)

    def begin(self) -> None:
        self.calls += 1

    def end(self) -> None:
        self.calls -= 1


class Holder(msgspec.Struct, frozen=True):
    """The gateway that has a lease, as the database knows it."""

    name: str
    url: str


class Placement:
    """`key` is that of the fleet's tokens. Serves one event loop."""

    def __init__(
        self,
        database: Database,
        presence: Presence,
        leases: Leases,
        notices: Notices,
        key: Callable[[], Awaitable[bytes]],
    ) -> None:
        self._database = database
        self._presence = presence
        self._leases = leases
        self._notices = notices
        self._key_of = key
        self._key: bytes | None = None
        self._here: dict[str, Here] = {}
        self._taking = KeyLocks()
        self._is_leaving = False

    @asynccontextmanager
    async def place(self, spec: ServerSpec) -> AsyncIterator[Placed]:
        """Raises ConnectError or StoreError."""
        digest = digest_of(spec, await self._fleet_key())
        name = f"{PREFIX}{spec.name}:{digest}"
        # To the database the servers of one gateway are one holder: they take the lease one after another.
        async with self._taking.hold(digest, FOREVER):
            if digest in self._here:
                raise _NoWayError(
                    f"It runs here already, by another entry named {spec.name} with other settings.",
                    hint='Write the same entry for every agent, or leave `placement: "one"` out of one of them.',
                )
            found = await self._found(name, spec, digest)
            if isinstance(found, Lease):
                here = self._here[digest] = Here(spec, asyncio.Event())
        if isinstance(found, Destination):
            yield Placed(GatewayTransport(found))
            return
        unheard = self._presence.on_lost(here.over.set)
        watching = asyncio.create_task(self._watch(here), name="fleet-placed")
        try:
            yield Placed(over=here.over)
        finally:
            unheard()
            watching.cancel()
            del self._here[digest]
            here.leaving.set()
            await to_the_end(self._give(found))

    def here(self, digest: str) -> Here | None:
        """What others may use of a server: None when it does not run here, or is about to run elsewhere."""
        found = self._here.get(digest)
        if found is None or found.leaving.is_set() or found.over.is_set() or not self._presence.may_act():
            return None
        return found

    async def admits(self, shown: str) -> bool:
        """Whether a gateway of this fleet shows this, and shows it to us. Raises StoreError."""
        url = self._presence.url
        return bool(url) and hmac.compare_digest(
            shown.encode("utf-8", "surrogateescape"), _shown_at(url, await self._fleet_key()).encode()
        )

    def send_away(self) -> None:
        """Take no more calls of others, and run nothing that is not running yet."""
        self._is_leaving = True
        for here in self._here.values():
            here.leaving.set()

    async def hand_over(self) -> None:
        """Leave all servers to other gateways, once the calls of others have ended. Returns when their processes have."""
        self.send_away()
        while any(here.calls for here in self._here.values()):
            await asyncio.sleep(FIRST_LOOK)
        for here in self._here.values():
            here.over.set()
        while self._here:
            await asyncio.sleep(FIRST_LOOK)

    # Finding out

    async def _found(self, name: str, spec: ServerSpec, digest: str) -> Lease | Destination:
        """The lease, or the gateway that has it and takes calls. What is about to change is waited for."""
        give_up = time.monotonic() + self._presence.times.ttl + _BEYOND
        pauses = Pauses()
        with self._notices.wake("lease", name[:200]) as free:
            while True:
                lease = None if self._is_leaving else await self._leases.take(name)
                if lease is not None and self._is_leaving:
                    await to_the_end(self._give(lease))
                elif lease is not None:
                    return lease
                holder = await self._holder(name)
                try:
                    if holder is not None:
                        found = await self._destination(holder, spec, digest)
                        if await is_served(found):
                            return found
                    problem = ConnectError("Another gateway is about to run it.")
                except _NoWayError:
                    raise
                except (ConnectError, DeadlineError, LinkLostError) as error:
                    # It may have died a moment ago, and then its lease is free soon.
                    problem = ConnectError(error.message, hint=error.hint)
                if time.monotonic() > give_up:
                    raise problem
                await pauses.wait(free)

    async def _holder(self, name: str) -> Holder | None:
        row = await self._database.row(
            "SELECT g.name, g.url FROM openclaw.lease l JOIN openclaw.gateway g ON g.id = l.holder"
            " WHERE l.name = $1 AND g.alive_until > clock_timestamp()",
            name,
        )
        return None if row is None else Holder(row["name"], row["url"])

    async def _destination(self, holder: Holder, spec: ServerSpec, digest: str) -> Destination:
        check_way(holder, self._presence.name)
        key = _shown_at(holder.url, await self._fleet_key())
        return Destination(holder.name, holder.url, key, digest, spec.connect_timeout, spec.max_message_bytes)

    async def _fleet_key(self) -> bytes:
        if self._key is None:
            self._key = hmac.digest(await self._key_of(), _PURPOSE, "sha256")
        return self._key

    # Holding

    async def _watch(self, here: Here) -> None:
        """End it when we may not start anything any more: between then and the end of the lease there is time for it to end."""
        while self._presence.may_act():
            await asyncio.sleep(_WATCH)
        here.over.set()

    async def _give(self, lease: Lease) -> None:
        try:
            await self._leases.give(lease)
        except StoreError as error:
            _log.warning("%s The lease of %s is free when this gateway is no longer heard.", error, lease.name)


class _NoWayError(ConnectError):
    """Waiting changes nothing."""


def check_way(holder: Holder, me: str) -> None:
    """Raises ConnectError when a gateway cannot be reached from here, by all that is known of it."""
    if not holder.url:
        raise ConnectError(f"It runs at {holder.name}, which takes no calls of others.")
    if fault := plaintext_fault(holder.url):
        raise _NoWayError(f"It runs at the gateway {holder.name}, whose address cannot be used: {fault}")
    if is_loopback(parse_url(holder.url).host) and _machine(holder.name) != _machine(me):
        raise _NoWayError(
            f"It runs at the gateway {holder.name}, which says no address that leads there from another machine.",
            hint="Set gateway.fleetUrl in the config of that gateway.",
        )


def _machine(name: str) -> str:
    return name.rpartition(":")[0]


def digest_of(spec: ServerSpec, key: bytes) -> str:
    """What tells a server from all others, the same at every gateway. It covers values that are secret, and so needs the fleet's key."""
    told = to_json([spec.name, spec.command, spec.args, spec.cwd, sorted(spec.env), sorted(spec.pass_env)])
    return hmac.new(key, told, hashlib.sha256).hexdigest()[:_DIGITS]


def placed_server(lease: str) -> str:
    """The name of the server that a lease is about; empty when it is about something else."""
    return lease.removeprefix(PREFIX).rpartition(":")[0] if lease.startswith(PREFIX) else ""


def _shown_at(url: str, key: bytes) -> str:
    """What a gateway shows to the one at this address."""
    return hmac.new(key, b"at " + url.encode(), hashlib.sha256).hexdigest()
