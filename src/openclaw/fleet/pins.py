"""Pins that all gateways share: whichever sees a tool first decides what it looks like for all, and what a person accepts at one counts
at every one.

One row a tool, so that gateways which list a server at the same time add to each other; one more, for the tool without a name, has what
is known of the server as a whole. Read when a server was listed, never at a call. When somebody else changes what we have read, whoever
wants to know is told which servers it is about.
"""

import asyncio
import hashlib
from collections.abc import Callable, Collection, Sequence
from typing import Final

import msgspec

from openclaw.config.servers import ServerSpec
from openclaw.content import to_json
from openclaw.errors import StoreError
from openclaw.fleet.database import Connection, Database, Record
from openclaw.fleet.revisions import Revisions
from openclaw.mcp.cache import identity
from openclaw.mcp.pin_store import Pins
from openclaw.mcp.tools.pins import Pin
from openclaw.sessions.lock import FOREVER, KeyLocks

PIN: Final = "pin"
# No tool has such a name.
_WHOLE: Final = ""
# What no pins come to.
_NOTHING: Final = ""

_READ = "SELECT tool, pin FROM openclaw.pin WHERE server = $1"
# Where the row is another by now, it stays.
_ADD = (
    "INSERT INTO openclaw.pin AS p (server, tool, pin) SELECT $1, t, n FROM unnest($2::text[], $3::bytea[]) AS fresh (t, n)"
    " ON CONFLICT (server, tool) DO NOTHING"
)
_CHANGE = (
    "UPDATE openclaw.pin AS p SET pin = n FROM unnest($2::text[], $3::bytea[], $4::bytea[]) AS changed (t, o, n)"
    " WHERE p.server = $1 AND p.tool = t AND p.pin = o"
)
_SET = (
    "INSERT INTO openclaw.pin AS p (server, tool, pin) SELECT $1, t, n FROM unnest($2::text[], $3::bytea[]) AS now (t, n)"
    " ON CONFLICT (server, tool) DO UPDATE SET pin = excluded.pin WHERE p.pin <> excluded.pin"
)
# What the pins of each server come to: the digests of its tools, in the order of their bytes.
_SUMS = (
    "SELECT server, md5(string_agg(md5(pin), '' ORDER BY tool COLLATE \"C\")) AS sum FROM openclaw.pin"
    " WHERE server = ANY($1::text[]) AND tool <> '' GROUP BY server"
)
# To make very many pins at once would hold up everybody.
_MANY = 500

_pin = msgspec.json.Decoder(Pin)


class _Whole(msgspec.Struct):
    """What is known of a server's tools together, and the server's name for people who look into the table."""

    told: list[str] = []
    version: str = ""
    name: str = ""


_whole = msgspec.json.Decoder(_Whole)


