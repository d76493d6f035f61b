"""A server protected by oidc-provider: resource indicators, rotation with reuse detection, strict scopes, its own login forms."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from openclaw.auth.login import SignedIn, SignedOut
from openclaw.auth.signing import make_signer
from openclaw.errors import SignInNeededError
from parts.auth_program import Clock, Program, called_by_processes
from parts.auth_server import AuthServer
from parts.oidc import OidcProvider

pytestmark = pytest.mark.real

LIFE = 3600


@pytest.fixture
async def server() -> AsyncIterator[AuthServer]:
    async with AuthServer() as server:
        yield server


@pytest.fixture
async def provider(server: AuthServer) -> AsyncIterator[OidcProvider]:
    async with OidcProvider(server.url, life=LIFE) as provider:
        server.trust(provider.issuer, provider.look_up)
        yield provider


@pytest.fixture
def program(server: AuthServer, provider: OidcProvider, tmp_path: Path) -> Program:
    program = Program(server, tmp_path / "tokens", clock=Clock(time.time))
    program.browse = provider.browse
    return program


async def test_the_first_call_asks_to_sign_in_and_after_that_calls_work(
    provider: OidcProvider, program: Program
) -> None:
    with pytest.raises(SignInNeededError, match="openclaw mcp auth files"):
        await program.call()
    result = await program.sign_in()
    # It counts only what the access token is good for.
    assert result == SignedIn("files", ("tools:read",), result.expires_at, renewable=True)
    assert result.expires_at == pytest.approx(time.time() + LIFE, abs=60)
    assert await program.call() == 200


async def test_a_new_process_renews_silently(provider: OidcProvider, program: Program) -> None:
    await program.sign_in()
    program.clock.ahead = LIFE
    for _ in range(3):
        program.restart()
        assert await program.call() == 200
    assert provider.grants("refresh_token") == [200]


async def test_a_token_that_has_really_expired_is_renewed(server: AuthServer, tmp_path: Path) -> None:
    async with OidcProvider(server.url, life=2) as provider:
        server.trust(provider.issuer, provider.look_up)
        program = Program(server, tmp_path / "tokens", clock=Clock(time.time))
        program.browse = provider.browse
        expires_at = (await program.sign_in()).expires_at
        assert expires_at is not None
        while time.time() < expires_at + 1:
            await asyncio.sleep(0.1)
        program.restart()
        assert await program.call() == 200
        assert provider.grants("refresh_token")[:1] == [200]


async def test_a_call_that_wants_more_rights_steps_up(provider: OidcProvider, program: Program) -> None:
    await program.sign_in()
    with pytest.raises(SignInNeededError, match="more rights"):
        await program.call("write")
    program.restart()
    assert set((await program.sign_in()).scopes) == {"tools:read", "tools:write"}
    assert [await program.call("write"), await program.call("read")] == [200, 200]


async def test_a_step_up_beyond_the_registration_registers_again(
    server: AuthServer, provider: OidcProvider, program: Program
) -> None:
    """oidc-provider refuses scopes that the client was not registered with."""
    server.plan.resource = {"scopes_supported": ["tools:read"]}
    await program.sign_in()
    with pytest.raises(SignInNeededError):
        await program.call("write")
    await program.sign_in()
    assert await program.call("write") == 200


async def test_ten_processes_with_an_expired_token_make_one_refresh_request(
    server: AuthServer, provider: OidcProvider, program: Program
) -> None:
    await program.sign_in()
    assert await called_by_processes(program, 10) == [b"200\n"] * 10
    assert provider.grants("refresh_token") == [200]


async def test_signing_out_ends_the_sign_in_at_the_server_too(provider: OidcProvider, program: Program) -> None:
    await program.sign_in()
    assert await program.credentials.logout(program.spec) == SignedOut(was_signed_in=True, revoked=True)
    with pytest.raises(SignInNeededError):
        await program.call()


async def test_nothing_on_the_disk_gives_a_token_away(provider: OidcProvider, program: Program, tmp_path: Path) -> None:
    await program.sign_in()
    await program.call()
    program.clock.ahead = LIFE
    await program.call()
    assert len(provider.secrets) == 2
    content = content_of(tmp_path)
    assert not [token for token in provider.secrets if token.encode() in content]


def content_of(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


async def test_a_client_signs_in_by_itself_with_a_signature_that_oidc_provider_accepts(
    server: AuthServer, tmp_path: Path
) -> None:
    for key, algorithm in (
        (ec.generate_private_key(ec.SECP256R1()), "ES256"),
        (rsa.generate_private_key(public_exponent=65537, key_size=2048), "RS256"),
    ):
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode()
        client = {
            "client_id": "robot",
            "grant_types": ["client_credentials"],
            "redirect_uris": [],
            "response_types": [],
            "token_endpoint_auth_method": "private_key_jwt",
            "token_endpoint_auth_signing_alg": algorithm,
            "jwks": {"keys": [make_signer(pem).public]},
        }
        async with OidcProvider(server.url, clients=[client]) as provider:
            server.trust(provider.issuer, provider.look_up)
            program = Program(server, tmp_path / algorithm, clock=Clock(time.time))
            program.configure(grant="client_credentials", client_id="robot", private_key=pem)
            assert await program.call() == 200
            assert await program.call("write") == 200
            assert provider.grants("client_credentials") == [200, 200]
