"""Clients that prove themselves by key, and identity providers that vouch for a person."""

import json
from base64 import urlsafe_b64decode
from typing import Any

import jwt
import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from openclaw.auth.signing import make_signer
from openclaw.errors import AuthError
from parts.auth_program import Program
from parts.auth_server import METADATA_PATH, AuthServer

EC_KEY = ec.generate_private_key(ec.SECP256R1())
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def pem(key: Any, password: bytes | None = None) -> str:
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    encoded: bytes = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
    return encoded.decode()


@pytest.mark.parametrize(("key", "algorithm"), [(EC_KEY, "ES256"), (RSA_KEY, "RS256")])
@pytest.mark.parametrize("named", [True, False])
def test_a_signature_is_accepted_by_another_library(key: Any, algorithm: str, named: bool) -> None:
    signer = make_signer(pem(key), algorithm if named else "")
    assert signer.algorithm == algorithm
    head, body = (jwt.utils.base64url_encode(part) for part in (json.dumps({"alg": algorithm}).encode(), b'{"a":1}'))
    signature = jwt.utils.base64url_encode(signer.sign(head + b"." + body))
    assert jwt.decode(head + b"." + body + b"." + signature, key.public_key(), [algorithm]) == {"a": 1}
    # And the public half, as a document would publish it, is the same key.
    assert jwt.PyJWK(signer.public).key.public_numbers() == key.public_key().public_numbers()


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        ("nonsense", ""),
        (pem(EC_KEY, b"password"), ""),
        (pem(ec.generate_private_key(ec.SECP384R1())), ""),
        (pem(ed25519.Ed25519PrivateKey.generate()), ""),
        (pem(RSA_KEY), "ES256"),
        (pem(EC_KEY), "RS256"),
        (pem(EC_KEY), "none"),
    ],
)
def test_a_key_that_does_not_fit_is_refused_without_being_quoted(key: str, algorithm: str) -> None:
    with pytest.raises(AuthError) as caught:
        make_signer(key, algorithm)
    assert "MI" not in str(caught.value)


async def test_a_client_signs_in_by_itself_with_its_key(server: AuthServer, program: Program) -> None:
    program.secrets["secret://file/key.pem"] = pem(EC_KEY)
    program.configure(grant="client_credentials", client_id="robot", private_key="secret://file/key.pem")

    async def token(request: web.Request) -> web.StreamResponse:
        form = server.seen[-1].form
        claims = jwt.decode(form["client_assertion"], EC_KEY.public_key(), ["ES256"], audience=server.issuer)
        assert (claims["iss"], claims["sub"]) == ("robot", "robot")
        server.clients["robot"] = {}
        return server.token_answer(form, {})

    server.answers["/token"] = token
    assert await program.call() == 200


async def test_the_document_of_a_client_with_a_key_carries_its_public_half(program: Program) -> None:
    program.secrets["secret://file/key.pem"] = pem(EC_KEY)
    program.configure(client_metadata_url="https://me.example/openclaw.json", private_key="secret://file/key.pem")
    document = await program.credentials.client_metadata(program.spec)
    assert document["token_endpoint_auth_method"] == "private_key_jwt"
    (key,) = document["jwks"]["keys"]
    assert set(key) == {"kty", "crv", "x", "y", "alg", "use"}
    assert len(urlsafe_b64decode(key["x"] + "=")) == 32


async def test_an_identity_provider_vouches_for_the_person(server: AuthServer, program: Program) -> None:
    """Enterprise-managed authorization: the identity token is exchanged at the provider, its assertion at the server."""
    server.clients["robot"] = {"client_secret": "r0bot-secret"}
    program.secrets["secret://env/ID_TOKEN"] = "the-identity-token"
    program.configure(
        grant="enterprise",
        client_id="robot",
        client_secret="r0bot-secret",
        idp_issuer=f"{server.origin}/idp",
        idp_client_id="idp-robot",
        idp_id_token="secret://env/ID_TOKEN",
    )
    server.answer(
        "/.well-known/oauth-authorization-server/idp",
        {"issuer": f"{server.origin}/idp", "token_endpoint": f"{server.origin}/idp/token"},
    )
    kind = "urn:ietf:params:oauth:token-type:id-jag"
    server.answer("/idp/token", {"access_token": "jag", "issued_token_type": kind, "token_type": "N_A"})

    async def token(request: web.Request) -> web.StreamResponse:
        form = server.seen[-1].form
        assert (form["assertion"], form["resource"]) == ("jag", server.url)
        return server.token_answer({**form, "grant_type": "client_credentials"}, server.seen[-1].headers)

    server.answers["/token"] = token
    assert await program.call() == 200
    assert [path for path in server.paths() if path in ("/idp/token", "/token")] == ["/idp/token", "/token"]


async def test_an_enterprise_sign_in_without_an_identity_says_what_is_missing(program: Program) -> None:
    program.configure(grant="enterprise", client_id="robot", client_secret="r0bot-secret")
    with pytest.raises(AuthError, match=r"auth\.idpIdToken"):
        await program.call()


@pytest.mark.requirement("000-12.1-as-override")
async def test_a_configured_authorization_server_is_used_instead_of_the_listed_one(
    server: AuthServer, program: Program
) -> None:
    async with AuthServer() as other:
        program.configure(authorization_server_url=other.issuer)
        started = await program.credentials.start(program.spec)
        assert started.authorization_url.startswith(f"{other.issuer}/authorize?")
        assert server.at(METADATA_PATH) == []