class FleetPins:
    """A `PinStore` (mcp/pin_store.py)."""

    def __init__(self, database: Database, revisions: Revisions) -> None:
        self._database = database
        # Of each server that was read here, what its pins came to.
        self._known: dict[str, str] = {}
        # What is read or written here of a server, one after the other.
        self._at_work = KeyLocks()
        self._heard: Callable[[Collection[str]], None] = lambda servers: None
        revisions.follow(PIN, self._look)

    def on_changed(self, heard: Callable[[Collection[str]], None]) -> None:
        """`heard` is called with the identities of servers whose pins another gateway changed."""
        self._heard = heard

    async def read(self, spec: ServerSpec) -> Pins:
        async with self._at_work.hold(identity(spec), FOREVER):
            rows = await self._read(identity(spec))
        return await asyncio.to_thread(self._pins_of, spec, rows) if len(rows) > _MANY else self._pins_of(spec, rows)

    async def add(self, spec: ServerSpec, before: Pins, after: Pins) -> Pins:
        server = identity(spec)
        fresh = {name: to_json(pin) for name, pin in after.tools.items() if name not in before.tools}
        changed = {
            name: (to_json(before.tools[name]), to_json(pin))
            for name, pin in after.tools.items()
            if name in before.tools and before.tools[name] != pin
        }

        async def write(connection: Connection) -> list[Record]:
            async with connection.transaction():
                await connection.fetchval("SELECT openclaw.bump($1)", PIN)
                await connection.execute(_ADD, server, list(fresh), list(fresh.values()))
                if changed:
                    olds, news = zip(*changed.values(), strict=True)
                    await connection.execute(_CHANGE, server, list(changed), list(olds), list(news))
                await connection.execute(_SET, server, [_WHOLE], [_of_whole(spec, after)])
                rows: list[Record] = await connection.fetch(_READ, server)
            return rows

        async with self._at_work.hold(server, FOREVER):
            rows = await self._database.settled(write)
            self._known[server] = _sum_of(rows)
        return self._pins_of(spec, rows)

    async def accept(self, spec: ServerSpec, pins: Pins) -> None:
        server = identity(spec)
        async with self._at_work.hold(server, FOREVER):
            await self._database.settled(lambda connection: keep(connection, server, spec.name, pins))
            await self._read(server)

    def _pins_of(self, spec: ServerSpec, rows: Sequence[Record]) -> Pins:
        try:
            return pins_of(rows)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise StoreError(
                f"What is pinned of {spec.name} in {self._database.place} cannot be read.",
                hint="It may be of a later OpenClaw: update this gateway.",
            ) from None

    async def _read(self, server: str) -> Sequence[Record]:
        rows = await self._database.rows(_READ, server)
        self._known[server] = _sum_of(rows)
        return rows

    async def _look(self) -> None:
        """Something was pinned somewhere: is it something that we have read?"""
        changed: set[str] = set()
        try:
            for server in await self._differing(self._known):
                # The notice of what we write ourselves may be here before the answer to it: then it is no news.
                async with self._at_work.hold(server, FOREVER):
                    if found := await self._differing([server]):
                        self._known |= found
                        changed.add(server)
        finally:
            # Also when the database fails at the next one: what is known from now on would not be found again.
            if changed:
                self._heard(changed)

    async def _differing(self, servers: Collection[str]) -> dict[str, str]:
        """Of these servers, those whose pins are others than we know, and what they come to now."""
        if not servers:
            return {}
        found = dict.fromkeys(servers, _NOTHING)
        found |= {row["server"]: row["sum"] for row in await self._database.rows(_SUMS, list(servers))}
        return {server: total for server, total in found.items() if self._known.get(server) != total}


async def keep(connection: Connection, server: str, name: str, pins: Pins) -> None:
    """Whatever was there of these tools is replaced."""
    rows = {tool: to_json(pin) for tool, pin in pins.tools.items()}
    rows[_WHOLE] = to_json(_Whole(pins.told, pins.version, name))
    async with connection.transaction():
        await connection.fetchval("SELECT openclaw.bump($1)", PIN)
        await connection.execute(_SET, server, list(rows), list(rows.values()))


def pins_of(rows: Sequence[Record]) -> Pins:
    """The pins of one server."""
    whole = _Whole()
    tools: dict[str, Pin] = {}
    for row in rows:
        if row["tool"] == _WHOLE:
            whole = _whole.decode(row["pin"])
        else:
            tools[row["tool"]] = _pin.decode(row["pin"])
    return Pins(tools, whole.told, whole.version)


def _sum_of(rows: Sequence[Record]) -> str:
    """The same as `_SUMS` gives."""
    pins = sorted((row["tool"].encode(), row["pin"]) for row in rows if row["tool"] != _WHOLE)
    return _md5("".join(_md5(pin) for _, pin in pins).encode()) if pins else _NOTHING


def _md5(data: bytes) -> str:
    # To notice a change, and nothing else.
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _of_whole(spec: ServerSpec, pins: Pins) -> bytes:
    return to_json(_Whole(pins.told, pins.version, spec.name))
