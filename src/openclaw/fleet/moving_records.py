"""Moving what else is kept in files into the database: tokens, grants, pins, pages and the audit trail, each a part of `moving.py`.

What is there already stays as it is. Files that were moved whole once are not moved again, for as long as they are the same: what was
revoked or forgotten in the database since then does not come back. Tokens are copied as they are when they are encrypted with
`tokenStore.key`; from a keychain or a key file they are opened and sealed anew, which needs their servers in the config.
"""

import base64
import hashlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

from openclaw.auth.credentials import token_files
from openclaw.auth.records import Grant, Pending, Registration, ServerRecord
from openclaw.config.servers import ServerSpec
from openclaw.content import to_json
from openclaw.errors import StoreError
from openclaw.fleet.database import Connection, Database
from openclaw.fleet.grants import GRANT, insert, read_all
from openclaw.fleet.moving import Moved, Progress
from openclaw.fleet.pins import PIN, pins_of
from openclaw.fleet.tokens import TOKEN, keep_info
from openclaw.mcp.pin_store import Pins, pins_in
from openclaw.secrets.store.encrypted import EncryptedStore, Record
from openclaw.secrets.store.key import STORE_FILE, StoreInfo
from openclaw.security.audit_file import AuditFile, record_of
from openclaw.security.grants import GrantStore

# The kind of a record that was copied as it is: only who opens it knows.
AS_IT_WAS: Final = "moved"
# Lines of the trail in one transaction.
_LINES: Final = 1_000
_DIGEST: Final = 64

Resolve = Callable[[str], Awaitable[str]]


class _Once:
    """Whether the same files were moved whole before, which the database knows."""

    def __init__(self, database: Database, part: str, source: str) -> None:
        self._database = database
        self._mark = f"moved {part} {source}"

    async def is_done(self) -> bool:
        found = await self._database.value("SELECT 1 FROM openclaw.chore WHERE name = $1", self._mark)
        return found is not None

    async def done(self) -> None:
        await self._database.value(
            "INSERT INTO openclaw.chore (name, begun) VALUES ($1, clock_timestamp()) ON CONFLICT (name) DO NOTHING",
            self._mark,
        )


