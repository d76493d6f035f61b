"""Which addresses may be dialled, decided on the address itself and never on the name.

Owns the parsing of outgoing URLs (`parse_url`), the classes of addresses (`classify`) and the verdict (`check_address`, `check_url`,
`check_dial`). Pure: it resolves nothing and opens nothing. `net/dial.py` resolves a name, asks here about every address, and dials
only an address that passed. Addresses that carry an IPv4 address inside an IPv6 one are judged by what they carry.
"""

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Literal
from urllib.parse import quote

import msgspec

from openclaw.errors import AddressError
from openclaw.late_pattern import late_pattern

Address = IPv4Address | IPv6Address
Network = Literal["global", "private", "link-local", "loopback", "reserved"]

DEFAULT_PORTS = {"http": 80, "https": 443}
# Longer than any address a person configures, short enough that parsing hostile input costs nothing.
MAX_URL = 16 * 1024


class Rules(msgspec.Struct, frozen=True):
    """What a caller may reach besides public addresses over TLS.

    The default suits a URL that came from outside (metadata, redirects): public addresses only. Plain http is for loopback alone
    unless `allow_plain_http`, which is for URLs the operator wrote, such as a model server in the house.
    """

    allow_loopback: bool = False
    # RFC 1918, unique-local, site-local and carrier-grade NAT (where overlay networks live).
    allow_private: bool = False
    # 169.254.0.0/16 and fe80::/10: cloud metadata services live there.
    allow_link_local: bool = False
    allow_plain_http: bool = False


# For a URL that the operator wrote: any network but link-local; plain http still for loopback only.
OPERATOR = Rules(allow_loopback=True, allow_private=True)


class Target(msgspec.Struct, frozen=True):
    """A URL taken apart. `host` is ASCII, lower case, without brackets; `path` starts with a slash and holds the query."""

    scheme: str
    host: str
    port: int
    path: str
    # What the Host header says: the port only when it is not the scheme's own.
    authority: str = ""
    # Scheme, host and port: all of a URL that may be shown, since paths and queries can hold secrets.
    origin: str = ""

    def __post_init__(self) -> None:
        host = f"[{self.host}]" if ":" in self.host else self.host
        authority = host if DEFAULT_PORTS[self.scheme] == self.port else f"{host}:{self.port}"
        msgspec.structs.force_setattr(self, "authority", authority)
        msgspec.structs.force_setattr(self, "origin", f"{self.scheme}://{authority}")

    @property
    def url(self) -> str:
        return self.origin + self.path


_LOOPBACK = (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))
_LINK_LOCAL = (IPv4Network("169.254.0.0/16"), IPv6Network("fe80::/10"))
_PRIVATE = (
    IPv4Network("10.0.0.0/8"),
    IPv4Network("172.16.0.0/12"),
    IPv4Network("192.168.0.0/16"),
    IPv4Network("100.64.0.0/10"),
    IPv6Network("fc00::/7"),
    IPv6Network("fec0::/10"),
)
# Kept by ourselves because what `ipaddress` calls global differs between Python releases.
_RESERVED = (
    IPv4Network("0.0.0.0/8"),
    IPv4Network("192.0.0.0/24"),
    IPv4Network("192.0.2.0/24"),
    IPv4Network("192.88.99.0/24"),
    IPv4Network("198.18.0.0/15"),
    IPv4Network("198.51.100.0/24"),
    IPv4Network("203.0.113.0/24"),
    IPv4Network("224.0.0.0/4"),
    IPv4Network("240.0.0.0/4"),
    # Protocol assignments, Teredo and ORCHID among them.
    IPv6Network("2001::/23"),
    IPv6Network("2001:db8::/32"),
    IPv6Network("3fff::/20"),
)
# The only part of IPv6 that is handed out for the public internet.
_GLOBAL_UNICAST = IPv6Network("2000::/3")

_NAT64 = IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR = IPv6Network("2002::/16")
_TRANSLATED = IPv6Network("::ffff:0:0:0/96")
_COMPATIBLE = IPv6Network("::/96")
# The middle half of an ISATAP interface identifier, with and without the "universal" bit.
_ISATAP = (0x00005EFE, 0x02005EFE)


