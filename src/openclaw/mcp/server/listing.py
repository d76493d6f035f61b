"""What a server offers, kept up to date over one connection: listed at first, when it says so, when time has passed, when somebody asks.

Owns what is out of date and when to look again (never more often than DISCOVERY_PAUSE, whatever the server announces), reading tools and
injected resources, and subscribing to the latter. connection.py runs it; what a list means is catalog.py's and resources.py's business.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from openclaw.errors import (
    HttpStatusError,
    LinkLostError,
    OpenClawError,
    ProtocolError,
    RpcError,
    StepUpNeededError,
    TransportError,
)
from openclaw.mcp.client import Client, offers
from openclaw.mcp.paging import Pages
from openclaw.mcp.resources import list_resources, list_templates
from openclaw.mcp.server.log import ServerLog
from openclaw.mcp.server.parts import ServerParts
from openclaw.mcp.skills import serves_skills
from openclaw.mcp.tools.catalog import Learned
from openclaw.protocol.jsonrpc import METHOD_NOT_FOUND

# A server that announces changes without end is listed no more often than this.
DISCOVERY_PAUSE = 1.0
# Whoever waits for a server's tools must not wait long for its skills, nor for the two tools that look at its resources.
RESOURCES_PATIENCE = 5.0
# When a list did not come while the server was busy with calls.
RETRY_PAUSE = 10.0
# Between attempts to subscribe, doubling up to the longest; a stream that lived longer than that counts as a success.
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0


class Subscription:
    """Holds the stream of the newest revision open for as long as a connection lives: how such servers tell of changes.

    `uris` are the resources wanted now; `missed` is called when something may have changed unheard."""

    def __init__(
        self, client: Client, log: ServerLog, uris: Callable[[], tuple[str, ...]], missed: Callable[[], None]
    ) -> None:
        self._client = client
        self._log = log
        self._uris = uris
        self._missed = missed
        self._changed = asyncio.Event()
        self._time = asyncio.get_running_loop().time

    def change(self) -> None:
        """Other resources are wanted now."""
        self._changed.set()

    async def run(self) -> None:
        """Listen until cancelled, or until the server turns out not to know how."""
        pause = FIRST_PAUSE
        while True:
            wanted = self._wanted()
            if not wanted:
                await self._changed.wait()
            self._changed.clear()
            if not wanted:
                continue
            started = self._time()
            try:
                if await self._listen(wanted):
                    continue
            except OpenClawError as error:
                if isinstance(error, RpcError) and error.code == METHOD_NOT_FOUND:
                    return
                self._log.note(logging.DEBUG, f"its subscription ended: {error}")
            if self._time() - started > LONGEST_PAUSE:
                pause = FIRST_PAUSE
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
            self._missed()

    async def _listen(self, wanted: Mapping[str, Any]) -> bool:
        """True when it ended because something else is wanted now."""
        stream = asyncio.create_task(self._client.listen(wanted))
        other = asyncio.create_task(self._changed.wait())
        try:
            await asyncio.wait((stream, other), return_when=asyncio.FIRST_COMPLETED)
            if stream.done():
                stream.result()
            return other.done()
        finally:
            stream.cancel()
            other.cancel()
            await asyncio.gather(stream, other, return_exceptions=True)

    def _wanted(self) -> dict[str, Any]:
        agreement = self._client.agreement
        wanted: dict[str, Any] = {
            f"{kind}ListChanged": True
            for kind in ("tools", "resources", "prompts")
            if offers(agreement, kind, "listChanged")
        }
        if (uris := self._uris()) and offers(agreement, "resources", "subscribe"):
            wanted["resourceSubscriptions"] = list(uris)
        return wanted


class Listing:
    """`wake` is called when there is something to do before it is due; `learned` with what a list brought, `take_over` before that when
    it is a long one."""

    def __init__(
        self,
        parts: ServerParts,
        *,
        wake: Callable[[], None],
        learned: Callable[[Learned], None],
        take_over: Callable[[], Awaitable[None]],
    ) -> None:
        self._interval = parts.spec.discovery_interval
        self._state = parts.state
        self._catalog = parts.catalog
        self._injection = parts.injection
        self._log = parts.log
        self._wake = wake
        self._learned = learned
        self._take_over = take_over
        self._time = asyncio.get_running_loop().time
        self._tools_are_stale = True
        self._resources_are_stale = True
        self._next: float | None = None
        self._not_before = 0.0
        self._waiters: list[asyncio.Future[None]] = []
        # How changes are heard of: the newest revision holds a stream open, older ones are asked for each resource.
        self._subscription: Subscription | None = None
        self._subscribed: set[str] = set()
        self._is_subscribed = False
        # Whether tools were listed over this connection.
        self.has_listed = False

    def listener(self, client: Client) -> Subscription:
        """What holds the stream of the newest revision open; to be run for as long as the connection lives."""
        self._subscription = Subscription(client, self._log, lambda: self._injection.uris, self.tools_changed)
        return self._subscription

    def refresh(self) -> asyncio.Future[None]:
        """List everything again; done when that has happened."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self._tools_are_stale = self._resources_are_stale = True
        self._not_before = 0.0
        self._wake()
        return waiter

    def tools_changed(self) -> None:
        self._tools_are_stale = True
        self._wake()

    def subscribed(self) -> None:
        """Changes are heard of from now on. What changed since the list was asked for was not."""
        if not self._is_subscribed:
            self._is_subscribed = True
            self.tools_changed()
            self.resources_changed(is_list=False)

    def resources_changed(self, *, is_list: bool) -> None:
        """One of them is another now; or, with `is_list`, which ones there are: the first may have come, or the last gone."""
        if is_list:
            self.tools_changed()
        if self._injection.is_wanted:
            self._resources_are_stale = True
            self._wake()

    def renewed(self) -> None:
        """The server has forgotten us and was told again: what it offers may be something else now."""
        self._tools_are_stale = self._resources_are_stale = True
        self._subscribed.clear()
        self._wake()

    def due(self) -> float | None:
        """When to look again, by the loop's time; None: when told."""
        stale = self._tools_are_stale or (self._resources_are_stale and self._injection.is_wanted)
        dues = [moment for moment in (self._next, self._not_before if stale else None) if moment is not None]
        return min(dues, default=None)

    async def pace(self) -> None:
        """Wait until it is not too soon to look again: for a server that always asks to hurry."""
        if self._not_before > self._time():
            await asyncio.sleep(self._not_before - self._time())

    async def freshen(self, client: Client) -> None:
        """Read what is out of date. Raises OpenClawError when the server does not answer though it has nothing else to do."""
        if self._next is not None and self._next <= self._time():
            self._tools_are_stale = True
            self._resources_are_stale |= self._injection.lacks_some
        waiters, self._waiters = self._waiters, []
        try:
            if self._tools_are_stale:
                await self._discover(client)
            if self._resources_are_stale and self._injection.is_wanted:
                await self._inject(client)
        except (ProtocolError, TransportError, StepUpNeededError) as error:
            _fail(waiters, error)
            if isinstance(error, StepUpNeededError) and not self._catalog.was_listed:
                # More rights for its first list are more rights for all of it.
                raise
            # An old list is better than none, and calls that run must not end with the request for one; but a list that does not come
            # at all, from a server with nothing else to do, is no server.
            if isinstance(error, TransportError):
                if not self._state.is_busy or _is_refused(error):
                    raise
                self._next = self._time() + RETRY_PAUSE
            self._log.note(logging.WARNING, f"its lists cannot be read: {error}")
        except BaseException as error:
            _fail(waiters, error if isinstance(error, OpenClawError) else _ended())
            raise
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def end(self) -> None:
        """The connection is over: whoever still waits is told so."""
        _fail(self._waiters, _ended())

    async def _discover(self, client: Client) -> None:
        self._tools_are_stale = False
        now = self._time()
        self._not_before = now + DISCOVERY_PAUSE
        self._next = now + self._interval if self._interval else None
        try:
            pages = await _tools(client)
        except (ProtocolError, TransportError, StepUpNeededError) as error:
            self._learned(self._catalog.miss(error))
            raise
        self._good_for(pages.ttl)
        self.has_listed = True
        self._learned(await self._catalog.take(pages, client, self._take_over))
        await self._discover_skills(client)
        self._learned(self._catalog.take_resources(is_there=await self._has_resources(client)))

    async def _discover_skills(self, client: Client) -> None:
        """Which skills there are, and no word of one. A list that does not come leaves those that are known."""
        pages = Pages("skills")
        try:
            if serves_skills(client.agreement):
                async with asyncio.timeout(RESOURCES_PATIENCE):
                    pages = await client.collect("skills")
        except (ProtocolError, TransportError, StepUpNeededError, TimeoutError) as error:
            self._log.note(logging.DEBUG, f"its skills cannot be listed: {error}")
            return
        self._good_for(pages.ttl)
        self._learned(self._catalog.take_skills(pages))

    def _good_for(self, ttl: float | None) -> None:
        """The server says how long a list is good; it is never read more often than our own bound."""
        if ttl:
            due = self._time() + max(ttl, DISCOVERY_PAUSE)
            self._next = due if self._next is None else min(due, self._next)

    async def _has_resources(self, client: Client) -> bool:
        """Whether there is a resource or a template: many servers declare that they could have some."""
        if not offers(client.agreement, "resources"):
            return False
        try:
            async with asyncio.timeout(RESOURCES_PATIENCE):
                return bool(await list_resources(client) or await list_templates(client))
        except (ProtocolError, TransportError, StepUpNeededError, TimeoutError) as error:
            # It may have some, and nobody can say: a model that looks learns why.
            self._log.note(logging.DEBUG, f"its resources cannot be listed: {error}")
            return True

    async def _inject(self, client: Client) -> None:
        self._resources_are_stale = False
        before = self._injection.uris
        await self._injection.refresh(client)
        if self._subscription is not None:
            if self._injection.uris != before:
                self._subscription.change()
        elif offers(client.agreement, "resources", "subscribe"):
            for uri in self._injection.uris:
                if uri not in self._subscribed:
                    self._subscribed.add(uri)
                    await self._subscribe(client, uri)

    async def _subscribe(self, client: Client, uri: str) -> None:
        try:
            await client.subscribe(uri)
        except (RpcError, StepUpNeededError) as error:
            self._log.note(logging.DEBUG, f"will not tell of changes to {uri}: {error}")


async def _tools(client: Client) -> Pages:
    if not offers(client.agreement, "tools"):
        return Pages("tools")
    try:
        return await client.collect("tools")
    except RpcError as error:
        if error.code != METHOD_NOT_FOUND:
            raise
        return Pages("tools")


def _is_refused(error: TransportError) -> bool:
    """Whether the server wants nothing to do with us before a person has acted."""
    return isinstance(error, HttpStatusError) and error.status in (401, 403)


def _ended() -> LinkLostError:
    return LinkLostError("The connection ended before the lists were read.", maybe_sent=False)


def _fail(waiters: list[asyncio.Future[None]], error: OpenClawError) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_exception(error)
