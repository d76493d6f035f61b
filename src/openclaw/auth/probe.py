"""One question to the server itself, without credentials, to hear what it asks for.

The one thing here that goes to the MCP server and not to its authorization server, with the rules and certificates of the operator's own
URL. Reads a status and a single header, the header from the configured origin alone; and says what a status means for who wants to sign in.
"""

from typing import Final

import msgspec
from msgspec.structs import replace

from openclaw.config.servers import ServerSpec
from openclaw.errors import AuthError, ConnectError, OpenClawError
from openclaw.net.client import ClientOptions, HttpClient
from openclaw.net.tls import TlsOptions
from openclaw.protocol.oauth.wire import is_passing
from openclaw.security.egress import OPERATOR, parse_url

DEADLINE: Final = 10.0
# A question that any server may answer without harm.
_BODY: Final = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'
_POST: Final = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
_GET: Final = {"Accept": "text/event-stream"}
# What an address answers that does not take our way of asking; the older transport asks in another.
_NOT_THIS_WAY: Final = (404, 405)


class Heard(msgspec.Struct, frozen=True):
    """`challenge` is the WWW-Authenticate header of a 401. A status from another origin, after a redirect, is told as 0."""

    status: int
    challenge: str | None = None


async def probe(spec: ServerSpec, url: str, network: ClientOptions) -> Heard:
    """What the server answers to somebody it does not know. Raises what the client raises."""
    tls = TlsOptions(spec.ssl_verify, spec.ca_cert, spec.client_cert, spec.client_key)
    async with HttpClient(replace(network, rules=OPERATOR, tls=tls)) as client:
        heard = Heard(_NOT_THIS_WAY[0])
        if not spec.facts.is_legacy:
            heard = await _ask(client, url, _BODY)
        return await _ask(client, url, None) if heard.status in _NOT_THIS_WAY else heard


async def _ask(client: HttpClient, url: str, body: bytes | None) -> Heard:
    method, headers = ("GET", _GET) if body is None else ("POST", _POST)
    async with client.stream(method, url, headers=headers, body=body, timeout=DEADLINE) as response:
        if response.origin != parse_url(url).origin:
            return Heard(0)
        return Heard(response.status, response.headers.get("www-authenticate") if response.status == 401 else None)


def nothing_to_sign_in_to(name: str, status: int) -> OpenClawError:
    """What it means that a server answered with this status, which is not 401, and published nothing about a sign-in."""
    if is_passing(status):
        return ConnectError(f"The server '{name}' answered {status}.", hint="Try again later.")
    if status in (0, 403, 404):
        said = f"answered {status}" if status else "redirects to another origin"
        hint = "Check its `url`; if it takes an API key, set `apiKey` or `headers`."
        return AuthError(f"The server '{name}' {said} and offers no sign-in.", hint=hint)
    return AuthError(f"The server '{name}' needs no sign-in: it answers without one.")
