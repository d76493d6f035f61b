"""One holder at a time among all processes: a lock on a file, which the operating system gives up when its holder dies.

Owns how a lock is taken and waited for. Waiting is polling, so that it can be cancelled and never blocks the loop. What a lock protects,
and what is said when it cannot be had, is its user's business.
"""

import asyncio
import errno
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from openclaw.files import make_directory

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# Seconds between two looks at a lock that somebody holds: holders take milliseconds to seconds, so waiting grows to what nobody notices.
_FIRST_LOOK = 0.002
_LAST_LOOK = 0.03
# Where Windows locks: far behind what is written, so that others may still read it.
_LOCKED_BYTE = 1 << 30
# What systems say of a lock that somebody else has: EAGAIN on POSIX, EACCES on Windows, and Wine names no reason.
_HELD = (errno.EAGAIN, errno.EACCES, 0)


def take(handle: int, *, wait: bool = False) -> bool:
    """Lock an open file or, where the system can, a directory. False while somebody else has it; given up when it is closed.

    `wait` blocks until it is free: for locks that are held for milliseconds only.
    """
    while True:
        try:
            if sys.platform == "win32":
                os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno not in _HELD:
                raise
            if not wait:
                return False
            # Windows alone: waiting there would end with an error after ten seconds.
            time.sleep(_FIRST_LOOK)


async def acquire(path: Path, *, patience: float = float("inf")) -> int:
    """The locked file's descriptor, for `release`. The file is made when it is not there, private to its owner.

    Raises OSError when it cannot be, TimeoutError after `patience` seconds.
    """
    loop = asyncio.get_running_loop()
    ends = loop.time() + patience
    delay = _FIRST_LOOK
    while (handle := try_acquire(path)) is None:
        if loop.time() > ends:
            raise TimeoutError
        await asyncio.sleep(delay)
        delay = min(delay * 2, _LAST_LOOK)
    return handle


def release(handle: int, *, remove: Path | None = None) -> None:
    """Removing the file first, while it is still locked, keeps a directory empty; `try_acquire` makes it safe."""
    if remove is not None:
        with suppress(OSError):
            remove.unlink()
    os.close(handle)


def try_acquire(path: Path) -> int | None:
    """As `acquire`, without waiting: None while somebody else has it."""
    make_directory(path.parent)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        # A holder may have removed the file as it left. A file that is no longer at its path locks nothing: look again.
        if take(handle) and _is_at(handle, path):
            return handle
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
