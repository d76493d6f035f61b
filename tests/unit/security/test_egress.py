"""Which addresses may be dialled, whatever they are written as."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.errors import AddressError
from openclaw.security.egress import (
    OPERATOR,
    Rules,
    Target,
    check_address,
    check_dial,
    check_url,
    classify,
    narrowed,
    parse_url,
    unwrap,
)

PUBLIC = Rules()

NETWORKS = {
    # Public
    "8.8.8.8": "global",
    "1.1.1.1": "global",
    "93.184.216.34": "global",
    "172.15.255.255": "global",
    "172.32.0.0": "global",
    "192.167.255.255": "global",
    "100.63.255.255": "global",
    "100.128.0.0": "global",
    "223.255.255.255": "global",
    "2606:4700:4700::1111": "global",
    "2a00:1450:4001:829::200e": "global",
    "::ffff:8.8.8.8": "global",
    "64:ff9b::808:808": "global",
    "2002:808:808::1": "global",
    # This machine
    "127.0.0.1": "loopback",
    "127.255.255.254": "loopback",
    "::1": "loopback",
    "::ffff:127.0.0.1": "loopback",
    "::ffff:7f00:1": "loopback",
    "0:0:0:0:0:ffff:7f00:0001": "loopback",
    "::127.0.0.1": "loopback",
    "64:ff9b::7f00:1": "loopback",
    "2002:7f00:1::": "loopback",
    "::ffff:0:127.0.0.1": "loopback",
    "2606:4700::5efe:7f00:1": "loopback",
    # Private
    "10.0.0.1": "private",
    "10.255.255.255": "private",
    "172.16.0.1": "private",
    "172.31.255.255": "private",
    "192.168.1.1": "private",
    "100.64.0.1": "private",
    "100.127.255.255": "private",
    "fc00::1": "private",
    "fdff::1": "private",
    "fec0::1": "private",
    "::ffff:10.0.0.1": "private",
    "::ffff:100.64.0.1": "private",
    "64:ff9b::a00:1": "private",
    "2002:a00:1::1": "private",
    "::192.168.0.1": "private",
    # Link-local, where metadata services live
    "169.254.169.254": "link-local",
    "169.254.0.1": "link-local",
    "fe80::1": "link-local",
    "fe80::1%eth0": "link-local",
    "::ffff:169.254.169.254": "link-local",
    "64:ff9b::a9fe:a9fe": "link-local",
    "2002:a9fe:a9fe::": "link-local",
    # Nobody's
    "0.0.0.0": "reserved",
    "0.1.2.3": "reserved",
    "::": "reserved",
    "::ffff:0.0.0.0": "reserved",
    "192.0.0.1": "reserved",
    "192.0.0.192": "reserved",
    "192.0.2.1": "reserved",
    "192.88.99.1": "reserved",
    "198.18.0.1": "reserved",
    "198.19.255.255": "reserved",
    "198.51.100.1": "reserved",
    "203.0.113.1": "reserved",
    "224.0.0.1": "reserved",
    "239.255.255.255": "reserved",
    "240.0.0.1": "reserved",
    "255.255.255.255": "reserved",
    "ff02::1": "reserved",
    "100::1": "reserved",
    "2001::1": "reserved",
    "2001:db8::1": "reserved",
    "2001:10::1": "reserved",
    "3fff::1": "reserved",
    "5f00::1": "reserved",
    "64:ff9b:1::1": "reserved",
    "4000::1": "reserved",
    "::2": "reserved",
    "64:ff9b::e000:1": "reserved",
}


@pytest.mark.parametrize(("address", "network"), NETWORKS.items())
def test_every_address_belongs_to_one_kind_of_network(address: str, network: str) -> None:
    assert classify(address) == network


@pytest.mark.parametrize(("address", "network"), NETWORKS.items())
def test_only_public_addresses_pass_the_strict_rules(address: str, network: str) -> None:
    if network == "global":
        check_address(address, PUBLIC)
    else:
        with pytest.raises(AddressError):
            check_address(address, PUBLIC)


@pytest.mark.parametrize(
    ("rules", "networks"),
    [
        (Rules(allow_loopback=True), {"global", "loopback"}),
        (Rules(allow_private=True), {"global", "private"}),
        (Rules(allow_link_local=True), {"global", "link-local"}),
        (OPERATOR, {"global", "loopback", "private"}),
        (Rules(True, True, True, True), {"global", "loopback", "private", "link-local"}),
    ],
)
def test_each_rule_admits_its_own_network_and_no_other(rules: Rules, networks: set[str]) -> None:
    passed = set()
    for address, network in NETWORKS.items():
        try:
            check_address(address, rules)
            passed.add(network)
        except AddressError:
            assert network not in networks
    assert passed == networks


@given(st.ip_addresses(v=4))
@settings(max_examples=200)
def test_an_ipv4_address_cannot_hide_in_an_ipv6_one(address: IPv4Address) -> None:
    number = int(address)
    carriers = [
        IPv6Address((0xFFFF << 32) | number),
        IPv6Address((0x64FF9B << 96) | number),
        IPv6Address((0x2002 << 112) | (number << 80) | 1),
        IPv6Address((0xFFFF << 48) | number),
    ]
    assert [unwrap(carrier) for carrier in carriers] == [address] * 4
    assert {classify(carrier) for carrier in carriers} == {classify(address)}


@given(st.ip_addresses())
@settings(max_examples=200)
def test_what_python_does_not_call_global_never_passes_the_strict_rules(address: IPv4Address | IPv6Address) -> None:
    inner = unwrap(address)
    if inner.is_global and not inner.is_multicast:
        return
    with pytest.raises(AddressError):
        check_address(address, PUBLIC)


def test_text_that_is_no_address_is_refused() -> None:
    for text in ("", "example.com", "127.1", "2130706433", "0x7f000001", "1.2.3.4.5", "::g"):
        with pytest.raises(AddressError):
            check_address(text, OPERATOR)


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://example.com", Target("https", "example.com", 443, "/")),
        ("HTTPS://EXAMPLE.com:443/a?b=c#d", Target("https", "example.com", 443, "/a?b=c")),
        ("http://localhost:3000/mcp", Target("http", "localhost", 3000, "/mcp")),
        ("https://example.com?x=1", Target("https", "example.com", 443, "/?x=1")),
        ("https://[2606:4700::1]:8443/x", Target("https", "2606:4700::1", 8443, "/x")),
        ("https://[::FFFF:1.2.3.4]/", Target("https", "::ffff:102:304", 443, "/")),
        ("https://bücher.example/ä", Target("https", "xn--bcher-kva.example", 443, "/%C3%A4")),
        ("https://under_score.example./", Target("https", "under_score.example.", 443, "/")),
        ("https://①②⑦.⓪.⓪.①/", Target("https", "127.0.0.1", 443, "/")),
        ("https://127。0。0。1/", Target("https", "127.0.0.1", 443, "/")),
        ("https://ⓛocalhost/", Target("https", "localhost", 443, "/")),
        ('https://h/"<>^`{}', Target("https", "h", 443, "/%22%3C%3E%5E%60%7B%7D")),
    ],
)
def test_a_url_is_taken_apart(url: str, target: Target) -> None:
    assert parse_url(url) == target


@pytest.mark.parametrize(
    ("target", "authority"),
    [
        (Target("https", "h", 443, "/"), "h"),
        (Target("https", "h", 80, "/"), "h:80"),
        (Target("http", "h", 80, "/"), "h"),
        (Target("https", "::1", 8443, "/"), "[::1]:8443"),
    ],
)
def test_the_authority_names_the_port_only_when_it_is_unusual(target: Target, authority: str) -> None:
    assert (target.authority, target.origin) == (authority, f"{target.scheme}://{authority}")


REFUSED = [
    "",
    "example.com",
    "//example.com/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "https://",
    "https:///path",
    "https://user@example.com/",
    "https://user:password@example.com/",
    "https://example.com@evil.example/",
    "https://example.com\\@evil.example/",
    "https://exa mple.com/",
    "https://example.com/a b",
    "https://example.com/\r\nX: y",
    "https://example.com\x00.evil.example/",
    "https://example.com%00.evil.example/",
    "https://example.com%2eevil.example/",
    "https://exam\u00adple..com/",
    "https://-example.com/",
    "https://example.com:0/",
    "https://example.com:65536/",
    "https://example.com:99999999999999999999/",
    "https://example.com:8o/",
    "https://example.com:１/",
    "https://[::1/",
    "https://::1]/",
    "https://[::1]x/",
    "https://[fe80::1%25eth0]/",
    "https://[example.com]/",
    "https://a..b/",
    "https://.example.com/",
    "https://" + "a" * 64 + "é.example/",
    "https://" + "a." * 200 + "example/",
    "https://example.com/" + "a" * 20_000,
    "https://example.com/\u2028",
]


@pytest.mark.parametrize("url", REFUSED)
def test_a_url_that_parsers_read_differently_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_url(url)
    assert "password" not in caught.value.message or "user name or password" in caught.value.message
    assert "/etc/passwd" not in str(caught.value)


@given(st.text(max_size=60))
@settings(max_examples=200)
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for url in (text, "https://" + text, "https://h/" + text):
        try:
            target = parse_url(url)
        except AddressError:
            continue
        assert target.path.isascii()
        assert target.path.startswith("/")
        assert target.host.isascii()
        assert parse_url(target.url) == target


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/",
        "https://localhost/",
        "https://LOCALHOST./",
        "https://evil.localhost/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://①②⑦.⓪.⓪.①/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://0.0.0.0/",
    ],
)
def test_a_literal_address_is_refused_before_anything_is_resolved(url: str) -> None:
    with pytest.raises(AddressError):
        check_url(url, PUBLIC)


def test_plain_http_is_for_loopback_only() -> None:
    check_url("http://127.0.0.1:3000/", OPERATOR)
    for address in ("192.168.1.5", "8.8.8.8"):
        with pytest.raises(AddressError, match="unencrypted"):
            check_dial(parse_url("http://host.example/"), address, OPERATOR)
        check_dial(parse_url("https://host.example/"), address, OPERATOR)
    check_dial(parse_url("http://host.example/"), "192.168.1.5", Rules(allow_private=True, allow_plain_http=True))


@pytest.mark.parametrize(
    ("peer", "rules"),
    [
        (None, PUBLIC),
        ("8.8.8.8", PUBLIC),
        ("192.168.1.1", Rules(allow_private=True)),
        ("127.0.0.1", OPERATOR),
        ("169.254.1.1", PUBLIC),
    ],
)
def test_a_redirect_may_not_lead_to_a_nearer_network(peer: str | None, rules: Rules) -> None:
    assert narrowed(OPERATOR, peer) == rules
    assert narrowed(PUBLIC, peer) == PUBLIC


def test_addresses_are_judged_the_same_as_text_and_as_objects() -> None:
    assert [classify(text) for text in NETWORKS] == [classify(ip_address(text)) for text in NETWORKS]
