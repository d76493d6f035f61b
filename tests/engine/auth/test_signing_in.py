"""The whole way from the first call to a server that knows who is calling."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from aiohttp import web
from msgspec.structs import replace

from openclaw.auth.bearer import AuthStatus
from openclaw.auth.flow_runner import FlowRunner
from openclaw.auth.login import SignedIn, SignedOut, Started
from openclaw.auth.records import Pending
from openclaw.errors import AuthError, ConnectError, OpenClawError, RefusedError, SignInNeededError, StoreError
from openclaw.protocol.oauth.wire import Flow, get
from openclaw.redact import MASK, mask, remember, retire
from openclaw.secrets.store.encrypted import EncryptedStore
from openclaw.secrets.store.key import StoreKey
from openclaw.secrets.store.records import FileRecords
from openclaw.security.egress import Rules
from parts.auth_program import Clock, Program
from parts.auth_server import METADATA_PATH, RESOURCE_PATH, AuthServer, query_of, surf
from parts.certificates import Authority
from parts.served import served

ALL = ("tools:read", "offline_access")


async def test_the_first_call_names_the_command_that_signs_in(program: Program) -> None:
    with pytest.raises(SignInNeededError) as caught:
        await program.call()
    assert str(caught.value) == "The server 'files' needs you to sign in. Run `openclaw mcp auth files`."


async def test_the_command_names_the_agent_whose_server_it_is(program: Program) -> None:
    program.spec = replace(program.spec, owner="helper")
    with pytest.raises(SignInNeededError, match=r"openclaw mcp auth files --agent helper`"):
        await program.call()


@pytest.mark.requirement("000-5.1-exchange")
@pytest.mark.requirement("000-9.3-report")
async def test_after_the_sign_in_calls_work_and_scopes_and_expiry_are_told(program: Program, clock: Clock) -> None:
    result = await program.sign_in()
    assert result.expires_at is not None
    assert 3500 < result.expires_at - clock() <= 3600
    assert msgspec.structs.replace(result, expires_at=None) == SignedIn("files", ALL, None, renewable=True)
    assert await program.call() == 200


@pytest.mark.requirement("000-5.1-challenge")
@pytest.mark.requirement("000-5.1-resource-metadata")
@pytest.mark.requirement("000-5.2-dynamic")
async def test_requests_go_out_in_the_order_of_the_standards(server: AuthServer, program: Program) -> None:
    """A4."""
    await program.sign_in()
    assert server.paths() == ["/mcp", RESOURCE_PATH, METADATA_PATH, "/register", "/authorize", "/token"]


@pytest.mark.requirement("000-14.4-audience")
@pytest.mark.requirement("000-5.5-audience-check")
@pytest.mark.requirement("000-5.4-resource")
async def test_the_same_resource_is_named_in_all_three_requests(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    """A11."""
    await program.sign_in()
    clock.ahead = 3600
    await program.call()
    forms = [server.at("/authorize")[0].form, *(seen.form for seen in server.at("/token"))]
    assert [form["resource"] for form in forms] == [server.url] * 3


async def test_a_sign_in_that_was_given_up_is_not_masked_for_ever(program: Program) -> None:
    async def verifier() -> str:
        await program.credentials.start(program.spec)
        store = EncryptedStore(FileRecords(program.folder), StoreKey(program.folder, configured=None, keychain=None))
        pending = await store.read(Pending, program.spec.url, program.spec.owner)
        assert pending is not None
        return pending.question.verifier

    given_up, under_way = await verifier(), await verifier()
    assert [mask(given_up), mask(under_way)] == [MASK, MASK]
    for number in range(1_100):
        remember(f"another-{number:05d}-of-many")
        retire(f"another-{number:05d}-of-many")
    assert [mask(given_up), mask(under_way)] == [given_up, MASK]


async def test_the_verifier_belongs_to_one_sign_in(server: AuthServer, program: Program) -> None:
    """A8."""
    await program.sign_in()
    await program.sign_in()
    verifiers = [seen.form["code_verifier"] for seen in server.at("/token")]
    assert len(set(verifiers)) == 2
    assert all(43 <= len(verifier) <= 128 for verifier in verifiers)


async def test_the_sign_in_may_end_in_another_process(server: AuthServer, program: Program) -> None:
    started = await program.credentials.start(program.spec)
    program.restart()
    await program.credentials.finish(program.spec, await server.browse(started.authorization_url))
    program.restart()
    assert await program.call() == 200


@pytest.mark.requirement("000-9.2-challenge-scope")
async def test_a_challenge_that_a_call_met_is_used_by_the_sign_in(server: AuthServer, program: Program) -> None:
    """A server may answer some questions without a token, and so not challenge whoever signs in."""
    server.plan.challenge_scope = "tools:write"
    with pytest.raises(SignInNeededError):
        await program.call()
    server.plan.open_methods = frozenset(["tools/list"])
    program.restart()
    assert (await program.sign_in()).scopes == ("tools:write", "offline_access")


@pytest.mark.requirement("000-12.1-scopes")
async def test_configured_scopes_go_before_challenged_ones(server: AuthServer, program: Program) -> None:
    """A15."""
    program.configure(scopes=("tools:write",))
    assert (await program.sign_in()).scopes == ("tools:write", "offline_access")


async def test_supported_scopes_are_asked_for_when_nobody_says_better(server: AuthServer, program: Program) -> None:
    server.plan.challenge_scope = None
    assert (await program.sign_in()).scopes == ("tools:read", "tools:write", "offline_access")


async def test_staying_signed_in_is_not_asked_for_where_it_is_not_offered(server: AuthServer, program: Program) -> None:
    """A15."""
    server.plan.metadata = {"scopes_supported": ["tools:read"]}
    result = await program.sign_in()
    assert result == SignedIn("files", ("tools:read",), result.expires_at, False)
    assert result.expires_at == pytest.approx(program.clock() + 3600, abs=60)


async def test_a_sign_in_ends_once(server: AuthServer, program: Program) -> None:
    """A9."""
    started = await program.credentials.start(program.spec)
    callback = await server.browse(started.authorization_url)
    await program.credentials.finish(program.spec, callback)
    with pytest.raises(SignInNeededError, match="no sign-in under way"):
        await program.credentials.finish(program.spec, callback)
    assert len(server.at("/token")) == 1


async def test_of_two_who_finish_a_sign_in_one_is_too_late(server: AuthServer, program: Program) -> None:
    """A9: a code used twice would end the sign-in at many servers."""
    started = await program.credentials.start(program.spec)
    callback = await server.browse(started.authorization_url)
    outcomes = await asyncio.gather(
        *(program.make().finish(program.spec, callback) for _ in range(4)), return_exceptions=True
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == [*["SignInNeededError"] * 3, "SignedIn"]
    assert len(server.at("/token")) == 1


async def test_a_sign_in_that_is_given_up_while_its_code_is_redeemed_is_kept_all_the_same(
    server: AuthServer, program: Program
) -> None:
    """The code is spent: a tab that is closed, or Ctrl-C, would lose the only tokens there are."""
    asked, let_go = asyncio.Event(), asyncio.Event()

    async def slow(request: web.Request) -> web.StreamResponse:
        asked.set()
        await let_go.wait()
        return server.token_answer(server.seen[-1].form, server.seen[-1].headers)

    server.answers["/token"] = slow
    signing_in = asyncio.create_task(program.sign_in())
    await asked.wait()
    signing_in.cancel()
    let_go.set()
    with pytest.raises(asyncio.CancelledError):
        await signing_in
    program.restart()
    assert (await program.call(), len(server.at("/token"))) == (200, 1)


async def test_a_sign_in_waits_ten_minutes_for_its_end(server: AuthServer, program: Program, clock: Clock) -> None:
    """A9."""
    started = await program.credentials.start(program.spec)
    callback = await server.browse(started.authorization_url)
    clock.ahead = 601
    with pytest.raises(SignInNeededError, match="10 minutes"):
        await program.credentials.finish(program.spec, callback)
    assert server.at("/token") == []


async def test_a_wrong_paste_does_not_end_the_sign_in(server: AuthServer, program: Program) -> None:
    started = await program.credentials.start(program.spec)
    callback = await server.browse(started.authorization_url)
    for wrong in (callback.replace("state=", "state=x"), callback.replace("state=", "other="), "http://127.0.0.1/?x=y"):
        with pytest.raises(AuthError, match="does not belong"):
            await program.credentials.finish(program.spec, wrong)
    assert (await program.credentials.finish(program.spec, callback)).scopes == ALL


async def test_the_later_of_two_sign_ins_counts(server: AuthServer, program: Program) -> None:
    first = await program.credentials.start(program.spec)
    second = await program.credentials.start(program.spec)
    with pytest.raises(AuthError, match="does not belong"):
        await program.credentials.finish(program.spec, await server.browse(first.authorization_url))
    await program.credentials.finish(program.spec, await server.browse(second.authorization_url))


async def test_a_refusal_at_the_browser_is_told_by_its_code(server: AuthServer, program: Program) -> None:
    """A7."""
    server.plan.authorize_error = "access_denied"
    with pytest.raises(RefusedError) as caught:
        await program.sign_in()
    assert str(caught.value) == "The authorization server refused the sign-in: access_denied. Start the sign-in again."


@pytest.mark.requirement("000-5.3-client")
async def test_a_registration_is_used_again(server: AuthServer, program: Program) -> None:
    await program.sign_in()
    program.restart()
    await program.sign_in()
    assert len(server.at("/register")) == 1


async def test_a_client_the_server_has_forgotten_is_registered_again(server: AuthServer, program: Program) -> None:
    await program.sign_in()
    started = await program.credentials.start(program.spec)
    callback = await server.browse(started.authorization_url)
    server.clients.clear()
    with pytest.raises(RefusedError, match="registration has been renewed"):
        await program.credentials.finish(program.spec, callback)
    await program.sign_in()
    assert (len(server.at("/register")), await program.call()) == (2, 200)


async def test_a_client_that_may_not_ask_for_a_scope_is_registered_again(server: AuthServer, program: Program) -> None:
    await program.sign_in()
    for client in server.clients.values():
        client["scope"] = "tools:write"
    with pytest.raises(RefusedError, match=r"invalid_scope.*registration has been renewed"):
        await program.sign_in()
    assert (await program.sign_in()).scopes == ALL
    assert len(server.at("/register")) == 2


@pytest.mark.requirement("000-14.9-managers")
@pytest.mark.requirement("000-5.3-client")
@pytest.mark.requirement("000-5.2-configured")
async def test_a_preregistered_client_needs_no_registration(server: AuthServer, program: Program) -> None:
    server.plan.metadata = {"registration_endpoint": None}
    server.clients["mine"] = {"client_secret": "s3cret-value", "redirect_uris": ["http://127.0.0.1:7777/callback"]}
    program.secrets["secret://vault/kv/files"] = "s3cret-value"
    program.configure(
        client_id="mine", client_secret="secret://vault/kv/files", redirect_url="http://127.0.0.1:7777/callback"
    )
    await program.sign_in()
    assert server.at("/token")[0].headers["authorization"].startswith("Basic ")
    assert (server.at("/register"), await program.call()) == ([], 200)


async def test_every_setting_of_a_sign_in_may_be_a_reference(server: AuthServer, program: Program) -> None:
    program.secrets = {
        "secret://vault/kv/a": "http://127.0.0.1:7777/callback",
        "secret://vault/kv/b": "tools:write",
        "secret://vault/kv/c": server.issuer,
        "secret://vault/kv/d": "mine",
        "secret://vault/kv/e": "client_secret_post",
        "secret://vault/kv/f": "s3cret-value",
    }
    redirect, scope, issuer, client, method, secret = program.secrets
    server.clients["mine"] = {"client_secret": "s3cret-value", "redirect_uris": ["http://127.0.0.1:7777/callback"]}
    program.configure(
        client_id=client,
        client_secret=secret,
        redirect_url=redirect,
        scopes=(scope,),
        authorization_server_url=issuer,
        token_endpoint_auth_method=method,
    )
    assert (await program.sign_in()).scopes == ("tools:write", "offline_access")
    assert server.at("/token")[0].form["client_secret"] == "s3cret-value"


@pytest.mark.requirement("000-5.2-document")
async def test_a_client_metadata_document_goes_before_registration(server: AuthServer, program: Program) -> None:
    """A16."""
    document = "https://me.example/openclaw.json"
    server.plan.metadata = {"client_id_metadata_document_supported": True}
    program.configure(client_metadata_url=document)
    started = await program.credentials.start(program.spec)
    assert query_of(started.authorization_url)["client_id"] == document
    assert server.at("/register") == []
    assert (await program.credentials.client_metadata(program.spec))["client_id"] == document


async def test_a_server_of_2025_03_26_is_its_own_authorization_server(server: AuthServer, program: Program) -> None:
    """No document anywhere: the endpoints are at fixed paths of the server itself, and nowhere else."""
    server.plan.challenge_metadata = False
    for path in (RESOURCE_PATH, "/.well-known/oauth-protected-resource", METADATA_PATH):
        server.answer(path, {}, 404)
    server.answer("/.well-known/openid-configuration", {}, 404)
    server.answer("/register", {"client_id": "old"}, 201)
    started = await program.credentials.start(program.spec)
    asked = query_of(started.authorization_url)
    assert started.authorization_url.startswith(f"{server.origin}/authorize?")
    assert (asked["client_id"], asked["code_challenge_method"]) == ("old", "S256")


def without_metadata(server: AuthServer) -> None:
    """As servers of 2025-03-26 are: no document, and endpoints at fixed paths."""
    server.plan.challenge_metadata = False
    server.answer(RESOURCE_PATH, {}, 404)
    server.answer("/register", {"client_id": "old"}, 201)


async def turn_down(program: Program, protocol: dict[str, str]) -> None:
    """Its 401 is all that a program gets from a server it spoke to in this way."""
    program.protocol = protocol
    with pytest.raises(SignInNeededError):
        await program.call()


@pytest.mark.parametrize(
    "protocol",
    [
        {"MCP-Protocol-Version": "2025-06-18"},
        {"MCP-Protocol-Version": "2025-11-25"},
        {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call"},
    ],
)
async def test_nothing_is_guessed_for_a_server_that_spoke_a_newer_revision(
    server: AuthServer, program: Program, protocol: dict[str, str]
) -> None:
    without_metadata(server)
    await turn_down(program, protocol)
    program.restart()
    with pytest.raises(AuthError, match="publishes nothing about where to sign in"):
        await program.credentials.start(program.spec)
    assert [path for path in server.paths() if path in (METADATA_PATH, "/register")] == []


@pytest.mark.parametrize(
    "protocol",
    [
        {},
        {"MCP-Protocol-Version": "2025-03-26"},
        # Only asked for: nobody has agreed to it.
        {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"},
    ],
)
async def test_a_server_that_may_be_old_is_taken_for_one_after_its_401(
    server: AuthServer, program: Program, protocol: dict[str, str]
) -> None:
    without_metadata(server)
    await turn_down(program, protocol)
    started = await program.credentials.start(program.spec)
    assert started.authorization_url.startswith(f"{server.origin}/authorize?")


async def test_a_server_that_has_published_metadata_is_never_taken_for_an_old_one(
    server: AuthServer, program: Program
) -> None:
    await program.sign_in()
    without_metadata(server)
    with pytest.raises(AuthError, match="publishes nothing about where to sign in"):
        await program.credentials.start(program.spec)
    assert len(server.at("/register")) == 1


async def test_a_server_that_asks_for_nothing_needs_no_sign_in(server: AuthServer, program: Program) -> None:
    server.answer("/mcp", {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}})
    server.answer(RESOURCE_PATH, {}, 404)
    with pytest.raises(AuthError) as caught:
        await program.credentials.start(program.spec)
    assert str(caught.value) == "The server 'files' needs no sign-in: it answers without one."
    assert server.paths() == ["/mcp", RESOURCE_PATH, "/.well-known/oauth-protected-resource"]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "needs no sign-in: it answers without one"),
        (403, "answered 403 and offers no sign-in"),
        (404, "answered 404 and offers no sign-in"),
        (503, "answered 503"),
    ],
)
async def test_what_a_server_answered_is_told_when_it_offers_no_sign_in(
    server: AuthServer, program: Program, status: int, words: str
) -> None:
    server.answer("/mcp", {}, status)
    server.answer(RESOURCE_PATH, {}, 404)
    with pytest.raises(OpenClawError, match=words):
        await program.credentials.start(program.spec)
    assert server.at("/register") == []


async def test_a_server_that_is_open_may_still_be_signed_in_to_when_it_says_where(
    server: AuthServer, program: Program
) -> None:
    server.plan.open_methods = frozenset({"tools/list"})
    await program.sign_in()
    assert await program.call() == 200


async def test_a_server_of_the_older_transport_is_asked_in_its_own_way(server: AuthServer, program: Program) -> None:
    async def old_transport(request: web.Request) -> web.StreamResponse:
        if request.method == "POST":
            return web.Response(status=405)
        where = f'Bearer resource_metadata="{server.origin}{RESOURCE_PATH}", scope="tools:write"'
        return web.Response(status=401, headers={"WWW-Authenticate": where})

    server.answers["/mcp"] = old_transport
    started = await program.credentials.start(program.spec)
    assert query_of(started.authorization_url)["scope"] == "tools:write offline_access"


async def test_sign_ins_that_nobody_finished_use_one_registration(server: AuthServer, program: Program) -> None:
    addresses = []
    for _ in range(3):
        addresses.append((await program.credentials.start(program.spec)).redirect_uri)
        program.restart()
    assert (len(server.at("/register")), len(set(addresses))) == (1, 1)
    await program.sign_in()
    assert (len(server.at("/register")), await program.call()) == (1, 200)


async def test_signing_out_forgets_the_registration_of_a_sign_in_that_nobody_finished(
    server: AuthServer, program: Program
) -> None:
    await program.credentials.start(program.spec)
    await program.credentials.logout(program.spec)
    assert [file.name for file in program.folder.glob("*.json")] == ["store.json"]


async def test_signing_out_takes_the_registration_back_where_that_is_possible(
    server: AuthServer, program: Program
) -> None:
    server.plan.manageable = True
    await program.sign_in()
    await program.credentials.logout(program.spec)
    assert (server.clients, [seen.method for seen in server.seen[-3:]]) == ({}, ["POST", "POST", "DELETE"])


async def test_a_damaged_registration_does_not_keep_anybody_from_signing_out(
    server: AuthServer, program: Program
) -> None:
    started = await program.credentials.start(program.spec)
    registered = set(program.folder.glob("*.json"))
    await program.credentials.finish(program.spec, await program.browse(started.authorization_url))
    for file in registered & set(program.folder.glob("*.json")) - {program.folder / "store.json"}:
        whole = file.read_bytes()
        file.write_bytes(b"{}")
        try:
            await program.make().status(program.spec)
        except StoreError:
            # The record of the server itself, without which nothing is known.
            file.write_bytes(whole)
    assert await program.credentials.logout(program.spec) == SignedOut(was_signed_in=True, revoked=True)
    assert [file.name for file in program.folder.glob("*.json")] == ["store.json"]


async def test_a_registration_that_cannot_be_taken_back_is_forgotten_all_the_same(
    server: AuthServer, program: Program
) -> None:
    server.plan.manageable = True
    await program.sign_in()
    (place,) = server.managers
    async with AuthServer() as other:
        # With its token, it does not follow a redirect either.
        server.redirect(place, f"{other.issuer}{place}", 307)
        assert await program.credentials.logout(program.spec) == SignedOut(was_signed_in=True, revoked=True)
        assert other.seen == []
    assert [file.name for file in program.folder.glob("*.json")] == ["store.json"]


async def test_signing_out_revokes_and_forgets(server: AuthServer, program: Program) -> None:
    await program.sign_in()
    authorizer = program.authorizer()
    await program.call(authorizer=authorizer)
    token = server.at("/mcp")[-1].bearer
    assert await program.credentials.logout(program.spec) == SignedOut(was_signed_in=True, revoked=True)
    assert [seen.form["token_type_hint"] for seen in server.at("/revoke")] == ["refresh_token", "access_token"]
    assert server.at("/revoke")[1].form["token"] == token
    assert token not in server.access
    # Also for whoever was using the tokens meanwhile.
    with pytest.raises(SignInNeededError):
        await program.call(authorizer=authorizer)
    assert server.at("/mcp")[-1].bearer is None
    assert await program.credentials.logout(program.spec) == SignedOut(was_signed_in=False, revoked=False)


async def test_signing_out_revokes_what_a_renewal_under_way_brings(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    await program.sign_in()
    clock.ahead = 3600
    renewed, let_go = asyncio.Event(), asyncio.Event()

    async def slow(request: web.Request) -> web.StreamResponse:
        del server.answers["/token"]
        answer = server.token_answer(server.seen[-1].form, server.seen[-1].headers)
        renewed.set()
        await let_go.wait()
        return answer

    server.answers["/token"] = slow
    call = asyncio.create_task(program.call())
    await renewed.wait()
    newest = list(server.refresh)[-1]
    # In another process, which has begun before the renewal has ended here.
    signing_out = asyncio.create_task(program.make().logout(program.spec))
    await asyncio.sleep(0)
    let_go.set()
    assert await signing_out == SignedOut(was_signed_in=True, revoked=True)
    await asyncio.wait([call])
    assert server.at("/revoke")[0].form["token"] == newest


async def test_signing_out_finds_nothing_left_of_an_authorization_server_used_before(
    server: AuthServer, program: Program
) -> None:
    await program.sign_in()
    async with AuthServer() as other:
        server.plan.resource = {"authorization_servers": [other.issuer]}
        program.browse = other.browse
        await program.sign_in()
        assert await program.credentials.logout(program.spec) == SignedOut(was_signed_in=True, revoked=True)
    assert [file.name for file in program.folder.glob("*.json")] == ["store.json"]


async def test_a_server_that_cannot_revoke_access_tokens_has_revoked_what_lasts(
    server: AuthServer, program: Program
) -> None:
    async def revoke(request: web.Request) -> web.StreamResponse:
        kind = (await request.post())["token_type_hint"]
        return web.Response() if kind == "refresh_token" else web.json_response({}, status=400)

    await program.sign_in()
    server.answers["/revoke"] = revoke
    assert await program.credentials.logout(program.spec) == SignedOut(was_signed_in=True, revoked=True)


async def test_signing_out_forgets_even_when_nothing_can_be_revoked(server: AuthServer, program: Program) -> None:
    await program.sign_in()
    server.answer("/revoke", {}, 503)
    assert await program.credentials.logout(program.spec) == SignedOut(was_signed_in=True, revoked=False)
    with pytest.raises(SignInNeededError):
        await program.call()


async def test_without_a_refresh_token_the_access_token_is_revoked(server: AuthServer, program: Program) -> None:
    server.plan.metadata = {"scopes_supported": ["tools:read"]}
    await program.sign_in()
    assert await program.credentials.logout(program.spec) == SignedOut(was_signed_in=True, revoked=True)
    assert server.at("/revoke")[0].form["token_type_hint"] == "access_token"
    assert server.access == {}


async def test_a_server_that_revokes_nothing_is_forgotten_all_the_same(server: AuthServer, program: Program) -> None:
    server.plan.metadata = {"revocation_endpoint": None}
    await program.sign_in()
    assert await program.credentials.logout(program.spec) == SignedOut(was_signed_in=True, revoked=False)


async def test_the_status_says_how_it_stands(server: AuthServer, program: Program, clock: Clock) -> None:
    assert await program.credentials.status(program.spec) == AuthStatus("none")
    server.plan.metadata = {"scopes_supported": None}
    result = await program.sign_in()
    expected = AuthStatus("signed-in", server.issuer, ("tools:read",), result.expires_at)
    assert await program.credentials.status(program.spec) == expected
    clock.ahead = 3601
    assert await program.credentials.status(program.spec) == msgspec.structs.replace(expected, state="expired")


@pytest.mark.requirement("000-9.3-callback")
async def test_a_browser_on_this_machine_comes_back_by_itself(program: Program) -> None:
    surfing: list[asyncio.Task[tuple[int, str]]] = []

    async def show(started: Started) -> None:
        surfing.append(asyncio.create_task(surf(started.authorization_url)))

    result = await program.credentials.sign_in(program.spec, show)
    assert (result.scopes, await program.call()) == (ALL, 200)
    status, page = await surfing[0]
    assert status == 200
    assert "You are signed in" in page


async def test_a_sign_in_in_a_browser_that_is_refused_says_so_there(server: AuthServer, program: Program) -> None:
    server.plan.authorize_error = "access_denied"
    surfing: list[asyncio.Task[tuple[int, str]]] = []

    async def show(started: Started) -> None:
        surfing.append(asyncio.create_task(surf(started.authorization_url)))

    with pytest.raises(RefusedError, match="access_denied"):
        await program.credentials.sign_in(program.spec, show)
    status, page = await surfing[0]
    assert status == 400
    assert "did not work" in page
    assert "access_denied" not in page


async def test_in_a_browser_a_stale_registration_is_renewed_on_the_way(server: AuthServer, program: Program) -> None:
    surfing: list[asyncio.Task[tuple[int, str]]] = []

    async def show(started: Started) -> None:
        if not surfing:
            for client in server.clients.values():
                client["scope"] = "tools:write"
        surfing.append(asyncio.create_task(surf(started.authorization_url)))

    assert (await program.credentials.sign_in(program.spec, show)).scopes == ALL
    assert [status for status, _ in await asyncio.gather(*surfing)] == [400, 200]


async def test_nobody_coming_back_ends_the_sign_in(program: Program) -> None:
    async def show(started: Started) -> None:
        return None

    with pytest.raises(AuthError, match="Nobody finished the sign-in"):
        await program.credentials.sign_in(program.spec, show, patience=0.01)


@pytest.mark.requirement("000-9.1-no-oauth")
async def test_servers_with_fixed_credentials_have_no_authorizer(program: Program) -> None:
    specs = [
        replace(program.spec, api_key="k"),
        replace(program.spec, headers=(("authorization", "Basic x"),)),
        replace(program.spec, transport="stdio", url="", command="x"),
    ]
    assert [program.credentials.authorizer(spec) for spec in specs] == [None, None, None]


async def test_a_server_without_a_bearer_challenge_may_want_a_key(server: AuthServer, program: Program) -> None:
    server.answer("/mcp", {}, 401)
    with pytest.raises(SignInNeededError, match="apiKey"):
        await program.call()


async def test_a_server_that_knows_no_sign_in_is_named_as_that(server: AuthServer, program: Program) -> None:
    server.plan.challenge_metadata = False
    server.answer(RESOURCE_PATH, {}, 404)
    with pytest.raises(AuthError) as caught:
        await program.sign_in()
    assert str(caught.value) == (
        "The server 'files' offers no sign-in that OpenClaw knows. If it takes an API key, set `apiKey` or `headers`."
    )


async def test_a_configured_client_that_is_refused_is_not_tried_twice(server: AuthServer, program: Program) -> None:
    server.plan.authorize_error = "unauthorized_client"
    server.clients["mine"] = {"redirect_uris": ["http://127.0.0.1:0/callback"]}
    program.configure(client_id="mine")
    shown: list[Started] = []

    async def show(started: Started) -> None:
        server.clients["mine"] = {"redirect_uris": [started.redirect_uri]}
        shown.append(started)
        surfing.append(asyncio.create_task(surf(started.authorization_url)))

    surfing: list[asyncio.Task[tuple[int, str]]] = []
    with pytest.raises(RefusedError, match="unauthorized_client"):
        await program.credentials.sign_in(program.spec, show)
    await asyncio.gather(*surfing)
    assert len(shown) == 1


async def test_an_authority_of_ones_own_is_trusted_for_the_authorization_server_too(tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    async def document(request: web.Request) -> web.StreamResponse:
        return web.json_response({"issuer": "x"})

    app = web.Application()
    app.router.add_get("/", document)
    async with served(app, ssl_context=authority.server_context("127.0.0.1")) as origin:

        def flow() -> Flow[int]:
            response = yield get(f"{origin}/")
            return response.status

        rules = Rules(allow_loopback=True)
        assert await FlowRunner(rules, ca_cert=str(authority.certificate)).run(flow()) == 200
        with pytest.raises(ConnectError, match="certificate"):
            await FlowRunner(rules).run(flow())
