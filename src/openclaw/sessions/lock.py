"""Who may take a turn of a session now: one holder at a time, in this process or among all that share a directory.

`KeyLocks` serves tasks of one process, first come first served. `FileLocks` adds a lock on a file named by the key's hash; how such a
lock works is `openclaw.lock`. Whoever waits too long is told that the session is busy.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import msgspec

from openclaw.errors import SessionBusyError, StoreError
from openclaw.lock import acquire, release, try_acquire

# Waits until the session is free.
FOREVER = float("inf")


class _Queue(msgspec.Struct):
    """`users` hold the lock or wait for it."""

    lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    users: int = 0

    def join(self) -> None:
        self.users += 1

    def leave(self) -> None:
        self.users -= 1


class KeyLocks:
    """Locks by key for the tasks of one process. A key nobody holds or waits for costs nothing."""

    def __init__(self) -> None:
        self._queues: dict[str, _Queue] = {}

    def is_held(self, key: str) -> bool:
        """Whether `hold` would wait."""
        return key in self._queues

    @asynccontextmanager
    async def hold(self, key: str, patience: float = FOREVER) -> AsyncIterator[None]:
        """Raises SessionBusyError after `patience` seconds."""
        queue = self._queues.setdefault(key, _Queue())
        queue.join()
        try:
            try:
                async with asyncio.timeout(None if patience == FOREVER else patience):
                    await queue.lock.acquire()
            except TimeoutError:
                raise SessionBusyError(patience) from None
            try:
                yield
            finally:
                queue.lock.release()
        finally:
            queue.leave()
            if not queue.users:
                del self._queues[key]


class FileLocks:
    """Locks by key for all processes that name the same directory. The directory is made when first needed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._here = KeyLocks()

    @asynccontextmanager
    async def hold(self, key: str, patience: float = FOREVER) -> AsyncIterator[None]:
        """Raises SessionBusyError after `patience` seconds."""
        began = time.monotonic()
        async with self._here.hold(key, patience):
            path = _file(self._directory, key)
            try:
                handle = await acquire(path, patience=patience - (time.monotonic() - began))
            except TimeoutError:
                raise SessionBusyError(patience) from None
            except OSError as error:
                raise StoreError(
                    f"The directory of session locks cannot be written: {error.strerror or error}.",
                    hint=f"Check that {path.parent} is writable and its disk has room.",
                ) from error
            try:
                yield
            finally:
                # Keys come and go: their files must not stay.
                release(handle, remove=path)


@contextmanager
def hold_now(directory: Path, key: str) -> Iterator[bool]:
    """The lock that `FileLocks` on this directory would take, for code without an event loop. False when somebody has it: no waiting."""
    path = _file(directory, key)
    handle = try_acquire(path)
    try:
        yield handle is not None
    finally:
        if handle is not None:
            release(handle, remove=path)


def _file(directory: Path, key: str) -> Path:
    return directory / f"{hashlib.sha256(key.encode()).hexdigest()}.lock"
