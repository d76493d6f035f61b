"""Proxies from the environment: which one a request takes, and what it is told."""

from pathlib import Path

import pytest

from openclaw.errors import AddressError, ConnectError
from openclaw.net.client import ClientOptions, HttpClient
from openclaw.net.proxy import Proxy, ProxyRules
from openclaw.net.tls import TlsOptions
from openclaw.security.egress import OPERATOR, Rules, Target, parse_url
from parts.certificates import Authority
from parts.forward_proxy import forward_proxy
from parts.http_server import HttpServer


def through(port: int, authority: Authority, userinfo: str = "") -> ClientOptions:
    return ClientOptions(
        rules=OPERATOR,
        tls=TlsOptions(ca_cert=str(authority.certificate)),
        proxies=ProxyRules(https=f"http://{userinfo}127.0.0.1:{port}"),
    )


async def test_https_goes_through_a_tunnel_and_reveals_the_host_alone(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    async with HttpServer(tls=authority.server_context("mcp.example")) as server, forward_proxy() as proxy:
        async with HttpClient(through(proxy.port, authority, "user:p%40ss@")) as client:
            url = f"https://mcp.example:{server.port}/secret?token=1"
            assert (await client.fetch("GET", url, headers={"Authorization": "Bearer t"})).body == b"/secret"
            assert server.seen[0].headers["Host"] == f"mcp.example:{server.port}"
            assert "Proxy-Authorization" not in server.seen[0].headers
        assert proxy.heads == [
            f"CONNECT mcp.example:{server.port} HTTP/1.1\r\nHost: mcp.example:{server.port}\r\n"
            "Proxy-Authorization: Basic dXNlcjpwQHNz\r\n\r\n"
        ]


async def test_a_tunnel_is_used_again(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    async with HttpServer(tls=authority.server_context("mcp.example")) as server, forward_proxy() as proxy:
        async with HttpClient(through(proxy.port, authority)) as client:
            for _ in range(3):
                await client.fetch("GET", f"https://mcp.example:{server.port}/")
        assert len(proxy.heads) == 1


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "answered 407"),
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "answered 403"),
        (b"", "closed the connection"),
        (b"nonsense\r\n\r\n", "did not answer with HTTP"),
    ],
)
async def test_a_proxy_that_refuses_is_named_without_its_password(tmp_path: Path, answer: bytes, message: str) -> None:
    authority = Authority(tmp_path)
    async with forward_proxy(answer) as proxy:
        async with HttpClient(through(proxy.port, authority, "user:hunter2@")) as client:
            with pytest.raises(Exception, match=message) as caught:
                await client.fetch("GET", "https://mcp.example/")
            assert "hunter2" not in str(caught.value)


async def test_a_proxy_that_is_not_there_is_a_connect_error(tmp_path: Path) -> None:
    async with forward_proxy() as proxy:
        port = proxy.port
    async with HttpClient(through(port, Authority(tmp_path))) as client:
        with pytest.raises(ConnectError, match=f"Nothing listens at http://127.0.0.1:{port}"):
            await client.fetch("GET", "https://mcp.example/")


async def test_plain_http_asks_the_proxy_for_the_whole_url() -> None:
    async with forward_proxy() as proxy:
        options = ClientOptions(
            rules=Rules(allow_plain_http=True), proxies=ProxyRules(http=f"http://u:p@127.0.0.1:{proxy.port}")
        )
        async with HttpClient(options) as client:
            assert (await client.fetch("GET", "http://model.example/x?y=1")).body == b"via proxy"
        assert proxy.heads[0].startswith("GET http://model.example/x?y=1 HTTP/1.1\r\nHost: model.example\r\n")
        assert "Proxy-Authorization: Basic dTpw\r\n" in proxy.heads[0]


@pytest.mark.parametrize("url", ["https://10.0.0.1/", "https://169.254.169.254/", "https://[::ffff:192.168.0.1]/"])
async def test_a_proxy_is_not_asked_for_an_address_that_may_not_be_dialled(url: str) -> None:
    async with forward_proxy() as proxy:
        options = ClientOptions(proxies=ProxyRules(https=f"http://127.0.0.1:{proxy.port}"))
        async with HttpClient(options) as client:
            with pytest.raises(AddressError):
                await client.fetch("GET", url)
        assert proxy.heads == []


