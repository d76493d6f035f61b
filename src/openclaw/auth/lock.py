"""One holder at a time among all processes that share a directory: the lock around a record of the token store.

A lock on a file, which the operating system gives up when its holder dies. Waiting is polling, so that it can be cancelled and never blocks
the loop; tasks of one process wait for each other in the same way.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from openclaw.errors import StoreError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# Seconds between two looks at a lock that somebody holds: a renewal takes a network round trip, so waiting grows to a part of one.
_FIRST_LOOK = 0.002
_LAST_LOOK = 0.05


@asynccontextmanager
async def hold(path: Path, *, patience: float) -> AsyncIterator[None]:
    """Hold the lock; wait for it no longer than `patience` seconds. Raises StoreError."""
    handle = _open(path)
    try:
        ends = asyncio.get_running_loop().time() + patience
        delay = _FIRST_LOOK
        while not _lock(handle):
            if asyncio.get_running_loop().time() > ends:
                raise StoreError(
                    f"Another process has held {path} for more than {patience:g} s.",
                    hint="End the OpenClaw process that hangs.",
                )
            await asyncio.sleep(delay)
            delay = min(delay * 2, _LAST_LOOK)
        yield
    finally:
        os.close(handle)


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be locked: {(error.strerror or str(error)).lower()}.",
            hint="Check that the disk is writable and has room.",
        ) from None


def _lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