class Tokens:
    """The records of a folder of tokens. `specs` are the servers of the config; `key` is `tokenStore.key`."""

    name = "tokens and registrations"

    def __init__(
        self,
        folder: Path,
        database: Database,
        target: EncryptedStore,
        *,
        specs: Sequence[ServerSpec],
        key: str,
        resolve: Resolve,
    ) -> None:
        self._folder = folder
        self._database = database
        self._target = target
        self._specs = specs
        self._key = key
        self._resolve = resolve
        self._files = _records_in(folder)
        self._once = _Once(database, "tokens", _sum(f"{name} {_sum_of(data)}" for name, data in self._files.items()))
        # Copied as they are, or by what they hold.
        self._verbatim = False

    async def copy(self, progress: Progress) -> Moved:
        if not self._files or await self._once.is_done():
            return Moved(kept=len(self._files))
        info = self._info()
        if info.source == "config":
            held = await keep_info(self._database, info)
            self._verbatim = (held.salt, held.check) == (info.salt, info.check)
        moved = await (self._copy_bytes() if self._verbatim else self._copy_opened(info))
        progress(len(self._files), len(self._files))
        return moved

    async def differences(self, progress: Progress) -> Sequence[str]:
        if not self._files or await self._once.is_done():
            return ()
        there = {
            row["name"].hex(): (row["kind"], row["sealed"])
            for row in await self._database.rows("SELECT name, kind, sealed FROM openclaw.record")
        }
        wrong: list[str] = []
        if self._verbatim:
            for name, data in self._files.items():
                kind, sealed = there.get(name, ("", b""))
                if name not in there:
                    wrong.append(f"record {name[:12]}: it is not in the database")
                elif kind == AS_IT_WAS and sealed != data:
                    wrong.append(f"record {name[:12]}: it is not the same in the database")
        else:
            source = self._source(self._info())
            async for kind, identity, record in self._known(source):
                if await self._target.read(kind, *identity) is None:
                    wrong.append(f"{record!r} of {identity[-2]}: it is not in the database")
        progress(len(self._files), len(self._files))
        if not wrong:
            await self._once.done()
        return wrong

    async def close(self) -> None:
        return None

    def _info(self) -> StoreInfo:
        try:
            return msgspec.json.decode((self._folder / STORE_FILE).read_bytes(), type=StoreInfo)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            raise StoreError(
                f"{self._folder / STORE_FILE} cannot be read, so the tokens beside it cannot be moved.",
                hint="Restore it, or remove that folder and sign in again.",
            ) from None

    async def _copy_bytes(self) -> Moved:
        async def store(connection: Connection) -> int:
            async with connection.transaction():
                number = await connection.fetchval("SELECT openclaw.bump($1)", TOKEN)
                copied = await connection.fetch(
                    "INSERT INTO openclaw.record (name, kind, sealed, revision)"
                    " SELECT n, $3, s, $4 FROM unnest($1::bytea[], $2::bytea[]) AS t (n, s)"
                    " ON CONFLICT (name) DO NOTHING RETURNING name",
                    [bytes.fromhex(name) for name in self._files],
                    list(self._files.values()),
                    AS_IT_WAS,
                    number,
                )
            return len(copied)

        copied = await self._database.run(store)
        return Moved(copied, len(self._files) - copied)

    async def _copy_opened(self, info: StoreInfo) -> Moved:
        copied = kept = 0
        async for kind, identity, record in self._known(self._source(info)):
            if await self._target.read(kind, *identity) is not None:
                kept += 1
                continue
            await self._target.write(record, *identity)
            if await self._target.read(kind, *identity) != record:
                raise StoreError("A record is not read back from the database as it was written.")
            copied += 1
        left = len(self._files) - copied - kept
        refused = (
            (
                f"{left} records belong to servers that are not in the config any more: sign in again where they are needed",
            )
            if left
            else ()
        )
        return Moved(copied, kept, refused)

    def _source(self, info: StoreInfo) -> EncryptedStore:
        return token_files(self._folder, resolve=self._resolve, key=self._key if info.source == "config" else "")

    async def _known(self, source: EncryptedStore) -> AsyncIterator[tuple[type[Record], tuple[str, ...], Record]]:
        """The records of the servers that are configured."""
        for url, owner in sorted({(await self._resolve(spec.url), spec.owner) for spec in self._specs if spec.url}):
            server = await source.read(ServerRecord, url, owner)
            known = server or ServerRecord()
            wanted: list[tuple[type[Record], tuple[str, ...]]] = [
                (ServerRecord, (url, owner)),
                (Pending, (url, owner)),
                (Grant, (known.issuer, known.resource, url, owner)),
            ]
            issuers = sorted({known.issuer, known.registered_at} - {""})
            wanted += [(Registration, (issuer, url, owner)) for issuer in issuers]
            for kind, identity in wanted:
                record: Record | None = await source.read(kind, *identity)
                if record is not None:
                    yield kind, identity, record


class GrantsMoved:
    """The grants of a file."""

    name = "grants"

    def __init__(self, file: Path, database: Database) -> None:
        self._source = GrantStore(file)
        self._database = database
        self._once = _Once(database, "grants", _sum_of(_bytes(file)))

    async def copy(self, progress: Progress) -> Moved:
        await self._source.check()
        kept = await self._source.kept()
        if not kept or await self._once.is_done():
            return Moved(kept=len(kept))

        async def store(connection: Connection) -> int:
            async with connection.transaction():
                await connection.fetchval("SELECT openclaw.bump($1)", GRANT)
                before = await connection.fetchval("SELECT count(*) FROM openclaw.approval_grant")
                await insert(connection, kept)
                now: int = await connection.fetchval("SELECT count(*) FROM openclaw.approval_grant")
            return now - int(before)

        copied = await self._database.run(store)
        progress(len(kept), len(kept))
        return Moved(copied, len(kept) - copied)

    async def differences(self, progress: Progress) -> Sequence[str]:
        kept = await self._source.kept()
        if not kept or await self._once.is_done():
            return ()
        there = {one.grant.id: one for one in await read_all(self._database)}
        wrong = [
            f"grant {one.grant.id}: {'it is not in the database' if one.grant.id not in there else 'it is not the same in the database'}"
            for one in kept
            if one.grant.id not in there or there[one.grant.id].grant != one.grant
        ]
        progress(len(kept), len(kept))
        if not wrong:
            await self._once.done()
        return wrong

    async def close(self) -> None:
        await self._source.close()


