"""Many processes, one sign-in; and what of it can be found on the disk."""

import base64
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw.errors import AuthError
from parts.auth_program import Clock, Program, called_by_processes
from parts.auth_server import AuthServer, query_of


@pytest.mark.requirement("000-9.4-rotation")
async def test_ten_processes_with_an_expired_token_make_one_refresh_request(
    server: AuthServer, program: Program
) -> None:
    """A14: with rotation, a second request would end the sign-in for all of them."""
    await program.sign_in()
    server.expire()
    server.seen.clear()
    assert await called_by_processes(program, 10) == [b"200\n"] * 10
    assert server.paths().count("/token") == 1


def spellings(secret: str) -> Iterator[bytes]:
    """A secret in clear, in hex, and the parts of its Base64 that do not depend on what stands around it."""
    data = secret.encode()
    yield data
    yield data.hex().encode()
    yield data.hex().upper().encode()
    for before in range(3):
        core = base64.b64encode(bytes(before) + data)[4:-4]
        yield core
        yield core.replace(b"+", b"-").replace(b"/", b"_")


@pytest.mark.requirement("000-14.7-at-rest")
@pytest.mark.requirement("000-5.3-encrypted")
async def test_no_secret_is_on_the_disk_or_in_the_log_in_any_spelling(
    server: AuthServer, program: Program, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.plan.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_basic"]}
    verifiers: set[str] = set()
    for _ in range(2):
        started = await program.credentials.start(program.spec)
        callback = await server.browse(started.authorization_url)
        await program.credentials.finish(program.spec, callback)
        verifiers |= {seen.form["code_verifier"] for seen in server.at("/token")}
        await program.call()
    clock.ahead = 3600
    await program.call()
    with pytest.raises(AuthError):
        await program.call("write")
    # And one that is under way.
    pending = await program.credentials.start(program.spec)
    found = server.secrets | verifiers | {query_of(pending.authorization_url)["state"]}
    assert {secret.partition("-")[0] for secret in server.secrets} == {"access", "refresh", "client", "code"}
    files = files_of(program.folder)
    assert len(files) > 4
    everything = b"\n".join(files.values()) + caplog.text.encode()
    assert not [secret for secret in found for spelling in spellings(secret) if spelling in everything]


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.parent.rglob("*") if path.is_file()}
