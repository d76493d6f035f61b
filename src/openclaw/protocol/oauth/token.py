"""Tokens: every request to a token or revocation endpoint, and the answers that count.

Owns how a client proves itself there, that `resource` goes with every request, and what a token answer must look like. Signing is given in
(`Proof.sign`), as are time and randomness. `auth/bearer.py` decides when to ask.
"""

import math
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

import msgspec

from openclaw.content import to_json
from openclaw.errors import AuthError
from openclaw.protocol.oauth.authorization import Answer, Question
from openclaw.protocol.oauth.registration import OAuthClient
from openclaw.protocol.oauth.wire import Flow, FlowRequest, FlowResponse, Form, post_form, read, refusal, scopes_of

# An assertion is made for one request; its life covers clocks that differ.
ASSERTION_LIFE: Final = 300
# A longer life than this is nonsense (30 years), and would overflow clocks.
_LONGEST_LIFE: Final = 1e9
_BEARER: Final = re.compile(r"[\x21-\x7e]{1,65536}")

_JWT_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_TOKEN_EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_ID_TOKEN: Final = "urn:ietf:params:oauth:token-type:id_token"
_ID_JAG: Final = "urn:ietf:params:oauth:token-type:id-jag"


class Proof(msgspec.Struct, frozen=True):
    """What a client needs to prove itself once. `sign` and `algorithm` are for private_key_jwt only."""

    now: float
    # A random name for the assertion, used once.
    nonce: str = ""
    secret: str = ""
    algorithm: str = ""
    sign: Callable[[bytes], bytes] | None = None

    def __repr__(self) -> str:
        return "Proof()"


class TokenEndpoint(msgspec.Struct, frozen=True):
    """Where tokens come from. The issuer is the audience of assertions."""

    issuer: str
    url: str


class Tokens(msgspec.Struct, frozen=True):
    access_token: str
    refresh_token: str = ""
    # Seconds; None when the server does not say.
    expires_in: float | None = None
    # None when the server does not say: it granted what was asked.
    scopes: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return "Tokens()"


class _Answer(msgspec.Struct):
    access_token: str
    token_type: str = ""
    expires_in: float | str | None = None
    refresh_token: str | None = None
    scope: str | None = None
    issued_token_type: str | None = None


def exchange_code(
    endpoint: TokenEndpoint, client: OAuthClient, proof: Proof, question: Question, answer: Answer
) -> Flow[Tokens]:
    form = [
        ("grant_type", "authorization_code"),
        ("code", answer.code),
        ("code_verifier", question.verifier),
        ("redirect_uri", question.redirect_uri),
        ("resource", question.resource),
    ]
    response = yield authenticated(endpoint, client, proof, form)
    return _tokens(response, "the sign-in")


def refresh(
    endpoint: TokenEndpoint, client: OAuthClient, proof: Proof, resource: str, refresh_token: str
) -> Flow[Tokens]:
    """New tokens. Without a refresh token in the answer the old one stays good."""
    form = [("grant_type", "refresh_token"), ("refresh_token", refresh_token), ("resource", resource)]
    response = yield authenticated(endpoint, client, proof, form)
    return _tokens(response, "the renewal of the access token")


def client_credentials(
    endpoint: TokenEndpoint, client: OAuthClient, proof: Proof, resource: str, scopes: tuple[str, ...]
) -> Flow[Tokens]:
    form = [("grant_type", "client_credentials"), ("resource", resource), *_scope(scopes)]
    response = yield authenticated(endpoint, client, proof, form)
    return _tokens(response, "the client's own sign-in")


class Identity(msgspec.Struct, frozen=True):
    """A person's identity at a company's identity provider, to be exchanged there."""

    token_endpoint: str
    client_id: str
    id_token: str

    def __repr__(self) -> str:
        return "Identity()"


