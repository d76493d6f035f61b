"""Signing a person in: the address to open, the redirect that comes back here or is pasted elsewhere, and signing out.

`start` and `finish` may run in different processes: what has to be known in between waits encrypted, for ten minutes, and is used once.
`sign_in` does both around a listener on this machine. Opens no browser and prints nothing: whoever calls is given the address.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from secrets import randbelow, token_urlsafe
from typing import Final

import msgspec

from openclaw.auth.account import Account
from openclaw.auth.callback import listen
from openclaw.auth.probe import nothing_to_sign_in_to, probe
from openclaw.auth.records import Grant, Pending, ServerRecord
from openclaw.auth.registration import forget_client, obtain_client, retire_client
from openclaw.auth.renewal import endpoints_of
from openclaw.errors import AddressError, AuthError, OpenClawError, RefusedError
from openclaw.protocol.oauth.authorization import (
    STATE_BYTES,
    VERIFIER_BYTES,
    Question,
    Sources,
    authorization_url,
    choose_scopes,
    is_answer_to,
    is_bare,
    is_cut,
    read_answer,
)
from openclaw.protocol.oauth.challenge import bearer_challenge
from openclaw.protocol.oauth.discovery import NothingPublishedError
from openclaw.protocol.oauth.metadata import AuthDiscovery
from openclaw.protocol.oauth.registration import Wish
from openclaw.protocol.oauth.token import TokenEndpoint, exchange_code, revoke
from openclaw.redact import mask, remember, retire
from openclaw.security.egress import Rules, browser_address
from openclaw.to_the_end import to_the_end

_log = logging.getLogger(__name__)

# How long a started sign-in may wait for its callback address.
PENDING_LIFE: Final = 600.0
# How long the listener waits for the browser to come back.
LISTEN_LIFE: Final = 300.0
# Where ports are free for anybody (RFC 6335); a browser sent there finds nobody, and the person copies the address.
_DYNAMIC_PORTS: Final = range(49152, 65536)
# How often to look whether somebody has signed in elsewhere.
_LOOK_INTERVAL: Final = 0.5


class Started(msgspec.Struct, frozen=True):
    """Show `authorization_url` whole. `host` is where the person will type a password; `warning` says what is odd about it."""

    authorization_url: str
    host: str
    redirect_uri: str
    expires_at: float
    warning: str = ""

    def __repr__(self) -> str:
        return f"Started({self.host})"


class SignedIn(msgspec.Struct, frozen=True):
    """`expires_at` is of the access token, None when the server does not say; `renewable` says that it is renewed silently."""

    server: str
    scopes: tuple[str, ...]
    expires_at: float | None
    renewable: bool


class SignedOut(msgspec.Struct, frozen=True):
    """`was_signed_in` is False when there was nothing to forget; `revoked` says that the authorization server was told and agreed."""

    was_signed_in: bool
    revoked: bool


# Shows a person the address, or opens it.
Show = Callable[[Started], Awaitable[None]]


async def start(account: Account) -> Started:
    """Begin a sign-in. A later one replaces it. Raises AuthError when there is nothing to sign in to, ConnectError when nobody answers."""
    return (await _begin(account, ""))[0]


async def _begin(account: Account, redirect_uri: str) -> tuple[Started, Pending]:
    _attended(account)
    record, discovery = await _found(account)
    server = discovery.server
    settings = await account.choices()
    redirect_uri = redirect_uri or settings.redirect_url or record.redirect_uri or _somewhere()
    scopes = choose_scopes(
        Sources(settings.scopes, record.challenged, discovery.scopes_supported, record.wanted), server
    )
    try:
        client = await obtain_client(account, record, discovery, Wish(redirect_uri, scopes, account.now()))
    except AuthError:
        if not discovery.guessed:
            raise
        # Nothing was found and nothing is where old servers have it.
        raise AuthError(
            f"The server '{account.spec.name}' offers no sign-in that OpenClaw knows.",
            hint="If it takes an API key, set `apiKey` or `headers`.",
        ) from None
    question = Question(
        issuer=discovery.issuer,
        state=token_urlsafe(STATE_BYTES),
        verifier=token_urlsafe(VERIFIER_BYTES),
        redirect_uri=redirect_uri,
        resource=discovery.resource,
        scopes=scopes,
        iss_expected=bool(server.authorization_response_iss_parameter_supported)
        or _has_named_itself(record, discovery.issuer),
    )
    url, host = safe_address(authorization_url(server, client, question), account.flows.rules)
    await account.change(
        lambda before: msgspec.structs.replace(
            before,
            redirect_uri=redirect_uri,
            published=before.published or discovery.published,
            registered_at=discovery.issuer if client.source == "dynamic" else before.registered_at,
        )
    )
    pending = Pending(question, client, endpoints_of(discovery), account.now() + PENDING_LIFE)
    await _retire_pending(account)
    await account.store.write(pending, *account.identity)
    warning = "Its name is written in letters that may look like others." if "xn--" in host else ""
    return Started(url, host, redirect_uri, pending.expires_at, warning), pending


async def finish(account: Account, callback_url: str) -> SignedIn:
    """End a sign-in with the address the browser was sent to. Raises AuthError when it is not the answer to the one started last."""
    _attended(account)
    pending = await account.store.read(Pending, *account.identity)
    if pending is None or pending.expires_at <= account.now():
        await _retire_pending(account)
        await account.store.delete(Pending, *account.identity)
        raise account.sign_in_needed("has no sign-in under way, or it was started more than 10 minutes ago")
    question = pending.question
    if not is_bare(callback_url) and not is_answer_to(callback_url, question.state):
        # A slip of the paste, or somebody else's attempt: neither ends the sign-in that waits.
        raise AuthError(
            "The callback address does not belong to the sign-in that was started here last, so it is not used.",
            hint="Paste the address that the last sign-in ended at, or start again.",
        )
    if is_cut(callback_url, question):
        # Says what is missing; the sign-in waits for the whole address.
        read_answer(callback_url, question)
    # The code is good for one request: who leaves while it is answered (a tab is closed, Ctrl-C) would lose the sign-in.
    return await to_the_end(_redeem(account, pending, callback_url))


async def _redeem(account: Account, pending: Pending, callback_url: str) -> SignedIn:
    """Trade the code for tokens, and keep them."""
    question = pending.question
    # From here on state and verifier are spent, whatever comes of it; and of two who try, one is too late.
    if not await account.store.delete(Pending, *account.identity):
        raise account.sign_in_needed("has no sign-in under way: it was finished a moment ago")
    try:
        answer = read_answer(callback_url, question)
        remember(answer.code)
        try:
            endpoint = TokenEndpoint(question.issuer, pending.endpoints.token)
            proof = await account.proof(pending.client)
            tokens = await account.flows.run(exchange_code(endpoint, pending.client, proof, question, answer))
        finally:
            retire(answer.code)
    except RefusedError as error:
        raise await _refused(account, pending, error) from None
    finally:
        # Good for one use, which was this one.
        _retire(pending)
    now = account.now()
    grant = Grant(
        how="authorization_code",
        issuer=question.issuer,
        resource=question.resource,
        client=pending.client,
        endpoints=pending.endpoints,
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token,
        expires_at=None if tokens.expires_in is None else now + tokens.expires_in,
        obtained_at=now,
        signed_in_at=now,
        requested=question.scopes,
        scopes=question.scopes if tokens.scopes is None else tokens.scopes,
    )
    async with account.store.lock(Grant, *account.identity):
        former = await account.record()
        grant = await account.keep(grant)
        await account.change(lambda record: _settled(record, grant, question, iss_sent=answer.iss_sent))
        await account.forget_former(former, grant)
    return SignedIn(account.spec.name, grant.scopes, grant.expires_at, bool(grant.refresh_token))


async def sign_in(account: Account, show: Show, *, patience: float = LISTEN_LIFE) -> SignedIn:
    """Begin, wait for the browser to come back to this machine, and end. `show` gets the address to open."""
    _attended(account)
    outcome = await _try(account, show, patience)
    if isinstance(outcome, RefusedError):
        # The registration did not suit and is forgotten: once more, with a new one.
        outcome = await _try(account, show, patience)
    if isinstance(outcome, RefusedError):
        raise outcome
    return outcome


async def logout(account: Account) -> SignedOut:
    """Tell the authorization server to forget the tokens, and forget all that is stored about this server."""
    async with account.store.lock(Grant, *account.identity):
        # Read under the lock: a renewal under way would leave a newer token behind that nobody revokes.
        grant = await account.grant()
        revoked = grant is not None and await _revoked(account, grant)
        record = await account.record()
        forgotten = await account.store.delete(Grant, record.issuer, record.resource, *account.identity)
        for issuer in {record.issuer, record.registered_at} - {""}:
            await retire_client(account, issuer)
        await _retire_pending(account)
        await account.store.delete(Pending, *account.identity)
        await account.store.delete(ServerRecord, *account.identity)
    return SignedOut(forgotten, revoked)


async def wait_for_sign_in(account: Account, since: float) -> None:
    """Wait until somebody has signed in after `since`, in whichever process. Ends with that, or when it is cancelled."""
    seen = 0
    while True:
        stamp = account.store.stamp(ServerRecord, *account.identity)
        if stamp != seen and (await account.record()).signed_in_at > since:
            return
        seen = stamp
        await asyncio.sleep(_LOOK_INTERVAL)


# Codes that a new registration may mend.
_STALE: Final = frozenset(("invalid_client", "invalid_scope", "unauthorized_client"))


def _attended(account: Account) -> None:
    if not account.attended:
        raise AuthError(
            f"The server '{account.spec.name}' is signed in to by the client itself: there is nothing for a person to do.",
            hint="Its tokens are fetched when the server is used.",
        )


async def _found(account: Account) -> tuple[ServerRecord, AuthDiscovery]:
    """What is known of the server, with a challenge (the one a call met, else one that is asked for now), and where that leads."""
    record = await account.record()
    if record.unauthorized or record.resource_metadata:
        return record, await account.discover(record)
    heard = await probe(account.spec, account.url, account.dependencies.network)
    challenge = bearer_challenge(mask(heard.challenge or ""))
    record = msgspec.structs.replace(
        record,
        unauthorized=heard.status == 401,
        resource_metadata=challenge.resource_metadata,
        challenged=challenge.scopes,
    )
    try:
        return record, await account.discover(record)
    except NothingPublishedError:
        if record.unauthorized:
            raise
        raise nothing_to_sign_in_to(account.spec.name, heard.status) from None


def _has_named_itself(record: ServerRecord, issuer: str) -> bool:
    return record.iss_seen and record.issuer == issuer


def _somewhere() -> str:
    return f"http://127.0.0.1:{_DYNAMIC_PORTS[randbelow(len(_DYNAMIC_PORTS))]}/callback"


def safe_address(url: str, rules: Rules) -> tuple[str, str]:
    """An address as it may be given to a browser, and its host: https (http for this machine alone), and no character that any program on
    the way could take for more than a part of it. Raises AuthError."""
    try:
        return browser_address(url, rules, what="The authorization server's sign-in page")
    except AddressError as error:
        raise AuthError(error.message, hint=error.hint) from None


async def _try(account: Account, show: Show, patience: float) -> SignedIn | RefusedError:
    """One sign-in through the listener; the refusal, when a new registration may mend it."""
    record = await account.record()
    redirect_url = (await account.choices()).redirect_url
    async with listen(redirect_url, preferred=record.redirect_uri) as listener:
        started, pending = await _begin(account, listener.redirect_uri)
        listener.expect(pending.question.state)
        await show(started)
        callback_url = await listener.answer(patience)
        try:
            result = await finish(account, callback_url)
        except OpenClawError as error:
            await listener.reply(success=False)
            if isinstance(error, RefusedError) and _is_stale(pending, error):
                return error
            raise
        await listener.reply(success=True)
        return result


async def _retire_pending(account: Account) -> None:
    """A sign-in that nobody ended is over: what it alone was for need not be masked for ever."""
    if pending := await account.store.read(Pending, *account.identity):
        _retire(pending)


def _retire(pending: Pending) -> None:
    for secret in pending.once():
        retire(secret)


async def _refused(account: Account, pending: Pending, error: RefusedError) -> RefusedError:
    """A registration that does not suit any more is forgotten, so that the next sign-in makes a better one."""
    if not _is_stale(pending, error):
        return error
    await forget_client(account, pending.question.issuer)
    return RefusedError(error.code, error.message, hint="The registration has been renewed; start the sign-in again.")


def _is_stale(pending: Pending, error: RefusedError) -> bool:
    return pending.client.source == "dynamic" and error.code in _STALE


def _settled(record: ServerRecord, grant: Grant, question: Question, *, iss_sent: bool) -> ServerRecord:
    """The record after a sign-in: challenges are met, scopes and refusals stay remembered."""
    configured = grant.client.source == "configured"
    return msgspec.structs.replace(
        record,
        issuer=grant.issuer,
        resource=grant.resource,
        redirect_uri=question.redirect_uri,
        client_id=grant.client.id if configured else "",
        client_issuer=grant.issuer if configured else "",
        signed_in_at=grant.signed_in_at,
        iss_seen=iss_sent or _has_named_itself(record, grant.issuer),
        unauthorized=False,
        resource_metadata="",
        challenged=None,
    )


async def _revoked(account: Account, grant: Grant) -> bool:
    """Tell the authorization server to forget both tokens. The one that lasts decides whether it did: not all can forget the other, which
    ends by itself."""
    if not grant.endpoints.revocation:
        return False
    endpoint = TokenEndpoint(grant.issuer, grant.endpoints.revocation)
    both = ((grant.refresh_token, "refresh_token"), (grant.access_token, "access_token"))
    answers: list[bool] = []
    try:
        for token, kind in both:
            if token:
                # Made anew for each request: an assertion is good for one.
                proof = await account.proof(grant.client)
                answers.append(await account.flows.run(revoke(endpoint, grant.client, proof, token, kind)))
    except OpenClawError as error:
        # What cannot be revoked is still forgotten here.
        _log.debug("A token could not be revoked: %s", type(error).__name__)
    return answers[:1] == [True]
