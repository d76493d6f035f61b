"""Removing conversations that have outlived what the config keeps, from a session file that others may be using.

Blocking, on a connection of its own: for a thread beside the turns. One conversation at a time, so that nobody waits long; one that is in
a turn, in whatever process, is left alone. When it was last done stands in the time of a file beside the store.
"""

import os
from pathlib import Path

from openclaw.errors import StoreError
from openclaw.sessions.database import Database
from openclaw.sessions.lock import hold_now
from openclaw.sessions.retention import INTERVAL, Keep, Pruned, Stored, outlived


def locks_of(store: Path) -> Path:
    """Where the locks of a session file are."""
    return store.with_name(f"{store.name}.locks")


def is_due(store: Path, now: float) -> bool:
    """Whether a day has gone by since it was last done. Costs a look at two files."""
    try:
        return now - _stamp(store).stat().st_mtime > INTERVAL
    except OSError:
        return store.exists()


def prune(store: Path, keep: Keep, now: float, *, dry_run: bool = False) -> Pruned:
    """Remove what has outlived `keep`, and give the room back to the disk. Raises StoreError."""
    database = Database(store)
    try:
        going = outlived(database.stored(), keep, now)
        if dry_run:
            return Pruned(tuple(going), (), sum(one.size for one in going))
        before = database.size()
        removed: list[Stored] = []
        busy: list[str] = []
        for one in going:
            with hold_now(locks_of(store), one.key) as is_ours:
                if not is_ours:
                    busy.append(one.key)
                elif database.delete(one.key, unused_since=one.updated):
                    removed.append(one)
        database.tidy()
        if store.exists():
            _touch(_stamp(store), now)
        return Pruned(tuple(removed), tuple(busy), max(before - database.size(), 0))
    except OSError as error:
        raise StoreError(
            f"Old conversations cannot be removed from {store}: {error.strerror or error}.",
            hint="Look at the space and the mode of its directory.",
        ) from None
    finally:
        database.close()


def _stamp(store: Path) -> Path:
    return store.with_name(f"{store.name}.pruned")


def _touch(path: Path, at: float) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    os.utime(path, (at, at))
