"""The way from whoever calls to the live client of one server.

Owns waiting for a connection: who wants one has it made at once, and learns whether the attempt that was made for it failed. And what a
request that went wrong says of the server: a person has to act, it has to be looked after, its list is out of date. Makes no call
(call.py) and keeps nothing alive: supervisor.py does, when it is asked to.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from openclaw.config.servers import ServerSpec
from openclaw.errors import (
    ConnectError,
    HttpStatusError,
    LinkLostError,
    OpenClawError,
    SignInNeededError,
    StepUpNeededError,
)
from openclaw.mcp.client import Client
from openclaw.mcp.server.connection import Life, event_of
from openclaw.mcp.server.log import ServerLog
from openclaw.mcp.server.state import Standing
from openclaw.mcp.tools.catalog import Catalog
from openclaw.protocol.lifecycle import Event

# A server that comes up and dies again at once is not tried for ever by one call.
MAX_TRIES = 3


class UnavailableError(ConnectError):
    """The server cannot be called now, and this is why."""


class Access:
    """`post` asks the supervisor for something. `tools_changed` is called when a tool was taken out."""

    def __init__(
        self,
        spec: ServerSpec,
        catalog: Catalog,
        log: ServerLog,
        standing: Standing,
        *,
        post: Callable[[Event], None],
        tools_changed: Callable[[], None],
    ) -> None:
        self.spec = spec
        self.catalog = catalog
        self.log = log
        # The connection that is being opened, used or closed.
        self.life: Life | None = None
        # Attempts that brought no connection. Counted when the state tells why: who finds that an attempt failed says so.
        self.failures = 0
        self._standing = standing
        self._post = post
        self._tools_changed = tools_changed
        self._waiting = 0

    @property
    def live(self) -> Client | None:
        """The client, when there is one that works as far as we know."""
        client = self._standing.client
        return client if client is not None and not client.connection.is_lost else None

    @property
    def is_wanted(self) -> bool:
        """Whether anybody waits for a connection."""
        return self._waiting > 0

    async def client(self, *, failures: int | None = None) -> Client:
        """The live client. Waits for one attempt to connect if there is none; raises UnavailableError when that fails.

        It is the first attempt since there were `failures` that had failed: since now, unless given. One that is under way now may fail of
        what is over by now: another is made for us then.
        """
        is_under_way = self._standing.status.state == "starting"
        known = self.failures + is_under_way if failures is None else failures
        tries = 0
        with self.wanted():
            while (client := self.live) is None:
                if reason := self._standing.refusal(tried=self.failures > known or tries > MAX_TRIES):
                    raise UnavailableError(reason)
                # What happens while it is starting is one try.
                tries += self._standing.status.state != "starting"
                self._post(Event("call"))
                await self._standing.change()
            return client

    @contextmanager
    def wanted(self) -> Iterator[None]:
        """Meanwhile somebody needs the server: it gets a place if there is one to be had, and does not give its own away."""
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting and self._standing.is_queued and self.catalog.is_known:
                # Nobody does any more: it must not keep a place from others.
                self._post(Event("stop", self._standing.limit))

    async def refresh(self, *, failures: int | None = None) -> None:
        """List again what the server offers, connecting first if need be. Raises OpenClawError when that fails."""
        with self.wanted():
            await self.client(failures=failures)
            if self.life is not None:
                await self.life.listing.refresh()

    def troubled(self, error: OpenClawError) -> None:
        """A request failed in a way that says something about the server itself."""
        if isinstance(error, StepUpNeededError):
            # It wants more rights for this request alone: everything else goes on.
            return
        if isinstance(error, SignInNeededError):
            self._post(event_of(error, self.spec))
        elif self.life is not None and (isinstance(error, ConnectError | LinkLostError) or _is_unauthorized(error)):
            # One 401 may pass. Whether the server wants nothing more to do with us is found out by asking it.
            self.life.suspect()

    def tool_is_unknown(self, tool: str) -> None:
        """The server says it has no such tool: take it out and look again."""
        if self.catalog.forget(tool):
            self._tools_changed()
        if self.life is not None:
            self.life.listing.tools_changed()


def _is_unauthorized(error: OpenClawError) -> bool:
    return isinstance(error, HttpStatusError) and error.status == 401
