"""The cookie jar of one client."""

from openclaw.net.cookies import MAX_COOKIES, CookieJar
from openclaw.security.egress import parse_url

HERE = parse_url("https://a.example/mcp/x?q")


def test_a_cookie_returns_to_its_origin_and_path_alone() -> None:
    jar = CookieJar()
    jar.store(HERE, ("root=1; Path=/", "own=2", "deep=3; Path=/mcp/x/y", "wide=4; Path=/; Domain=example"))
    urls = ["https://a.example/mcp/x", "https://a.example/mcp/x/y/z", "https://a.example/", "https://a.example/mcpx"]
    assert [jar.header(parse_url(url)) for url in urls] == [
        "own=2; root=1; wide=4",
        "deep=3; own=2; root=1; wide=4",
        "root=1; wide=4",
        "root=1; wide=4",
    ]
    for url in (
        "https://b.example/mcp/x",
        "http://a.example/mcp/x",
        "https://a.example:8443/mcp/x",
        "https://x.a.example/",
    ):
        assert jar.header(parse_url(url)) == ""


def test_a_cookie_is_replaced_and_deleted() -> None:
    jar = CookieJar()
    jar.store(HERE, ("a=1; Path=/", "b=1; Path=/", "c=1; Path=/"))
    jar.store(HERE, ("a=2; Path=/", "b=; Path=/; Max-Age=0", "c=x; Path=/; Expires=Thu, 01-Jan-1970 00:00:00 GMT"))
    assert jar.header(HERE) == "a=2"


def test_malformed_and_excessive_cookies_are_ignored() -> None:
    jar = CookieJar()
    jar.store(HERE, ("novalue", "=x", "big=" + "x" * 5000, ""))
    assert jar.header(HERE) == ""
    jar.store(HERE, tuple(f"c{number}=1" for number in range(500)))
    assert jar.header(HERE).count("=") == MAX_COOKIES
