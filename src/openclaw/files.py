"""Files of ours on disk: for their owner alone, and never half written.

Owns how a private file or directory is made, how one is replaced whole, and how a key is made and kept. What is in them is their owner's
business. Files of a person's workspace are not ours: `tools/confine.py`. One holder at a time is `lock.py`.
"""

import contextlib
import os
import stat
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from openclaw.errors import StoreError

_EXCLUSIVE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
# Of randomness in the name of a file being written: two writers at the same moment never meet.
_NAME_BYTES = 8
_KEY_BYTES = 32
# How often a file that is being read is tried to be replaced, and how many seconds lie between.
_TRIES = 20
_PAUSE = 0.01


def make_directory(path: Path) -> None:
    """`path` and every directory missing above it, whatever the umask says. Those that exist keep their mode: they may be shared on
    purpose."""
    if os.path.exists(path):
        return
    missing = [directory for directory in (path, *path.parents) if not directory.exists()]
    for directory in reversed(missing):
        directory.mkdir(mode=0o700, exist_ok=True)


def create(path: Path, pieces: Iterable[bytes | memoryview]) -> int:
    """A new file, never one that is there already, nor one behind a link. How many bytes it holds. Raises OSError."""
    with open(os.open(path, _EXCLUSIVE, 0o600), "wb") as file:
        return sum(file.write(piece) for piece in pieces)


def private_key(path: Path) -> bytes:
    """A key that is made when it is first asked for, and kept in a file of its own. Blocks. Raises StoreError."""
    try:
        make_directory(path.parent)
        if not path.exists():
            _make_key(path)
        found = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path} cannot be used: {reason(error)}.") from None
    if len(found) != _KEY_BYTES:
        raise StoreError(f"{path} is not a key.", hint="Remove it: another one is made.")
    return found


def _make_key(path: Path) -> None:
    fresh = path.with_name(f".{path.name}.{os.urandom(_NAME_BYTES).hex()}")
    create(fresh, [os.urandom(_KEY_BYTES)])
    try:
        # Another process may have made one meanwhile: that one counts.
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(fresh)


def replace(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Replace a file's content so that at every moment it holds the old data or the new, whole.

    Goes through symbolic links to the real file and keeps its mode; a new file is 0600. What is not `durable` may be gone after a power
    cut, and costs no wait for the disk. Raises StoreError.
    """
    real = Path(os.path.realpath(path))
    try:
        make_directory(real.parent)
        mode = stat.S_IMODE(real.stat().st_mode) if real.exists() else 0o600
        fresh = real.with_name(f".{real.name}.{os.urandom(_NAME_BYTES).hex()}")
        try:
            with open(os.open(fresh, _EXCLUSIVE, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.chmod(fresh, mode)
                if durable:
                    os.fsync(file.fileno())
            _put(fresh, real)
        except BaseException:
            with contextlib.suppress(OSError):
                fresh.unlink()
            raise
        if durable:
            _sync_directory(real.parent)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {reason(error)}.") from None


def _put(fresh: Path, real: Path) -> None:
    """Give a file the name of another. Windows refuses while somebody reads the other, which takes our readers a moment."""
    for _ in range(_TRIES if sys.platform == "win32" else 0):
        try:
            os.replace(fresh, real)
            return
        except PermissionError:
            time.sleep(_PAUSE)
    os.replace(fresh, real)


def reason(error: OSError) -> str:
    """Why the system refused, in the middle of a sentence."""
    return (error.strerror or str(error) or type(error).__name__).lower()


def _sync_directory(directory: Path) -> None:
    """The new name survives a power cut only when the directory is written too. Windows cannot open one."""
    if sys.platform == "win32":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
