"""The tables of the session file, as a numbered list of steps: step n brings a file from version n-1 to version n.

A step that has shipped never changes; a new need is a new step at the end. The version is SQLite's `user_version`, and the
file carries our `application_id`, so that another program's database is never taken for ours.
"""

import sqlite3
from collections.abc import Callable
from pathlib import Path

from openclaw.errors import StoreError
from openclaw.sessions.event import decode, pack
from openclaw.sessions.media import MediaFiles
from openclaw.sessions.title import opening_of

# "OCSE" in ASCII.
APPLICATION_ID = 0x4F435345

# SQL, or work on what is in the file, which is given the files for media.
Statement = str | Callable[[sqlite3.Connection, MediaFiles], None]


def _move_media_out(connection: sqlite3.Connection, files: MediaFiles) -> None:
    """Version 1 kept pictures and recordings as Base64 inside the events."""
    numbers = connection.execute(
        """SELECT number FROM events WHERE instr(body, '"type":"image"') OR instr(body, '"type":"audio"')"""
    ).fetchall()
    for (number,) in numbers:
        [body] = connection.execute("SELECT body FROM events WHERE number = ?", (number,)).fetchone()
        packed = pack(decode(body))
        if packed.media:
            connection.execute("UPDATE events SET body = ? WHERE number = ?", (packed.body, number))
            insert_media(connection, files, number, packed.media)


def _name_by_first_words(connection: sqlite3.Connection, files: MediaFiles) -> None:
    """Versions before 3 did not keep what a conversation began with."""
    for (session,) in connection.execute("SELECT number FROM sessions").fetchall():
        rows = connection.execute(
            'SELECT body FROM events WHERE session = ? AND instr(body, \'"role":"user"\') ORDER BY seq LIMIT 1',
            (session,),
        ).fetchall()
        opening = opening_of(decode(body) for (body,) in rows)
        connection.execute("UPDATE sessions SET opening = ? WHERE number = ?", (opening, session))


def insert_media(connection: sqlite3.Connection, files: MediaFiles, event: int, media: tuple[bytes, ...]) -> None:
    """Keep the media of an event: the files first, so that no event ever names one that was not written."""
    for position, data in enumerate(media):
        connection.execute(
            "INSERT INTO media (event, position, digest, size) VALUES (?, ?, ?, ?)",
            (event, position, files.save(data), len(data)),
        )


STEPS: tuple[tuple[Statement, ...], ...] = (
    (
        # `events` and `messages` count; `base` is the event the model's history starts at (the last compaction or reset).
        """CREATE TABLE sessions (
            number INTEGER PRIMARY KEY,
            key TEXT NOT NULL UNIQUE,
            id TEXT NOT NULL,
            agent TEXT NOT NULL,
            created_ms INTEGER NOT NULL,
            updated_ms INTEGER NOT NULL,
            events INTEGER NOT NULL,
            messages INTEGER NOT NULL,
            base INTEGER NOT NULL
        )""",
        "CREATE INDEX sessions_by_use ON sessions (updated_ms)",
        """CREATE TABLE events (
            number INTEGER PRIMARY KEY,
            session INTEGER NOT NULL REFERENCES sessions (number) ON DELETE CASCADE,
            seq INTEGER NOT NULL,
            at_ms INTEGER NOT NULL,
            body BLOB NOT NULL,
            UNIQUE (session, seq)
        )""",
    ),
    (
        # The pictures and recordings of an event, in their order; the bytes are in files named by their digest.
        """CREATE TABLE media (
            event INTEGER NOT NULL REFERENCES events (number) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            digest TEXT NOT NULL,
            size INTEGER NOT NULL,
            PRIMARY KEY (event, position)
        ) WITHOUT ROWID""",
        "CREATE INDEX media_by_digest ON media (digest)",
        _move_media_out,
    ),
    (
        # What a person called it, and the words it began with.
        "ALTER TABLE sessions ADD COLUMN name TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE sessions ADD COLUMN opening TEXT NOT NULL DEFAULT ''",
        _name_by_first_words,
    ),
    ("CREATE INDEX sessions_by_id ON sessions (id)",),
    (
        # A page of one agent's sessions is read without passing those of others, and how many there are without counting them.
        "CREATE INDEX sessions_by_agent ON sessions (agent, updated_ms)",
        "CREATE TABLE totals (agent TEXT PRIMARY KEY, sessions INTEGER NOT NULL) WITHOUT ROWID",
        "INSERT INTO totals SELECT agent, count(*) FROM sessions GROUP BY agent",
        """CREATE TRIGGER session_added AFTER INSERT ON sessions BEGIN
            INSERT INTO totals VALUES (new.agent, 1) ON CONFLICT (agent) DO UPDATE SET sessions = sessions + 1;
        END""",
        """CREATE TRIGGER session_deleted AFTER DELETE ON sessions BEGIN
            UPDATE totals SET sessions = sessions - 1 WHERE agent = old.agent;
        END""",
    ),
)


def migrate(connection: sqlite3.Connection, path: Path, files: MediaFiles) -> bool:
    """Bring the file to the newest version, in one transaction. Whether an older one held something."""
    before = version_of(connection, path)
    if before == len(STEPS):
        return False
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again: another process may have been first.
        for number in range(version_of(connection, path), len(STEPS)):
            for statement in STEPS[number]:
                if isinstance(statement, str):
                    connection.execute(statement)
                else:
                    statement(connection, files)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return before > 0


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """The file's version, 0 when it is empty. Raises StoreError for a file that is not ours, or is newer than we are."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    owner: int = connection.execute("PRAGMA application_id").fetchone()[0]
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if owner != APPLICATION_ID and (owner or version or tables):
        raise StoreError(
            f"The session store {path} cannot be used: it is a database of another program.",
            hint="Move it away, or name another session store.",
        )
    if version > len(STEPS):
        raise StoreError(
            f"The session store {path} was written by a later OpenClaw (version {version}; this one knows {len(STEPS)}).",
            hint="Update OpenClaw.",
        )
    return version