def enterprise(
    identity: Identity,
    endpoint: TokenEndpoint,
    client: OAuthClient,
    proof: Proof,
    resource: str,
    scopes: tuple[str, ...],
) -> Flow[Tokens]:
    """Enterprise-managed authorization: the identity provider gives an assertion for this server (ID-JAG), the server a token for it."""
    exchange = [
        ("grant_type", _TOKEN_EXCHANGE),
        ("requested_token_type", _ID_JAG),
        ("subject_token", identity.id_token),
        ("subject_token_type", _ID_TOKEN),
        ("audience", endpoint.issuer),
        ("resource", resource),
        ("client_id", identity.client_id),
        *_scope(scopes),
    ]
    response = yield post_form(identity.token_endpoint, exchange)
    if response.status != 200:
        raise refusal(response, "the exchange of the identity token", who="identity provider")
    answer = read(response.body, _Answer)
    if answer is None or answer.issued_token_type != _ID_JAG or not _BEARER.fullmatch(answer.access_token):
        raise AuthError("The identity provider's answer is not the assertion that was asked for.")
    form = [("grant_type", _JWT_BEARER), ("assertion", answer.access_token), ("resource", resource), *_scope(scopes)]
    response = yield authenticated(endpoint, client, proof, form)
    return _tokens(response, "the identity provider's assertion")


def revoke(endpoint: TokenEndpoint, client: OAuthClient, proof: Proof, token: str, kind: str) -> Flow[bool]:
    """RFC 7009. Whether the server says that it is done."""
    response = yield authenticated(endpoint, client, proof, [("token", token), ("token_type_hint", kind)])
    return response.status == 200


def authenticated(endpoint: TokenEndpoint, client: OAuthClient, proof: Proof, form: Form) -> FlowRequest:
    """The request with the client's proof of itself in it. Raises AuthError when the means for it are missing."""
    secret = client.secret or proof.secret
    match client.method:
        case "none":
            return post_form(endpoint.url, [*form, ("client_id", client.id)])
        case "client_secret_post" if secret:
            return post_form(endpoint.url, [*form, ("client_id", client.id), ("client_secret", secret)])
        case "client_secret_basic" if secret:
            # RFC 6749 section 2.3.1: each half is form-encoded before they are joined. Some servers look the client up by the form.
            pair = f"{quote(client.id, safe='')}:{quote(secret, safe='')}"
            header = {"Authorization": f"Basic {b64encode(pair.encode('ascii')).decode('ascii')}"}
            return post_form(endpoint.url, [*form, ("client_id", client.id)], header)
        case "private_key_jwt" if proof.sign is not None:
            assertion = _assertion(endpoint.issuer, client.id, proof, proof.sign)
            means = [("client_assertion_type", _ASSERTION_TYPE), ("client_assertion", assertion)]
            return post_form(endpoint.url, [*form, ("client_id", client.id), *means])
        case _:
            raise AuthError(
                f"The client proves itself by {client.method}, but no secret or key for that is configured.",
                hint="Set `auth.clientSecret` or `auth.privateKey`.",
            )


def _assertion(audience: str, client_id: str, proof: Proof, sign: Callable[[bytes], bytes]) -> str:
    """RFC 7523. The audience is the issuer, as the revised rules have it: a token endpoint's address can be lent to another server."""
    now = math.floor(proof.now)
    claims = {"iss": client_id, "sub": client_id, "aud": audience, "iat": now, "exp": now + ASSERTION_LIFE}
    signed = f"{_encoded({'alg': proof.algorithm, 'typ': 'JWT'})}.{_encoded({**claims, 'jti': proof.nonce})}"
    return f"{signed}.{_text(sign(signed.encode('ascii')))}"


def _encoded(value: dict[str, Any]) -> str:
    return _text(to_json(value))


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _scope(scopes: tuple[str, ...]) -> Form:
    return [("scope", " ".join(scopes))] if scopes else []


def _tokens(response: FlowResponse, what: str) -> Tokens:
    if response.status != 200:
        raise refusal(response, what)
    answer = read(response.body, _Answer)
    refresh_token = (answer.refresh_token or "") if answer is not None else ""
    readable = answer is not None and _BEARER.fullmatch(answer.access_token)
    if answer is None or not readable or (refresh_token and not _BEARER.fullmatch(refresh_token)):
        raise AuthError("The authorization server's token answer cannot be read.")
    if answer.token_type.lower() != "bearer":
        raise AuthError("The authorization server gave a token of another kind than Bearer.")
    return Tokens(answer.access_token, refresh_token, _life(answer.expires_in), scopes_of(answer.scope))


def _life(value: float | str | None) -> float | None:
    try:
        seconds = float(value) if value is not None else None
    except ValueError:
        return None
    return seconds if seconds is not None and 0 < seconds < _LONGEST_LIFE else None
