"""Moving what is kept in files into the database: part by part, each copied and then compared.

A part says what it is of, copies what is not there yet, and says what differs afterwards. Copying may be ended at any moment and begun
again: what is there already is left as it is, and nothing in the files is changed. Further parts are further entries in the list of whoever
moves (`commands/store.py`).
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from openclaw.fleet.database import Connection, Database
from openclaw.fleet.sessions import PostgresStore
from openclaw.log import one_line
from openclaw.sessions.event import Packed, is_start, pack
from openclaw.sessions.sqlite import SqliteStore
from openclaw.sessions.store import SessionInfo, Transcript, UnknownSessionError
from openclaw.sessions.title import opening_of

# Conversations in one transaction: a commit costs more than they do, and what was begun when the process is killed is copied again.
_LOT = 50
_SHOWN_KEY = 80

# Told how many are done, of how many.
Progress = Callable[[int, int], None]


class Moved(msgspec.Struct, frozen=True):
    """`copied` now, `kept`: there already, and the same or further on; `refused`: what could not be, and why."""

    copied: int = 0
    kept: int = 0
    refused: tuple[str, ...] = ()


class Part(Protocol):
    @property
    def name(self) -> str:
        """What it is of, in the plural: `conversations`."""
        ...

    async def copy(self, progress: Progress) -> Moved:
        """Raises StoreError."""
        ...

    async def differences(self, progress: Progress) -> Sequence[str]:
        """What is in the files and not the same in the database; nothing when all is well. Raises StoreError."""
        ...

    async def close(self) -> None: ...


class Sessions:
    """The conversations of a session file."""

    name = "conversations"

    def __init__(self, file: Path, database: Database, target: PostgresStore) -> None:
        self._source = SqliteStore(file)
        self._database = database
        self._target = target

    async def copy(self, progress: Progress) -> Moved:
        infos = await self._source.list()
        there = {
            bytes(row["digest"]): (row["id"], row["events"], row["updated_ms"])
            for row in await self._database.rows(
                "SELECT digest, id, events, updated_ms FROM openclaw.session WHERE events > 0"
            )
        }
        copied = kept = 0
        refused: list[str] = []
        lot: list[Transcript] = []
        for number, info in enumerate(infos, 1):
            known = there.get(_digest(info.key))
            if known is not None and known[0] != info.id:
                refused.append(f"{_shown(info.key)}: another conversation has this key in the database")
            elif known is not None and known[2] >= round(info.updated * 1000):
                kept += 1
            else:
                lot.append(await self._source.show(info.key))
            if len(lot) == _LOT or number == len(infos):
                outcomes = await self._store(lot)
                copied += outcomes.count("copied")
                kept += outcomes.count("kept")
                refused += [
                    f"{_shown(one.info.key)}: it is in the database too, and went on there and here"
                    for one, outcome in zip(lot, outcomes, strict=True)
                    if outcome == "refused"
                ]
                lot = []
                progress(number, len(infos))
        return Moved(copied, kept, tuple(refused))

    async def differences(self, progress: Progress) -> Sequence[str]:
        infos = await self._source.list()
        found: list[str] = []
        for number, info in enumerate(infos, 1):
            if problem := await self._difference(info):
                found.append(f"{_shown(info.key)}: {problem}")
            if number % _LOT == 0 or number == len(infos):
                progress(number, len(infos))
        return found

    async def close(self) -> None:
        await self._source.close()

    async def _difference(self, info: SessionInfo) -> str:
        here = await self._source.show(info.key)
        try:
            there = await self._target.show(info.key)
        except UnknownSessionError:
            return "it is not in the database"
        if there.info.id != here.info.id:
            return "another conversation has this key in the database"
        # It may have gone on there since.
        if there.entries[: len(here.entries)] != here.entries:
            return "what was said is not the same in the database"
        same = (here.info.agent, here.info.created) == (there.info.agent, there.info.created)
        if len(there.entries) == len(here.entries):
            same = same and here.info == there.info
        return "" if same else "its title or its times are not the same in the database"

    async def _store(self, lot: Sequence[Transcript]) -> list[str]:
        async def store(connection: Connection) -> list[str]:
            async with connection.transaction():
                return [await _store_one(connection, transcript) for transcript in lot]

        return await self._database.run(store) if lot else []


async def _store_one(connection: Connection, transcript: Transcript) -> str:
    """`copied`, `kept` when it has gone on there, `refused` when it has on both sides. Twice is the same as once."""
    info, entries = transcript.info, transcript.entries
    packed = [pack(entry.event) for entry in entries]
    row = await connection.fetchrow(
        "SELECT number, id, events, holder IS NOT NULL AND openclaw.alive(holder) AS busy FROM openclaw.session"
        " WHERE digest = $1 FOR UPDATE",
        _digest(info.key),
    )
    if row is not None and row["events"]:
        bodies = await connection.fetch(
            "SELECT body FROM openclaw.event WHERE session = $1 ORDER BY seq", row["number"]
        )
        there = [bytes(one["body"]) for one in bodies]
        here = [one.body for one in packed]
        if row["id"] != info.id or row["busy"] or there != here[: len(there)]:
            return "kept" if row["id"] == info.id and there[: len(here)] == here else "refused"
    if row is not None:
        # An earlier state of the same, or one in which nothing was said.
        await connection.execute("DELETE FROM openclaw.session WHERE number = $1", row["number"])
    await _insert(connection, transcript, packed)
    return "copied"


async def _insert(connection: Connection, transcript: Transcript, packed: Sequence[Packed]) -> None:
    info, entries = transcript.info, transcript.entries
    opening = opening_of(entry.event for entry in entries)
    name = "" if info.title == opening else info.title
    starts = [place for place, one in enumerate(packed, 1) if is_start(one.event)]
    number = await connection.fetchval(
        "INSERT INTO openclaw.session (digest, key, key_folded, id, agent, created_ms, updated_ms, events, messages, base, size,"
        " name, name_folded, opening, opening_folded) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
        " RETURNING number",
        *(_digest(info.key), info.key.encode(), info.key.casefold().encode("utf-8", "replace"), info.id, info.agent),
        *(round(info.created * 1000), round(info.updated * 1000), len(entries), info.messages),
        starts[-1] if starts else 0,
        sum(len(one.body) + sum(map(len, one.media)) for one in packed),
        *(name, name.casefold(), opening, opening.casefold()),
    )
    await connection.executemany(
        "INSERT INTO openclaw.event (session, seq, at_ms, body) VALUES ($1, $2, $3, $4)",
        [
            (number, seq, round(entry.at * 1000), one.body)
            for seq, (entry, one) in enumerate(zip(entries, packed, strict=True), 1)
        ],
    )
    await connection.executemany(
        "INSERT INTO openclaw.media (session, seq, position, body) VALUES ($1, $2, $3, $4)",
        [(number, seq, position, data) for seq, one in enumerate(packed, 1) for position, data in enumerate(one.media)],
    )


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


def _shown(key: str) -> str:
    return one_line(key, _SHOWN_KEY)
