"""What is kept about sign-ins, one record a file, always encrypted.

A `Grant` belongs to an issuer, a resource, the address it is sent to, and an owner; a `Registration` to an issuer, an address and an owner.
Records are found by these names alone, so that nothing of one server is ever looked at for another. `secrets/store/encrypted.py`
stores them.
"""

from typing import Final, Literal

import msgspec

from openclaw.protocol.oauth.authorization import Question
from openclaw.protocol.oauth.registration import OAuthClient
from openclaw.secrets.store.encrypted import Record

# Tokens are renewed this long before they expire, so that no call is sent with one that expires on the way.
RENEW_BEFORE: Final = 60.0


class Endpoints(msgspec.Struct, frozen=True):
    """Addresses of the authorization server that are needed after the sign-in."""

    token: str
    revocation: str = ""


class Grant(Record, frozen=True):
    """Tokens, and all that is needed to renew them after a restart."""

    how: Literal["authorization_code", "client_credentials", "enterprise"]
    issuer: str
    resource: str
    client: OAuthClient
    endpoints: Endpoints
    access_token: str
    refresh_token: str
    # Seconds since the epoch; None when the server did not say.
    expires_at: float | None
    # When these tokens came, and when a person signed in last.
    obtained_at: float
    signed_in_at: float
    requested: tuple[str, ...]
    scopes: tuple[str, ...]

    def secrets(self) -> tuple[str, ...]:
        return self.access_token, self.refresh_token, self.client.secret

    def expired(self, now: float) -> bool:
        return self.expires_at is not None and self.expires_at <= now

    def expiring(self, now: float) -> bool:
        """Whether it is time to renew: a minute before the end, or at half time for tokens that live less than two."""
        if self.expires_at is None:
            return False
        return self.expires_at - min(RENEW_BEFORE, (self.expires_at - self.obtained_at) / 2) <= now


class ScopeRefusals(msgspec.Struct, frozen=True):
    """Sign-ins that asked for a set of scopes and were still told that they are too few."""

    count: int
    # The sign-in counted last, so that many calls with one token count once.
    signed_in_at: float
    at: float


class ServerRecord(Record, frozen=True):
    """What is known of one server: which grant is its own, and what it asked for meanwhile."""

    issuer: str = ""
    resource: str = ""
    redirect_uri: str = ""
    # So that each sign-in changes the record, and whoever watches it notices.
    signed_in_at: float = 0
    # The configured client that was used, and the issuer it was used at.
    client_id: str = ""
    client_issuer: str = ""
    # The authorization server has said who it is in a redirect; from then on it must.
    iss_seen: bool = False
    # The server asked for credentials (401) and got none yet: where it pointed and which scopes it named.
    unauthorized: bool = False
    resource_metadata: str = ""
    challenged: tuple[str, ...] | None = None
    # It has published metadata about itself, and this is the newest revision that was spoken with it: no such server is taken for one
    # of the time before metadata.
    published: bool = False
    revision: str = ""
    # The issuer where we were registered last, by a sign-in that may not have been finished.
    registered_at: str = ""
    # Scopes that calls turned out to need, beside those of a plain sign-in.
    wanted: tuple[str, ...] = ()
    refusals: dict[str, ScopeRefusals] = msgspec.field(default_factory=dict)
    # Sign-ins that brought too few scopes for some call, whichever they were; and when that was found out.
    too_few: dict[str, float] = msgspec.field(default_factory=dict)


class Registration(Record, frozen=True):
    client: OAuthClient

    def secrets(self) -> tuple[str, ...]:
        return self.client.secret, self.client.manage_token


class Pending(Record, frozen=True):
    """A sign-in that waits for its redirect."""

    question: Question
    client: OAuthClient
    endpoints: Endpoints
    expires_at: float

    def secrets(self) -> tuple[str, ...]:
        return *self.once(), self.client.secret, self.client.manage_token

    def once(self) -> tuple[str, ...]:
        """Those that are good for this sign-in alone."""
        # Not the state: it stands in the address that the person is given.
        return (self.question.verifier,)
