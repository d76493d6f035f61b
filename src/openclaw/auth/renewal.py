"""Getting tokens without a person: renewing those of a sign-in, and asking for a client's own.

Each runs once for all callers of this process and once among all processes (the lock around a server's tokens). New tokens
are safe before anybody uses them. What a refusal means is decided here: whether to try again later, or that a person has to sign in.
"""

import msgspec

from openclaw.auth.account import Account
from openclaw.auth.records import Endpoints, Grant
from openclaw.auth.registration import forget_client, own_client
from openclaw.errors import AuthError, RefusedError
from openclaw.protocol.oauth.authorization import Sources, choose_scopes
from openclaw.protocol.oauth.discovery import identity_provider
from openclaw.protocol.oauth.metadata import OFFLINE, AuthDiscovery
from openclaw.protocol.oauth.token import Identity, TokenEndpoint, Tokens, client_credentials, enterprise, refresh
from openclaw.redact import retire


async def renew(account: Account, stale: str) -> Grant:
    """A newer grant than the one whose access token is `stale`. Raises SignInNeededError when only a person can help."""
    flight = account.dependencies.flights.join(f"renew:{account.identity}", lambda: _renew(account, stale))
    return await account.traced("renew sign-in", flight)


async def obtain(account: Account, stale: str) -> Grant:
    """A grant for a client that signs in by itself, newer than the one whose access token is `stale`."""
    flight = account.dependencies.flights.join(f"obtain:{account.identity}", lambda: _obtain(account, stale))
    return await account.traced("sign-in", flight)


async def _renew(account: Account, stale: str) -> Grant:
    async with account.store.lock(Grant, *account.identity):
        grant = await account.grant()
        if grant is None:
            raise account.sign_in_needed("needs you to sign in")
        if grant.access_token != stale and not grant.expired(account.now()):
            return grant
        if not grant.refresh_token:
            raise account.sign_in_needed("needs you to sign in again: its access has ended and cannot be renewed")
        endpoint = TokenEndpoint(grant.issuer, grant.endpoints.token)
        proof = await account.proof(grant.client)
        try:
            flow = refresh(endpoint, grant.client, proof, grant.resource, grant.refresh_token)
            tokens = await account.flows.run(flow)
        except RefusedError as error:
            raise await _refused(account, grant, error) from None
        renewed = await account.keep_instead(grant, renewed_grant(grant, tokens, account.now()))
        if renewed is None:
            return await _of_others(account)
        _replaced(grant, renewed)
        return renewed


async def _of_others(account: Account) -> Grant:
    """Our hold was lost while the authorization server answered, as to a process that stood still for a while: what others kept since
    then counts, and what came for us is worth nothing."""
    grant = await account.grant()
    if grant is None or grant.expired(account.now()):
        raise account.sign_in_needed("needs you to sign in again: somebody else changed its sign-in meanwhile")
    return grant


def _replaced(former: Grant, now: Grant) -> None:
    """Tokens that others have taken the place of need not be masked for ever."""
    for old, new in ((former.access_token, now.access_token), (former.refresh_token, now.refresh_token)):
        if old != new:
            retire(old)


async def _refused(account: Account, grant: Grant, error: RefusedError) -> AuthError:
    """The refresh token is spent or unknown: it is not tried again, so that no server sees it used twice."""
    if error.code == "invalid_client":
        if grant.client.source != "dynamic":
            return AuthError(error.message, hint="Check `auth.clientId` and `auth.clientSecret` of this server.")
        await forget_client(account, grant.issuer)
    await account.keep_instead(grant, msgspec.structs.replace(grant, refresh_token=""))
    return account.sign_in_needed("needs you to sign in again: the authorization server no longer renews its access")


async def _obtain(account: Account, stale: str) -> Grant:
    async with account.store.lock(Grant, *account.identity):
        grant = await account.grant()
        if grant is not None and grant.access_token != stale and not grant.expired(account.now()):
            return grant
        record = await account.record()
        discovery = await account.discover(record)
        client = await own_client(account, record, discovery)
        if client is None:
            raise AuthError(
                f"The server '{account.spec.name}' is configured to be signed in to without a person, which needs a client.",
                hint="Set `auth.clientId`, and `auth.clientSecret` or `auth.privateKey`.",
            )
        settings = await account.choices()
        sources = Sources(settings.scopes, record.challenged, discovery.scopes_supported, record.wanted)
        # Staying signed in while nobody is there is a notion for persons.
        scopes = tuple(scope for scope in choose_scopes(sources, discovery.server) if scope != OFFLINE)
        endpoint = TokenEndpoint(discovery.issuer, discovery.server.token_endpoint or "")
        proof = await account.proof(client)
        if settings.grant == "enterprise":
            identity = await _identity(account)
            flow = enterprise(identity, endpoint, client, proof, discovery.resource, scopes)
        else:
            flow = client_credentials(endpoint, client, proof, discovery.resource, scopes)
        tokens = await account.flows.run(flow)
        now = account.now()
        obtained = Grant(
            how=settings.grant,
            issuer=discovery.issuer,
            resource=discovery.resource,
            client=client,
            endpoints=endpoints_of(discovery),
            access_token=tokens.access_token,
            refresh_token="",
            expires_at=None if tokens.expires_in is None else now + tokens.expires_in,
            obtained_at=now,
            signed_in_at=now,
            requested=scopes,
            scopes=scopes if tokens.scopes is None else tokens.scopes,
        )
        obtained = await account.keep(obtained)
        if grant is not None:
            _replaced(grant, obtained)
        await account.change(
            lambda before: msgspec.structs.replace(
                before,
                issuer=discovery.issuer,
                resource=discovery.resource,
                client_id=client.id,
                client_issuer=discovery.issuer,
                published=before.published or discovery.published,
            )
        )
        await account.forget_former(record, obtained)
    return obtained


async def _identity(account: Account) -> Identity:
    settings = await account.choices()
    if not settings.idp_id_token or not (settings.idp_token_endpoint or settings.idp_issuer):
        raise AuthError(
            "Enterprise-managed sign-in needs an identity provider and an identity token.",
            hint="Set `auth.idpIdToken`, and `auth.idpTokenEndpoint` or `auth.idpIssuer`.",
        )
    endpoint = settings.idp_token_endpoint
    if not endpoint:
        endpoint = (await account.flows.run(identity_provider(settings.idp_issuer))).token_endpoint or ""
    return Identity(endpoint, await account.value(settings.idp_client_id), await account.value(settings.idp_id_token))


def renewed_grant(grant: Grant, tokens: Tokens, now: float) -> Grant:
    """The grant with new tokens in it. An answer without a refresh token or scopes leaves those as they are."""
    return msgspec.structs.replace(
        grant,
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token or grant.refresh_token,
        expires_at=None if tokens.expires_in is None else now + tokens.expires_in,
        obtained_at=now,
        scopes=grant.scopes if tokens.scopes is None else tokens.scopes,
    )


def endpoints_of(discovery: AuthDiscovery) -> Endpoints:
    return Endpoints(discovery.server.token_endpoint or "", discovery.server.revocation_endpoint or "")
