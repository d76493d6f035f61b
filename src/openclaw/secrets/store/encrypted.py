"""Records at rest: AES-256-GCM, each under a name of its own, in files or wherever else `Records` are.

The name is a hash of the record's kind and identity, and both are bound into the encryption: a record put in another's place does not
open. Every secret of a record is masked from the moment it is read or written here. As long as nothing is stored, no key is needed and no
cryptography loaded. `key.py` knows where the key comes from; what is kept are the records of `auth/records.py` and `secrets/encrypted.py`.
"""

import base64
import binascii
import hashlib
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from secrets import token_bytes
from typing import Any, Final, TypeVar

import msgspec

from openclaw.content import to_json
from openclaw.errors import StoreError
from openclaw.libraries import missing
from openclaw.redact import remember
from openclaw.secrets.store.key import Key
from openclaw.secrets.store.records import Records

R = TypeVar("R", bound="Record")

# The size that GCM is defined for; random ones do not repeat within the lifetime of a key.
_NONCE_BYTES: Final = 12


class Record(msgspec.Struct, frozen=True):
    """Base of what the store keeps: never printed with its content. The name of a kind is part of where its records are found."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def secrets(self) -> tuple[str, ...]:
        """What of it nobody may see; whoever stores or reads a record masks these from then on."""
        return ()


class _Envelope(msgspec.Struct, frozen=True):
    nonce: str
    data: str
    version: int = 1


class EncryptedStore:
    def __init__(self, records: Records, key: Key) -> None:
        self.records = records
        self.key = key

    async def read(self, kind: type[R], *identity: str) -> R | None:
        """The record, or None when there is none. Raises StoreError when it cannot be opened."""
        sealed = await self.records.read(_name(kind, identity))
        return None if sealed is None else await self._opened(sealed.content, kind, identity)

    async def write(self, record: Record, *identity: str) -> None:
        """Keep a record. When this returns it is safe."""
        kind = type(record)
        await self.records.write(_name(kind, identity), kind.__name__, await self._sealed(record, identity))

    async def replace(self, former: R, record: R, *identity: str) -> bool:
        """Keep a record in the place of the one that was read before, and of no other. Whether it is kept."""
        kind = type(former)
        name = _name(kind, identity)
        found = await self.records.read(name)
        if found is None or await self._opened(found.content, kind, identity) != former:
            return False
        sealed = await self._sealed(record, identity)
        return await self.records.write(name, kind.__name__, sealed, after=found.revision)

    async def delete(self, kind: type[Record], *identity: str) -> bool:
        """Forget a record. Whether there was one."""
        return await self.records.delete(_name(kind, identity))

    def lock(self, kind: type[Record], *identity: str) -> AbstractAsyncContextManager[None]:
        """Hold a record against every other process, from reading it to writing it."""
        return self.records.lock(_name(kind, identity))

    def stamp(self, kind: type[Record], *identity: str) -> int:
        """A number that changes whenever the record does; 0 when there is none."""
        return self.records.stamp(_name(kind, identity))

    async def _sealed(self, record: Record, identity: tuple[str, ...]) -> bytes:
        _mask(record)
        nonce = token_bytes(_NONCE_BYTES)
        data = (await self._cipher()).encrypt(nonce, to_json(record), _bound(type(record), identity))
        return to_json(_Envelope(base64.b64encode(nonce).decode("ascii"), base64.b64encode(data).decode("ascii")))

    async def _opened(self, content: bytes, kind: type[R], identity: tuple[str, ...]) -> R:
        cipher = await self._cipher()
        try:
            envelope = msgspec.json.decode(content, type=_Envelope)
            nonce, data = (base64.b64decode(text, validate=True) for text in (envelope.nonce, envelope.data))
            record = msgspec.json.decode(cipher.decrypt(nonce, data, _bound(kind, identity)), type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, binascii.Error, ValueError, _invalid_tag()):
            raise StoreError(
                f"{self.records.shown(_name(kind, identity))} is damaged, or was put there from elsewhere; it is not used.",
                hint=f"Remove it and {self.key.contents.again}.",
            ) from None
        _mask(record)
        return record

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
    return hashlib.sha256(_bound(kind, identity)).hexdigest()


def _bound(kind: type[Record], identity: tuple[str, ...]) -> bytes:
    return to_json([kind.__name__, *identity])


def _invalid_tag() -> type[Exception]:
    from cryptography.exceptions import InvalidTag

    return InvalidTag
