"""Which client we are, and how one is registered."""

import json
from typing import Any

import pytest

from openclaw.errors import AuthError, RefusedError
from openclaw.protocol.oauth.metadata import ServerMetadata
from openclaw.protocol.oauth.registration import (
    Configured,
    OAuthClient,
    Wish,
    client_metadata_document,
    known_client,
    register,
    suits,
)
from openclaw.protocol.oauth.wire import FlowResponse
from parts.oauth_script import Script, ok

AS = "https://login.example"
WISH = Wish("http://127.0.0.1:5000/callback", ("read",), now=1000)
DOCUMENT = "https://me.example/openclaw.json"


def server(**fields: Any) -> ServerMetadata:
    return ServerMetadata(AS, registration_endpoint=f"{AS}/register", **fields)


def sent(script: Script) -> list[dict[str, Any]]:
    return [json.loads(request.body or b"") for request in script.requests]


@pytest.mark.requirement("000-5.1-registration-order")
def test_a_configured_client_goes_before_the_document() -> None:
    configured = Configured("mine", metadata_url=DOCUMENT)
    assert known_client(server(client_id_metadata_document_supported=True), configured) == OAuthClient(
        "mine", AS, "configured"
    )


def test_the_document_goes_before_registration_where_it_is_taken() -> None:
    configured = Configured(metadata_url=DOCUMENT)
    assert known_client(server(client_id_metadata_document_supported=True), configured) == OAuthClient(
        DOCUMENT, AS, "document"
    )
    assert known_client(server(), configured) is None


@pytest.mark.parametrize(
    "url",
    [
        *("http://me.example/x", "https://me.example", "https://me.example/", "https://me.example/a/../b"),
        *("https://me.example/./b", "https://u:p@me.example/b", "https://me.example/b#c", "me.example/b"),
    ],
)
def test_the_documents_address_is_https_with_a_path(url: str) -> None:
    """A16."""
    with pytest.raises(AuthError, match="clientMetadataUrl"):
        known_client(server(client_id_metadata_document_supported=True), Configured(metadata_url=url))


@pytest.mark.parametrize(
    ("configured", "offered", "method"),
    [
        (Configured("c"), ("client_secret_basic",), "none"),
        (Configured("c", has_secret=True), None, "client_secret_basic"),
        (Configured("c", has_secret=True), ("client_secret_post",), "client_secret_post"),
        (Configured("c", has_secret=True), ("client_secret_post", "client_secret_basic"), "client_secret_basic"),
        (Configured("c", has_secret=True), ("none",), "client_secret_basic"),
        (Configured("c", has_key=True, has_secret=True), None, "private_key_jwt"),
        (Configured("c", has_secret=True, method="client_secret_post"), None, "client_secret_post"),
    ],
)
def test_how_a_configured_client_proves_itself(
    configured: Configured, offered: tuple[str, ...] | None, method: str
) -> None:
    client = known_client(server(token_endpoint_auth_methods_supported=offered), configured)
    assert client is not None
    assert client.method == method


def test_a_method_we_do_not_know_is_named() -> None:
    with pytest.raises(AuthError, match="tokenEndpointAuthMethod"):
        known_client(server(), Configured("c", method="tls_client_auth"))


