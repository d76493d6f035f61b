"""Where sealed records are: the contract, and the one that keeps each in a file of its own.

A record is bytes that only its key opens, under a name that tells nothing (`encrypted.py` makes both). Owns that a record is replaced
whole, that one process at a time may hold a name, and how a change is noticed: by its stamp here, by its revision in a database
(`fleet/tokens.py`). Opens nothing.
"""

import asyncio
import os
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final, Protocol

import msgspec

from openclaw.errors import StoreError
from openclaw.files import reason, replace
from openclaw.secrets.store.lock import hold
from openclaw.to_the_end import to_the_end

# No record of ours comes near.
_MAX_FILE: Final = 1024 * 1024
# Whoever holds a record's lock does at most a few requests to an authorization server.
LOCK_PATIENCE: Final = 120.0


class Sealed(msgspec.Struct, frozen=True):
    """A record as it is kept. `revision` is another number after every change of it."""

    content: bytes
    revision: int

    def __repr__(self) -> str:
        return "Sealed()"


class Records(Protocol):
    """Every method but `stamp` and `shown` raises StoreError when the place cannot be reached."""

    @property
    def changes(self) -> int:
        """How often this process changed a record."""
        ...

    @property
    def is_checked(self) -> bool:
        """Whether `stamp` knows the changes of others up to a moment ago. When it does not, `check` comes first."""
        ...

    async def check(self) -> None: ...

    def stamp(self, name: str) -> int:
        """A number that changes whenever the record does; 0 when there is none. Costs next to nothing."""
        ...

    async def read(self, name: str) -> Sealed | None: ...

    async def write(self, name: str, kind: str, content: bytes, *, after: int | None = None) -> bool:
        """Keep a record; it is safe when this returns. With `after`, only in the place of that revision: whether it was."""
        ...

    async def delete(self, name: str) -> bool:
        """Whether there was one: of several who delete it, one is told so."""
        ...

    def lock(self, name: str) -> AbstractAsyncContextManager[None]:
        """Hold a name against every other process, from reading what belongs to it to writing it."""
        ...

    def shown(self, name: str = "") -> str:
        """Where the records are, or one of them, to be named in a sentence."""
        ...


class FileRecords:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._folder = str(directory)
        self.changes = 0
        # Each look at the file system is the truth.
        self.is_checked = True

    async def check(self) -> None:
        return None

    def stamp(self, name: str) -> int:
        try:
            return _stamp(os.stat(f"{self._folder}/{name}.json"))
        except OSError:
            return 0

    async def read(self, name: str) -> Sealed | None:
        file = self._file(name)
        try:
            with file.open("rb") as stream:
                return Sealed(stream.read(_MAX_FILE + 1), _stamp(os.fstat(stream.fileno())))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"{file} cannot be read: {reason(error)}.") from None

    async def write(self, name: str, kind: str, content: bytes, *, after: int | None = None) -> bool:
        # Whoever names a revision holds the lock under which it is changed.
        if after is not None and self.stamp(name) != after:
            return False
        try:
            # Waiting for the disk is left to a thread, and is not given up half-way: the lock around it would be free then.
            await to_the_end(asyncio.to_thread(replace, self._file(name), content))
        finally:
            self.changes += 1
        return True

    async def delete(self, name: str) -> bool:
        try:
            self._file(name).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StoreError(f"A record cannot be removed: {reason(error)}.") from None
        self.changes += 1
        return True

    def lock(self, name: str) -> AbstractAsyncContextManager[None]:
        return hold(self.directory / f"{name}.lock", patience=LOCK_PATIENCE)

    def shown(self, name: str = "") -> str:
        return str(self._file(name) if name else self.directory)

    def _file(self, name: str) -> Path:
        return self.directory / f"{name}.json"


def _stamp(status: os.stat_result) -> int:
    # Clocks of file systems tick slowly: two writes may have the same time, but not the same file.
    return hash((status.st_mtime_ns, status.st_ino))
