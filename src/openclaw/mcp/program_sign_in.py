"""Signing in to servers (OAuth) for a program that embeds the client: a function of the program is given the address for its person.

Tokens are kept encrypted in a folder of the program's own; how that works, and what makes
an answer good, is `auth/`'s. Opens no browser and prints nothing.
"""

from pathlib import Path

from msgspec import structs

from openclaw.auth.credentials import Credentials, token_files
from openclaw.auth.login import Started
from openclaw.config.servers import ServerSpec
from openclaw.errors import UsageError
from openclaw.mcp.connect import Dependencies
from openclaw.mcp.typed_handlers import SignedIn, SignIn, SignInRequest


class _GivenError(Exception):
    """The program has the address that the browser ended at: nobody need listen for it."""

    def __init__(self, callback_url: str) -> None:
        super().__init__()
        self.callback_url = callback_url


class ProgramSignIn:
    """`folder` is where tokens are kept."""

    def __init__(self, sign_in: SignIn, folder: Path | None, dependencies: Dependencies) -> None:
        if folder is None:
            raise UsageError(
                "sign_in needs a folder for its tokens.", hint="Write Manager(…, sign_in=…, state=Path(…))."
            )
        self._sign_in = sign_in
        self._credentials = Credentials(
            token_files(folder / "tokens", resolve=dependencies.resolve), resolve=dependencies.resolve
        )

    def added_to(self, dependencies: Dependencies) -> Dependencies:
        return structs.replace(
            dependencies, authorize=self._credentials.authorizer, signed_in=self._credentials.signed_in
        )

    async def sign_in(self, spec: ServerSpec) -> SignedIn:
        """Raises AuthError when it came to nothing, UsageError when there is nothing to sign in to."""
        if self._credentials.authorizer(spec) is None:
            raise UsageError(f"{spec.name} has a credential of its own or no address: there is nothing to sign in to.")

        async def show(started: Started) -> None:
            request = SignInRequest(
                spec.name, started.authorization_url, started.host, started.redirect_uri, started.warning
            )
            if callback_url := await self._sign_in(request):
                raise _GivenError(callback_url)

        try:
            done = await self._credentials.sign_in(spec, show)
        except _GivenError as given:
            done = await self._credentials.finish(spec, given.callback_url)
        return SignedIn(done.server, done.scopes, done.expires_at, done.renewable)

    async def close(self) -> None:
        await self._credentials.close()
