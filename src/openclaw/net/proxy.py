"""Which proxy an outgoing request takes, as the environment says: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY.

Pure. Loopback is never proxied. Only http:// proxies are spoken; another kind is refused when a request would need it.
"""

import base64
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from urllib.parse import unquote

import msgspec

from openclaw.errors import AddressError, ConnectError
from openclaw.security.egress import Target, classify, literal_address, parse_url


class Proxy(msgspec.Struct, frozen=True):
    target: Target
    # The value of Proxy-Authorization, or empty. A secret.
    authorization: str = ""

    def __repr__(self) -> str:
        return f"Proxy({self.target.origin})"


class ProxyRules(msgspec.Struct, frozen=True):
    """Proxy URLs by scheme, and the hosts that are reached directly. The default is: no proxy at all."""

    http: str = ""
    https: str = ""
    direct: tuple[str, ...] = ()

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> "ProxyRules":
        def read(name: str) -> str:
            # Lower case first, as everybody else does it.
            return (environ.get(name) or environ.get(name.upper()) or "").strip()

        every = read("all_proxy")
        # A CGI script gets HTTP_PROXY from the client's `Proxy:` header: there the upper-case name is not ours to trust.
        plain = environ.get("http_proxy", "").strip() if "REQUEST_METHOD" in environ else read("http_proxy")
        direct = tuple(part.strip().lower() for part in read("no_proxy").split(",") if part.strip())
        return cls(http=plain or every, https=read("https_proxy") or every, direct=direct)

    def choose(self, target: Target) -> Proxy | None:
        """The proxy for a target; None means a direct connection. Raises ConnectError for a proxy we cannot speak to."""
        url = self.https if target.scheme == "https" else self.http
        if not url or self._is_direct(target):
            return None
        return _parse_proxy(url)

    def _is_direct(self, target: Target) -> bool:
        literal = literal_address(target.host)
        if literal is not None and classify(literal) == "loopback":
            return True
        return any(_matches(entry, target) for entry in self.direct)


def _matches(entry: str, target: Target) -> bool:
    if entry == "*":
        return True
    host = target.host.removesuffix(".")
    if "/" in entry:
        try:
            return ip_address(host) in ip_network(entry, strict=False)
        except (ValueError, TypeError):
            return False
    name, colon, port = entry.rpartition(":")
    if colon and port.isdigit() and (":" not in name or name.endswith("]")):
        if int(port) != target.port:
            return False
        entry = name
    entry = entry.strip("[]").removeprefix("*").lstrip(".")
    return host == entry or (bool(entry) and host.endswith("." + entry))


def _parse_proxy(url: str) -> Proxy:
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "http", url
    userinfo, at, rest = rest.rpartition("@")
    if scheme.lower() != "http":
        raise ConnectError(
            f"The proxy in the environment is a {scheme[:20]!a} proxy.",
            hint="Only http:// proxies are supported; NO_PROXY names hosts to reach directly.",
        )
    try:
        target = parse_url(f"http://{rest}")
    except AddressError:
        raise ConnectError("The proxy in the environment is not a valid URL.", hint="Check HTTPS_PROXY.") from None
    authorization = ""
    if at:
        user, _, password = userinfo.partition(":")
        pair = f"{unquote(user)}:{unquote(password)}".encode()
        authorization = "Basic " + base64.b64encode(pair).decode("ascii")
    return Proxy(target, authorization)
