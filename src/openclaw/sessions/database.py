"""The session file: plain, blocking calls on one SQLite connection. For one thread; sqlite.py runs it in its own.

Owns the durability settings, every SQL statement and the translation of SQLite's faults into one sentence. Each write is one
transaction, and is on the disk when the call returns. Several processes may have the file open. The bytes of pictures and recordings are
files beside it (media.py): they are written before the event that needs them is stored, and removed after the last one is gone.
"""

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from openclaw.errors import StoreError
from openclaw.files import make_directory
from openclaw.sessions.event import Packed, Said, SessionEvent, is_start, unpack
from openclaw.sessions.media import MediaFiles
from openclaw.sessions.migrations import insert_media, migrate, version_of
from openclaw.sessions.retention import Stored
from openclaw.sessions.store import Found, SessionInfo, Transcript, entry, wrong_agent
from openclaw.sessions.title import opening_of
from openclaw.sessions.view import Known, View, size_of

# Seconds to wait for another process that writes: each write takes milliseconds, so this much means it is stuck.
BUSY_SECONDS = 15.0
# Seconds between attempts where SQLite itself does not wait: while another process creates the file.
_RETRY_SECONDS = 0.01
# What SQLite answers for a file whose free pages can be given back one by one.
_INCREMENTAL = 2
# More than any session has.
_ALL_EVENTS = 1 << 60
# Larger events are written in pieces of this many bytes.
_PIECE = 1 << 20

_HINTS = {
    "SQLITE_READONLY": ("it cannot be written", "Check the permissions of the file and of its directory."),
    "SQLITE_CANTOPEN": ("it cannot be opened", "Check that the path is a file in a directory you may write to."),
    "SQLITE_PERM": ("it cannot be opened", "Check the permissions of the file and of its directory."),
    "SQLITE_FULL": ("the disk is full", "Free some space; nothing of this turn was stored."),
    "SQLITE_IOERR": ("the disk refused to read or write", "Check that the disk is healthy and has room."),
    "SQLITE_NOTADB": ("it is not a session store", "Move it away; a new one is made at the next turn."),
    "SQLITE_CORRUPT": ("it is damaged", "Move it away, with its -wal and -shm files, or restore a copy."),
    "SQLITE_BUSY": ("another process keeps it locked", "Try again, or end the process that holds it."),
    "SQLITE_TOOBIG": ("a message is too large for it", "Send smaller attachments."),
}


class Append(msgspec.Struct, frozen=True):
    """One turn's events for one session, and what to call the session if it is new."""

    key: str
    agent: str
    new_id: str
    at: float
    events: Sequence[Packed]


class _Stored(msgspec.Struct, frozen=True, gc=False):
    """One event, its number and time, and the bytes that it takes."""

    seq: int
    at_ms: int
    event: SessionEvent
    size: int


