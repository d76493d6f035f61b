"""Authorization servers that mean harm: every row of the checklist for clients, one test or more each.

What the other side writes is marked, and the mark never comes back in an error or a log line.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from msgspec.structs import replace

from openclaw.auth.flow_runner import FlowRunner
from openclaw.auth.login import safe_address
from openclaw.errors import AuthError, ConnectError, OpenClawError, SignInNeededError
from openclaw.net.client import ClientOptions
from openclaw.protocol.oauth.wire import Flow, get
from openclaw.security.egress import Rules
from parts.auth_program import Clock, Program
from parts.auth_server import METADATA_PATH, RESOURCE_PATH, AuthServer, query_of

MARK = "mark-of-the-other-side"
PUBLIC = "93.184.215.14"


@asynccontextmanager
async def trap() -> AsyncIterator[tuple[str, list[str]]]:
    """A listener that nobody should call: its origin, and the first line of every request."""
    calls: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        calls.append((await reader.readline()).decode())
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", calls
    finally:
        server.close()


def names(**addresses: str) -> ClientOptions:
    """A network in which names lead where the test wants."""

    async def lookup(host: str, port: int) -> list[str]:
        return [addresses[host.replace(".", "_")]]

    return ClientOptions(lookup=lookup, connect_timeout=5)


# A1, A2, A3: addresses


@pytest.mark.requirement("000-14.1-https")
@pytest.mark.requirement("000-15-security")
@pytest.mark.parametrize("field", ["token_endpoint", "registration_endpoint", "authorization_endpoint"])
@pytest.mark.parametrize("address", [f"http://{PUBLIC}/x", "http://login.example/x", "ftp://login.example/x", MARK])
async def test_endpoints_that_are_not_https_are_refused(
    server: AuthServer, program: Program, field: str, address: str
) -> None:
    """A1: plain http is for this machine alone."""
    server.plan.metadata = {field: address}
    program.credentials = program.make(network=names(login_example=PUBLIC))
    with pytest.raises(AuthError, match=r"may not be|not at an https") as caught:
        await program.sign_in()
    assert MARK not in str(caught.value)


async def test_metadata_at_an_address_that_is_not_https_is_refused(server: AuthServer, program: Program) -> None:
    """A1."""
    server.plan.resource = {"authorization_servers": ["http://login.example"]}
    program.credentials = program.make(network=names(login_example=PUBLIC))
    with pytest.raises(AuthError, match="not https, or not public"):
        await program.sign_in()


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"),
        *("224.0.0.1", "::1", "fd00::1", "fe80::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"),
    ],
)
async def test_a_remote_server_cannot_send_us_to_a_near_address(
    server: AuthServer, program: Program, address: str
) -> None:
    """A2: judged by the address that would be dialled, whatever the name says."""
    port = server.origin.rpartition(":")[2]
    # A name, so not a server on this machine, as far as anybody can tell from the config.
    program.spec = replace(program.spec, url=f"http://mcp.example:{port}/mcp")
    program.credentials = program.make(network=names(mcp_example="127.0.0.1", login_example=address))
    server.plan.challenge_scope = "tools:read"
    for metadata in (f"https://login.example/{MARK}", f"https://{f'[{address}]' if ':' in address else address}/"):
        header = {"WWW-Authenticate": f'Bearer resource_metadata="{metadata}"'}

        async def challenge(request: web.Request, header: dict[str, str] = header) -> web.StreamResponse:
            return web.Response(status=401, headers=header)

        server.answers["/mcp"] = challenge
        with pytest.raises(AuthError, match="not https, or not public") as caught:
            await program.sign_in()
        assert MARK not in str(caught.value)
    assert set(server.paths()) == {"/mcp"}


async def test_allow_private_admits_private_addresses_and_no_others(server: AuthServer, program: Program) -> None:
    """A2: the operator's own word for an authorization server in the house."""
    program.spec = replace(program.spec, allow_private=True)
    program.credentials = program.make(network=names(login_example="169.254.169.254"))
    server.plan.resource = {"authorization_servers": ["https://login.example"]}
    with pytest.raises(AuthError, match="not public"):
        await program.sign_in()


