"""Requests to the token endpoint, and the answers that count."""

import json
from base64 import b64decode, urlsafe_b64decode
from typing import Any

import pytest

from openclaw.errors import AuthError, ConnectError, RefusedError
from openclaw.protocol.oauth.authorization import Answer, Question
from openclaw.protocol.oauth.registration import OAuthClient
from openclaw.protocol.oauth.token import (
    Identity,
    Proof,
    TokenEndpoint,
    Tokens,
    authenticated,
    client_credentials,
    enterprise,
    exchange_code,
    refresh,
    revoke,
)
from openclaw.protocol.oauth.wire import FlowResponse
from parts.oauth_script import Script, form_of, ok

AS = "https://login.example"
TOKEN = TokenEndpoint(AS, f"{AS}/token")
PUBLIC = OAuthClient("me", AS, "dynamic")
PROOF = Proof(now=1000.7, nonce="once")
RESOURCE = "https://mcp.example/mcp"
BEARER = {"access_token": "t0ken", "token_type": "Bearer"}


def asked(answer: Any = BEARER) -> Script:
    return Script({TOKEN.url: answer if isinstance(answer, FlowResponse) else ok(answer)})


@pytest.mark.requirement("000-5.1-exchange")
@pytest.mark.requirement("000-9.2-exchange")
def test_a_code_is_exchanged_with_verifier_redirect_and_resource() -> None:
    """A8, A11."""
    script = asked({**BEARER, "expires_in": 3600, "refresh_token": "r3fresh", "scope": "read write"})
    question = Question(AS, "state", "verifier", "http://127.0.0.1:1/callback", RESOURCE, ("read",), True)
    tokens = script.play(exchange_code(TOKEN, PUBLIC, PROOF, question, Answer("c0de")))
    assert tokens == Tokens("t0ken", "r3fresh", 3600, ("read", "write"))
    assert form_of(script.requests[0]) == {
        "grant_type": "authorization_code",
        "code": "c0de",
        "code_verifier": "verifier",
        "redirect_uri": "http://127.0.0.1:1/callback",
        "resource": RESOURCE,
        "client_id": "me",
    }


@pytest.mark.requirement("000-9.4-refresh-token")
def test_a_refresh_names_the_resource_and_no_scope() -> None:
    """A11."""
    script = asked()
    assert script.play(refresh(TOKEN, PUBLIC, PROOF, RESOURCE, "r3fresh")) == Tokens("t0ken")
    assert form_of(script.requests[0]) == {
        "grant_type": "refresh_token",
        "refresh_token": "r3fresh",
        "resource": RESOURCE,
        "client_id": "me",
    }


def test_a_client_signs_in_by_itself() -> None:
    script = asked()
    client = OAuthClient("me", AS, "configured", "client_secret_post")
    script.play(client_credentials(TOKEN, client, Proof(1000, secret="s3cret"), RESOURCE, ("read", "write")))
    assert form_of(script.requests[0]) == {
        "grant_type": "client_credentials",
        "resource": RESOURCE,
        "scope": "read write",
        "client_id": "me",
        "client_secret": "s3cret",
    }


def test_a_basic_proof_encodes_each_half() -> None:
    client = OAuthClient("me:too", AS, "configured", "client_secret_basic")
    request = authenticated(TOKEN, client, Proof(0, secret="p@ss:w/rd"), [("a", "b")])
    scheme, _, value = request.headers["Authorization"].partition(" ")
    assert (scheme, b64decode(value)) == ("Basic", b"me%3Atoo:p%40ss%3Aw%2Frd")
    assert form_of(request) == {"a": "b", "client_id": "me:too"}


def test_a_signed_proof_is_for_this_issuer_and_this_moment() -> None:
    client = OAuthClient("me", AS, "configured", "private_key_jwt")
    proof = Proof(1000.7, "once", algorithm="ES256", sign=lambda data: b"signed:" + data[:3])
    form = form_of(authenticated(TOKEN, client, proof, []))
    header, claims, signature = (
        urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in form["client_assertion"].split(".")
    )
    assert form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    assert json.loads(header) == {"alg": "ES256", "typ": "JWT"}
    assert json.loads(claims) == {"iss": "me", "sub": "me", "aud": AS, "iat": 1000, "exp": 1300, "jti": "once"}
    assert signature == b"signed:eyJ"


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post", "private_key_jwt"])
def test_a_proof_without_its_means_is_refused(method: Any) -> None:
    with pytest.raises(AuthError, match=method):
        authenticated(TOKEN, OAuthClient("me", AS, "configured", method), Proof(0), [])


