"""Tokens in use: renewed in time, once for everybody, and a person is asked last."""

import asyncio
import itertools

import pytest
from aiohttp import web

from openclaw.errors import AuthError, ConnectError, HttpStatusError, SignInNeededError, StepUpNeededError
from parts.auth_program import Clock, Program
from parts.auth_server import AuthServer


def renewals(server: AuthServer) -> int:
    return len([seen for seen in server.at("/token") if seen.form.get("grant_type") == "refresh_token"])


async def sign_in_and_wait(server: AuthServer, program: Program, clock: Clock, seconds: float) -> None:
    """Signed in so long ago, and the server has ended the token meanwhile."""
    await program.sign_in()
    server.expire()
    clock.ahead = seconds


@pytest.mark.requirement("000-15-unit")
@pytest.mark.requirement("000-9.4-refresh-token")
@pytest.mark.requirement("000-9.4-sixty-seconds")
async def test_a_token_is_renewed_a_minute_before_it_expires(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    await program.sign_in()
    authorizer = program.authorizer()
    clock.ahead = 3530
    await program.call(authorizer=authorizer)
    assert renewals(server) == 0
    clock.ahead = 3545
    await program.call(authorizer=authorizer)
    assert renewals(server) == 1


async def test_a_token_with_a_short_life_is_renewed_at_half_time(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    """Else every call would renew it."""
    server.plan.token_life = 40
    await program.sign_in()
    authorizer = program.authorizer()
    for ahead, expected in ((0, 0), (10, 0), (25, 1), (30, 1)):
        clock.ahead = ahead
        await program.call(authorizer=authorizer)
        assert renewals(server) == expected


async def test_a_new_process_renews_an_expired_token_without_a_person(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    """Nothing but the disk: endpoints, client, issuer and expiry are all remembered."""
    await sign_in_and_wait(server, program, clock, 7200)
    program.restart()
    server.seen.clear()
    assert await program.call() == 200
    assert server.paths() == ["/token", "/mcp"]


@pytest.mark.requirement("000-10-401")
@pytest.mark.requirement("000-5.4-401")
@pytest.mark.requirement("000-5.1-retry")
async def test_a_token_that_is_turned_down_is_renewed_and_the_call_sent_again(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    """The server may end a token before its time."""
    await sign_in_and_wait(server, program, clock, 60)
    server.seen.clear()
    assert await program.call() == 200
    assert server.paths() == ["/mcp", "/token", "/mcp"]


async def test_a_token_of_unknown_life_is_renewed_when_it_is_turned_down(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    server.plan.token_life = None
    assert (await program.sign_in()).expires_at is None
    clock.ahead = 10**6
    await program.call()
    assert renewals(server) == 0
    server.expire()
    await program.call()
    assert renewals(server) == 1


@pytest.mark.requirement("000-9.4-rotation")
@pytest.mark.parametrize("seconds", [3600, 60], ids=["expired", "turned down"])
async def test_many_calls_at_once_renew_once(server: AuthServer, program: Program, clock: Clock, seconds: int) -> None:
    """A14: rotation is on, so a second use of the refresh token would end the sign-in."""
    await program.sign_in()
    authorizer = program.authorizer()
    await program.call(authorizer=authorizer)
    server.expire()
    clock.ahead = seconds
    assert await asyncio.gather(*(program.call(authorizer=authorizer) for _ in range(20))) == [200] * 20
    assert renewals(server) == 1


async def test_two_programs_renew_once(server: AuthServer, program: Program, clock: Clock) -> None:
    await program.sign_in()
    other = Program(server, program.folder, clock=clock)
    clock.ahead = 3600
    assert [*await asyncio.gather(program.call(), other.call())] == [200, 200]
    assert renewals(server) == 1


async def test_calls_stay_parallel(server: AuthServer, program: Program) -> None:
    """No lock is held across a request: all of them are at the server before the first is answered."""
    await program.sign_in()
    authorizer = program.authorizer()
    calls = [asyncio.create_task(program.call("wait", authorizer)) for _ in range(6)]
    for _ in calls:
        await server.waiting.acquire()
    server.gate.set()
    assert await asyncio.gather(*calls) == [200] * 6


async def test_a_renewal_goes_on_when_its_caller_leaves(server: AuthServer, program: Program, clock: Clock) -> None:
    """A14: the answer may hold the only refresh token there is."""
    await program.sign_in()
    clock.ahead = 3600
    asked, let_go = asyncio.Event(), asyncio.Event()

    async def slow(request: web.Request) -> web.StreamResponse:
        del server.answers["/token"]
        asked.set()
        await let_go.wait()
        return server.token_answer(server.seen[-1].form, server.seen[-1].headers)

    server.answers["/token"] = slow
    call = asyncio.create_task(program.call())
    await asked.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    let_go.set()
    await program.credentials.close()
    program.restart()
    assert (await program.call(), renewals(server)) == (200, 1)


@pytest.mark.requirement("000-9.2-stored")
async def test_renewed_tokens_are_on_the_disk_before_they_are_used(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    """A14: when the server sees the new access token, another process can already read the new refresh token."""
    await program.sign_in()
    clock.ahead = 3600
    other = Program(server, program.folder, clock=clock)
    seen: list[object] = []

    async def look(request: web.Request) -> web.StreamResponse:
        seen.append(await other.authorizer().headers())
        return web.json_response({"jsonrpc": "2.0", "id": 1, "result": {}})

    server.answers["/mcp"] = look
    await program.call()
    assert seen == [{"Authorization": f"Bearer {server.at('/mcp')[-1].bearer}"}]
    assert renewals(server) == 1


@pytest.mark.requirement("000-10-401")
@pytest.mark.requirement("000-5.4-401")
@pytest.mark.requirement("000-9.4-refused")
async def test_a_sign_in_that_cannot_be_renewed_asks_for_a_new_one_and_never_loops(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    """A14."""
    await sign_in_and_wait(server, program, clock, 3600)
    server.refresh.clear()
    authorizer = program.authorizer()
    for _ in range(3):
        with pytest.raises(SignInNeededError, match="openclaw mcp auth files"):
            await program.call(authorizer=authorizer)
    assert renewals(server) == 1
    await program.sign_in()
    assert await program.call(authorizer=authorizer) == 200


async def test_a_refresh_token_used_by_a_thief_ends_in_a_sign_in(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    """A14: reuse is noticed by the server, and we do not insist."""
    await program.sign_in()
    for issued in server.refresh.values():
        issued.spent = True
    clock.ahead = 3600
    with pytest.raises(SignInNeededError):
        await program.call()
    assert renewals(server) == 1


async def test_while_the_authorization_server_is_down_a_good_token_is_used(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    await program.sign_in()
    authorizer = program.authorizer()
    server.plan.token_failures = [503, 503]
    clock.ahead = 3550
    assert [await program.call(authorizer=authorizer) for _ in range(5)] == [200] * 5
    # Not asked again at once: nobody shall wait for a server in trouble.
    assert renewals(server) == 1


async def test_an_expired_token_and_an_authorization_server_in_trouble_is_no_reason_to_sign_in(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    await sign_in_and_wait(server, program, clock, 3600)
    authorizer = program.authorizer()
    server.plan.token_failures = [503]
    with pytest.raises(ConnectError, match="answered 503"):
        await program.call(authorizer=authorizer)
    assert await program.call(authorizer=authorizer) == 200


async def test_an_authorization_server_that_cannot_be_reached_is_named_as_that(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    await program.sign_in()
    clock.ahead = 3600

    async def cut(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    server.answers["/token"] = cut
    with pytest.raises(ConnectError, match="authorization server cannot be reached"):
        await program.call()


async def test_a_forgotten_client_leads_to_a_new_registration(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    await sign_in_and_wait(server, program, clock, 3600)
    server.clients.clear()
    with pytest.raises(SignInNeededError):
        await program.call()
    await program.sign_in()
    assert (len(server.at("/register")), await program.call()) == (2, 200)


async def test_a_token_that_is_turned_down_at_once_is_not_renewed_again(server: AuthServer, program: Program) -> None:
    """A server that wants no token of its own authorization server must not make us loop."""
    await program.sign_in()
    server.answer("/mcp", {}, 401)
    with pytest.raises(SignInNeededError):
        await program.call()
    assert renewals(server) == 0


async def test_a_sign_in_elsewhere_is_noticed(server: AuthServer, program: Program, clock: Clock) -> None:
    authorizer, before = program.authorizer(), clock()
    with pytest.raises(SignInNeededError):
        await program.call(authorizer=authorizer)
    waiting = asyncio.create_task(program.credentials.signed_in(program.spec, before))
    other = Program(server, program.folder, clock=clock)
    await other.sign_in()
    await waiting
    # Also by who asks too late.
    await program.credentials.signed_in(program.spec, before)
    assert await program.call(authorizer=authorizer) == 200


async def test_a_second_sign_in_elsewhere_is_noticed_too(server: AuthServer, program: Program, clock: Clock) -> None:
    """Also when the server's challenge says nothing, so that nothing but the tokens differs."""
    server.plan.challenge_metadata, server.plan.challenge_scope = False, None
    await program.sign_in()
    authorizer = program.authorizer()
    await program.call(authorizer=authorizer)
    server.access.clear()
    server.refresh.clear()
    clock.ahead = 60
    with pytest.raises(SignInNeededError):
        await program.call(authorizer=authorizer)
    waiting = asyncio.create_task(program.credentials.signed_in(program.spec, clock()))
    await Program(server, program.folder, clock=clock).sign_in()
    await waiting
    assert await program.call(authorizer=authorizer) == 200


async def test_tokens_of_another_client_or_authorization_server_are_not_used(
    server: AuthServer, program: Program
) -> None:
    """A12: the config says who we are, and where; tokens from before it said so belong to somebody else."""
    await program.sign_in()
    before = program.spec
    for change in (
        {"client_id": "mine"},
        {"authorization_server_url": "https://other.example"},
        {"grant": "client_credentials"},
    ):
        program.configure(**change)
        assert await program.authorizer().headers() == {}
    program.spec = before
    assert await program.call() == 200


@pytest.mark.requirement("000-10-401")
async def test_a_refresh_token_that_is_refused_after_a_401_leads_to_a_sign_in(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    await sign_in_and_wait(server, program, clock, 60)
    server.refresh.clear()
    with pytest.raises(SignInNeededError) as caught:
        await program.call()
    assert str(caught.value) == (
        "The server 'files' needs you to sign in again: the authorization server no longer renews its access. "
        "Run `openclaw mcp auth files`."
    )


async def test_a_sign_in_that_was_never_renewable_ends_when_its_token_does(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    server.plan.metadata = {"scopes_supported": ["tools:read"]}
    await program.sign_in()
    authorizer = program.authorizer()
    assert await program.call(authorizer=authorizer) == 200
    server.expire()
    clock.ahead = 3601
    with pytest.raises(SignInNeededError):
        await program.call(authorizer=authorizer)
    # An expired token is not shown around.
    assert server.at("/mcp")[-1].bearer is None


@pytest.mark.parametrize("code", ["temporarily_unavailable", "server_error"])
async def test_a_code_that_speaks_of_the_moment_ends_nothing(
    server: AuthServer, program: Program, clock: Clock, code: str
) -> None:
    await sign_in_and_wait(server, program, clock, 3600)
    server.answer("/token", {"error": code}, 400)
    with pytest.raises(ConnectError, match="Try again later"):
        await program.call()
    del server.answers["/token"]
    assert await program.call() == 200


async def test_a_configured_client_that_is_not_taken_is_a_matter_of_config(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    server.clients["mine"] = {"redirect_uris": ["http://127.0.0.1:7777/callback"]}
    program.configure(client_id="mine", redirect_url="http://127.0.0.1:7777/callback")
    await program.sign_in()
    server.clients["mine"]["client_secret"] = "new"
    server.expire()
    clock.ahead = 3600
    with pytest.raises(AuthError, match=r"Check `auth\.clientId`") as caught:
        await program.call()
    assert not isinstance(caught.value, SignInNeededError)


# Step-up


@pytest.mark.requirement("000-10-403")
@pytest.mark.requirement("000-9.5-scopes")
async def test_a_call_that_wants_more_rights_names_the_command(server: AuthServer, program: Program) -> None:
    await program.sign_in()
    with pytest.raises(StepUpNeededError) as caught:
        await program.call("write")
    assert str(caught.value) == (
        "The server 'files' needs you to sign in again: this call wants more rights. Run `openclaw mcp auth files`."
    )


@pytest.mark.requirement("000-9.5-scopes")
@pytest.mark.requirement("000-5.4-403")
@pytest.mark.requirement("000-9.5-expanded")
async def test_the_next_sign_in_asks_for_the_union(server: AuthServer, program: Program) -> None:
    """A15: and the registration covers it already."""
    await program.sign_in()
    with pytest.raises(SignInNeededError):
        await program.call("write")
    program.restart()
    assert set((await program.sign_in()).scopes) == {"tools:read", "tools:write", "offline_access"}
    assert [await program.call("write"), await program.call("read")] == [200, 200]
    assert len(server.at("/register")) == 1


async def test_a_scope_outside_the_registration_renews_it(server: AuthServer, program: Program) -> None:
    """A strict server refuses scopes that were not registered: a new client asks for them."""
    server.plan.resource = {"scopes_supported": ["tools:read"]}
    await program.sign_in()
    with pytest.raises(SignInNeededError):
        await program.call("write")
    await program.sign_in()
    assert (await program.call("write"), len(server.at("/register"))) == (200, 2)


@pytest.mark.requirement("000-10-403")
@pytest.mark.requirement("000-9.5-two-attempts")
async def test_the_second_no_is_final_and_remembered(server: AuthServer, program: Program) -> None:
    """A15: two sign-ins that asked for the right and did not get it."""
    server.plan.withheld = frozenset(["tools:write"])
    await program.sign_in()
    for _ in range(2):
        with pytest.raises(SignInNeededError):
            await program.call("write")
        await program.sign_in()
    for _ in range(2):
        program.restart()
        with pytest.raises(AuthError, match="after 2 sign-ins") as caught:
            await program.call("write")
        assert not isinstance(caught.value, SignInNeededError)
    assert len(server.at("/authorize")) == 3


async def test_many_calls_with_one_token_count_as_one_no(server: AuthServer, program: Program) -> None:
    server.plan.withheld = frozenset(["tools:write"])
    program.configure(scopes=("tools:read", "tools:write"))
    await program.sign_in()
    outcomes = await asyncio.gather(*(program.call("write") for _ in range(5)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StepUpNeededError] * 5


async def test_a_server_that_asks_for_another_right_each_time_gets_four_sign_ins_and_no_more(
    server: AuthServer, program: Program
) -> None:
    numbers = itertools.count(1)

    async def greedy(request: web.Request) -> web.StreamResponse:
        challenge = f'Bearer error="insufficient_scope", scope="right-{next(numbers)}"'
        return web.Response(status=403, headers={"WWW-Authenticate": challenge})

    await program.sign_in()
    server.answers["/mcp"] = greedy
    for _ in range(4):
        with pytest.raises(StepUpNeededError):
            await program.call("write")
        await program.sign_in()
    program.restart()
    with pytest.raises(AuthError, match="after each of 4 sign-ins") as caught:
        await program.call("write")
    assert not isinstance(caught.value, SignInNeededError)


async def test_a_no_is_forgotten_after_an_hour(server: AuthServer, program: Program, clock: Clock) -> None:
    server.plan.withheld = frozenset(["tools:write"])
    program.configure(scopes=("tools:read", "tools:write"))
    for _ in range(2):
        await program.sign_in()
        with pytest.raises(AuthError):
            await program.call("write")
    with pytest.raises(AuthError, match="after 2 sign-ins"):
        await program.call("write")
    clock.ahead = 3601
    await program.sign_in()
    with pytest.raises(SignInNeededError):
        await program.call("write")


async def test_a_403_about_something_else_is_the_servers_own(server: AuthServer, program: Program) -> None:
    await program.sign_in()
    server.answer("/mcp", {}, 403)
    with pytest.raises(HttpStatusError) as caught:
        await program.call()
    assert caught.value.status == 403


# Clients that sign in by themselves


async def test_a_client_signs_in_by_itself_with_its_secret(server: AuthServer, program: Program, clock: Clock) -> None:
    server.clients["robot"] = {"client_secret": "r0bot-secret"}
    program.secrets["secret://env/ROBOT"] = "r0bot-secret"
    program.configure(grant="client_credentials", client_id="robot", client_secret="secret://env/ROBOT")
    authorizer = program.authorizer()
    assert await program.call(authorizer=authorizer) == 200
    form = server.at("/token")[0].form
    assert form == {
        "grant_type": "client_credentials",
        "resource": server.url,
        "scope": "tools:read",
        "client_id": "robot",
    }
    # And again before the token expires, without being told.
    clock.ahead = 3600
    server.seen.clear()
    assert await program.call(authorizer=authorizer) == 200
    assert [path for path in server.paths() if path in ("/token", "/mcp")] == ["/token", "/mcp"]


async def test_a_client_of_its_own_steps_up_by_itself(server: AuthServer, program: Program) -> None:
    server.clients["robot"] = {"client_secret": "r0bot-secret"}
    program.configure(grant="client_credentials", client_id="robot", client_secret="r0bot-secret")
    assert await program.call() == 200
    assert await program.call("write") == 200
    assert server.at("/token")[-1].form["scope"] == "tools:read tools:write"


async def test_a_client_of_its_own_that_is_never_taken_gives_up(server: AuthServer, program: Program) -> None:
    server.clients["robot"] = {"client_secret": "r0bot-secret"}
    program.configure(grant="client_credentials", client_id="robot", client_secret="r0bot-secret")
    server.answers["/mcp"] = server_says_no
    with pytest.raises(HttpStatusError):
        await program.call()
    with pytest.raises(AuthError, match="has just given"):
        await program.call()
    assert len(server.at("/token")) == 1


async def server_says_no(request: web.Request) -> web.StreamResponse:
    return web.Response(status=401, headers={"WWW-Authenticate": "Bearer"})


async def test_a_client_of_its_own_needs_to_be_configured(program: Program) -> None:
    program.configure(grant="client_credentials")
    with pytest.raises(AuthError, match=r"auth\.clientId"):
        await program.call()


async def test_nobody_signs_in_for_a_client_of_its_own(program: Program) -> None:
    program.configure(grant="client_credentials", client_id="robot")
    with pytest.raises(AuthError, match="nothing for a person to do"):
        await program.credentials.start(program.spec)


async def test_calls_that_begin_together_all_carry_the_token(server: AuthServer, program: Program) -> None:
    await program.sign_in()
    program.restart()
    authorizer = program.authorizer()
    server.seen.clear()
    assert await asyncio.gather(*(program.call(authorizer=authorizer) for _ in range(5))) == [200] * 5
    assert server.paths() == ["/mcp"] * 5
