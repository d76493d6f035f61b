"""Putting a secret away: into the system's keychain or, where there is none, into an encrypted store of ours.

Gives the reference that finds it again. Never writes over another secret of the same name, which may be somebody's: the new one gets a
number. Which of the two places it is was decided before (`Keeper.of`) and is never changed on the way.
"""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal, TypeVar
from urllib.parse import quote, unquote

from keyring.backend import KeyringBackend
from keyring.errors import KeyringError

from openclaw.config.loaded import Config
from openclaw.config.servers import secret_text
from openclaw.daemon_thread import in_daemon_thread
from openclaw.errors import SecretError, StoreError
from openclaw.files import reason
from openclaw.redact import SECRET_SCHEME, remember
from openclaw.secrets.encrypted import StoredSecret, reference_to, secret_store
from openclaw.secrets.keychain import system_keychain
from openclaw.secrets.resolve import Resolver
from openclaw.secrets.store.encrypted import EncryptedStore

T = TypeVar("T")

SERVICE: Final = "openclaw"
# A person has to find the prompt and type a password.
_DEADLINE: Final = 60.0
# Of one name; nobody has more.
_MOST: Final = 100

Place = Literal["keychain", "file"]


def is_kept(reference: str, folder: Path, name: str = "") -> bool:
    """Whether we put a secret there ourselves, under a name that begins so. `folder` is that of the store."""
    # Before there was a store each was a file in it, its name in one piece.
    file = f"file/{quote(str(folder), safe='/')}/{name.replace('/', '.')}"
    places = (f"keychain/{SERVICE}/{quote(name, safe='/')}", f"encrypted/{quote(name, safe='/')}", file)
    return reference.startswith(tuple(SECRET_SCHEME + place for place in places))


class Keeper:
    """`store` is for what does not go into the keychain. `why` says why nothing does, where nothing does."""

    def __init__(self, store: EncryptedStore, keychain: KeyringBackend | None, why: str = "") -> None:
        self._store = store
        self._keychain = keychain
        self._made: list[str] = []
        self.why = why

    @classmethod
    async def of(cls, config: Config, env: Mapping[str, str], folder: Path, place: Place | None = None) -> "Keeper":
        """`place` insists on one; otherwise it is the keychain wherever there is one. Raises SecretError when there is not."""
        store = secret_store(folder, secret_text(config.root.token_store.key), Resolver.of(config, env).resolve)
        if place == "file":
            return cls(store, None)
        try:
            return cls(store, await in_daemon_thread(system_keychain))
        except SecretError as error:
            if place == "keychain":
                raise
            return cls(store, None, error.message)

    @property
    def place(self) -> Place:
        return "keychain" if self._keychain is not None else "file"

    @property
    def shown(self) -> str:
        return "the keychain" if self._keychain is not None else f"the encrypted store in {self._store.records.shown()}"

    async def warning(self) -> str:
        """What the person is to be told about the key of that store, once for ever; empty otherwise."""
        return await self._store.key.warn()

    async def take_back(self) -> None:
        """Take away again what this keeper put away; what was there before, and may be in use, stays."""
        while self._made:
            await self.forget(self._made.pop())

    async def keep(self, name: str, value: str) -> str:
        """Put a value away under a name such as `github/env/TOKEN`. The reference to it. Raises SecretError or StoreError."""
        remember(value)
        # Whoever resolves a reference takes one line end off it.
        kept = value + "\n" if value.endswith("\n") else value
        for number in range(1, _MOST):
            numbered = name if number == 1 else f"{name}-{number}"
            if self._keychain is not None:
                reference = f"{SECRET_SCHEME}keychain/{SERVICE}/{quote(numbered, safe='/')}"
                is_there = await self._into_keychain(self._keychain, numbered, kept, reference)
            else:
                reference = reference_to(numbered)
                is_there = await self._into_store(numbered, kept, reference)
            if is_there:
                return reference
        raise SecretError(f"There are {_MOST} secrets named {name} already.")

    async def forget(self, reference: str) -> str:
        """Take a secret of ours away again, as far as that can be done. Why it may still be there; empty when it is gone."""
        kind, _, rest = reference.removeprefix(SECRET_SCHEME).partition("/")
        try:
            if kind == "encrypted":
                await self._store.delete(StoredSecret, unquote(rest))
            elif kind == "file":
                # Files that nothing encrypted are where secrets went before there was a store.
                await asyncio.to_thread(Path(unquote(rest)).unlink, missing_ok=True)
            elif self._keychain is None:
                return self.why or "the keychain was not asked"
            else:
                keychain, account = self._keychain, unquote(rest.partition("/")[2])
                await self._asked(lambda: keychain.delete_password(SERVICE, account))
        except OSError as error:
            return reason(error)
        except (SecretError, StoreError) as error:
            return error.message.rstrip(".")
        return ""

    async def _into_keychain(self, keychain: KeyringBackend, account: str, value: str, reference: str) -> bool:
        """Whether it is there now; another value of that name is left alone."""
        there = await self._asked(lambda: keychain.get_password(SERVICE, account))
        if there is None:
            self._made.append(reference)
            await self._asked(lambda: keychain.set_password(SERVICE, account, value))
            there = await self._asked(lambda: keychain.get_password(SERVICE, account))
            if there != value:
                raise SecretError("The keychain does not give back what it was given.", hint="Use --secrets file.")
        return there == value

    async def _asked(self, use: Callable[[], T]) -> T:
        try:
            async with asyncio.timeout(_DEADLINE):
                return await in_daemon_thread(use)
        except TimeoutError:
            why = f"did not answer within {_DEADLINE:g} s"
        except KeyringError as error:
            # Its own words come from the desktop, and nothing vouches for them.
            why = f"refused ({type(error).__name__})"
        raise SecretError(f"The keychain {why}.", hint="Unlock it and try again, or use --secrets file.")

    async def _into_store(self, name: str, value: str, reference: str) -> bool:
        """The same for the store."""
        async with self._store.lock(StoredSecret, name):
            there = await self._store.read(StoredSecret, name)
            if there is None:
                self._made.append(reference)
                await self._store.write(StoredSecret(value), name)
                return True
        return there.value == value