async def test_a_proxy_is_not_asked_for_a_name_that_leads_here_into_a_network_that_may_not_be_reached() -> None:
    async def lookup(host: str, port: int) -> list[str]:
        if host == "unknown.example":
            raise OSError("no such name")
        return ["93.184.216.34", "10.0.0.7"]

    async with forward_proxy(b"HTTP/1.1 403 Forbidden\r\n\r\n") as proxy:
        proxies = ProxyRules(https=f"http://127.0.0.1:{proxy.port}")
        async with HttpClient(ClientOptions(rules=Rules(), proxies=proxies, lookup=lookup)) as client:
            with pytest.raises(AddressError, match=r"10\.0\.0\.7"):
                await client.fetch("GET", "https://wiki.example/")
            with pytest.raises(ConnectError, match="403"):
                await client.fetch("GET", "https://unknown.example/")
        assert [head.split()[1] for head in proxy.heads] == ["unknown.example:443"]


async def test_loopback_is_never_proxied() -> None:
    async with HttpServer() as server, forward_proxy() as proxy:
        options = ClientOptions(rules=OPERATOR, proxies=ProxyRules(http=f"http://127.0.0.1:{proxy.port}"))
        async with HttpClient(options) as client:
            assert (await client.fetch("GET", server.origin + "/x")).body == b"/x"
        assert proxy.heads == []


def test_the_environment_is_read_in_both_cases() -> None:
    environ = {"HTTPS_PROXY": "http://a:1", "http_proxy": "http://b:2", "NO_PROXY": " One.example, .two.example ,"}
    assert ProxyRules.from_environment(environ) == ProxyRules(
        http="http://b:2", https="http://a:1", direct=("one.example", ".two.example")
    )
    assert ProxyRules.from_environment({"ALL_PROXY": "http://c:3"}) == ProxyRules(http="http://c:3", https="http://c:3")
    assert ProxyRules.from_environment({}) == ProxyRules()


def test_a_proxy_header_cannot_become_a_proxy() -> None:
    assert ProxyRules.from_environment({"REQUEST_METHOD": "GET", "HTTP_PROXY": "http://evil:1"}) == ProxyRules()


@pytest.mark.parametrize(
    ("entry", "url", "direct"),
    [
        ("*", "https://a.example/", True),
        ("a.example", "https://a.example/", True),
        ("a.example", "https://x.a.example/", True),
        (".a.example", "https://a.example/", True),
        ("*.a.example", "https://x.a.example/", True),
        ("a.example", "https://ba.example/", False),
        ("a.example:8443", "https://a.example:8443/", True),
        ("a.example:8443", "https://a.example/", False),
        ("10.0.0.0/8", "https://10.1.2.3/", True),
        ("10.0.0.0/8", "https://11.1.2.3/", False),
        ("10.0.0.0/8", "https://a.example/", False),
        ("[2606:4700::1]", "https://[2606:4700::1]/", True),
        ("2606:4700::1", "https://[2606:4700::1]/", True),
        ("", "https://a.example/", False),
        ("other.example", "https://localhost:3000/", True),
        ("other.example", "https://127.0.0.1:3000/", True),
    ],
)
def test_no_proxy_names_hosts_that_are_reached_directly(entry: str, url: str, direct: bool) -> None:
    rules = ProxyRules(https="http://proxy.example:3128", direct=(entry,))
    proxy = Proxy(Target("http", "proxy.example", 3128, "/"))
    assert rules.choose(parse_url(url)) == (None if direct else proxy)


@pytest.mark.parametrize("url", ["socks5://p:1", "https://p:1", "http://", "http://p:x"])
def test_a_proxy_we_cannot_speak_to_is_a_clear_error(url: str) -> None:
    with pytest.raises(ConnectError):
        ProxyRules(https=url).choose(parse_url("https://a.example/"))


def test_a_proxy_may_be_named_without_a_scheme() -> None:
    chosen = ProxyRules(https="proxy.example:3128").choose(parse_url("https://a.example/"))
    assert chosen == Proxy(Target("http", "proxy.example", 3128, "/"))


def test_the_password_of_a_proxy_is_not_shown_with_it() -> None:
    chosen = ProxyRules(https="http://user:hush@proxy.example:3128").choose(parse_url("https://a.example/"))
    assert repr(chosen) == "Proxy(http://proxy.example:3128)"