class PinsMoved:
    """The pins of a folder, a file for each server."""

    name = "pins"

    def __init__(self, folder: Path, database: Database) -> None:
        self._database = database
        self._files = {path.stem: _bytes(path) for path in sorted(folder.glob("*.json"))}
        self._once = _Once(database, "pins", _sum(f"{name} {_sum_of(data)}" for name, data in self._files.items()))
        self._refused: dict[str, str] = {}

    async def copy(self, progress: Progress) -> Moved:
        servers = self._servers()
        count = sum(len(pins.tools) for pins, _ in servers.values())
        if not servers or await self._once.is_done():
            return Moved(kept=count, refused=tuple(self._refused.values()))
        copied = 0
        for done, (server, (pins, name)) in enumerate(servers.items(), 1):
            rows = {tool: to_json(pin) for tool, pin in pins.tools.items()}
            rows[""] = to_json({"told": pins.told, "version": pins.version, "name": name})
            copied += await self._database.run(_inserted(server, rows))
            progress(done, len(servers))
        return Moved(copied, count - copied, tuple(self._refused.values()))

    async def differences(self, progress: Progress) -> Sequence[str]:
        servers = self._servers()
        if not servers or await self._once.is_done():
            return ()
        wrong: list[str] = []
        for done, (server, (pins, name)) in enumerate(servers.items(), 1):
            there = pins_of(await self._database.rows("SELECT tool, pin FROM openclaw.pin WHERE server = $1", server))
            wrong += [
                f"{name or server}: another form of {tool} is pinned in the database"
                for tool, pin in pins.tools.items()
                if there.tools.get(tool) != pin
            ]
            progress(done, len(servers))
        if not wrong:
            await self._once.done()
        return wrong

    async def close(self) -> None:
        return None

    def _servers(self) -> dict[str, tuple[Pins, str]]:
        """By identity: the pins, and what the server is called."""
        found: dict[str, tuple[Pins, str]] = {}
        for server, data in self._files.items():
            try:
                found[server] = pins_in(data), msgspec.json.decode(data, type=_Named).server
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                self._refused[server] = f"pins/{server}.json is damaged, and is left out"
        return found


class _Named(msgspec.Struct):
    server: str = ""


class PagesMoved:
    """The pages that are signed in, of a file."""

    name = "signed-in pages"

    def __init__(self, file: Path, database: Database) -> None:
        self._database = database
        data = _bytes(file)
        try:
            self._pages = msgspec.json.decode(data, type=list[_Page]) if data else []
        except (msgspec.MsgspecError, UnicodeDecodeError):
            self._pages = []
        self._once = _Once(database, "pages", _sum_of(data))

    async def copy(self, progress: Progress) -> Moved:
        if not self._pages or await self._once.is_done():
            return Moved(kept=len(self._pages))

        async def store(connection: Connection) -> int:
            async with connection.transaction():
                await connection.fetchval("SELECT openclaw.bump('page')")
                copied = await connection.fetch(
                    "INSERT INTO openclaw.page (digest, created, used)"
                    " SELECT d, to_timestamp(c), to_timestamp(u) FROM unnest($1::bytea[], $2::float8[], $3::float8[]) AS t (d, c, u)"
                    " ON CONFLICT (digest) DO NOTHING RETURNING digest",
                    [bytes.fromhex(one.digest) for one in self._pages],
                    [one.created for one in self._pages],
                    [one.used for one in self._pages],
                )
            return len(copied)

        copied = await self._database.run(store)
        return Moved(copied, len(self._pages) - copied)

    async def differences(self, progress: Progress) -> Sequence[str]:
        if not self._pages or await self._once.is_done():
            return ()
        there = {row["digest"].hex() for row in await self._database.rows("SELECT digest FROM openclaw.page")}
        wrong = [f"page {one.digest[:12]}: it is not in the database" for one in self._pages if one.digest not in there]
        if not wrong:
            await self._once.done()
        return wrong

    async def close(self) -> None:
        return None


class _Page(msgspec.Struct):
    digest: str
    created: float
    used: float