async def test_a_redirect_of_metadata_to_a_near_address_is_not_followed(server: AuthServer, program: Program) -> None:
    """A3."""
    async with trap() as (origin, calls):
        program.spec = replace(program.spec, url=f"http://mcp.example:{server.origin.rpartition(':')[2]}/mcp")
        program.credentials = program.make(network=names(mcp_example="127.0.0.1"))
        server.redirect(RESOURCE_PATH, f"{origin}/{MARK}")
        with pytest.raises(AuthError):
            await program.sign_in()
        assert calls == []


@pytest.mark.parametrize("to", [f"http://{PUBLIC}/", "http://169.254.169.254/latest/meta-data", "http://10.0.0.1/"])
async def test_each_hop_of_a_redirect_is_checked(server: AuthServer, program: Program, to: str) -> None:
    """A3: also when the server itself is on this machine."""
    server.redirect(METADATA_PATH, to)
    with pytest.raises(AuthError, match="not https, or not public"):
        await program.sign_in()


async def test_redirects_without_end_are_given_up(server: AuthServer, program: Program) -> None:
    """A3."""
    server.redirect(METADATA_PATH, f"{server.issuer}{METADATA_PATH}")
    with pytest.raises(ConnectError, match="redirected too often"):
        await program.sign_in()
    assert len(server.at(METADATA_PATH)) == 4


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_token_request_is_never_redirected(server: AuthServer, program: Program, status: int) -> None:
    """A3: its body is a credential."""
    async with trap() as (origin, calls):
        server.redirect("/token", f"{origin}/token", status)
        with pytest.raises(AuthError, match=str(status)):
            await program.sign_in()
        assert calls == []


# A5, A6, A7: documents


@pytest.mark.parametrize("resource", ["https://evil.example/mcp", "http://127.0.0.1:1/mcp", "", f"https://{MARK}"])
async def test_metadata_about_another_resource_ends_the_sign_in(
    server: AuthServer, program: Program, resource: str
) -> None:
    """A5."""
    server.plan.resource = {"resource": resource}
    with pytest.raises(AuthError, match="another resource"):
        await program.sign_in()
    assert server.paths() == ["/mcp", RESOURCE_PATH]


async def test_metadata_of_another_issuer_is_not_used_and_nothing_is_guessed(
    server: AuthServer, program: Program
) -> None:
    """A5."""
    server.plan.metadata = {"issuer": f"https://{MARK}.example"}
    with pytest.raises(AuthError, match="another issuer"):
        await program.sign_in()
    assert server.paths() == ["/mcp", RESOURCE_PATH, METADATA_PATH]


async def test_a_document_without_end_is_not_read(server: AuthServer, program: Program) -> None:
    """A6."""
    server.answer(METADATA_PATH, {"issuer": server.issuer, "x": MARK * 20_000})
    with pytest.raises(ConnectError, match="too large"):
        await program.sign_in()


async def test_a_document_nested_without_end_is_not_read(server: AuthServer, program: Program) -> None:
    """A6."""

    async def deep(request: web.Request) -> web.StreamResponse:
        return web.Response(body=b'{"issuer":' + b"[" * 200_000, content_type="application/json")

    server.answers[METADATA_PATH] = deep
    with pytest.raises(AuthError, match="publishes no metadata"):
        await program.sign_in()


async def test_a_document_that_never_comes_is_not_waited_for(server: AuthServer) -> None:
    """A6."""
    never = asyncio.Event()

    async def silent(request: web.Request) -> web.StreamResponse:
        await never.wait()
        return web.Response()

    def flow() -> Flow[None]:
        yield get(f"{server.issuer}{METADATA_PATH}")

    server.answers[METADATA_PATH] = silent
    exchange = FlowRunner(Rules(allow_loopback=True), metadata_deadline=0.05)
    with pytest.raises(ConnectError, match="in time"):
        await exchange.run(flow())
    never.set()


