"""Sealed records (tokens, registrations, sign-ins under way) in a table that all gateways share, and the key that opens them.

The records are the same as in files (`secrets/store/`): encrypted, under names that tell nothing. Owns that a refresh token is redeemed
once by all gateways together: whoever renews holds the lease `token:…` of the name, and writes only in the place of the revision it read.
What others changed is known from a copy of all revisions, and no older than that copy may be (`revisions.py`).

The key is never here: only what tells a wrong one from a damaged record. It has to be the same for all, and so it comes from the config.
"""

import asyncio
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from secrets import token_hex
from typing import Final

import msgspec

from openclaw.content import to_json
from openclaw.errors import StoreError
from openclaw.fleet.database import Database
from openclaw.fleet.leases import Leases
from openclaw.fleet.revisions import Revisions
from openclaw.redact import SECRET_SCHEME
from openclaw.secrets.store.key import TOKENS, Source, StoreInfo, check_value, derive
from openclaw.secrets.store.records import LOCK_PATIENCE, Sealed
from openclaw.single_flight import SingleFlight

TOKEN: Final = "token"
# The record that says how the others are encrypted; no digest looks like this.
_INFO: Final = b"store"

_KEEP = "SELECT openclaw.keep_record($1, $2, $3, $4)"


class TokenRecords:
    """A `Records` (secrets/store/records.py)."""

    def __init__(self, database: Database, leases: Leases, revisions: Revisions) -> None:
        self._database = database
        self._leases = leases
        self._revisions = revisions
        self._stamps: dict[str, int] = {}
        self.changes = 0
        revisions.follow(TOKEN, self._load)

    @property
    def is_checked(self) -> bool:
        return self._revisions.is_checked

    async def check(self) -> None:
        await self._revisions.check()

    def stamp(self, name: str) -> int:
        return self._stamps.get(name, 0)

    async def read(self, name: str) -> Sealed | None:
        row = await self._database.row(
            "SELECT sealed, revision FROM openclaw.record WHERE name = $1", bytes.fromhex(name)
        )
        return None if row is None else Sealed(row["sealed"], row["revision"])

    async def write(self, name: str, kind: str, content: bytes, *, after: int | None = None) -> bool:
        values = (bytes.fromhex(name), kind, content, after)
        # Brought to its end also when the caller leaves: a rotated token that is not kept is lost.
        revision = await self._database.settled(lambda connection: connection.fetchval(_KEEP, *values))
        if revision is None:
            return False
        self._stamps[name] = revision
        self.changes += 1
        return True

    async def delete(self, name: str) -> bool:
        is_gone = await self._database.value("SELECT openclaw.delete_record($1)", bytes.fromhex(name))
        self._stamps.pop(name, None)
        self.changes += 1
        return bool(is_gone)

    @asynccontextmanager
    async def lock(self, name: str) -> AsyncIterator[None]:
        async with self._leases.hold(f"token:{name}", patience=LOCK_PATIENCE):
            yield

    def shown(self, name: str = "") -> str:
        return f"The record {name[:12]} of {self._database.place}" if name else self._database.place

    async def _load(self) -> None:
        rows = await self._database.rows("SELECT name, revision FROM openclaw.record")
        self._stamps = {row["name"].hex(): row["revision"] for row in rows}


class SharedKey:
    """A `Key` (secrets/store/key.py). `configured` is `tokenStore.key`, a reference, and `resolve` gives its value."""

    contents = TOKENS

    def __init__(self, database: Database, configured: str, resolve: Callable[[str], Awaitable[str]]) -> None:
        self._database = database
        self._configured = configured
        self._resolve = resolve
        self._key: bytes | None = None
        self._flights: SingleFlight[bytes] = SingleFlight("fleet-key", goes_on=True)

    async def get(self) -> bytes:
        if self._key is None:
            self._key = await self._flights.join("key", self._get)
        return self._key

    async def source(self) -> Source | None:
        return None if await read_info(self._database) is None else "config"

    async def warn(self) -> str:
        return ""

    async def _get(self) -> bytes:
        check_shared_key(self._configured)
        value = await self._resolve(self._configured)
        info = await read_info(self._database)
        if info is None:
            salt = token_hex(16)
            key = await asyncio.to_thread(derive, value, salt)
            # Of several gateways that begin at the same time, one is the first.
            info = await keep_info(self._database, StoreInfo("config", token_hex(8), salt, check_value(key)))
        key = await asyncio.to_thread(derive, value, info.salt)
        if not hmac.compare_digest(check_value(key), info.check):
            raise StoreError(
                f"The tokens in {self._database.place} were encrypted with another key than `tokenStore.key` of this gateway.",
                hint="Give all gateways the same key.",
            )
        return key


def check_shared_key(configured: str) -> None:
    """Raises StoreError unless `tokenStore.key` is something that every gateway can have."""
    if SECRET_SCHEME not in configured:
        raise StoreError(
            "Gateways that share a database share their tokens, and a key in the keychain or in a file of one machine opens them nowhere"
            " else: `tokenStore.key` has to be a secret:// reference.",
            hint="Set tokenStore.key to a reference that gives the same value to every gateway, such as secret://env/OPENCLAW_TOKEN_KEY.",
        )


async def read_info(database: Database) -> StoreInfo | None:
    """How the records are encrypted; None while there are none. Raises StoreError."""
    found = await database.value("SELECT sealed FROM openclaw.record WHERE name = $1", _INFO)
    if found is None:
        return None
    try:
        return msgspec.json.decode(found, type=StoreInfo)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise StoreError(
            f"What says how the tokens in {database.place} are encrypted is damaged.", hint="Restore the database."
        ) from None


async def keep_info(database: Database, info: StoreInfo) -> StoreInfo:
    """Say how records are encrypted, unless somebody has said so. What holds. Raises StoreError."""
    await database.value(
        "INSERT INTO openclaw.record (name, kind, sealed) VALUES ($1, 'StoreInfo', $2) ON CONFLICT (name) DO NOTHING",
        *(_INFO, to_json(info)),
    )
    found = await read_info(database)
    assert found is not None  # it was kept
    return found
