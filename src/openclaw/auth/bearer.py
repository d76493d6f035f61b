"""The credentials of one server while it is in use: a bearer header for each request, renewed in time, and an answer to each 401 and 403.

Implements `protocol/authorizer.py`. No lock is held across a request: calls stay parallel, and only a renewal is waited for together. A
person comes last: a token that another process got, then a renewal, then an error which says that somebody has to sign in, and by which
command. Who makes the call may have them do it (the asker of its conversation). What calls turned out to need is remembered for that.
"""

import math
import time
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from openclaw.auth.account import Account, AuthDependencies
from openclaw.auth.records import Grant, ScopeRefusals, ServerRecord
from openclaw.auth.renewal import obtain, renew
from openclaw.config.servers import ServerSpec
from openclaw.errors import AuthError, ConnectError, SignInNeededError, StepUpNeededError, StoreError
from openclaw.protocol.eras import DISCOVER
from openclaw.protocol.oauth.challenge import Challenge, bearer_challenge, offers_bearer
from openclaw.protocol.oauth.wire import union
from openclaw.redact import mask
from openclaw.secrets.store.records import Records

# A sign-in that asked for more scopes may be repeated this often for the same ones; then the server's no is final.
MAX_STEP_UPS: Final = 2
# However its demands differ, a server gets no more sign-ins out of a person than this before the memory of them fades.
MAX_STEP_UPS_IN_ALL: Final = 4
# Such a no is remembered for an hour: whoever may give the right might do so meanwhile.
REFUSAL_MEMORY: Final = 3600.0
# A token turned down this soon after it came is not renewed again: the server does not want what its authorization server gives.
FRESH: Final = 10.0
# After a renewal that failed, a token that is still good is used for this long before the next attempt.
RENEWAL_PAUSE: Final = 10.0
# Another process may sign in or out: noticed within so many seconds. With every request it would cost as much as sending it.
LOOK_EVERY: Final = 0.01


class AuthStatus(msgspec.Struct, frozen=True):
    """How it stands with a server. `expires_at` is of the access token; with `renewable` nobody has to care."""

    state: Literal["none", "signed-in", "expired"]
    issuer: str = ""
    scopes: tuple[str, ...] = ()
    expires_at: float | None = None
    renewable: bool = False


