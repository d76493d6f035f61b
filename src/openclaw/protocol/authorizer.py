"""What an HTTP transport asks of whoever holds the credentials for one server.

`auth/bearer.py` implements it for OAuth; `StaticAuthorizer` serves API keys. The transport never sees a token store.
"""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from openclaw.errors import AuthError


class Authorizer(Protocol):
    async def headers(self) -> Mapping[str, str]:
        """Credential headers for the next request, refreshed first when they are about to expire. Parallel calls stay parallel."""
        ...

    async def challenged(self, status: int, headers: Mapping[str, str], sent: Mapping[str, str]) -> bool:
        """The server answered 401 or 403 to a request that carried `sent`: our credentials, and the headers of the protocol.

        True: credentials changed, send the request once more. False: this is not ours to mend (report the status).
        Raises SignInNeededError when a person has to act, AuthError when authorization failed for good.
        """
        ...


@runtime_checkable
class PromptAuthorizer(Authorizer, Protocol):
    """One that mostly has its headers at hand: then a request goes out without a coroutine on its way."""

    def headers_at_hand(self) -> Mapping[str, str] | None:
        """What `headers` would return, and the same object while nothing changed; None where it would have to wait. Never raises."""
        ...


class StaticAuthorizer:
    """A fixed bearer value (`apiKey`). A 401 is reported and never starts OAuth."""

    def __init__(self, token: str) -> None:
        self._headers = {"Authorization": f"Bearer {token}"}

    async def headers(self) -> Mapping[str, str]:
        return self._headers

    def headers_at_hand(self) -> Mapping[str, str]:
        return self._headers

    async def challenged(self, status: int, headers: Mapping[str, str], sent: Mapping[str, str]) -> bool:
        raise AuthError(
            f"The server answered {status} to the configured API key.",
            hint="Check the API key (or the Authorization header) that this server is given.",
        )