def test_an_identity_is_exchanged_for_an_assertion_and_that_for_a_token() -> None:
    idp = "https://idp.example/token"
    jag = {"access_token": "jag", "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag", "token_type": "N_A"}
    script = Script({idp: ok(jag), TOKEN.url: ok(BEARER)})
    client = OAuthClient("me", AS, "configured", "client_secret_basic")
    proof = Proof(0, secret="s3cret")
    flow = enterprise(Identity(idp, "idp-me", "id-token"), TOKEN, client, proof, RESOURCE, ("read",))
    assert script.play(flow) == Tokens("t0ken")
    assert [form_of(request) for request in script.requests] == [
        {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
            "subject_token": "id-token",
            "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
            "audience": AS,
            "resource": RESOURCE,
            "client_id": "idp-me",
            "scope": "read",
        },
        {
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "assertion": "jag",
            "resource": RESOURCE,
            "scope": "read",
            "client_id": "me",
        },
    ]


def test_an_identity_provider_that_gives_something_else_is_refused() -> None:
    idp = "https://idp.example/token"
    for answer in (ok(BEARER), FlowResponse(200, b"x"), ok({"error": "invalid_grant"}, 400)):
        script = Script({idp: answer})
        with pytest.raises(AuthError, match="identity provider"):
            script.play(enterprise(Identity(idp, "m", "t"), TOKEN, PUBLIC, PROOF, RESOURCE, ()))
        assert script.urls == [idp]


def test_a_token_is_revoked_by_name_and_kind() -> None:
    endpoint = TokenEndpoint(AS, f"{AS}/revoke")
    script = Script({endpoint.url: FlowResponse(200)})
    assert script.play(revoke(endpoint, PUBLIC, PROOF, "r3fresh", "refresh_token")) is True
    assert form_of(script.requests[0]) == {
        "token": "r3fresh",
        "token_type_hint": "refresh_token",
        "client_id": "me",
    }
    assert Script({}).play(revoke(endpoint, PUBLIC, PROOF, "r3fresh", "refresh_token")) is False


@pytest.mark.parametrize(
    ("given", "life"),
    [(3600, 3600), ("3600", 3600), (0, None), (-1, None), ("soon", None), (None, None), (1e300, None), ("nan", None)],
)
def test_the_life_of_a_token(given: Any, life: float | None) -> None:
    script = asked({**BEARER, "expires_in": given})
    assert script.play(refresh(TOKEN, PUBLIC, PROOF, RESOURCE, "r")).expires_in == life


@pytest.mark.parametrize(
    "answer",
    [
        FlowResponse(200, b"<html>"),
        ok({"token_type": "Bearer"}),
        ok({"access_token": "t0ken"}),
        ok({"access_token": "t0ken", "token_type": "DPoP"}),
        # A header would end there.
        ok({"access_token": "a\r\nX-Evil: 1", "token_type": "Bearer"}),
        ok({"access_token": "a b", "token_type": "Bearer"}),
        ok({"access_token": "", "token_type": "Bearer"}),
        ok({**BEARER, "refresh_token": "a b"}),
        FlowResponse(307),
    ],
)
def test_an_answer_that_is_no_token_is_refused_without_repeating_it(answer: FlowResponse) -> None:
    """A7."""
    with pytest.raises(AuthError) as caught:
        asked(answer).play(refresh(TOKEN, PUBLIC, PROOF, RESOURCE, "r"))
    assert not isinstance(caught.value, RefusedError)
    assert "evil" not in str(caught.value).lower()


@pytest.mark.parametrize(
    "answer",
    [
        FlowResponse(503),
        FlowResponse(429),
        ok({"error": "invalid_grant"}, 500),
        ok({"error": "temporarily_unavailable"}, 400),
        ok({"error": "server_error"}, 400),
    ],
)
def test_a_server_in_trouble_is_told_from_one_that_refuses(answer: FlowResponse) -> None:
    with pytest.raises(ConnectError, match="Try again later"):
        asked(answer).play(refresh(TOKEN, PUBLIC, PROOF, RESOURCE, "r"))


@pytest.mark.parametrize("status", [400, 401])
def test_a_refusal_carries_its_code(status: int) -> None:
    answer = ok({"error": "invalid_grant", "error_description": "secret-bytes"}, status)
    with pytest.raises(RefusedError) as caught:
        asked(answer).play(refresh(TOKEN, PUBLIC, PROOF, RESOURCE, "r"))
    assert caught.value.code == "invalid_grant"
    assert str(caught.value) == "The authorization server refused the renewal of the access token: invalid_grant."


def test_tokens_and_proofs_keep_their_secrets_when_printed() -> None:
    assert repr(Tokens("t0ken", "r3fresh")) == "Tokens()"
    assert "s3cret" not in repr(Proof(0, secret="s3cret"))
    assert "t0ken" not in repr(authenticated(TOKEN, PUBLIC, PROOF, [("token", "t0ken")]))