class BearerAuthorizer:
    def __init__(self, spec: ServerSpec, dependencies: AuthDependencies) -> None:
        self._spec = spec
        self._dependencies = dependencies
        self._account: Account | None = None
        # Those of the account's store.
        self._records: Records | None = None
        self._grant: Grant | None = None
        self._headers: dict[str, str] = {}
        # The record's stamp when it was read; -1 before that. When it was last looked at, and what this process had changed by then.
        self._seen = -1
        self._looked_at = -math.inf
        self._changes = 0
        self._pause_until = 0.0

    def headers_at_hand(self) -> Mapping[str, str] | None:
        account, records = self._account, self._records
        if account is None or records is None or not records.is_checked:
            return None
        moment = time.monotonic()
        if records.changes != self._changes or moment >= self._looked_at + LOOK_EVERY:
            if account.store.stamp(ServerRecord, *account.identity) != self._seen:
                return None
            self._looked_at, self._changes = moment, records.changes
        grant = self._grant
        return self._headers if grant is None or not grant.expiring(account.now()) else None

    async def headers(self) -> Mapping[str, str]:
        account = self._account or await self._open()
        records, moment = account.store.records, time.monotonic()
        if not records.is_checked:
            await _check(records)
        if records.changes != self._changes or moment >= self._looked_at + LOOK_EVERY:
            changes, stamp = records.changes, account.store.stamp(ServerRecord, *account.identity)
            if stamp != self._seen:
                try:
                    await self._read(account, stamp)
                except StoreError as error:
                    raise _closed(error) from None
            # Not before it was read: who comes meanwhile would go by what was there, or by nothing.
            self._looked_at, self._changes = moment, changes
        grant = self._grant
        if grant is None:
            return self._headers
        now = account.now()
        if not grant.expiring(now) or (now < self._pause_until and not grant.expired(now)):
            return self._headers
        try:
            await self._renew(account, grant)
        except (AuthError, ConnectError, StoreError) as error:
            self._pause_until = account.now() + RENEWAL_PAUSE
            if not grant.expired(account.now()):
                # Good for a little longer.
                return self._headers
            if isinstance(error, StoreError):
                raise _closed(error) from None
            if not isinstance(error, SignInNeededError):
                raise
            # The server's own answer tells what is needed.
            return {}
        return self._headers

    async def challenged(self, status: int, headers: Mapping[str, str], sent: Mapping[str, str]) -> bool:
        account = self._account or await self._open()
        # A server may repeat the token here, and what it asks for is shown to people.
        header = mask(headers.get("www-authenticate", ""))
        challenge = bearer_challenge(header)
        before = sent.get("Authorization", "").removeprefix("Bearer ")
        try:
            if status == 401:
                met = _Met(challenge, before, revision_of(sent), oauth=offers_bearer(header))
                return await self._unauthorized(account, met)
            if status == 403 and challenge.error == "insufficient_scope" and challenge.scopes:
                return await self._step_up(account, challenge, before)
        except StoreError as error:
            raise _closed(error) from None
        return False

    async def status(self) -> AuthStatus:
        account = self._account or await self._open()
        grant = await account.grant()
        if grant is None:
            return AuthStatus("none")
        renewable = bool(grant.refresh_token) or not account.attended
        ended = grant.expired(account.now()) and not renewable
        return AuthStatus("expired" if ended else "signed-in", grant.issuer, grant.scopes, grant.expires_at, renewable)

    # Tokens

    async def _open(self) -> Account:
        self._account = account = await Account.of(self._spec, self._dependencies)
        self._records = account.store.records
        return account

    async def _read(self, account: Account, stamp: int) -> None:
        self._adopt(await account.grant())
        self._seen = stamp

    def _adopt(self, grant: Grant | None) -> None:
        self._grant = grant
        self._headers = {} if grant is None else {"Authorization": f"Bearer {grant.access_token}"}

    async def _renew(self, account: Account, grant: Grant) -> None:
        get = renew if account.attended else obtain
        try:
            self._adopt(await get(account, grant.access_token))
        except SignInNeededError:
            self._adopt(await account.grant())
            raise

    # 401

    async def _unauthorized(self, account: Account, met: "_Met") -> bool:
        self._adopt(await account.grant())
        grant, now = self._grant, account.now()
        if grant is not None and grant.access_token != met.token and not grant.expired(now):
            return True
        fresh = grant is not None and now - grant.obtained_at < FRESH and not grant.expired(now)
        if not account.attended:
            if fresh:
                raise AuthError(
                    f"The server '{self._spec.name}' turns down a token that its authorization server has just given.",
                    hint="Check `auth.scopes` and the client's rights.",
                )
            await self._remember(account, met)
            self._adopt(await obtain(account, met.token))
            return True
        needed = account.sign_in_needed("needs you to sign in")
        if grant is not None and grant.refresh_token and not fresh:
            try:
                self._adopt(await renew(account, met.token))
                return True
            except SignInNeededError as error:
                needed = error
        if not met.oauth:
            needed.advise("If it takes an API key instead, set `apiKey` or `headers`.")
        await self._remember(account, met)
        raise needed

    async def _remember(self, account: Account, met: "_Met") -> None:
        """Kept for the sign-in, which may happen in another process: not every request of a server is answered by a challenge."""
        await account.change(
            lambda record: msgspec.structs.replace(
                record,
                unauthorized=True,
                resource_metadata=met.challenge.resource_metadata,
                challenged=met.challenge.scopes,
                revision=max(record.revision, met.revision),
            )
        )

    # 403

    async def _step_up(self, account: Account, challenge: Challenge, before: str) -> bool:
        asked = challenge.scopes or ()
        self._adopt(await account.grant())
        grant = self._grant
        if grant is None or (grant.access_token != before and set(asked) <= set(grant.requested)):
            # Somebody has stepped up meanwhile; or signed out, which the next 401 will tell.
            return grant is not None
        record = await account.change(lambda record: _noted(record, grant, challenge, account.now()))
        refused = record.refusals.get(" ".join(sorted(asked)))
        if refused is not None and refused.count >= MAX_STEP_UPS:
            raise AuthError(
                f"The server '{self._spec.name}' still asks for more rights after {refused.count} sign-ins that asked for them.",
                hint="Your account there may not have them.",
            )
        if len(record.too_few) > MAX_STEP_UPS_IN_ALL:
            raise AuthError(
                f"The server '{self._spec.name}' asks for other rights after each of {MAX_STEP_UPS_IN_ALL} sign-ins.",
                hint="Sign in with all that it needs (`auth.scopes`), or ask who runs it.",
            )
        if not account.attended:
            self._adopt(await obtain(account, grant.access_token))
            return True
        needed = account.sign_in_needed("needs you to sign in again: this call wants more rights")
        raise StepUpNeededError(needed.message, hint=needed.hint)


class _Met(msgspec.Struct, frozen=True):
    """A 401: what it asks for, the token that was turned down, the revision that was spoken, and whether it speaks of bearer tokens."""

    challenge: Challenge
    token: str
    revision: str
    oauth: bool

    def __repr__(self) -> str:
        return "_Met()"


def revision_of(sent: Mapping[str, str]) -> str:
    """The revision that was agreed on when a request was sent; empty for one that only asks for it."""
    return "" if sent.get("Mcp-Method") == DISCOVER else sent.get("MCP-Protocol-Version", "")


async def _check(records: Records) -> None:
    """No credential is used of which nobody knows whether it was taken back."""
    try:
        await records.check()
    except StoreError as error:
        raise _closed(error) from None


def _closed(error: StoreError) -> AuthError:
    """Without its store there are no credentials, and waiting brings none."""
    return AuthError(error.message, hint=error.hint)


def _noted(record: ServerRecord, grant: Grant, challenge: Challenge, now: float) -> ServerRecord:
    """The record with the scopes a call turned out to need, and with one more refusal when a sign-in had asked for them already."""
    asked = challenge.scopes or ()
    refusals = {key: refusal for key, refusal in record.refusals.items() if now - refusal.at < REFUSAL_MEMORY}
    key = " ".join(sorted(asked))
    if set(asked) <= set(grant.requested):
        earlier = refusals.get(key)
        if earlier is None or earlier.signed_in_at != grant.signed_in_at:
            refusals[key] = ScopeRefusals((earlier.count if earlier else 0) + 1, grant.signed_in_at, now)
    too_few = {signed_in: at for signed_in, at in record.too_few.items() if now - at < REFUSAL_MEMORY}
    too_few.setdefault(str(grant.signed_in_at), now)
    return msgspec.structs.replace(
        record,
        too_few=too_few,
        wanted=union(record.wanted, grant.requested, asked),
        resource_metadata=challenge.resource_metadata or record.resource_metadata,
        refusals=refusals,
    )