class AuditMoved:
    """The audit trail of a machine, as one chain. `name` is the gateway's: the same trail is the same chain."""

    name = "lines of the audit trail"

    def __init__(self, file: AuditFile, database: Database, name: str) -> None:
        self._file = file
        self._database = database
        first = next(file.lines(), b"")
        self._chain = f"{name}/file-{hashlib.sha256(first).hexdigest()[:8]}"

    async def copy(self, progress: Progress) -> Moved:
        copied = done = 0
        last = datetime.fromtimestamp(0, UTC)
        there: int = await self._database.value(
            "SELECT coalesce(max(n), 0) FROM openclaw.audit WHERE chain = $1", self._chain
        )
        lines = self._lines()
        while lot := list(islice(lines, _LINES)):
            times: list[datetime] = []
            for line in lot:
                last = max(last, _time_of(line) or last)
                times.append(last)
            if done + len(lot) > there:
                copied += await self._database.run(_appended(self._chain, done, lot, times))
            done += len(lot)
            progress(done, done)
        return Moved(copied, done - copied)

    async def differences(self, progress: Progress) -> Sequence[str]:
        done, wrong = 0, 0
        lines = self._lines()
        while lot := list(islice(lines, _LINES)):
            rows = await self._database.rows(
                "SELECT line FROM openclaw.audit WHERE chain = $1 AND n > $2 AND n <= $3 ORDER BY n",
                *(self._chain, done, done + len(lot)),
            )
            if [row["line"] for row in rows] != lot:
                wrong += 1
            done += len(lot)
            progress(done, done)
        return [f"{wrong} lots of {_LINES} lines are not the same in the database"] if wrong else []

    async def close(self) -> None:
        self._file.close()

    def _lines(self) -> Iterator[bytes]:
        """Those that are whole, with their ends."""
        return (line for line in self._file.lines() if line.endswith(b"\n") and record_of(line) is not None)


async def exported(database: Database) -> AsyncIterator[dict[str, Any]]:
    """Everything of these parts, a value each. Tokens stay sealed."""
    for row in await database.rows("SELECT name, kind, sealed FROM openclaw.record ORDER BY name"):
        sealed = base64.b64encode(row["sealed"]).decode("ascii")
        yield {"type": "record", "name": row["name"].hex(), "kind": row["kind"], "sealed": sealed}
    for kept in await read_all(database):
        yield {"type": "grant", "lastUsed": kept.last_used, **msgspec.to_builtins(kept.grant)}
    for row in await database.rows("SELECT server, tool, pin FROM openclaw.pin WHERE tool <> '' ORDER BY server, tool"):
        yield {"type": "pin", "server": row["server"], "tool": row["tool"], "pin": msgspec.json.decode(row["pin"])}


async def counts(database: Database) -> dict[str, int]:
    """How many there are of each."""
    row = await database.row(
        "SELECT (SELECT count(*) FROM openclaw.record WHERE kind <> 'StoreInfo') AS records,"
        " (SELECT count(*) FROM openclaw.approval_grant) AS grants,"
        " (SELECT count(*) FROM openclaw.pin WHERE tool <> '') AS pins,"
        " (SELECT count(*) FROM openclaw.page) AS pages,"
        " (SELECT count(*) FROM openclaw.audit) AS lines"
    )
    return {} if row is None else {name: int(count) for name, count in row.items()}


def _inserted(server: str, rows: dict[str, bytes]) -> Callable[[Connection], Awaitable[int]]:
    async def store(connection: Connection) -> int:
        async with connection.transaction():
            await connection.fetchval("SELECT openclaw.bump($1)", PIN)
            copied = await connection.fetch(
                "INSERT INTO openclaw.pin (server, tool, pin) SELECT $1, t, p FROM unnest($2::text[], $3::bytea[]) AS x (t, p)"
                " ON CONFLICT (server, tool) DO NOTHING RETURNING tool",
                *(server, list(rows), list(rows.values())),
            )
        return len([row for row in copied if row["tool"]])

    return store


def _appended(
    chain: str, before: int, lines: Sequence[bytes], times: Sequence[datetime]
) -> Callable[[Connection], Awaitable[int]]:
    async def store(connection: Connection) -> int:
        copied = await connection.fetch(
            "INSERT INTO openclaw.audit (chain, n, line, at) SELECT $1, n, l, a"
            " FROM unnest($2::bigint[], $3::bytea[], $4::timestamptz[]) AS t (n, l, a) ON CONFLICT (chain, n) DO NOTHING RETURNING n",
            *(chain, [before + place for place in range(1, len(lines) + 1)], list(lines), list(times)),
        )
        return len(copied)

    return store


def _time_of(line: bytes) -> datetime | None:
    """When a line was written, by the clock of its machine; None when it does not say."""
    record = record_of(line) or {}
    try:
        found = datetime.fromisoformat(str(record.get("time", "")))
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _records_in(folder: Path) -> dict[str, bytes]:
    names = sorted(name.removesuffix(".json") for name in _listed(folder) if name.endswith(".json"))
    return {name: _bytes(folder / f"{name}.json") for name in names if len(name) == _DIGEST}


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""


def _sum_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _sum(parts: Iterable[str]) -> str:
    return _sum_of("\n".join(parts).encode())
