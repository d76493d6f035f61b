"""A server protected by oidc-provider, used as a person does: `openclaw mcp …` in one process after the other."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from parts.auth_server import AuthServer
from parts.command_line import Done, Home
from parts.leaks import files_under, found_in
from parts.oidc import OidcProvider

pytestmark = pytest.mark.real

# Long enough for a sign-in that nothing renews before its time, which is the half of it; short enough to wait for its end.
SHORT_LIFE = 12
LONG_LIFE = 3600
CLIENT_SECRET = "the secret of a client that was registered by hand"
FIXED_REDIRECT = "http://127.0.0.1:7777/callback"


class Person:
    """Somebody at a terminal whose home knows one protected server. Every command logs all it can, and all it says is kept."""

    def __init__(self, folder: Path, provider: OidcProvider, url: str, **auth: Any) -> None:
        self.provider = provider
        servers = {"files": {"url": url, **({"auth": auth} if auth else {})}}
        self.home = Home(folder, mcp={"servers": servers}, gateway={"port": 0}, logging={"level": "debug"})
        self.said: list[Done] = []

    async def openclaw(self, *words: str) -> Done:
        return await self.ask(*words, "--log-level", "debug")

    async def ask(self, *words: str) -> Done:
        """A command as it is, which a gateway may run."""
        done = await self.home.openclaw(*words)
        self.said.append(done)
        return done

    async def call(self, tool: str) -> Done:
        return await self.openclaw("mcp", "call", f"files__{tool}")

    async def sign_in(self) -> Done:
        """Get the address in one process, sign in at the provider's own pages, paste the callback address in another."""
        started = await self.openclaw("mcp", "auth", "files", "--no-browser", "--json")
        callback = await self.provider.browse(json.loads(started.out)["authorizationUrl"])
        return await self.openclaw("mcp", "auth", "files", "--code", callback)

    def leaks(self) -> list[str]:
        """Where a token, code, verifier or client secret can be read. The callback address was typed by hand, and is not ours to hide."""
        secrets = self.provider.given() | {CLIENT_SECRET}
        spoken = {f"command {n}": f"{done.out}\n{done.err}".encode() for n, done in enumerate(self.said)}
        return found_in(secrets, files_under(self.home.state) | spoken)


@pytest.fixture
async def server() -> AsyncIterator[AuthServer]:
    async with AuthServer() as server:
        yield server


@pytest.fixture
async def person(server: AuthServer, tmp_path: Path) -> AsyncIterator[Person]:
    async with OidcProvider(server.url, life=LONG_LIFE) as provider:
        server.trust(provider.issuer, provider.look_up)
        person = Person(tmp_path, provider, server.url)
        yield person
        assert person.leaks() == []


@pytest.fixture
async def hurried(server: AuthServer, tmp_path: Path) -> AsyncIterator[Person]:
    """A person whose first access token ends soon."""
    async with OidcProvider(server.url, life=SHORT_LIFE, renewed_life=LONG_LIFE) as provider:
        server.trust(provider.issuer, provider.look_up)
        person = Person(tmp_path, provider, server.url)
        yield person
        assert person.leaks() == []


async def until(moment: float) -> None:
    while time.time() < moment:
        await asyncio.sleep(0.1)


async def test_the_first_call_says_which_command_signs_in(person: Person) -> None:
    done = await person.call("read")
    assert (done.code, done.out) == (1, "")
    assert "error: files__read is not available: The server 'files' needs you to sign in." in done.err
    assert "Run `openclaw mcp auth files`." in done.err
    listed = await person.openclaw("mcp", "servers")
    assert "Status: needs-auth (The server 'files' needs you to sign in. Run `openclaw mcp auth files`.)" in listed.out


async def test_a_sign_in_prints_scopes_and_expiry_and_then_calls_work(person: Person) -> None:
    done = await person.sign_in()
    assert (done.code, done.out) == (0, "Signed in to files. Scopes: tools:read. Expires: in 60 min.\n")
    assert (await person.call("read")).out == "read\n"
    listed = await person.openclaw("mcp", "servers")
    assert "Status: Works | Auth: OAuth (expires 60m) | Tools: 3" in listed.out
    shown = await person.openclaw("mcp", "status", "files")
    assert "\n  Token         expires in 60 min, renewed by itself\n" in shown.out