@pytest.mark.requirement("000-5.2-dynamic")
def test_registration_asks_for_a_native_client_with_every_scope_it_may_need() -> None:
    """A16."""
    metadata = server(scopes_supported=("read", "offline_access", "openid"))
    script = Script({f"{AS}/register": ok({"client_id": "new"}, 201)})
    client = script.play(register(metadata, WISH, ("read", "write")))
    scopes = ("read", "write", "offline_access")
    assert sent(script) == [
        {
            "client_name": "OpenClaw",
            "application_type": "native",
            "redirect_uris": [WISH.redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "scope": " ".join(scopes),
        }
    ]
    assert client == OAuthClient("new", AS, "dynamic", redirect_uri=WISH.redirect_uri, scopes=scopes)


@pytest.mark.parametrize(
    ("offered", "method"),
    [
        (None, "none"),
        (("client_secret_basic", "none"), "none"),
        (("client_secret_basic", "client_secret_post"), "client_secret_post"),
        (("client_secret_basic",), "client_secret_basic"),
    ],
)
def test_registration_asks_to_be_a_public_client_where_it_may(offered: tuple[str, ...] | None, method: str) -> None:
    script = Script({f"{AS}/register": ok({"client_id": "new", "client_secret": "s3cret"}, 201)})
    client = script.play(register(server(token_endpoint_auth_methods_supported=offered), WISH, None))
    assert (sent(script)[0]["token_endpoint_auth_method"], client.method) == (method, method)


def test_what_the_server_registered_counts() -> None:
    answer = {
        "client_id": "new",
        "client_secret": "s3cret",
        "client_secret_expires_at": 2000,
        "token_endpoint_auth_method": "client_secret_post",
        "scope": "read",
    }
    script = Script({f"{AS}/register": ok(answer, 201)})
    client = script.play(register(server(), WISH, ("read", "write")))
    expected = OAuthClient("new", AS, "dynamic", "client_secret_post", "s3cret", 2000, WISH.redirect_uri, ("read",))
    assert client == expected
    assert "s3cret" not in repr(client)


def test_refresh_is_not_asked_for_where_there_is_none() -> None:
    script = Script({f"{AS}/register": ok({"client_id": "new"}, 201)})
    script.play(register(server(grant_types_supported=("authorization_code",)), WISH, None))
    assert sent(script)[0]["grant_types"] == ["authorization_code"]


def test_a_server_that_dislikes_the_scopes_is_asked_without() -> None:
    refused = ok({"error": "invalid_client_metadata"}, 400)
    script = Script({f"{AS}/register": [refused, ok({"client_id": "new"}, 201)]})
    client = script.play(register(server(), WISH, None))
    assert ["scope" in body for body in sent(script)] == [True, False]
    assert client.scopes is None


def test_a_refused_registration_says_what_to_do() -> None:
    script = Script(
        {f"{AS}/register": ok({"error": "invalid_redirect_uri", "error_description": "<b>secret</b>"}, 400)}
    )
    with pytest.raises(RefusedError) as caught:
        script.play(register(server(), WISH, None))
    assert caught.value.code == "invalid_redirect_uri"
    assert str(caught.value) == (
        "The authorization server refused the registration of OpenClaw as a client: invalid_redirect_uri. "
        "Register OpenClaw there by hand and set `auth.clientId`."
    )


def test_a_server_that_registers_nobody_says_what_to_do() -> None:
    with pytest.raises(AuthError, match=r"auth\.clientId"):
        Script({}).play(register(ServerMetadata(AS), WISH, None))


@pytest.mark.parametrize(
    "answer",
    [
        FlowResponse(201, b"nonsense"),
        ok({"client_id": ""}, 201),
        ok({"client_id": "a\r\nb"}, 201),
        ok({"client_id": "a", "client_secret": "b\nc"}, 201),
        ok({"client_id": "a", "token_endpoint_auth_method": "client_secret_basic"}, 201),
        ok({"client_id": "a", "token_endpoint_auth_method": "private_key_jwt"}, 201),
        FlowResponse(404),
    ],
)
def test_an_unusable_answer_registers_nothing(answer: FlowResponse) -> None:
    with pytest.raises(AuthError):
        Script({f"{AS}/register": answer}).play(register(server(), WISH, None))


def test_only_unusable_methods_cannot_be_registered_with() -> None:
    metadata = server(token_endpoint_auth_methods_supported=("tls_client_auth",))
    with pytest.raises(AuthError, match="no way of proving"):
        Script({}).play(register(metadata, WISH, None))


@pytest.mark.parametrize(
    ("client", "verdict"),
    [
        (OAuthClient("c", AS, "dynamic", redirect_uri=WISH.redirect_uri), True),
        (OAuthClient("c", AS, "dynamic", redirect_uri=WISH.redirect_uri, scopes=("read", "more")), True),
        (OAuthClient("c", AS, "dynamic", redirect_uri=WISH.redirect_uri, scopes=("more",)), False),
        (OAuthClient("c", "https://other.example", "dynamic", redirect_uri=WISH.redirect_uri), False),
        (OAuthClient("c", AS, "dynamic", redirect_uri="http://127.0.0.1:6000/callback"), False),
        (OAuthClient("c", AS, "dynamic", secret_expires_at=999, redirect_uri=WISH.redirect_uri), False),
        (OAuthClient("c", AS, "dynamic", secret_expires_at=1001, redirect_uri=WISH.redirect_uri), True),
    ],
)
def test_when_a_registration_can_be_used_again(client: OAuthClient, verdict: bool) -> None:
    """A12."""
    assert suits(client, server(), WISH) is verdict


@pytest.mark.requirement("000-5.2-document-hosted")
def test_the_document_to_host_names_itself() -> None:
    """A16."""
    assert client_metadata_document(DOCUMENT) == {
        "client_id": DOCUMENT,
        "client_name": "OpenClaw",
        "application_type": "native",
        "redirect_uris": ["http://127.0.0.1/callback", "http://localhost/callback"],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }


def test_a_fixed_redirect_address_and_a_key_stand_in_the_document() -> None:
    keys = {"keys": [{"kty": "EC"}]}
    document = client_metadata_document(DOCUMENT, "http://127.0.0.1:7777/callback", keys)
    assert (document["redirect_uris"], document["token_endpoint_auth_method"], document["jwks"]) == (
        ["http://127.0.0.1:7777/callback"],
        "private_key_jwt",
        keys,
    )
