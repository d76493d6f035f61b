"""The one object of `auth` that a program holds: it makes authorizers for servers, and signs people in and out.

    tokens = token_files(paths.tokens_dir, resolve=resolver.resolve, key="secret://…")
    credentials = Credentials(tokens, resolve=resolver.resolve)
    dependencies = Dependencies(authorize=credentials.authorizer, …)
    started = await credentials.start(spec)            # show started.authorization_url
    await credentials.finish(spec, callback_url)       # here, or in another process within ten minutes

Costs next to nothing until a server asks for credentials. Everything returns values; nothing prints.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from openclaw.auth import login
from openclaw.auth.account import Account, AuthDependencies, Resolve, TraceSignIn
from openclaw.auth.bearer import AuthStatus, BearerAuthorizer
from openclaw.auth.signing import make_signer
from openclaw.config.servers import ServerSpec
from openclaw.net.client import ClientOptions
from openclaw.protocol.oauth.registration import client_metadata_document
from openclaw.secrets.store.encrypted import EncryptedStore
from openclaw.secrets.store.key import Source, StoreKey
from openclaw.secrets.store.keychain import Keychain, SystemKeychain
from openclaw.secrets.store.records import FileRecords

_SYSTEM = SystemKeychain()


def token_files(
    folder: Path, *, resolve: Resolve, key: str = "", keychain: Keychain | None = _SYSTEM
) -> EncryptedStore:
    """Tokens in files of a folder. `key` is `tokenStore.key`, a reference or a value; empty when it is not set. `keychain` None keeps the
    OS keychain out of it."""

    async def configured() -> str:
        return await resolve(key)

    return EncryptedStore(
        FileRecords(folder), StoreKey(folder, configured=configured if key else None, keychain=keychain)
    )


class Credentials:
    """`tokens` is where all that is known of sign-ins is kept. `resolve` replaces secret references. `network` carries proxies, if OAuth
    requests shall use them. `trace` is told of every sign-in and renewal.
    """

    def __init__(
        self,
        tokens: EncryptedStore,
        *,
        resolve: Resolve,
        network: ClientOptions | None = None,
        clock: Callable[[], float] = time.time,
        trace: TraceSignIn | None = None,
    ) -> None:
        self._dependencies = AuthDependencies(tokens, resolve, network or ClientOptions(), clock, trace=trace)

    def authorizer(self, spec: ServerSpec) -> BearerAuthorizer | None:
        """Who answers for the credentials of a server; None when they are fixed (`apiKey`, an Authorization header) or it has no URL."""
        fixed = spec.api_key or any(name.lower() == "authorization" for name, _ in spec.headers)
        if fixed or not spec.url or spec.facts.is_process:
            return None
        return BearerAuthorizer(spec, self._dependencies)

    async def start(self, spec: ServerSpec) -> login.Started:
        """Begin a sign-in whose callback address is pasted: `finish` it within ten minutes, in this or another process."""
        account = await self._account(spec)
        return await account.traced("begin sign-in", login.start(account))

    async def finish(self, spec: ServerSpec, callback_url: str) -> login.SignedIn:
        account = await self._account(spec)
        return await account.traced("finish sign-in", login.finish(account, callback_url))

    async def sign_in(
        self, spec: ServerSpec, show: login.Show, *, patience: float = login.LISTEN_LIFE
    ) -> login.SignedIn:
        """Begin and finish a sign-in with a listener on this machine. `show` opens or prints the address; it may be asked twice."""
        account = await self._account(spec)
        return await account.traced("sign-in", login.sign_in(account, show, patience=patience))

    async def logout(self, spec: ServerSpec) -> login.SignedOut:
        account = await self._account(spec)
        return await account.traced("sign-out", login.logout(account))

    async def status(self, spec: ServerSpec) -> AuthStatus:
        return await BearerAuthorizer(spec, self._dependencies).status()

    async def signed_in(self, spec: ServerSpec, since: float) -> None:
        """Wait until somebody has signed in to the server after `since` (seconds since the epoch), in this or another process."""
        await login.wait_for_sign_in(await self._account(spec), since)

    async def client_metadata(self, spec: ServerSpec) -> dict[str, Any]:
        """The document to host at `auth.clientMetadataUrl` (`openclaw mcp auth NAME --print-client-metadata`)."""
        account = await self._account(spec)
        settings = await account.choices()
        key = await account.value(settings.private_key)
        jwks = {"keys": [make_signer(key, settings.signing_alg).public]} if key else None
        return client_metadata_document(settings.client_metadata_url, settings.redirect_url, jwks)

    async def key_source(self) -> Source | None:
        """Where the key of the stored tokens is; None while nothing is stored."""
        return await self._dependencies.store.key.source()

    async def check_key(self) -> None:
        """Fetch the key that the stored tokens are encrypted with. Raises StoreError or SecretError when it is not to be had."""
        await self._dependencies.store.key.get()

    async def key_warning(self) -> str:
        """What the person who signs in is to be told about that key, once for ever; empty otherwise."""
        return await self._dependencies.store.key.warn()

    async def close(self) -> None:
        """Wait for renewals under way, so that no rotated token is lost. Bounded by the deadlines of their requests."""
        await self._dependencies.flights.close()

    async def _account(self, spec: ServerSpec) -> Account:
        return await Account.of(spec, self._dependencies)
