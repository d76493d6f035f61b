"""One request to the server itself, without credentials, to hear what it asks for.

The one thing here that goes to the MCP server and not to its authorization server, with the rules and certificates of the operator's own
URL. Reads a single header, and that from the configured origin alone.
"""

from dataclasses import replace
from typing import Final

from openclaw.config.servers import ServerSpec
from openclaw.net.client import ClientOptions, HttpClient
from openclaw.net.tls import TlsOptions
from openclaw.security.egress import OPERATOR, parse_url

DEADLINE: Final = 10.0
# A question that any server may answer without harm.
_BODY: Final = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'
_POST: Final = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
_GET: Final = {"Accept": "text/event-stream"}


async def probe(spec: ServerSpec, url: str, network: ClientOptions) -> str | None:
    """The WWW-Authenticate header of a 401; None when there is none. Raises what the client raises."""
    tls = TlsOptions(spec.ssl_verify, spec.ca_cert, spec.client_cert, spec.client_key)
    async with HttpClient(replace(network, rules=OPERATOR, tls=tls)) as client:
        method, headers, body = ("GET", _GET, None) if spec.transport == "sse" else ("POST", _POST, _BODY)
        async with client.stream(method, url, headers=headers, body=body, timeout=DEADLINE) as response:
            here = response.origin == parse_url(url).origin
            return response.headers.get("www-authenticate") if here and response.status == 401 else None
