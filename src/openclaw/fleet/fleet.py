"""One gateway's part in a fleet: the database, who it is there, and what is kept there, put together.

Nothing is opened by making one. A gateway begins at its start (`begin`); a command is part of the fleet from its first turn on, to its end.
"""

import logging
from collections.abc import Awaitable, Callable

from openclaw.config.sections import GatewaySection
from openclaw.errors import StoreError
from openclaw.fleet.audit import FleetAudit
from openclaw.fleet.database import PATIENCE, Address, Database
from openclaw.fleet.faults import UnreachableError
from openclaw.fleet.grants import FleetGrants
from openclaw.fleet.leases import Leases
from openclaw.fleet.notices import Notices
from openclaw.fleet.pages import FleetPages
from openclaw.fleet.pins import FleetPins
from openclaw.fleet.placement import Placement
from openclaw.fleet.presence import Presence, Times, Who
from openclaw.fleet.questions import FleetBoard
from openclaw.fleet.revisions import Revisions
from openclaw.fleet.runs import FleetRuns
from openclaw.fleet.session_homes import FleetSessionHomes
from openclaw.fleet.sessions import PostgresStore
from openclaw.fleet.settling import Settling
from openclaw.fleet.tokens import SharedKey, TokenRecords
from openclaw.secrets.store.encrypted import EncryptedStore
from openclaw.security.audit import AuditTrail
from openclaw.sessions.store import new_session_id

_log = logging.getLogger(__name__)


class Fleet:
    """`address` is asked for when the database is first needed."""

    def __init__(
        self,
        address: Callable[[], Awaitable[Address]],
        who: Who,
        *,
        times: Times | None = None,
        patience: float = PATIENCE,
        clock: Callable[[], float] | None = None,
        new_id: Callable[[], str] = new_session_id,
    ) -> None:
        self.database = Database(address, patience=patience)
        self.notices = Notices(self.database)
        self.presence = Presence(self.database, self.notices.line, who, times or Times())
        self._settling = Settling(self.database, self.presence)
        shared = (self.database, self.presence, self.notices, self._settling)
        self.leases = Leases(*shared)
        self.sessions = PostgresStore(*shared, clock=clock, new_id=new_id)
        self.revisions = Revisions(self.database, self.notices)
        self.tokens = TokenRecords(self.database, self.leases, self.revisions)
        self.grants = FleetGrants(self.database, self.revisions)
        self.pins = FleetPins(self.database, self.revisions)
        self.pages = FleetPages(self.database, self.revisions)
        self.board = FleetBoard(self.database, self.presence, self.notices)
        self.runs = FleetRuns(*shared)
        self.homes = FleetSessionHomes(self.database, self.presence, self.leases, self.notices)
        self._name = who.name

    def token_store(self, key: str, resolve: Callable[[str], Awaitable[str]]) -> EncryptedStore:
        """Tokens of all gateways. `key` is `tokenStore.key`, a reference that `resolve` replaces."""
        return EncryptedStore(self.tokens, SharedKey(self.database, key, resolve))

    def placement(self, key: str, resolve: Callable[[str], Awaitable[str]]) -> Placement:
        """Where servers run of which there is one for all gateways. `key` is as for the tokens."""
        shared = SharedKey(self.database, key, resolve)
        return Placement(self.database, self.presence, self.leases, self.notices, shared.get)

    def audit_trail(self, instead: AuditTrail) -> FleetAudit:
        """The trail of all gateways; `instead` takes what the database cannot. To be ended by whoever asked for it."""
        return FleetAudit(self.database, self._name, instead)

    async def open(self) -> None:
        """Know from now on what others change: for a gateway and for a command alike. A database that is away is waited for by nobody."""
        await self.revisions.start()

    async def begin(self) -> None:
        """Be there for others from now on, or as soon as the database can be reached. Raises StoreError for what does not pass."""
        try:
            await self.presence.begin()
        except UnreachableError as error:
            _log.warning("%s Until then nothing is started here.", error)
            self.presence.keep()
        self.notices.start()
        await self.open()
        self.board.start()
        self.runs.start()

    async def reached_at(self, section: GatewaySection, port: int) -> None:
        """Tell others where this gateway listens. Without an address in the config, only those of the same machine reach it. Raises
        StoreError."""
        near = f"http://127.0.0.1:{port}" if section.bind in ("loopback", "lan") else ""
        await self.presence.reached_at(section.fleet_url or near)

    async def configured(self, digest: str) -> None:
        """This gateway has another config from now on: others are told, if the database is there."""
        try:
            await self.presence.configured(digest)
        except StoreError as error:
            _log.debug("the others do not know of the new config: %s", error)

    def may_act(self) -> bool:
        """Whether a call of a tool or of a model may be started now."""
        return self.presence.may_act()

    async def close(self) -> None:
        await self.homes.close()
        await self.runs.close()
        await self.board.close()
        await self.revisions.close()
        await self.grants.close()
        await self.sessions.close()
        await self._settling.close()
        await self.presence.close()
        await self.notices.close()
        await self.database.close()
