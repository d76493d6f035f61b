"""One server as authorization sees it: at which address, for whom, with which configured client, and what is stored about that.

Owns the names that records are kept under, and so the rule that a token goes to the address it was issued for and nowhere else: records are
found by the address in the config, the owner, the issuer and the resource, and by nothing a server says about itself. Knows no flow:
`bearer.py` and `login.py` do.
"""

from collections.abc import Awaitable, Callable
from secrets import token_urlsafe
from time import time
from typing import Any, Final, TypeVar

import msgspec

from openclaw.auth.flow_runner import FlowRunner, rules_for
from openclaw.auth.records import Grant, Registration, ServerRecord
from openclaw.auth.signing import make_signer
from openclaw.config.servers import AuthSpec, ServerSpec
from openclaw.errors import SignInNeededError
from openclaw.net.client import ClientOptions
from openclaw.protocol.oauth.challenge import Challenge
from openclaw.protocol.oauth.discovery import Acquaintance, discover
from openclaw.protocol.oauth.metadata import AuthDiscovery, check_for_sign_in, check_for_tokens
from openclaw.protocol.oauth.registration import Configured, OAuthClient
from openclaw.protocol.oauth.token import Proof
from openclaw.protocol.oauth.wire import clean_scopes
from openclaw.redact import SECRET_SCHEME, mask, remember
from openclaw.secrets.store.encrypted import EncryptedStore
from openclaw.security.egress import parse_url
from openclaw.single_flight import SingleFlight
from openclaw.typed_words import quote_word

# A configured value with every secret reference in it replaced. Raises SecretError.
Resolve = Callable[[str], Awaitable[str]]

# Settings that are no credentials; somebody may keep them with those all the same.
_CHOICES: Final = (
    *("redirect_url", "client_metadata_url", "token_endpoint_auth_method", "signing_alg"),
    *("idp_issuer", "idp_token_endpoint"),
)


# Is given what is done, for which server, and the doing of it: gives what that gives.
TraceSignIn = Callable[[str, str, Awaitable[Any]], Awaitable[Any]]
T = TypeVar("T")


class AuthDependencies(msgspec.Struct, frozen=True):
    """What all accounts of a program share."""

    store: EncryptedStore
    resolve: Resolve
    network: ClientOptions = msgspec.field(default_factory=ClientOptions)
    clock: Callable[[], float] = time
    # A renewal whose asker was cancelled goes on: the authorization server may have replaced the refresh token already, and the new one
    # would be lost with the answer.
    flights: SingleFlight[Grant] = msgspec.field(default_factory=lambda: SingleFlight("auth", goes_on=True))
    trace: TraceSignIn | None = None


