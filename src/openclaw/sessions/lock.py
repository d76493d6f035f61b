"""Who may take a turn of a session now: one holder at a time, in this process or among all that share a directory.

`KeyLocks` serves tasks of one process, first come first served. `FileLocks` adds a lock on a file named by the key's hash, which
the operating system gives up when its holder dies. Waiting is polling, so that it can be cancelled and never blocks the loop.
"""

import asyncio
import hashlib
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from openclaw.errors import StoreError
from openclaw.sessions.private import make_directory

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# Seconds between two looks at a lock that another process holds: turns take seconds, so waiting grows to what nobody notices.
_FIRST_LOOK = 0.002
_LAST_LOOK = 0.03


class _Queue(msgspec.Struct):
    lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    users: int = 0


class KeyLocks:
    """Locks by key for the tasks of one process. A key nobody holds or waits for costs nothing."""

    def __init__(self) -> None:
        self._queues: dict[str, _Queue] = {}

    @asynccontextmanager
    async def hold(self, key: str) -> AsyncIterator[None]:
        queue = self._queues.setdefault(key, _Queue())
        queue.users += 1
        try:
            async with queue.lock:
                yield
        finally:
            queue.users -= 1
            if not queue.users:
                del self._queues[key]


class FileLocks:
    """Locks by key for all processes that name the same directory. The directory is made when first needed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._here = KeyLocks()

    @asynccontextmanager
    async def hold(self, key: str) -> AsyncIterator[None]:
        async with self._here.hold(key):
            path = self._directory / f"{hashlib.sha256(key.encode()).hexdigest()}.lock"
            handle = await self._acquire(path)
            try:
                yield
            finally:
                _release(handle, path)

    async def _acquire(self, path: Path) -> int:
        delay = _FIRST_LOOK
        while True:
            try:
                handle = _try_acquire(path)
            except OSError as error:
                raise StoreError(
                    f"The directory of session locks cannot be written: {error.strerror or error}.",
                    hint=f"Check that {path.parent} is writable and its disk has room.",
                ) from error
            if handle is not None:
                return handle
            await asyncio.sleep(delay)
            delay = min(delay * 2, _LAST_LOOK)


def _try_acquire(path: Path) -> int | None:
    """The locked file's descriptor, or None while somebody else holds it."""
    make_directory(path.parent)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        # Holders remove the file as they leave. A file that is no longer at its path locks nothing: look again.
        if _lock(handle) and _is_at(handle, path):
            return handle
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def _release(handle: int, path: Path) -> None:
    """Removing the file first, while it is still locked, keeps the directory empty and is safe because of `_is_at`."""
    with suppress(OSError):
        path.unlink()
    os.close(handle)


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
