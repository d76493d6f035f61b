"""Drives the flows of `protocol/oauth` over HTTP, for one server: its egress rules, its certificate authority, bounds and deadlines.

Every address a flow asks for passes `security/egress.py` inside the client, each redirect again. What carries credentials is never
redirected. Failures come back in words of ours: where a request went, and what came back, was named by the other side and is not repeated.
"""

import logging
from typing import Final, TypeVar

from msgspec.structs import replace

from openclaw.errors import AddressError, AuthError, ConnectError, DeadlineError, OpenClawError, ProtocolError
from openclaw.net.client import ClientOptions, HttpClient
from openclaw.net.tls import TlsOptions
from openclaw.protocol.oauth.wire import Flow, FlowRequest, FlowResponse
from openclaw.redact import mask_json
from openclaw.security.egress import Rules, classify, literal_address, parse_url

_log = logging.getLogger(__name__)

T = TypeVar("T")

# Metadata is a small file; a server that needs longer for it is down.
METADATA_DEADLINE: Final = 10.0
# A token answer may have to wait for a directory or a person's second factor service.
TOKEN_DEADLINE: Final = 30.0
MAX_BODY: Final = 256 * 1024


def rules_for(url: str, *, allow_private: bool) -> Rules:
    """What the authorization of a server may reach: public addresses over TLS; this machine only for a server on this machine."""
    literal = literal_address(parse_url(url).host)
    return Rules(
        allow_loopback=literal is not None and classify(literal) == "loopback",
        allow_private=allow_private,
    )


class FlowRunner:
    """`ca_cert` is trusted beside the system's authorities. No proxy is used unless `network` names one."""

    def __init__(
        self,
        rules: Rules,
        *,
        ca_cert: str = "",
        network: ClientOptions | None = None,
        metadata_deadline: float = METADATA_DEADLINE,
    ) -> None:
        self.rules = rules
        self._metadata_deadline = metadata_deadline
        self._open = replace(network or ClientOptions(), rules=rules, tls=TlsOptions(ca_cert=ca_cert))
        self._closed = replace(self._open, follow_redirects=False)

    async def run(self, flow: Flow[T]) -> T:
        """What the flow returns. Raises what it raises: AuthError, or ConnectError when a server cannot be reached."""
        async with HttpClient(self._open) as following, HttpClient(self._closed) as direct:
            try:
                request = next(flow)
                while True:
                    try:
                        response = await self._send(following if request.method == "GET" else direct, request)
                    except OpenClawError as error:
                        _log.debug("A request of the sign-in failed: %s", type(error).__name__)
                        request = flow.throw(_described(error))
                    else:
                        request = flow.send(response)
            except StopIteration as done:
                result: T = done.value
                return result

    async def _send(self, client: HttpClient, request: FlowRequest) -> FlowResponse:
        deadline = self._metadata_deadline if request.method == "GET" else TOKEN_DEADLINE
        fetched = await client.fetch(
            request.method, request.url, headers=request.headers, body=request.body, timeout=deadline, limit=MAX_BODY
        )
        # Documents hold no credentials, and what they say is shown to people. Answers to a POST do.
        return FlowResponse(fetched.status, bytes(mask_json(fetched.body)) if request.method == "GET" else fetched.body)


def _described(error: OpenClawError) -> OpenClawError:
    if isinstance(error, AddressError):
        return AuthError(
            "An address that the sign-in leads to may not be used: it is not https, or not public.", hint=error.hint
        )
    if isinstance(error, DeadlineError):
        return ConnectError("The authorization server did not answer in time.", hint="Try again later.")
    if isinstance(error, ProtocolError):
        return ConnectError("The authorization server's answer is too large, redirected too often, or not HTTP.")
    return ConnectError("The authorization server cannot be reached.", hint="Check the network and its certificate.")