class Account:
    def __init__(self, spec: ServerSpec, url: str, dependencies: AuthDependencies) -> None:
        self.spec = spec
        self.url = url
        self.dependencies = dependencies
        self.settings = spec.auth or AuthSpec()
        rules = rules_for(url, allow_private=spec.allow_private)
        self.flows = FlowRunner(rules, ca_cert=spec.ca_cert, network=dependencies.network)

    @classmethod
    async def of(cls, spec: ServerSpec, dependencies: AuthDependencies) -> "Account":
        """Raises AddressError or SecretError when the spec's address cannot be used."""
        url = await dependencies.resolve(spec.url) if SECRET_SCHEME in spec.url else spec.url
        parse_url(url)
        return cls(spec, url, dependencies)

    @property
    def identity(self) -> tuple[str, str]:
        """The address and the owner: what everything stored about this server is kept under."""
        return self.url, self.spec.owner

    @property
    def store(self) -> EncryptedStore:
        return self.dependencies.store

    @property
    def attended(self) -> bool:
        """Whether a person has to sign in; else the client does by itself."""
        return self.settings.grant == "authorization_code"

    def now(self) -> float:
        return self.dependencies.clock()

    async def traced(self, what: str, work: Awaitable[T]) -> T:
        """What `work` gives: a sign-in to this server, or a part of one, which whoever traces is told of."""
        trace = self.dependencies.trace
        result: T = await (work if trace is None else trace(what, self.spec.name, work))
        return result

    # What is stored

    async def record(self) -> ServerRecord:
        return await self.store.read(ServerRecord, *self.identity) or ServerRecord()

    async def change(self, update: Callable[[ServerRecord], ServerRecord]) -> ServerRecord:
        """Change the server's record, under its lock."""
        async with self.store.lock(ServerRecord, *self.identity):
            before = await self.record()
            after = update(before)
            if after != before:
                await self.store.write(after, *self.identity)
        return after

    async def grant(self) -> Grant | None:
        """The tokens for this server, if they came from the client and the authorization server that the config names now."""
        if not self.store.stamp(ServerRecord, *self.identity):
            return None
        record = await self.record()
        found = await self.store.read(Grant, record.issuer, record.resource, *self.identity)
        return found if found is not None and await self._fits(found) else None

    async def keep(self, grant: Grant) -> Grant:
        """Store tokens. When this returns they are safe, and may be used. What is kept, and given back, has no secret among its
        scopes, which people are shown."""
        kept = self._to_keep(grant)
        await self.store.write(kept, grant.issuer, grant.resource, *self.identity)
        return kept

    async def keep_instead(self, former: Grant, grant: Grant) -> Grant | None:
        """The same in the place of `former`; None when others have changed or forgotten that meanwhile: then theirs counts."""
        kept = self._to_keep(grant)
        is_kept = await self.store.replace(former, kept, grant.issuer, grant.resource, *self.identity)
        return kept if is_kept else None

    def _to_keep(self, grant: Grant) -> Grant:
        for secret in grant.secrets():
            remember(secret)
        return msgspec.structs.replace(grant, scopes=clean_scopes([mask(scope) for scope in grant.scopes]))

    async def forget_former(self, former: ServerRecord, grant: Grant) -> None:
        """Forget what is stored for the authorization server, or under the name, that this server had before: no sign-out would find it."""
        if not former.issuer or (former.issuer, former.resource) == (grant.issuer, grant.resource):
            return
        await self.store.delete(Grant, former.issuer, former.resource, *self.identity)
        if former.issuer != grant.issuer:
            await self.store.delete(Registration, former.issuer, *self.identity)

    # The configured client

    async def choices(self) -> AuthSpec:
        """The settings, with references replaced in all that are no credentials; those are fetched when they are needed."""
        settings = self.settings
        changed: dict[str, Any] = {name: await self.value(getattr(settings, name)) for name in _CHOICES}
        scopes = None if settings.scopes is None else tuple([await self.value(scope) for scope in settings.scopes])
        return msgspec.structs.replace(settings, scopes=scopes, **changed)

    async def configured(self) -> Configured:
        settings = await self.choices()
        return Configured(
            await self.value(settings.client_id),
            bool(settings.client_secret),
            bool(settings.private_key),
            settings.token_endpoint_auth_method,
            settings.client_metadata_url,
        )

    async def proof(self, client: OAuthClient) -> Proof:
        """What the client proves itself with at its own authorization server, this once."""
        now, nonce = self.now(), token_urlsafe(16)
        if client.source == "dynamic" or client.method == "none":
            return Proof(now)
        if client.method == "private_key_jwt":
            algorithm = (await self.choices()).signing_alg
            signer = make_signer(await self.value(self.settings.private_key), algorithm)
            return Proof(now, nonce, algorithm=signer.algorithm, sign=signer.sign)
        secret = await self.value(self.settings.client_secret)
        remember(secret)
        return Proof(now, nonce, secret)

    async def value(self, text: str) -> str:
        """A setting with its secret references replaced."""
        return await self.dependencies.resolve(text) if SECRET_SCHEME in text else text

    async def _fits(self, grant: Grant) -> bool:
        settings = self.settings
        if grant.how != settings.grant:
            return False
        if await self.value(settings.authorization_server_url) not in ("", grant.issuer):
            return False
        if not settings.client_id:
            return grant.client.source != "configured"
        return grant.client.id == await self.value(settings.client_id)

    # Others

    async def discover(self, record: ServerRecord) -> AuthDiscovery:
        """Where to get tokens for this server now. The authorization server used before is preferred while it is listed."""
        challenge = Challenge(record.resource_metadata, record.challenged)
        check = check_for_sign_in if self.attended else check_for_tokens
        # A server that has given us tokens wants them.
        known = Acquaintance(record.unauthorized or bool(record.issuer), record.published, record.revision)
        override = await self.value(self.settings.authorization_server_url)
        flow = discover(self.url, challenge, check, known, override=override, prefer=record.issuer)
        return await self.flows.run(flow)

    def sign_in_needed(self, why: str) -> SignInNeededError:
        agent = f" --agent {quote_word(self.spec.owner)}" if self.spec.owner else ""
        return SignInNeededError(
            f"The server '{self.spec.name}' {why}.",
            hint=f"Run `openclaw mcp auth {quote_word(self.spec.name)}{agent}`.",
        )
