"""The HTTP client over real sockets: reuse, bounds, deadlines, redirects, TLS, and one clear error for each way to fail."""

import asyncio
import gzip
import re
import socket
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from openclaw.errors import AddressError, ConnectError, DeadlineError, LinkLostError, ProtocolError
from openclaw.net.client import ClientOptions, HttpClient
from openclaw.net.tls import TlsOptions
from openclaw.security.egress import OPERATOR, Rules
from parts.certificates import Authority
from parts.chaos_proxy import Chaos, ChaosProxy
from parts.http_faults import gzip_bomb, hold, raw, reset, status
from parts.http_server import HttpServer

LOCAL = ClientOptions(rules=OPERATOR)


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with HttpServer() as server:
        yield server


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    async with HttpClient(LOCAL) as client:
        yield client


async def test_a_request_and_its_answer(server: HttpServer, client: HttpClient) -> None:
    url = server.origin + "/echo?q=1"
    answer = await client.fetch("POST", url, headers={"X-One": "1"}, body=b"hello")
    assert (answer.status, answer.body, answer.url, answer.headers["X-METHOD"]) == (200, b"hello", url, "POST")
    [seen] = server.seen
    assert (seen.verb, seen.path, seen.headers) == (
        "POST",
        "/echo?q=1",
        {
            "Host": f"127.0.0.1:{server.port}",
            "User-Agent": "openclaw",
            "Accept-Encoding": "gzip, deflate",
            "X-One": "1",
            "Content-Length": "5",
        },
    )


async def test_headers_given_by_the_caller_replace_the_defaults(server: HttpServer, client: HttpClient) -> None:
    await client.fetch("GET", server.origin + "/", headers={"user-agent": "other", "accept-encoding": "identity"})
    assert server.seen[0].headers == {
        "Host": f"127.0.0.1:{server.port}",
        "User-Agent": "other",
        "Accept-Encoding": "identity",
    }


@pytest.mark.requirement("000-16-pooling")
async def test_one_connection_carries_one_exchange_after_the_other(server: HttpServer, client: HttpClient) -> None:
    async with ChaosProxy(server.port) as proxy:
        for number in range(20):
            answer = await client.fetch("POST", f"http://127.0.0.1:{proxy.port}/", body=b"%d" % number)
            assert answer.body == b"%d" % number
        assert proxy.connections == 1


async def test_exchanges_under_way_at_once_never_wait_for_each_other(server: HttpServer, client: HttpClient) -> None:
    server.fault("/hold", *[hold()] * 150)
    waiting = [asyncio.create_task(client.fetch("GET", server.origin + "/hold")) for _ in range(150)]
    await server.until(lambda: len(server.seen) == 150)
    assert (await client.fetch("GET", server.origin + "/quick")).body == b"/quick"
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_body_comes_piece_by_piece_as_it_arrives(server: HttpServer, client: HttpClient) -> None:
    server.gate.clear()
    async with client.stream("GET", server.sse_url) as response:
        pieces = response.chunks()
        assert b"event: endpoint" in await anext(pieces)
        server.announce({"late": True})
        assert b'{"late": true}' in await anext(pieces)


async def test_a_large_body_passes_through_in_linear_memory(server: HttpServer, client: HttpClient) -> None:
    body = bytes(range(256)) * 40_000
    assert (await client.fetch("POST", server.origin + "/", body=body, limit=len(body))).body == body


async def test_a_reader_that_is_slow_pauses_the_server(server: HttpServer, client: HttpClient) -> None:
    body = b"x" * (64 << 20)
    server.fault("/big", status(200, body=body))
    async with ChaosProxy(server.port) as proxy:
        async with client.stream("GET", f"http://127.0.0.1:{proxy.port}/big") as response:
            pieces = response.chunks()
            size = len(await anext(pieces))
            # Everything that can move without a reader has moved once the proxy stops passing bytes on.
            moved = -1
            while moved != proxy.bytes_down:
                moved = proxy.bytes_down
                for _ in range(200):
                    await asyncio.sleep(0)
            assert moved < len(body)
            async for piece in pieces:
                size += len(piece)
    assert size == len(body)


async def test_a_body_beyond_the_bound_is_refused(server: HttpServer, client: HttpClient) -> None:
    with pytest.raises(ProtocolError, match="larger than 10 bytes"):
        await client.fetch("POST", server.origin + "/", body=b"x" * 11, limit=10)


