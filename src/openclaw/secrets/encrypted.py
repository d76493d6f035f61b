"""`secret://encrypted/NAME`: a secret that was given to us on a machine without a keychain, in an encrypted store of our own.

Owns what is kept there and how the store is opened: with `tokenStore.key` or, without one, with a private key file beside it, as tokens
are. `keeping.py` puts secrets there; the store itself is that of `store/`.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from openclaw.config.paths import Paths
from openclaw.errors import SecretError
from openclaw.redact import SECRET_SCHEME
from openclaw.secrets.provider import ProviderDependencies
from openclaw.secrets.store.encrypted import EncryptedStore, Record
from openclaw.secrets.store.key import SECRETS, StoreKey
from openclaw.secrets.store.records import FileRecords

SCHEME: Final = f"{SECRET_SCHEME}encrypted/"


class StoredSecret(Record, frozen=True):
    value: str

    def secrets(self) -> tuple[str, ...]:
        return (self.value,)


class EncryptedSecrets:
    def __init__(self, dependencies: ProviderDependencies) -> None:
        folder = Paths.from_env(dependencies.env).secrets_dir
        self._store = secret_store(folder, dependencies.store_key, dependencies.resolve)

    async def fetch(self, rest: str) -> str:
        record = await self._store.read(StoredSecret, unquote(rest))
        if record is None:
            raise SecretError(
                f"{self._store.records.shown()} has nothing of that name",
                hint="Store it again, as with: openclaw keys set VENDOR",
            )
        return record.value


def secret_store(folder: Path, key: str, resolve: Callable[[str], Awaitable[str]]) -> EncryptedStore:
    """The store in a folder. `key` is `tokenStore.key`, a reference or a value; empty when it is not set."""

    async def configured() -> str:
        if SCHEME in key:
            raise SecretError(
                "tokenStore.key is itself in the store that it opens", hint="Let it refer to another provider."
            )
        return await resolve(key)

    # Where there is a keychain a secret is kept in it, and no store is needed.
    store_key = StoreKey(folder, configured=configured if key else None, keychain=None, contents=SECRETS)
    return EncryptedStore(FileRecords(folder), store_key)


def reference_to(name: str) -> str:
    return SCHEME + quote(name, safe="/")
