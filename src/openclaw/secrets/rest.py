"""One request to a secret store's REST interface, answered in JSON.

Owns what all of them share: the egress check and the client of `net/`, the proxies of the environment, the bounds. The body of an answer
that is not a success is never part of an error: `explain` has words of our own for what the status says.
"""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from openclaw.errors import ProtocolError, SecretError
from openclaw.net.client import ClientOptions, HttpClient
from openclaw.net.proxy import ProxyRules
from openclaw.net.tls import TlsOptions
from openclaw.security.egress import OPERATOR, Rules

# Secrets are bounded by their stores: 64 KiB in Google's and Amazon's, 1 MiB in Vault's, doubled by Base64 and escapes.
MAX_ANSWER = 4 * 1024 * 1024


class StoreAnswer(msgspec.Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def data(self) -> dict[str, Any]:
        """The JSON object of a success; empty for what an error page says. Raises ProtocolError when a success is something else."""
        if self.status != 200:
            return {}
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ProtocolError("The answer is not a JSON object.", hint="Check the address.")
        return found

    def __repr__(self) -> str:
        return f"StoreAnswer({self.status})"


class StoreApi(msgspec.Struct, frozen=True):
    """How a store is reached. The address is the operator's, or a cloud's own: never one that somebody typed in chat."""

    env: Mapping[str, str]
    timeout: float
    rules: Rules = OPERATOR
    tls: TlsOptions = TlsOptions()
    proxied: bool = True

    async def call(
        self, method: str, url: str, headers: Mapping[str, str], body: Mapping[str, Any] | None = None
    ) -> StoreAnswer:
        """Raises AddressError, TransportError or ProtocolError; any status is an answer."""
        proxies = ProxyRules.from_environment(self.env) if self.proxied else ProxyRules()
        options = ClientOptions(rules=self.rules, tls=self.tls, proxies=proxies, connect_timeout=self.timeout)
        sent = {"Accept": "application/json", **headers}
        data = None
        if body is not None:
            sent["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        async with HttpClient(options) as client:
            fetched = await client.fetch(method, url, headers=sent, body=data, timeout=self.timeout, limit=MAX_ANSWER)
        return StoreAnswer(fetched.status, fetched.headers, fetched.body)


def explain(answer: StoreAnswer, place: str) -> SecretError:
    """What a status that is not a success means for whoever wants a secret."""
    match answer.status:
        case 401:
            return SecretError(
                f"{place} does not accept our credentials (401)", hint="Sign in again, or renew the token."
            )
        case 403:
            return SecretError(
                f"{place} does not let us read it (403)", hint="Grant access to this secret, and check its name."
            )
        case 404:
            return SecretError(f"{place} has no such secret (404)", hint="Check the name.")
        case 429:
            return SecretError(f"{place} asks us to slow down (429)", hint="Try again later.", passing=True)
        case 503:
            return SecretError(f"{place} is not available (503)", hint="It may be sealed, or starting.", passing=True)
    return SecretError(f"{place} answered with status {answer.status}", passing=answer.status >= 500)
