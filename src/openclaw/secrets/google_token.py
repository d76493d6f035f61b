"""An access token for Google Cloud from Application Default Credentials, found by google-auth (the extra `gcp`).

The library is synchronous and would bring an HTTP client of its own. It runs in a thread; its requests come back to the loop and go
through `net/`, so that they meet the same checks as all others. Which addresses it asks is up to the credentials file, which the
operator wrote: link-local ones are among them (metadata servers of this and other clouds).
"""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from openclaw.daemon_thread import in_daemon_thread
from openclaw.errors import OpenClawError, SecretError
from openclaw.net.client import ClientOptions, HttpClient
from openclaw.net.proxy import ProxyRules
from openclaw.net.response import Fetched
from openclaw.secrets.token import Token
from openclaw.security.egress import Rules

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_RULES = Rules(allow_loopback=True, allow_private=True, allow_link_local=True, allow_plain_http=True)


async def default_token(env: Mapping[str, str], timeout: float) -> tuple[Token, str]:
    """A token and the project it belongs to, which may be empty. Raises SecretError."""
    options = ClientOptions(rules=_RULES, proxies=ProxyRules.from_environment(env), connect_timeout=timeout)
    async with HttpClient(options) as client:
        carrier = _Carrier(client, asyncio.get_running_loop(), timeout)
        return await in_daemon_thread(lambda: _ask_library(carrier))


def _ask_library(carrier: "_Carrier") -> tuple[Token, str]:
    from google.auth import default, exceptions

    try:
        credentials, project = default(scopes=[_SCOPE], request=carrier)
        credentials.refresh(carrier)
    except exceptions.DefaultCredentialsError:
        raise SecretError(
            "there are no credentials for Google Cloud",
            hint="Run: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS.",
        ) from None
    except exceptions.GoogleAuthError as error:
        # Its words may quote what the token endpoint answered.
        raise SecretError(f"Google did not accept our credentials ({type(error).__name__})") from None
    expiry = credentials.expiry
    left = (expiry.replace(tzinfo=UTC) - datetime.now(UTC)).total_seconds() if expiry else None
    return Token(str(credentials.token), left), str(project or "")


class _Answer:
    """What google-auth expects of an answer."""

    def __init__(self, fetched: Fetched) -> None:
        self.status = fetched.status
        self.headers = fetched.headers
        self.data = fetched.body


class _Carrier:
    """google-auth's `transport.Request`, called in its thread."""

    def __init__(self, client: HttpClient, loop: asyncio.AbstractEventLoop, timeout: float) -> None:
        self._client = client
        self._loop = loop
        self._timeout = timeout

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_: Any,
    ) -> _Answer:
        data = body.encode() if isinstance(body, str) else body
        exchange = self._client.fetch(method, url, headers=headers, body=data, timeout=timeout or self._timeout)
        try:
            return _Answer(asyncio.run_coroutine_threadsafe(exchange, self._loop).result())
        except OpenClawError as error:
            from google.auth.exceptions import TransportError

            raise TransportError(error.message) from None
