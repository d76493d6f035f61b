"""What a redirect may do. Pure: one request and one answer in, the next request or a refusal out.

Each hop is checked again; credentials and custom headers stay with the resource they are for; https never becomes http; another origin
may not be on a nearer network than the one that sent us there.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urljoin

import msgspec

from openclaw.errors import AddressError, ProtocolError
from openclaw.security.egress import Rules, Target, check_url, narrowed, parse_url

MAX_REDIRECTS: Final = 3
STATUSES: Final = frozenset((301, 302, 303, 307, 308))

# All that may follow a redirect to another resource: what describes the message, nothing that says who we are. An MCP session id is not
# among them: whoever has it can speak in our name.
_PUBLIC_HEADERS = frozenset(
    ("accept", "accept-encoding", "content-type", "user-agent", "mcp-protocol-version", "mcp-method", "mcp-name")
)
# Arguments of a call, which its body holds too.
_MIRRORED = "mcp-param-"


class HttpRequest(msgspec.Struct):
    method: str
    target: Target
    headers: Mapping[str, str]
    body: bytes | None
    rules: Rules
    hops: int = 0
    # The resource that was asked for before any redirect; None while it is the target.
    first: Target | None = None


def redirected(request: HttpRequest, status: int, location: str, peer: str) -> HttpRequest:
    """The request for the next hop. `peer` is the address that answered, empty behind a proxy.

    POST stays POST on 301 and 302, as the standard allows: an MCP message turned into a GET would mean nothing.
    """
    origin = request.target.origin
    if request.hops >= MAX_REDIRECTS:
        raise ProtocolError(f"{origin} redirects more than {MAX_REDIRECTS} times.", hint="Check the URL.")
    target = parse_url(urljoin(request.target.url, location))
    if request.target.scheme == "https" and target.scheme == "http":
        raise AddressError(f"{origin} redirects to an unencrypted URL, which is not followed.", hint="Check the URL.")
    rules, headers, first = request.rules, request.headers, request.first or request.target
    if target.origin != origin:
        rules = narrowed(rules, peer or None)
    if not is_same_resource(target, first):
        # Also within the origin: one host may serve many, and its open redirects are theirs.
        headers = {name: value for name, value in headers.items() if _is_public(name.lower())}
    check_url(target.url, rules)
    if status == 303 and request.method != "HEAD":
        headers = {name: value for name, value in headers.items() if name.lower() != "content-type"}
        return HttpRequest("GET", target, headers, None, rules, request.hops + 1, first)
    return HttpRequest(request.method, target, headers, request.body, rules, request.hops + 1, first)


def is_same_resource(one: Target, other: Target) -> bool:
    """Whether two URLs name one resource: the same but for a slash at the end of the path, which frameworks add and take away."""
    return one.origin == other.origin and _without_slash(one.path) == _without_slash(other.path)


def _without_slash(path: str) -> tuple[str, str]:
    path, _, query = path.partition("?")
    return path.removesuffix("/"), query


def _is_public(name: str) -> bool:
    return name in _PUBLIC_HEADERS or name.startswith(_MIRRORED)
