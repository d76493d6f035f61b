"""The tables of the session file, as a numbered list of steps: step n brings a file from version n-1 to version n.

A step that has shipped never changes; a new need is a new step at the end. The version is SQLite's `user_version`, and the
file carries our `application_id`, so that another program's database is never taken for ours.
"""

import sqlite3
from pathlib import Path

from openclaw.errors import StoreError

# "OCSE" in ASCII.
APPLICATION_ID = 0x4F435345

STEPS: tuple[tuple[str, ...], ...] = (
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
)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the file to the newest version, in one transaction."""
    if version_of(connection, path) == len(STEPS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again: another process may have been first.
        for number in range(version_of(connection, path), len(STEPS)):
            for statement in STEPS[number]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


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