async def test_a_compressed_body_is_decompressed(server: HttpServer, client: HttpClient) -> None:
    server.fault("/", status(200, {"Content-Encoding": "gzip"}, gzip.compress(b"hello")))
    assert (await client.fetch("GET", server.origin + "/")).body == b"hello"


async def test_a_compressed_body_is_bounded_by_what_comes_out(server: HttpServer, client: HttpClient) -> None:
    server.fault("/", gzip_bomb(256 << 20))
    with pytest.raises(ProtocolError, match="larger than"):
        await client.fetch("GET", server.origin + "/", limit=1 << 20)


async def test_a_cut_connection_is_reported_once_and_maybe_sent(server: HttpServer, client: HttpClient) -> None:
    server.fault("/", reset())
    with pytest.raises(LinkLostError) as caught:
        await client.fetch("POST", server.origin + "/", body=b"x")
    assert caught.value.maybe_sent
    assert len(server.seen) == 1


async def test_a_get_on_a_connection_the_server_dropped_is_sent_again(server: HttpServer, client: HttpClient) -> None:
    await client.fetch("GET", server.origin + "/")
    server.fault("/", reset())
    assert (await client.fetch("GET", server.origin + "/")).body == b"/"
    assert len(server.seen) == 3


async def test_a_server_that_restarts_between_two_posts_is_not_noticed(server: HttpServer, client: HttpClient) -> None:
    for _ in range(3):
        assert (await client.fetch("POST", server.origin + "/", body=b"x")).body == b"x"
        await server.stop()
        await server.start()
    assert len(server.seen) == 3


