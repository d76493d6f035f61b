"""Who may use the HTTP port. Pure: a request's headers and the rules in, a refusal or nothing out.

Every route asks, in this order: is the request meant for us (Host), does a web page stand behind it that may (Origin), does it know the
token. A page on another site can make a browser send requests to loopback, also under a name of its own that it lets point there; it can
neither set Host nor hide its Origin. `/health`, `/ready` and the files of our page need no token, because they tell nothing of anybody, nor
does the trade of a ticket for a page's token; the other two checks apply there too.
"""

import hmac
import math
from collections.abc import Mapping, Sequence

import msgspec

# Names and addresses under which a gateway on loopback is reached.
LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
OPEN_PATHS = frozenset({"/health", "/ready", "/"})
OPEN_FOLDER = "/page/"
# Where a page that has no token yet gets one.
SIGN_IN_PATH = "/v1/page/session"
# What gateways of one fleet use of each other.
FLEET_FOLDER = "/v1/fleet/"


class GuardRules(msgspec.Struct, frozen=True):
    """`hosts` and `origins` are those of the config, beside what is always ours. Any of the tokens is enough."""

    tokens: tuple[str, ...]
    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"GuardRules({len(self.tokens)} tokens)"


class GuardRefusal(msgspec.Struct, frozen=True):
    status: int
    code: str
    message: str
    headers: Mapping[str, str] = {}


class RequestHead(msgspec.Struct, frozen=True):
    """What a request says about itself: every value of the three headers, and the address it arrived at."""

    method: str
    path: str
    hosts: Sequence[str]
    origins: Sequence[str]
    authorizations: Sequence[str]
    arrived_at: str = ""

    def __repr__(self) -> str:
        return f"RequestHead({self.method} {self.path})"


_WRONG_HOST = GuardRefusal(
    403, "host_not_allowed", "This Host is not the gateway's. Use localhost, or add it to gateway.allowedHosts."
)
_WRONG_ORIGIN = GuardRefusal(
    403, "origin_not_allowed", "This Origin may not call the gateway. See gateway.allowedOrigins."
)
NO_TOKEN = GuardRefusal(
    401,
    "unauthorized",
    "Send the gateway's token as a bearer token in the Authorization header.",
    {"WWW-Authenticate": 'Bearer realm="openclaw"'},
)


def refusal(rules: GuardRules, head: RequestHead, *, is_page: bool = False) -> GuardRefusal | None:
    """Why a request is refused; None when it is allowed. `is_page`: it carries the token of a page that is signed in."""
    refused = origin_refusal(rules, head)
    if refused is not None or is_preflight(head) or is_open(head):
        return refused
    return None if is_page or presented(rules, head.authorizations) else NO_TOKEN


def is_open(head: RequestHead) -> bool:
    """Whether a request needs no token."""
    if head.method in ("GET", "HEAD"):
        return head.path in OPEN_PATHS or head.path.startswith(OPEN_FOLDER)
    return head.method == "POST" and head.path == SIGN_IN_PATH


def origin_refusal(rules: GuardRules, head: RequestHead) -> GuardRefusal | None:
    """Why a request is refused whatever token it has: it is meant for another host, or comes from a page that may not call us."""
    if len(head.hosts) != 1 or not _is_our_host(rules, head):
        return _WRONG_HOST
    if head.origins and not (len(head.origins) == 1 and _is_allowed_origin(rules, head.origins[0], head.hosts[0])):
        return _WRONG_ORIGIN
    return None


def too_many(seconds: float) -> GuardRefusal:
    """The answer to a caller that sent too many wrong tokens (throttle.py)."""
    wait = {"Retry-After": str(math.ceil(seconds))}
    return GuardRefusal(
        429, "too_many_attempts", "Too many wrong tokens came from this address. Try again later.", wait
    )


def is_preflight(head: RequestHead) -> bool:
    """A browser asks whether a page may call us; it never sends the token with that."""
    return head.method == "OPTIONS" and bool(head.origins)


def presented(rules: GuardRules, authorizations: Sequence[str]) -> str:
    """The token of the request if it is a valid one; else empty."""
    token = bearer(authorizations)
    if not token:
        return ""
    given = token.encode("utf-8", "surrogateescape")
    # All are compared, so that the time taken does not tell which one was close.
    matches = [hmac.compare_digest(given, known.encode()) for known in rules.tokens if known]
    return token if any(matches) else ""


def bearer(authorizations: Sequence[str]) -> str:
    """The token that a request carries, good or not; empty when it carries none, or several."""
    if len(authorizations) != 1:
        return ""
    scheme, _, token = authorizations[0].partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def cors_headers(rules: GuardRules, origins: Sequence[str]) -> Mapping[str, str]:
    """What a browser needs to let an allowed page read the answer."""
    if len(origins) != 1 or origins[0] not in rules.origins:
        return {}
    return {
        "Access-Control-Allow-Origin": origins[0],
        "Access-Control-Allow-Headers": "Authorization, Content-Type, X-OpenClaw-Session-Key, X-OpenClaw-Answers",
        "Access-Control-Allow-Methods": "GET, POST, PUT, DELETE, OPTIONS",
        "Vary": "Origin",
    }


def _is_our_host(rules: GuardRules, head: RequestHead) -> bool:
    name = host_name(head.hosts[0])
    if name in LOOPBACK_HOSTS or name in rules.hosts:
        return True
    # An address is no name that could be made to point here: the one the request arrived at is fine.
    address = f"[{head.arrived_at}]" if ":" in head.arrived_at else head.arrived_at
    return bool(address) and name == address


def host_name(host: str) -> str:
    """A Host header without its port, in lower case; empty when it is malformed."""
    host = host.strip().lower()
    if host.startswith("["):
        name, bracket, port = host.partition("]")
        name += bracket
        port = port.removeprefix(":") if port.startswith(":") else port and "?"
    else:
        name, _, port = host.partition(":")
    return name if port == "" or port.isdecimal() else ""


def _is_allowed_origin(rules: GuardRules, origin: str, host: str) -> bool:
    """A page of the config's list, or one that came from this very address."""
    return origin in rules.origins or origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")