class Database:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._media = MediaFiles(path.with_name(f"{path.name}.media"))
        self._connection: sqlite3.Connection | None = None

    def known(self, key: str, agent: str, before: Known | None) -> Known | None:
        """What a model's history is made of; None when there is no such session. Refuses a session of another agent.

        Of one that is known from `before` only what was added since is read: events are never changed.
        """
        with self._reading() as connection:
            if connection is None:
                return None
            row = connection.execute("SELECT number, id, agent, base FROM sessions WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            number, id, owner, base = row
            if owner != agent:
                raise wrong_agent(owner, agent)
            known = before if before is not None and (before.id, before.base) == (id, base) else Known(id, base, View())
            for one in self._events(connection, number, known.last + 1):
                known.view.add(one.event, one.size)
        return known

    def owner_if_last(self, key: str, body: bytes) -> str | None:
        """The agent of a session that ends with this event; None when it ends otherwise, or is not there. Reads no media."""
        with self._reading() as connection:
            if connection is None:
                return None
            row = connection.execute(
                "SELECT sessions.agent FROM sessions JOIN events"
                " ON events.session = sessions.number AND events.seq = sessions.events"
                " WHERE sessions.key = ? AND events.body = ?",
                (key, body),
            ).fetchone()
        return None if row is None else str(row[0])

    def append(self, turn: Append) -> None:
        at_ms = round(turn.at * 1000)
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO sessions (key, id, agent, created_ms, updated_ms, events, messages, base)"
                " VALUES (?, ?, ?, ?, ?, 0, 0, 0) ON CONFLICT (key) DO NOTHING",
                (turn.key, turn.new_id, turn.agent, at_ms, at_ms),
            )
            number, seq, base, opening = connection.execute(
                "SELECT number, events, base, opening FROM sessions WHERE key = ?", (turn.key,)
            ).fetchone()
            for packed in turn.events:
                seq += 1
                base = seq if is_start(packed.event) else base
                event = _insert(connection, (number, seq, at_ms), packed.body)
                insert_media(connection, self._media, event, packed.media)
            said = sum(isinstance(packed.event, Said) for packed in turn.events)
            connection.execute(
                "UPDATE sessions SET updated_ms = ?, events = ?, messages = messages + ?, base = ?, opening = ?"
                " WHERE number = ?",
                (at_ms, seq, said, base, opening_of((packed.event for packed in turn.events), opening), number),
            )

    def rename(self, key: str, title: str) -> bool:
        """Whether there is such a session."""
        if not self._path.exists():
            return False
        with self._writing() as connection:
            return connection.execute("UPDATE sessions SET name = ? WHERE key = ?", (title, key)).rowcount > 0

    def list(self, agent: str | None, since: float | None) -> tuple[SessionInfo, ...]:
        with self._reading() as connection:
            if connection is None:
                return ()
            where, given = _where(agent, since, ())
            rows = connection.execute(f"SELECT {_INFO} FROM sessions{where}{_NEWEST}", given).fetchall()
        return tuple(_info(*row) for row in rows)

    def find(self, words: Sequence[str], agent: str | None, since: float | None, skip: int, limit: int) -> Found:
        with self._reading() as connection:
            if connection is None:
                return Found((), 0)
            where, given = _where(agent, since, words)
            if words or since is not None:
                (total,) = connection.execute(f"SELECT count(*) FROM sessions{where}", given).fetchone()
            else:
                # Kept beside them: nobody counts a million.
                query = "SELECT coalesce(sum(sessions), 0) FROM totals" + (
                    " WHERE agent = ?" if agent is not None else ""
                )
                (total,) = connection.execute(query, given).fetchone()
            rows = connection.execute(
                f"SELECT {_INFO} FROM sessions{where}{_NEWEST} LIMIT ? OFFSET ?", (*given, limit, skip)
            ).fetchall()
        return Found(tuple(_info(*row) for row in rows), total)

    def key_of(self, id: str) -> str | None:
        """The key of the session of this id; None when there is none."""
        with self._reading() as connection:
            if connection is None:
                return None
            row = connection.execute("SELECT key FROM sessions WHERE id = ?", (id,)).fetchone()
        return None if row is None else str(row[0])

    def transcript(self, key: str, *, count: int | None = None, before: int | None = None) -> Transcript | None:
        """All of it, or the last `count` events before the one of the number `before`."""
        with self._reading() as connection:
            if connection is None:
                return None
            found = connection.execute(f"SELECT number, events, {_INFO} FROM sessions WHERE key = ?", (key,)).fetchone()
            if found is None:
                return None
            number, last, *info = found
            end = last + 1 if before is None else min(before, last + 1)
            events = self._events(connection, number, 0 if count is None else end - count, end)
        return Transcript(_info(*info), tuple(entry(one.seq, one.at_ms / 1000, one.event) for one in events))

    def delete(self, key: str, *, unused_since: float | None = None) -> bool:
        """Whether there was such a session. With `unused_since` it stays when it was used later than that."""
        if not self._path.exists():
            return False
        since = None if unused_since is None else round(unused_since * 1000)
        with self._writing() as connection:
            return (
                connection.execute(
                    "DELETE FROM sessions WHERE key = ? AND (? IS NULL OR updated_ms <= ?)", (key, since, since)
                ).rowcount
                > 0
            )

    def tidy(self) -> None:
        """Give the room of what was deleted back to the disk: media that no event names any more, and free pages of the file."""
        if not self._path.exists():
            return
        # While nobody else can write: no event that needs one of these files is being stored.
        with self._writing() as connection:
            for digest, _ in tuple(self._media.sizes()):
                if connection.execute("SELECT 1 FROM media WHERE digest = ? LIMIT 1", (digest,)).fetchone() is None:
                    self._media.remove(digest)
        with self._faults():
            _shrink(self._open())

    def stored(self) -> tuple[Stored, ...]:
        """Every session with the room it takes; media that several share counts for each."""
        with self._reading() as connection:
            if connection is None:
                return ()
            rows = connection.execute(
                "SELECT key, updated_ms,"
                " (SELECT coalesce(sum(length(body)), 0) FROM events WHERE session = sessions.number)"
                " + (SELECT coalesce(sum(size), 0) FROM (SELECT DISTINCT digest, size FROM media WHERE event IN"
                " (SELECT number FROM events WHERE session = sessions.number)))"
                " FROM sessions"
            ).fetchall()
        return tuple(Stored(key, updated_ms / 1000, size) for key, updated_ms, size in rows)

    def size(self) -> int:
        """Bytes on the disk: the file, its log, and the media."""
        files = (self._path, self._path.with_name(f"{self._path.name}-wal"))
        with self._faults():
            held = sum(path.stat().st_size for path in files if path.exists())
            return held + sum(size for _, size in self._media.sizes())

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with self._faults():
                connection.close()

    def _events(
        self, connection: sqlite3.Connection, session: int, first: int, end: int | None = None
    ) -> Sequence["_Stored"]:
        """A session's events from the number `first` on, to before `end`."""
        wanted = (session, first, _ALL_EVENTS if end is None else end)
        rows = connection.execute(
            "SELECT number, seq, at_ms, body FROM events WHERE session = ? AND seq >= ? AND seq < ? ORDER BY seq",
            wanted,
        ).fetchall()
        media: dict[int, tuple[bytes | None, ...]] = {}
        for event, digest in connection.execute(
            "SELECT event, digest FROM media WHERE event IN"
            " (SELECT number FROM events WHERE session = ? AND seq >= ? AND seq < ?) ORDER BY event, position",
            wanted,
        ):
            media[event] = (*media.get(event, ()), self._media.read(digest))
        return [_stored(seq, at_ms, body, media.get(number, ())) for number, seq, at_ms, body in rows]

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """One consistent view. None when there is no file yet: looking at an empty store leaves nothing behind."""
        if self._connection is None and not self._path.exists():
            yield None
            return
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._faults():
            connection = self._open()
            connection.execute(begin)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            give_up = time.monotonic() + BUSY_SECONDS
            while self._connection is None:
                try:
                    self._connection = self._connect()
                except sqlite3.OperationalError as error:
                    if _name(error) != "SQLITE_BUSY" or time.monotonic() > give_up:
                        raise
                    time.sleep(_RETRY_SECONDS)
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        make_directory(self._path.parent)
        # SQLite gives its side files the mode of this one.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            # Asked before anything is written: a file that is not ours stays as it is.
            version_of(connection, self._path)
            # Counts for a file that is made now: pages that are no longer needed can be given back.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = WAL")
            # FULL: a commit returns when the disk has it, also if the power fails next.
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            # Deleted conversations are overwritten, not only unlinked.
            connection.execute("PRAGMA secure_delete = ON")
            # Titles are in any language: SQLite itself knows small and large letters of one alphabet.
            connection.create_function("fold", 1, str.casefold, deterministic=True)
            if migrate(connection, self._path, self._media):
                _shrink(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise store_error(self._path, error) from error
        except OSError as error:
            raise StoreError(
                f"The session store {self._path} cannot be used: {error.strerror or error}.",
                hint="Check that the path is in a directory you may write to.",
            ) from error


def _shrink(connection: sqlite3.Connection) -> None:
    """Best effort: another process that uses the file may prevent it, and then the next time does it."""
    try:
        if connection.execute("PRAGMA auto_vacuum").fetchone() == (_INCREMENTAL,):
            # A step of this statement frees a page, and `execute` takes one step of what returns no rows.
            connection.executescript("PRAGMA incremental_vacuum")
        else:
            # A file from before that was the rule: written anew, once.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("VACUUM")
        # The log of recent writes still holds what was deleted.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.OperationalError as error:
        if _name(error) not in ("SQLITE_BUSY", "SQLITE_LOCKED"):
            raise


def _insert(connection: sqlite3.Connection, event: tuple[int, int, int], body: bytes) -> int:
    """The number of the row."""
    if len(body) <= _PIECE:
        row = connection.execute(
            "INSERT INTO events (session, seq, at_ms, body) VALUES (?, ?, ?, ?)", (*event, body)
        ).lastrowid
        assert row is not None
        return row
    # SQLite would copy a value twice on its way into the file: long messages are written piece by piece.
    row = connection.execute(
        "INSERT INTO events (session, seq, at_ms, body) VALUES (?, ?, ?, zeroblob(?))", (*event, len(body))
    ).lastrowid
    assert row is not None
    with connection.blobopen("events", "body", row) as blob:
        for start in range(0, len(body), _PIECE):
            blob.write(body[start : start + _PIECE])
    return row


def _stored(seq: int, at_ms: int, body: bytes, media: Sequence[bytes | None]) -> "_Stored":
    return _Stored(seq, at_ms, unpack(body, media), size_of(body, media))


def _where(agent: str | None, since: float | None, words: Sequence[str]) -> tuple[str, tuple[str | int, ...]]:
    """The condition that chooses sessions, and its values. Only what is asked for stands in it, so that SQLite finds an index for it."""
    wanted: list[tuple[str, str | int]] = []
    if agent is not None:
        wanted.append(("agent = ?", agent))
    if since is not None:
        wanted.append(("updated_ms >= ?", round(since * 1000)))
    text = "fold(coalesce(nullif(name, ''), opening) || char(10) || key)"
    wanted += [(f"instr({text}, ?) > 0", word.casefold()) for word in words]
    condition = " AND ".join(one for one, _ in wanted)
    return f" WHERE {condition}" if condition else "", tuple(value for _, value in wanted)


# Last used first.
_NEWEST = " ORDER BY updated_ms DESC, number DESC"
_INFO = "key, id, agent, created_ms, updated_ms, messages, name, opening"


def _info(
    key: str, id: str, agent: str, created_ms: int, updated_ms: int, messages: int, name: str, opening: str
) -> SessionInfo:
    return SessionInfo(key, id, agent, created_ms / 1000, updated_ms / 1000, messages, name or opening)


def store_error(path: Path, error: sqlite3.Error) -> StoreError:
    what, hint = _HINTS.get(_name(error), (str(error), "Run `openclaw doctor`."))
    return StoreError(f"The session store {path} cannot be used: {what}.", hint=hint)


def _name(error: sqlite3.Error) -> str:
    """SQLite's primary result code: extended ones (SQLITE_IOERR_WRITE) carry it as their first two words."""
    return "_".join(str(getattr(error, "sqlite_errorname", "")).split("_")[:2])
