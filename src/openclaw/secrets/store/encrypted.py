"""Records at rest: one file each, AES-256-GCM, replaced atomically, locked across processes.

The file's name is a hash of the record's kind and identity, and both are bound into the encryption: a file put in another's place does not
open. Every secret of a record is masked from the moment it is read or written here. As long as nothing is stored, no key is needed and no
cryptography loaded. `key.py` knows where the key comes from; what is kept are the records of `auth/records.py` and
`secrets/encrypted.py`.
"""

import asyncio
import base64
import binascii
import hashlib
import os
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from pathlib import Path
from secrets import token_bytes
from typing import Any, Final, TypeVar

import msgspec

from openclaw.content import to_json
from openclaw.errors import StoreError
from openclaw.files import reason, replace
from openclaw.libraries import missing
from openclaw.redact import remember
from openclaw.secrets.store.key import StoreKey
from openclaw.secrets.store.lock import hold

R = TypeVar("R", bound="Record")

# The size that GCM is defined for; random ones do not repeat within the lifetime of a key.
_NONCE_BYTES: Final = 12
# No record of ours comes near.
_MAX_FILE: Final = 1024 * 1024
# Whoever holds a record's lock does at most a few requests to an authorization server.
LOCK_PATIENCE: Final = 120.0


class Record(msgspec.Struct, frozen=True):
    """Base of what the store keeps: never printed with its content. The name of a kind is part of where its records are found."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def secrets(self) -> tuple[str, ...]:
        """What of it nobody may see; whoever stores or reads a record masks these from then on."""
        return ()


class _Sealed(msgspec.Struct, frozen=True):
    nonce: str
    data: str
    version: int = 1


class EncryptedStore:
    def __init__(self, directory: Path, key: StoreKey) -> None:
        self.directory = directory
        self.key = key
        self._folder = str(directory)
        # How often this process changed a record.
        self.changes = 0

    async def read(self, kind: type[R], *identity: str) -> R | None:
        """The record, or None when there is none. Raises StoreError when it cannot be opened."""
        file = self._file(kind, identity)
        try:
            with file.open("rb") as stream:
                content = stream.read(_MAX_FILE + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"{file} cannot be read: {reason(error)}.") from None
        cipher = await self._cipher()
        try:
            sealed = msgspec.json.decode(content, type=_Sealed)
            nonce, data = (base64.b64decode(text, validate=True) for text in (sealed.nonce, sealed.data))
            record = msgspec.json.decode(cipher.decrypt(nonce, data, _bound(kind, identity)), type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, binascii.Error, ValueError, _invalid_tag()):
            raise StoreError(
                f"{file} is damaged, or was put there from elsewhere; it is not used.",
                hint=f"Remove it and {self.key.contents.again}.",
            ) from None
        _mask(record)
        return record

    async def write(self, record: Record, *identity: str) -> None:
        """Keep a record. When this returns it is on the disk."""
        kind = type(record)
        _mask(record)
        nonce = token_bytes(_NONCE_BYTES)
        data = (await self._cipher()).encrypt(nonce, to_json(record), _bound(kind, identity))
        sealed = _Sealed(base64.b64encode(nonce).decode("ascii"), base64.b64encode(data).decode("ascii"))
        text = to_json(sealed).decode("ascii")
        # Waiting for the disk is left to a thread.
        await asyncio.to_thread(replace, self._file(kind, identity), text.encode())
        self.changes += 1

    async def delete(self, kind: type[Record], *identity: str) -> bool:
        """Forget a record. Whether there was one."""
        try:
            self._file(kind, identity).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StoreError(f"A record cannot be removed: {reason(error)}.") from None
        self.changes += 1
        return True

    def lock(self, kind: type[Record], *identity: str) -> AbstractAsyncContextManager[None]:
        """Hold a record against every other process, from reading it to writing it."""
        return hold(self._file(kind, identity).with_suffix(".lock"), patience=LOCK_PATIENCE)

    def stamp(self, kind: type[Record], *identity: str) -> int:
        """A number that changes whenever the record does; 0 when there is none. Costs one look at the file system."""
        try:
            status = os.stat(f"{self._folder}/{_name(kind, identity)}")
        except OSError:
            return 0
        # Clocks of file systems tick slowly: two writes may have the same time, but not the same file.
        return hash((status.st_mtime_ns, status.st_ino))

    def _file(self, kind: type[Record], identity: tuple[str, ...]) -> Path:
        return self.directory / _name(kind, identity)

    async def _cipher(self) -> Any:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ModuleNotFoundError as error:
            raise missing(error) or error from error

        return AESGCM(await self.key.get())


def _mask(record: Record) -> None:
    for secret in record.secrets():
        remember(secret)


@lru_cache(maxsize=1024)
def _name(kind: type[Record], identity: tuple[str, ...]) -> str:
    """Remembered, since each request looks whether its server's record has changed."""
    return f"{hashlib.sha256(_bound(kind, identity)).hexdigest()}.json"


def _bound(kind: type[Record], identity: tuple[str, ...]) -> bytes:
    return to_json([kind.__name__, *identity])


def _invalid_tag() -> type[Exception]:
    from cryptography.exceptions import InvalidTag

    return InvalidTag