def unwrap(address: Address) -> Address:
    """The IPv4 address that an IPv6 address carries inside, else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    number = int(address)
    low = IPv4Address(number & 0xFFFFFFFF)
    if address.ipv4_mapped is not None or address in _NAT64 or address in _TRANSLATED:
        return low
    if address in _SIX_TO_FOUR:
        return IPv4Address((number >> 80) & 0xFFFFFFFF)
    # ::1 and :: are addresses of their own, though they lie in the range of IPv4-compatible ones.
    if address in _COMPATIBLE and number > 1:
        return low
    if (number >> 32) & 0xFFFFFFFF in _ISATAP:
        return low
    return address


def classify(address: str | Address) -> Network:
    """The kind of network an address belongs to, after unwrapping. Raises AddressError for text that is no address."""
    inner = unwrap(_parse_address(address) if isinstance(address, str) else address)
    if any(inner in network for network in _LOOPBACK):
        return "loopback"
    if any(inner in network for network in _LINK_LOCAL):
        return "link-local"
    if any(inner in network for network in _PRIVATE):
        return "private"
    if any(inner in network for network in _RESERVED) or inner.is_multicast or not inner.is_global:
        return "reserved"
    if isinstance(inner, IPv6Address) and inner not in _GLOBAL_UNICAST:
        return "reserved"
    return "global"


def _parse_address(text: str) -> Address:
    try:
        return ip_address(text)
    except ValueError:
        raise AddressError(f"{_shown(text)} is not an IP address.") from None


_HINTS: dict[Network, str] = {
    "loopback": "Only a server configured with a loopback URL may use this machine's own addresses.",
    "private": "Only a configured server may use private addresses, and its sign-in with `allowPrivate: true`.",
    "link-local": "Link-local addresses, where cloud metadata lives, are not dialled.",
    "reserved": "It is not an address of a reachable host.",
    "global": "",
}


def check_address(address: str | Address, rules: Rules) -> None:
    """Raise AddressError unless `rules` let this address be dialled."""
    network = classify(address)
    allowed = {
        "global": True,
        "loopback": rules.allow_loopback,
        "private": rules.allow_private,
        "link-local": rules.allow_link_local,
        "reserved": False,
    }
    if not allowed[network]:
        raise AddressError(f"{address} is a {network} address and may not be dialled.", hint=_HINTS[network])


def check_dial(target: Target, address: str | Address, rules: Rules) -> None:
    """The verdict where the socket is made: this target, at this very address."""
    check_address(address, rules)
    if target.scheme == "http" and not rules.allow_plain_http and classify(address) != "loopback":
        raise AddressError(
            f"{target.origin} would be sent unencrypted to {address}.",
            hint="Use an https:// URL; http:// is for loopback only.",
        )


@lru_cache(maxsize=256)
def check_url(url: str, rules: Rules) -> Target:
    """Refuse what can be refused before anything is resolved: malformed URLs, and hosts that are literal addresses or `localhost`."""
    target = parse_url(url)
    literal = literal_address(target.host)
    if literal is not None:
        check_dial(target, literal, rules)
    return target


# Besides letters and digits, of a fragment: no program on the way takes them for more than a part of an address.
_IN_FRAGMENT = "-._~:/?&=+,%@!"


def page_address(url: str) -> tuple[str, str]:
    """The address of a page that a server wants a person to open, as a browser may be given it, and its host. Raises AddressError.

    A server may not lead a browser to what only this machine or this network reaches: pages there act for whoever comes from near.
    """
    base, mark, fragment = url.partition("#")
    address, host = browser_address(base, Rules(), what="The page that a person is asked to open")
    return address + mark + quote(fragment.encode("utf-8", "replace"), safe=_IN_FRAGMENT), host


def browser_address(url: str, rules: Rules, *, what: str) -> tuple[str, str]:
    """An address as it may be given to a browser, and its host: https (http for this machine alone), and no character that any program on
    the way could take for more than a part of it. `what` is there, in the message. Raises AddressError."""
    try:
        target = check_url(url, rules)
    except AddressError as error:
        raise AddressError(f"{what} is at an address that may not be opened.", hint=error.hint) from None
    literal = literal_address(target.host)
    if literal is None and _NUMERIC.fullmatch(target.host):
        raise AddressError(f"{what} is at an address written as a number; it is not opened.")
    if target.scheme != "https" and literal is None:
        raise AddressError(f"{what} is not at an https address, so it is not opened.")
    return _UNSAFE_IN_BROWSER.sub(lambda found: f"%{ord(found[0]):02X}", target.url), target.host


def literal_address(host: str) -> Address | None:
    """The address that a host spells out, or that it means by definition (`localhost`); None for a name to resolve."""
    name = host.removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return IPv4Address("127.0.0.1")
    try:
        return ip_address(name)
    except ValueError:
        return None


def narrowed(rules: Rules, peer: str | Address | None) -> Rules:
    """Rules for a redirect to another origin: it may not lead to a nearer network than the one it came from.

    `peer` is the address that sent the redirect; None when a proxy stood between, which counts as public.
    """
    network = "global" if peer is None else classify(peer)
    return Rules(
        allow_loopback=rules.allow_loopback and network == "loopback",
        allow_private=rules.allow_private and network in ("loopback", "private"),
        allow_link_local=False,
        allow_plain_http=rules.allow_plain_http and network in ("loopback", "private"),
    )


_SPLIT = late_pattern(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<path>[^#]*)(?:#.*)?", re.DOTALL)
# Whitespace, controls and backslash: characters on which URL parsers disagree.
_CONFUSING = late_pattern(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029\ufeff]")
_HOST = late_pattern(
    r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?"
)
_MAX_HOST = 253
# A host that browsers take for an IPv4 address though it is not written as one.
_NUMERIC = late_pattern(r"(?:.*\.)?(?:0x[0-9a-f]*|[0-9]+)\.?")
# What stands in an address as it is; the rest of ASCII is percent-encoded. Brackets are for IPv6.
_UNSAFE_IN_BROWSER = late_pattern(r"[^A-Za-z0-9\-._~:/?&=+,%@\[\]]")
_UNSAFE_IN_PATH = late_pattern(r"[^\x21\x23-\x3b\x3d\x3f-\x5d\x5f\x61-\x7a\x7c\x7e]")


@lru_cache(maxsize=1024)
def parse_url(url: str) -> Target:
    """Take an http(s) URL apart, refusing whatever two parsers might read differently. The message never repeats the URL."""
    if len(url) > MAX_URL:
        raise AddressError("The URL is too long.")
    if _CONFUSING.search(url):
        raise AddressError(
            "The URL contains whitespace, a control character or a backslash.", hint="Percent-encode it."
        )
    match = _SPLIT.fullmatch(url)
    scheme = match["scheme"].lower() if match else ""
    if match is None or scheme not in DEFAULT_PORTS:
        raise AddressError("The URL does not start with http:// or https:// and a host.")
    authority = match["authority"]
    if "@" in authority:
        raise AddressError(
            "The URL carries a user name or password.", hint="Put credentials into headers, not into the URL."
        )
    host, port = _split_port(authority, DEFAULT_PORTS[scheme])
    path = match["path"]
    if not path.startswith("/"):
        path = "/" + path
    return Target(scheme, _clean_host(host), port, _UNSAFE_IN_PATH.sub(_percent, path))


def _split_port(authority: str, default: int) -> tuple[str, int]:
    bracketed, bracket, rest = authority.rpartition("]")
    if bracket:
        host, text = bracketed + bracket, rest[1:] if rest.startswith(":") else rest
        if rest and not rest.startswith(":"):
            raise AddressError("The URL has characters after the bracketed address.")
    else:
        host, _, text = authority.partition(":")
    if not text:
        return host, default
    if not (text.isascii() and text.isdigit()) or not 0 < int(text[:6]) < 65536:
        raise AddressError("The port of the URL is not a number from 1 to 65535.")
    return host, int(text)


def _clean_host(host: str) -> str:
    if host.startswith("["):
        try:
            address = IPv6Address(host[1:-1]) if host.endswith("]") else None
        except ValueError:
            address = None
        if address is None or address.scope_id is not None:
            raise AddressError(f"{_shown(host)} is not an IPv6 address.")
        inner = address.ipv4_mapped
        # The same text from every Python: from 3.13 on it would write the last 32 bits as IPv4.
        return str(address) if inner is None else f"::ffff:{int(inner) >> 16:x}:{int(inner) & 0xFFFF:x}"
    try:
        # Names in other scripts become ASCII once, here, so that everything after sees the same name.
        text = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        text = ""
    if not _HOST.fullmatch(text) or len(text) > _MAX_HOST:
        raise AddressError(f"{_shown(host)} is not a host name.")
    return text.lower()


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))


def _shown(text: str) -> str:
    return ascii(text[:80])
