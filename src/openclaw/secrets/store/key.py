"""The key that a directory of records is encrypted with, and where it comes from: `tokenStore.key`, the OS keychain, or a private file.

The source is chosen once, written down in `store.json`, and never changed behind the operator's back: a key that is missing, or is not the
one the records were encrypted with, stops everything that needs it, with a sentence. `store.json` holds no secret: the name of the source,
a random name for the keychain, a salt, and a check value by which a wrong key is told from a damaged file.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import logging
import os
import stat
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import Final, Literal, Protocol

import msgspec

from openclaw.content import to_json
from openclaw.errors import StoreError
from openclaw.files import replace
from openclaw.redact import remember
from openclaw.secrets.store.keychain import Keychain, KeychainError
from openclaw.secrets.store.lock import hold
from openclaw.single_flight import SingleFlight

_log = logging.getLogger(__name__)

KEY_BYTES: Final = 32
STORE_FILE: Final = "store.json"
KEY_FILE: Final = "key"
# Choosing a source may wait for a person at the keychain, twice.
_LOCK_PATIENCE: Final = 90.0
# A passphrase is made into a key slowly (about 80 ms and 32 MiB), so that guessing it is slow too.
_SCRYPT: Final = {"n": 2**15, "r": 8, "p": 1, "maxmem": 64 * 1024 * 1024}

Source = Literal["config", "keychain", "file"]
NAMES: Final[dict[Source, str]] = {
    "config": "`tokenStore.key`",
    "keychain": "a key in the system's keychain",
    "file": "a key file",
}


class Contents(msgspec.Struct, frozen=True):
    """What a directory holds, in words: their name, and what is to be done when they are lost."""

    name: str
    again: str


TOKENS: Final = Contents("tokens", "sign in again")
SECRETS: Final = Contents("secrets", "store them again")


class StoreInfo(msgspec.Struct, frozen=True):
    """What `store.json` says."""

    source: Source
    id: str
    salt: str
    check: str
    version: int = 1
    # A person has been told that the key is in a file.
    told: bool = False


class Key(Protocol):
    """The key of a store."""

    @property
    def contents(self) -> Contents: ...

    async def get(self) -> bytes:
        """The key, making one at the very first use. Raises StoreError or what the configured source raises."""
        ...

    async def source(self) -> Source | None:
        """Where the key comes from; None while nothing has been stored."""
        ...

    async def warn(self) -> str:
        """What the person at a terminal is to be told about the key, once for ever; empty when there is nothing to tell any more."""
        ...


class StoreKey:
    """The key of one directory of records, fetched when first needed.

    `configured` gives the value of `tokenStore.key`; None when it is not set. `keychain` is None where it shall not be used.
    """

    def __init__(
        self,
        directory: Path,
        *,
        configured: Callable[[], Awaitable[str]] | None,
        keychain: Keychain | None,
        contents: Contents = TOKENS,
    ) -> None:
        self.contents = contents
        self._directory = directory
        self._configured = configured
        self._keychain = keychain
        self._key: bytes | None = None
        self._flights: SingleFlight[bytes] = SingleFlight("store-key", goes_on=True)

    async def get(self) -> bytes:
        if self._key is None:
            # Once for all servers that start together: a keychain asks its person once, a passphrase costs its memory once.
            self._key = await self._flights.join("key", self._get)
        return self._key

    async def _get(self) -> bytes:
        info = self._info()
        if info is None:
            async with hold(self._directory / "store.lock", patience=_LOCK_PATIENCE):
                info = self._info() or await self._choose()
        key = await self._fetch(info)
        if not hmac.compare_digest(check_value(key), info.check):
            raise StoreError(
                f"The {self.contents.name} in {self._directory} were encrypted with another key than the present one "
                f"({NAMES[info.source]}).",
                hint=f"Give the former key back, or {self._start_anew}.",
            )
        return key

    async def source(self) -> Source | None:
        info = self._info()
        return info.source if info is not None else None

    async def warn(self) -> str:
        info = self._info()
        if info is None or info.source != "file" or info.told:
            return ""
        async with hold(self._directory / "store.lock", patience=_LOCK_PATIENCE):
            info = self._info()
            if info is None or info.told:
                return ""
            self._write(msgspec.structs.replace(info, told=True))
        return self._file_warning()

    def _info(self) -> StoreInfo | None:
        file = self._directory / STORE_FILE
        try:
            return msgspec.json.decode(file.read_bytes(), type=StoreInfo)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            raise StoreError(
                f"{file} cannot be read, so the {self.contents.name} beside it cannot either.",
                hint=f"Restore it, or {self._start_anew}.",
            ) from None

    async def _choose(self) -> StoreInfo:
        if any(self._directory.glob("*.json")):
            raise StoreError(
                f"{self._directory} holds {self.contents.name}, but {STORE_FILE}, which says how they are encrypted, is missing.",
                hint=f"Restore it, or {self._start_anew}.",
            )
        id, salt = token_hex(8), token_hex(16)
        key, source = await self._first_key(id, salt)
        info = StoreInfo(source, id, salt, check_value(key))
        self._write(info)
        return info

    def _write(self, info: StoreInfo) -> None:
        replace(self._directory / STORE_FILE, to_json(info))

    def _file_warning(self) -> str:
        return (
            f"No keychain is used here: the key of the stored {self.contents.name} is in the file {self._directory / KEY_FILE}, which "
            "only you can read. Set tokenStore.key to a secret:// reference to keep it elsewhere."
        )

    async def _first_key(self, id: str, salt: str) -> tuple[bytes, Source]:
        if self._configured is not None:
            return await asyncio.to_thread(derive, await self._configured(), salt), "config"
        key = token_bytes(KEY_BYTES)
        text = base64.b64encode(key).decode("ascii")
        if self._keychain is not None:
            try:
                await self._keychain.write(id, text)
                if await self._keychain.read(id) == text:
                    return key, "keychain"
            except KeychainError as error:
                _log.debug("The keychain cannot be used: %s.", error)
        file = self._directory / KEY_FILE
        replace(file, text.encode())
        _log.warning("%s", self._file_warning())
        return key, "file"

    async def _fetch(self, info: StoreInfo) -> bytes:
        if info.source == "config":
            if self._configured is None:
                raise self._gone(info, "it is no longer set")
            return await asyncio.to_thread(derive, await self._configured(), info.salt)
        if self._configured is not None:
            raise StoreError(
                f"The {self.contents.name} in {self._directory} are encrypted with {NAMES[info.source]}, but `tokenStore.key` is set now.",
                hint=f"Take it out again, or {self._start_anew}.",
            )
        text = await self._from_keychain(info) if info.source == "keychain" else self._from_file(info)
        try:
            key = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if len(key) != KEY_BYTES:
            raise self._gone(info, "it is damaged")
        remember(text)
        return key

    async def _from_keychain(self, info: StoreInfo) -> str:
        if self._keychain is None:
            raise self._gone(info, "the keychain may not be used here")
        try:
            text = await self._keychain.read(info.id)
        except KeychainError as error:
            raise self._gone(info, str(error)) from None
        if text is None:
            raise self._gone(info, "it is not there any more")
        return text

    def _from_file(self, info: StoreInfo) -> str:
        file = self._directory / KEY_FILE
        try:
            status = file.lstat()
            if sys.platform != "win32" and (status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077):
                raise self._gone(info, f"others can read it (chmod 600 {file})")
            return file.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            raise self._gone(info, f"{file} is not there any more") from None
        except (OSError, UnicodeDecodeError):
            raise self._gone(info, f"{file} cannot be read") from None

    @property
    def _start_anew(self) -> str:
        return f"remove that directory and {self.contents.again}"

    def _gone(self, info: StoreInfo, why: str) -> StoreError:
        return StoreError(
            f"The {self.contents.name} in {self._directory} are encrypted with {NAMES[info.source]}, which cannot be used: {why}.",
            hint=f"Give it back, or {self._start_anew}.",
        )


def derive(value: str, salt: str) -> bytes:
    """A key from a configured value: 32 bytes or more in hex or Base64 are random enough as they are, anything else is a passphrase."""
    remember(value)
    raw = _random_bytes(value.strip())
    if raw is not None:
        return hmac.digest(bytes.fromhex(salt), raw, "sha256")
    return hashlib.scrypt(value.encode(), salt=bytes.fromhex(salt), dklen=KEY_BYTES, **_SCRYPT)


def _random_bytes(text: str) -> bytes | None:
    for decode in (bytes.fromhex, lambda value: base64.b64decode(value, validate=True)):
        try:
            raw: bytes = decode(text)
        except (ValueError, binascii.Error):
            continue
        if len(raw) >= KEY_BYTES:
            return raw
    return None


def check_value(key: bytes) -> str:
    """What may be kept beside records, to tell a wrong key from a damaged record: it says nothing of the key."""
    return hmac.new(key, b"openclaw token store", "sha256").hexdigest()[:32]