async def test_a_connection_that_closed_unseen_is_not_used_for_a_post(client: HttpClient) -> None:
    """The server closes while our event loop is busy, so nothing but a look at the socket can tell."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    closed = threading.Event()
    requests: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        for _ in range(2):
            peer, _ = listener.accept()
            with peer:
                requests.append(peer.recv(65536))
                peer.sendall(answer)
            closed.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        for _ in range(2):
            closed.clear()
            fetched = await client.fetch("POST", f"http://127.0.0.1:{listener.getsockname()[1]}/", body=b"x")
            assert fetched.body == b"ok"
            closed.wait()
        thread.join()
    assert len(requests) == 2


async def test_an_idle_connection_is_closed_after_a_while(server: HttpServer) -> None:
    left = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await reader.read()
        writer.close()
        await writer.wait_closed()
        left.set()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listener:
        async with HttpClient(ClientOptions(rules=OPERATOR, max_idle=0.05)) as client:
            await client.fetch("GET", f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/")
            await left.wait()


async def test_a_connection_idle_for_too_long_is_not_used_again(server: HttpServer) -> None:
    async with ChaosProxy(server.port) as proxy:
        async with HttpClient(ClientOptions(rules=OPERATOR, max_idle=0)) as client:
            for _ in range(3):
                await client.fetch("GET", f"http://127.0.0.1:{proxy.port}/")
        assert proxy.connections == 3
    # Servers made with Node close idle connections after 5 s.
    assert ClientOptions().max_idle < 5


async def test_an_answer_cut_short_is_never_taken_for_whole(server: HttpServer, client: HttpClient) -> None:
    server.fault("/", raw(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"))
    with pytest.raises(LinkLostError):
        await client.fetch("POST", server.origin + "/")


async def test_an_answer_without_a_length_ends_with_its_connection(server: HttpServer, client: HttpClient) -> None:
    server.fault("/", raw(b"HTTP/1.0 200 OK\r\n\r\nhello"))
    assert (await client.fetch("POST", server.origin + "/")).body == b"hello"


async def test_something_that_is_not_http_gets_one_clear_sentence(client: HttpClient) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.0\r\n")
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        with pytest.raises(ProtocolError, match=r"did not answer with HTTP/1\.1|speaks something else"):
            await client.fetch("GET", f"http://127.0.0.1:{port}/")


async def test_a_deadline_ends_an_exchange_that_gets_no_answer(server: HttpServer, client: HttpClient) -> None:
    server.fault("/", hold())
    with pytest.raises(DeadlineError, match=r"within 0\.05 s"):
        await client.fetch("GET", server.origin + "/", timeout=0.05)


async def test_a_deadline_ends_a_body_that_does_not(server: HttpServer, client: HttpClient) -> None:
    with pytest.raises(DeadlineError):
        async with client.stream("GET", server.sse_url, timeout=0.5) as response:
            async for _ in response.chunks():
                pass


async def test_cancelling_closes_that_exchange_alone(server: HttpServer, client: HttpClient) -> None:
    server.fault("/a", hold())
    server.fault("/b", hold())
    first = asyncio.create_task(client.fetch("GET", server.origin + "/a"))
    second = asyncio.create_task(client.fetch("GET", server.origin + "/b"))
    await server.until(lambda: len(server.seen) == 2)
    first.cancel()
    await server.until(lambda: len(server.abandoned) == 1)
    assert not second.done()
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)


async def test_nothing_listening_is_a_connect_error(client: HttpClient) -> None:
    async with HttpServer() as server:
        origin = server.origin
    with pytest.raises(ConnectError) as caught:
        await client.fetch("GET", origin + "/path?secret=1")
    assert str(caught.value) == f"Nothing listens at {origin}. Is the server running?"


async def test_a_name_that_does_not_exist_is_a_connect_error(client: HttpClient) -> None:
    with pytest.raises(ConnectError, match=r"The host name nowhere\.invalid cannot be resolved"):
        await client.fetch("GET", "https://nowhere.invalid/secret")


async def test_a_server_that_never_finishes_its_handshake_is_given_up() -> None:
    left = asyncio.Event()

    async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        left.set()

    async with await asyncio.start_server(silence, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        async with HttpClient(ClientOptions(rules=OPERATOR, connect_timeout=0.2)) as client:
            with pytest.raises(ConnectError, match=r"within 0\.2 s"):
                await client.fetch("GET", f"https://127.0.0.1:{port}/")
            await left.wait()


SPELLINGS = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "[::ffff:127.0.0.1]",
    "localhost",
    "ⓛocalhost",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
]


@pytest.mark.parametrize("host", SPELLINGS)
async def test_no_spelling_of_loopback_is_dialled_under_strict_rules(server: HttpServer, host: str) -> None:
    async with HttpClient(ClientOptions(rules=Rules(allow_plain_http=True))) as client:
        with pytest.raises((AddressError, ConnectError)) as caught:
            await client.fetch("GET", f"http://{host}:{server.port}/")
    assert server.seen == []
    assert isinstance(caught.value, AddressError) or "cannot be resolved" in str(caught.value)


async def test_an_odd_spelling_is_judged_by_the_address_it_leads_to(server: HttpServer, client: HttpClient) -> None:
    assert (await client.fetch("GET", f"http://127.1:{server.port}/x")).body == b"/x"


@pytest.mark.parametrize("code", [301, 302, 307, 308])
async def test_a_redirect_that_only_adds_a_slash_keeps_everything(
    server: HttpServer, client: HttpClient, code: int
) -> None:
    server.fault("/old", status(code, {"Location": "/old/?x=1"}))
    url = server.origin + "/old?x=1"
    answer = await client.fetch("POST", url, headers={"Authorization": "Bearer t"}, body=b"x")
    seen = server.seen[-1]
    assert (answer.url, answer.body) == (server.origin + "/old/?x=1", b"x")
    assert (seen.verb, seen.headers["Authorization"]) == ("POST", "Bearer t")


@pytest.mark.parametrize("to", ["/new", "/old?x=2", "/old/more", "/OLD", "/new/../other"])
async def test_credentials_do_not_follow_a_redirect_to_another_resource_of_the_origin(
    server: HttpServer, client: HttpClient, to: str
) -> None:
    server.fault("/old", status(307, {"Location": to}))
    headers = {"Authorization": "Bearer t", "X-Api-Key": "k", "Mcp-Session-Id": "s", "Accept": "text/plain"}
    answer = await client.fetch("POST", server.origin + "/old", headers=headers, body=b"x")
    assert (answer.status, answer.body) == (200, b"x")
    assert set(server.seen[-1].headers) & set(headers) == {"Accept"}


async def test_credentials_that_were_dropped_on_the_way_do_not_come_back(
    server: HttpServer, client: HttpClient
) -> None:
    server.fault("/old", status(307, {"Location": "/new"}))
    server.fault("/new", status(307, {"Location": "/old"}))
    await client.fetch("POST", server.origin + "/old", headers={"Authorization": "Bearer t"}, body=b"x")
    assert ["Authorization" in seen.headers for seen in server.seen] == [True, False, False]


async def test_see_other_becomes_a_get(server: HttpServer, client: HttpClient) -> None:
    server.fault("/old", status(303, {"Location": "new"}))
    answer = await client.fetch("POST", server.origin + "/old", body=b"x", headers={"Content-Type": "text/plain"})
    assert (answer.body, answer.headers["x-method"]) == (b"/new", "GET")
    assert "Content-Type" not in server.seen[-1].headers


async def test_credentials_and_custom_headers_stay_with_their_origin(server: HttpServer, client: HttpClient) -> None:
    async with HttpServer() as other:
        server.fault("/", status(307, {"Location": other.origin + "/there"}))
        headers = {
            "Authorization": "Bearer t",
            "Cookie": "a=b",
            "X-Api-Key": "k",
            "Mcp-Session-Id": "s",
            "Accept": "application/json",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": "echo",
            "Mcp-Param-Region": "north",
        }
        answer = await client.fetch("POST", server.origin + "/", headers=headers, body=b"x")
        assert (answer.status, answer.url, answer.body) == (200, other.origin + "/there", b"x")
        assert other.seen[0].headers == {
            "Host": f"127.0.0.1:{other.port}",
            "User-Agent": "openclaw",
            "Accept-Encoding": "gzip, deflate",
            "Accept": "application/json",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": "echo",
            "Mcp-Param-Region": "north",
            "Content-Length": "1",
        }


async def test_redirects_end_after_three(server: HttpServer, client: HttpClient) -> None:
    server.fault("/", *[status(307, {"Location": "/"})] * 9)
    with pytest.raises(ProtocolError, match="more than 3 times"):
        await client.fetch("GET", server.origin + "/")
    assert len(server.seen) == 4


async def test_a_redirect_status_without_a_location_is_an_answer(server: HttpServer, client: HttpClient) -> None:
    server.fault("/", status(302))
    assert (await client.fetch("GET", server.origin + "/")).status == 302


async def test_a_redirect_is_an_answer_where_the_body_is_a_credential(server: HttpServer) -> None:
    server.fault("/token", status(307, {"Location": "/elsewhere"}))
    async with HttpClient(ClientOptions(rules=OPERATOR, follow_redirects=False)) as client:
        answer = await client.fetch("POST", server.origin + "/token", body=b"refresh_token=x")
    assert (answer.status, [seen.path for seen in server.seen]) == (307, ["/token"])


@pytest.mark.parametrize(
    "location", ["ftp://x/", "https://u:p@h/", "https://h\\x/", "//a b/", "https://169.254.169.254/"]
)
async def test_a_redirect_to_what_may_not_be_dialled_is_refused(
    server: HttpServer, client: HttpClient, location: str
) -> None:
    server.fault("/", status(307, {"Location": location}))
    with pytest.raises(AddressError):
        await client.fetch("GET", server.origin + "/")


async def test_tls_with_a_certificate_of_our_authority(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    async with HttpServer(tls=authority.server_context("127.0.0.1")) as server:
        options = ClientOptions(rules=OPERATOR, tls=TlsOptions(ca_cert=str(authority.certificate)))
        async with HttpClient(options) as client:
            for _ in range(3):
                assert (await client.fetch("POST", server.origin + "/", body=b"x" * 100_000)).body == b"x" * 100_000


async def test_an_unknown_authority_is_refused_with_the_way_out(tmp_path: Path, client: HttpClient) -> None:
    async with HttpServer(tls=Authority(tmp_path).server_context("127.0.0.1")) as server:
        with pytest.raises(ConnectError) as caught:
            await client.fetch("GET", server.origin + "/secret")
        assert str(caught.value).startswith(f"The TLS certificate of {server.origin} is not trusted: ")
        assert "caCert" in caught.value.hint
        assert server.seen == []


async def test_a_certificate_for_another_host_is_refused(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    async with HttpServer(tls=authority.server_context("other.example")) as server:
        options = ClientOptions(rules=OPERATOR, tls=TlsOptions(ca_cert=str(authority.certificate)))
        async with HttpClient(options) as client:
            with pytest.raises(ConnectError, match="not trusted"):
                await client.fetch("GET", server.origin + "/")


async def test_verification_can_be_turned_off(tmp_path: Path) -> None:
    async with HttpServer(tls=Authority(tmp_path).server_context("other.example")) as server:
        async with HttpClient(ClientOptions(rules=OPERATOR, tls=TlsOptions(verify=False))) as client:
            assert (await client.fetch("GET", server.origin + "/x")).body == b"/x"


async def test_a_client_certificate_is_shown_to_the_server(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    context = authority.server_context("127.0.0.1", client_authority=authority.certificate)
    certificate, key = authority.issue("client.example")
    trusting = TlsOptions(ca_cert=str(authority.certificate))
    showing = TlsOptions(ca_cert=str(authority.certificate), client_cert=str(certificate), client_key=str(key))
    async with HttpServer(tls=context) as server:
        async with HttpClient(ClientOptions(rules=OPERATOR, tls=showing)) as client:
            assert (await client.fetch("GET", server.origin + "/x")).body == b"/x"
        async with HttpClient(ClientOptions(rules=OPERATOR, tls=trusting)) as client:
            with pytest.raises((ConnectError, LinkLostError)):
                await client.fetch("GET", server.origin + "/x")


@pytest.mark.parametrize("field", ["ca_cert", "client_cert"])
@pytest.mark.parametrize("content", [None, b"not a certificate"])
async def test_a_certificate_file_that_cannot_be_used_is_named(
    tmp_path: Path, field: str, content: bytes | None
) -> None:
    path = tmp_path / "bad.pem"
    if content is not None:
        path.write_bytes(content)
    async with HttpClient(ClientOptions(rules=OPERATOR, tls=replace(TlsOptions(), **{field: str(path)}))) as client:
        with pytest.raises(ConnectError, match=re.escape(str(path))):
            await client.fetch("GET", "https://127.0.0.1:9/")


async def test_https_never_becomes_http(tmp_path: Path, server: HttpServer) -> None:
    authority = Authority(tmp_path)
    async with HttpServer(tls=authority.server_context("127.0.0.1")) as secure:
        secure.fault("/", status(307, {"Location": server.origin + "/"}))
        options = ClientOptions(rules=OPERATOR, tls=TlsOptions(ca_cert=str(authority.certificate)))
        async with HttpClient(options) as client:
            with pytest.raises(AddressError, match="unencrypted"):
                await client.fetch("GET", secure.origin + "/")
    assert server.seen == []


async def test_cookies_go_back_to_the_origin_that_set_them(server: HttpServer) -> None:
    async with HttpClient(ClientOptions(rules=OPERATOR, cookies=True)) as client, HttpServer() as other:
        server.fault("/", status(200, {"Set-Cookie": "route=a1; Path=/; HttpOnly; Domain=127.0.0.1"}))
        for origin in (server.origin, server.origin, other.origin):
            await client.fetch("GET", origin + "/")
        sent = [seen.headers.get("Cookie") for seen in (*server.seen, *other.seen)]
    assert sent == [None, "route=a1", None]


async def test_cookies_are_ignored_unless_asked_for(server: HttpServer, client: HttpClient) -> None:
    server.fault("/", status(200, {"Set-Cookie": "route=a1"}))
    await client.fetch("GET", server.origin + "/")
    await client.fetch("GET", server.origin + "/")
    assert "Cookie" not in server.seen[1].headers


async def test_bytes_may_come_one_at_a_time(server: HttpServer, client: HttpClient) -> None:
    async with ChaosProxy(server.port, Chaos(sliver=1)) as proxy:
        for _ in range(3):
            assert (await client.fetch("POST", f"http://127.0.0.1:{proxy.port}/", body=b"hello")).body == b"hello"
        assert proxy.connections == 1


async def test_a_connection_that_goes_silent_is_ended_by_the_deadline(server: HttpServer, client: HttpClient) -> None:
    async with ChaosProxy(server.port, Chaos(stall_down=30)) as proxy:
        with pytest.raises(DeadlineError):
            await client.fetch("GET", f"http://127.0.0.1:{proxy.port}/", timeout=0.2)


async def test_a_closed_client_keeps_no_connection(server: HttpServer) -> None:
    async with ChaosProxy(server.port) as proxy:
        async with HttpClient(LOCAL) as client:
            await client.fetch("GET", f"http://127.0.0.1:{proxy.port}/")
        async with HttpClient(LOCAL) as client:
            await client.fetch("GET", f"http://127.0.0.1:{proxy.port}/")
        assert proxy.connections == 2


async def test_a_stream_left_half_read_does_not_return_to_the_pool(server: HttpServer, client: HttpClient) -> None:
    server.fault("/big", status(200, body=b"x" * 5_000_000))
    async with ChaosProxy(server.port) as proxy:
        origin = f"http://127.0.0.1:{proxy.port}"
        async with client.stream("GET", origin + "/big") as response:
            await anext(response.chunks())
        assert (await client.fetch("GET", origin + "/x")).body == b"/x"
        assert proxy.connections == 2