async def test_a_new_process_renews_access_that_has_ended_without_a_word(hurried: Person) -> None:
    await hurried.sign_in()
    await until(time.time() + SHORT_LIFE)
    done = await hurried.ask("mcp", "call", "files__read", "--log-level", "error")
    assert (done.code, done.out, done.err) == (0, "read\n", "")
    assert hurried.provider.grants("refresh_token") == [200]


async def test_ten_processes_whose_access_has_ended_make_one_refresh_request(hurried: Person) -> None:
    await hurried.sign_in()
    await until(time.time() + SHORT_LIFE)
    assert hurried.provider.grants("refresh_token") == []
    done = await asyncio.gather(*(hurried.call("read") for _ in range(10)))
    assert [(one.code, one.out) for one in done] == [(0, "read\n")] * 10
    assert hurried.provider.grants("refresh_token") == [200]


async def test_a_tool_that_wants_a_wider_scope_says_so_and_works_after_the_next_sign_in(person: Person) -> None:
    await person.sign_in()
    refused = await person.call("write")
    assert refused.code == 1
    assert re.search(
        r"needs you to sign in again: this call wants more rights\. Run `openclaw mcp auth files`", refused.out
    )
    # Everything else goes on meanwhile.
    assert (await person.call("read")).out == "read\n"
    done = await person.sign_in()
    assert done.out == "Signed in to files. Scopes: tools:read tools:write. Expires: in 60 min.\n"
    assert [(await person.call(tool)).out for tool in ("write", "read")] == ["write\n", "read\n"]


async def test_signing_out_revokes_and_the_next_call_asks_again(person: Person) -> None:
    await person.sign_in()
    done = await person.openclaw("mcp", "auth", "files", "--logout")
    assert (done.code, done.out) == (0, "Signed out of files: its tokens are revoked and forgotten.\n")
    revocations = [request["status"] for request in person.provider.requests if request["path"] == "/token/revocation"]
    # Its access tokens are signed and kept nowhere: it says that it cannot revoke one, and the refresh token decides.
    assert revocations == [200, 400]
    # It also takes our registration back.
    assert [request["status"] for request in person.provider.requests if request["path"].startswith("/reg/")] == [204]
    refused = await person.call("read")
    assert refused.code != 0
    assert "openclaw mcp auth files" in refused.err + refused.out
    again = await person.openclaw("mcp", "auth", "files", "--logout")
    assert (again.code, again.out) == (0, "Nobody was signed in to files.\n")


async def test_nothing_of_a_whole_story_can_be_read_on_the_disk_or_in_what_was_printed(
    server: AuthServer, tmp_path: Path
) -> None:
    """A client with a secret, a step-up, a gateway, and no sign-out: everything that is kept is there."""
    client = {
        "client_id": "desktop",
        "client_secret": CLIENT_SECRET,
        "application_type": "native",
        "redirect_uris": [FIXED_REDIRECT],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "client_secret_post",
    }
    async with OidcProvider(server.url, clients=[client]) as provider:
        server.trust(provider.issuer, provider.look_up)
        auth = {"clientId": "desktop", "clientSecret": "secret://env/FILES_SECRET", "redirectUrl": FIXED_REDIRECT}
        person = Person(tmp_path, provider, server.url, **auth, tokenEndpointAuthMethod="client_secret_post")
        person.home.environ["FILES_SECRET"] = CLIENT_SECRET
        assert (await person.sign_in()).code == 0
        assert (await person.call("write")).code == 1
        assert (await person.sign_in()).code == 0
        assert [(await person.call(tool)).out for tool in ("write", "read")] == ["write\n", "read\n"]
        await person.openclaw("mcp", "status", "files")
        await person.openclaw("status", "--json")
        assert (await person.ask("gateway", "start")).code == 0
        try:
            started = await person.ask("mcp", "auth", "files", "--no-browser", "--json")
            callback = await provider.browse(json.loads(started.out)["authorizationUrl"])
            assert (await person.ask("mcp", "auth", "files", "--code", callback)).code == 0
            assert (await person.ask("mcp", "call", "files__read")).out == "read\n"
        finally:
            await person.ask("gateway", "stop")
        await person.openclaw("mcp", "auth", "files", "--no-browser", "--json")
        assert "DEBUG" in (person.home.paths.logs_dir / "gateway.log").read_text()
        # Three of each: code, verifier, access token, refresh token, identity token; and the client's own secret.
        assert len(provider.given()) >= 3 * 4 + 1
        assert CLIENT_SECRET in provider.given()
        assert len(files_under(person.home.state)) > 3
        assert person.leaks() == []