@pytest.mark.parametrize(
    "answers",
    [
        {RESOURCE_PATH: (200, {"resource": f"https://{MARK}.example"})},
        {RESOURCE_PATH: (200, {"resource": [MARK]})},
        {RESOURCE_PATH: (500, {"error": MARK})},
        {METADATA_PATH: (200, {"issuer": MARK})},
        {METADATA_PATH: (200, {"issuer": {"x": MARK}})},
        {METADATA_PATH: (503, {"error": MARK})},
        {"/register": (400, {"error": MARK, "error_description": MARK})},
        {"/register": (201, {"client_id": f"{MARK}\n"})},
        {"/token": (400, {"error": MARK, "error_description": MARK})},
        {"/token": (200, {"access_token": f"{MARK} {MARK}", "token_type": "Bearer"})},
        {"/token": (200, {"access_token": "x", "token_type": MARK})},
    ],
)
async def test_nothing_that_was_fetched_comes_back_in_an_error_or_a_log(
    server: AuthServer, program: Program, answers: dict[str, tuple[int, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    """A7."""
    caplog.set_level(logging.DEBUG, "openclaw")
    for path, (status, value) in answers.items():
        server.answer(path, value, status)
    with pytest.raises(OpenClawError) as caught:
        await program.sign_in()
    assert MARK not in f"{caught.value} {caught.value.hint} {caplog.text}"


# A8, A9, A10: the authorization request and its answer


@pytest.mark.requirement("000-14.5-pkce")
@pytest.mark.requirement("000-15-security")
@pytest.mark.requirement("000-5.4-s256")
@pytest.mark.parametrize("methods", [None, [], ["plain"]])
async def test_a_server_without_s256_gets_neither_a_client_nor_a_person(
    server: AuthServer, program: Program, methods: list[str] | None
) -> None:
    """A8."""
    server.plan.metadata = {"code_challenge_methods_supported": methods}
    with pytest.raises(AuthError, match="S256"):
        await program.sign_in()
    assert server.paths() == ["/mcp", RESOURCE_PATH, METADATA_PATH]


async def test_states_cannot_be_guessed_and_do_not_repeat(program: Program) -> None:
    """A9."""
    urls = [(await program.credentials.start(program.spec)).authorization_url for _ in range(5)]
    states = {query_of(url)["state"] for url in urls}
    assert len(states) == 5
    # Six bits a character.
    assert all(len(state) * 6 >= 128 for state in states)


@pytest.mark.parametrize("iss", ["https://evil.example", "{issuer}/", "{issuer}:80", "", None])
async def test_an_answer_from_another_issuer_leads_to_no_token_request(
    server: AuthServer, program: Program, iss: str | None
) -> None:
    """A10: mismatch, near misses, and what was promised but did not come."""
    server.plan.iss = iss if iss is None else iss.format(issuer=server.issuer)
    server.plan.metadata = {"authorization_response_iss_parameter_supported": True}
    with pytest.raises(AuthError, match="not used"):
        await program.sign_in()
    assert server.at("/token") == []


async def test_an_issuer_that_named_itself_once_has_to_do_so_again(server: AuthServer, program: Program) -> None:
    """A10, A18: dropping `iss` later is what a mix-up looks like."""
    server.plan.metadata = {"authorization_response_iss_parameter_supported": None}
    await program.sign_in()
    server.plan.iss = None
    with pytest.raises(AuthError, match="does not say which"):
        await program.sign_in()


# A12, A13: what belongs to whom


async def test_a_server_that_moves_gets_a_new_client_and_no_old_credential(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    """A12."""
    await program.sign_in()
    async with AuthServer() as other:
        other.plan.resource = {"resource": server.url}
        server.plan.resource = {"authorization_servers": [other.issuer]}
        server.access.clear()
        started = await program.credentials.start(program.spec)
        callback = await other.browse(started.authorization_url)
        await program.credentials.finish(program.spec, callback)
        assert len(other.at("/register")) == 1
        old = set(server.clients) | server.secrets
        assert not [seen for seen in other.seen if old & {*seen.form.values(), seen.bearer or ""}]


async def test_a_configured_client_is_not_shown_to_another_issuer(server: AuthServer, program: Program) -> None:
    """A12."""
    server.clients["mine"] = {"redirect_uris": ["http://127.0.0.1:7777/callback"]}
    program.configure(client_id="mine", redirect_url="http://127.0.0.1:7777/callback")
    await program.sign_in()
    async with AuthServer() as other:
        server.plan.resource = {"authorization_servers": [other.issuer]}
        with pytest.raises(AuthError, match="another authorization server"):
            await program.credentials.start(program.spec)
        assert other.paths() == [METADATA_PATH]


async def test_tokens_of_one_owner_are_not_anothers(server: AuthServer, program: Program) -> None:
    """A12."""
    await program.sign_in()
    for owner in ("helper", "other"):
        program.spec = replace(program.spec, owner=owner)
        with pytest.raises(SignInNeededError):
            await program.call()
    assert [seen.bearer for seen in server.at("/mcp")[1:]] == [None, None]


@pytest.mark.requirement("000-14.2-isolation")
@pytest.mark.requirement("000-15-security")
@pytest.mark.requirement("000-5.5-no-passthrough")
async def test_a_token_goes_to_no_other_address(server: AuthServer, program: Program, clock: Clock) -> None:
    """A13: another port, another path of the same host, another spelling of the host, a renamed server with another URL."""
    await program.sign_in()
    async with AuthServer() as other:
        other.plan.resource = {"authorization_servers": [server.issuer]}
        for url in (
            other.url,
            f"{server.origin}/mcp2",
            f"{server.origin}/mcp/",
            server.url.replace("127.0.0.1", "localhost"),
        ):
            program.spec = replace(program.spec, url=url)
            with pytest.raises(OpenClawError):
                await program.call()
        assert [seen.bearer for seen in other.seen] == [None] * len(other.seen)
        assert [seen.bearer for seen in server.seen if seen.path.startswith("/mcp")] == [None] * 4


async def test_a_server_on_another_path_cannot_claim_the_resource_of_its_neighbour(
    server: AuthServer, program: Program
) -> None:
    """A13: both publish the origin as their resource; each still has tokens of its own."""
    server.plan.challenge_metadata = False
    server.answer(RESOURCE_PATH, {}, 404)
    document = {"resource": server.origin, "authorization_servers": [server.issuer]}
    server.answer("/.well-known/oauth-protected-resource", document)
    await program.sign_in()
    assert await program.call() == 200
    program.spec = replace(program.spec, url=f"{server.origin}/evil")
    with pytest.raises(OpenClawError):
        await program.call()
    assert [seen.bearer for seen in server.at("/evil")] == [None]


async def test_a_renamed_server_keeps_its_sign_in(program: Program) -> None:
    await program.sign_in()
    program.spec = replace(program.spec, name="documents")
    assert await program.call() == 200


@pytest.mark.requirement("000-14.3-passthrough")
async def test_a_token_does_not_follow_a_redirect(server: AuthServer, program: Program) -> None:
    """A13."""
    await program.sign_in()
    async with AuthServer() as other:
        server.redirect("/mcp", other.url, 307)
        with pytest.raises(OpenClawError):
            await program.call()
        assert [(seen.path, seen.bearer) for seen in other.seen] == [("/mcp", None)]


@pytest.mark.requirement("000-14.3-passthrough")
async def test_a_token_travels_in_the_header_alone(server: AuthServer, program: Program) -> None:
    """A13."""
    await program.sign_in()
    await program.call()
    tokens = set(server.access)
    for seen in server.at("/mcp"):
        assert not any(token in f"{seen.path}{seen.form}" for token in tokens)


# A15: see test_oauth_bearer.py for the union and the limit


async def test_a_challenge_cannot_make_us_ask_for_words_that_are_no_scopes(
    server: AuthServer, program: Program
) -> None:
    """A15: nor for more of them than any server needs."""
    server.plan.metadata = {"registration_endpoint": None}
    program.configure(client_id="mine")
    server.plan.challenge_scope = " ".join(["ok", 'b\\"ad', *(f"s{n}" for n in range(500))])
    started = await program.credentials.start(program.spec)
    scopes = query_of(started.authorization_url)["scope"].split()
    assert 'b"ad' not in scopes
    assert len(scopes) <= 101


# A18: without a browser


@pytest.mark.requirement("000-9.3-bare-code")
async def test_a_bare_code_is_not_taken_where_the_server_says_who_it_is(server: AuthServer, program: Program) -> None:
    """A18."""
    started = await program.credentials.start(program.spec)
    code = query_of(await server.browse(started.authorization_url))["code"]
    with pytest.raises(AuthError, match="whole address"):
        await program.credentials.finish(program.spec, code)
    assert server.at("/token") == []


@pytest.mark.requirement("000-9.3-bare-code")
async def test_a_bare_code_is_taken_where_the_server_never_says_who_it_is(server: AuthServer, program: Program) -> None:
    """A18."""
    server.plan.iss = None
    started = await program.credentials.start(program.spec)
    code = query_of(await server.browse(started.authorization_url))["code"]
    await program.credentials.finish(program.spec, code)
    assert await program.call() == 200


@pytest.mark.parametrize(
    "cut", [lambda url: "rubbish", lambda url: url.partition("&")[0], lambda url: url.rpartition("&iss")[0]]
)
async def test_a_slip_of_the_paste_does_not_end_the_sign_in_that_waits(
    server: AuthServer, program: Program, cut: Callable[[str], str]
) -> None:
    """A18."""
    started = await program.credentials.start(program.spec)
    callback = await server.browse(started.authorization_url)
    with pytest.raises(AuthError, match=r"whole address|no authorization code|Start again"):
        await program.credentials.finish(program.spec, cut(callback))
    await program.credentials.finish(program.spec, callback)
    assert await program.call() == 200


# A19: the address for the browser

HOSTILE_ADDRESSES = [
    *("file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "vbscript:x", "ms-msdt:/id", "smb://evil/x"),
    *("", "-flag", "--upload-pack=x", "//login.example/x", "/authorize", "https:", "https://", "http:/one.slash"),
    *("https://user@login.example/", "https://user:pass@login.example/", "https://login.example\\@evil.example/"),
    *(
        "https://login.example/ x",
        "https://login.example/\tx",
        "https://login.example/\nx",
        "https://login.example/\x00",
    ),
    *("http://login.example/", "http://10.0.0.1/", "https://10.0.0.1/", "https://127.0.0.1/", "https://[::1]/"),
    *(
        "https://169.254.169.254/",
        "https://[::ffff:127.0.0.1]/",
        "https://2130706433\u3002/",
        "https://0x7f.1/",
        "https://127.1/",
        "HTTPS://localhost/x",
    ),
    *("https://login.example:99999/", "https://login.example:0/", "https://[login.example]/", "https://a b/"),
]


@pytest.mark.parametrize("address", HOSTILE_ADDRESSES)
def test_an_address_that_a_browser_should_not_see_is_refused(address: str) -> None:
    """A19."""
    with pytest.raises(AuthError):
        safe_address(address, Rules())


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://login.example/a?b=c", "https://login.example/a?b=c"),
        ("https://login.example/$(id)`id`'\"|;<>", "https://login.example/%24%28id%29%60id%60%27%22%7C%3B%3C%3E"),
        ("https://login.example/%24(calc)", "https://login.example/%24%28calc%29"),
        ("https://login.example/*?x=!{a}^~", "https://login.example/%2A?x=%21%7Ba%7D%5E~"),
        ("https://l\u00f6gin.example/\u00e9", "https://xn--lgin-5qa.example/%C3%A9"),
    ],
)
def test_an_address_reaches_the_browser_without_a_character_of_any_shell(address: str, expected: str) -> None:
    """A19."""
    assert safe_address(address, Rules())[0] == expected


async def test_a_hostile_sign_in_page_is_not_shown(server: AuthServer, program: Program) -> None:
    """A19."""
    for endpoint in (
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://u:p@login.example/",
        "http://login.example/",
    ):
        server.plan.metadata = {"authorization_endpoint": endpoint}
        with pytest.raises(AuthError):
            await program.credentials.start(program.spec)


async def test_a_name_in_foreign_letters_is_pointed_out(server: AuthServer, program: Program) -> None:
    """A19."""
    server.plan.metadata = {"authorization_endpoint": "https://l\u00f6gin.example/authorize"}
    started = await program.credentials.start(program.spec)
    assert started.host == "xn--lgin-5qa.example"
    assert started.warning
