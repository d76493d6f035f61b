"""One connection of a server, from open to close: connect, keep up to date (listing.py), notice the end.

Owns what happens while a server is up: probes of a quiet connection, what the server says unasked, stopping when idle. One task runs it and
closes what it opened. What follows the end is decided by lifecycle.py and carried out by server.py, which is told what happens.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext

import msgspec
from msgspec import Raw

from openclaw.config.servers import ServerSpec
from openclaw.errors import (
    AddressError,
    AuthError,
    ConfigError,
    HttpStatusError,
    LinkLostError,
    OpenClawError,
    ProcessError,
    ProtocolError,
    SecretError,
    SignInNeededError,
    StepUpNeededError,
    TransportError,
    UsageError,
)
from openclaw.mcp.client import Client
from openclaw.mcp.connect import Dependencies, Listener, connect
from openclaw.mcp.events import PromptsChanged, ResourceChanged, ServerEvent
from openclaw.mcp.fetching import may_fetch
from openclaw.mcp.limiter import Limiter
from openclaw.mcp.placing import Placed
from openclaw.mcp.server.listing import Listing
from openclaw.mcp.server.parts import ServerParts
from openclaw.mcp.status import auth_of
from openclaw.mcp.tools.catalog import Learned
from openclaw.protocol.jsonrpc import parse
from openclaw.protocol.lifecycle import LifecycleEvent
from openclaw.redact import redact
from openclaw.security.external import clean_label

_log = logging.getLogger(__name__)

MAX_REASON = 500
# A starter that says nothing for this long lets the next one begin: it may be downloading itself.
STARTER_YIELDS = 1.0
# One that fetches its program lets the next one fetch after this long: by then it hangs, or its line is slow.
FETCHER_YIELDS = 30.0
# A server that is up answers a ping at once, even a loaded one.
PROBE_TIMEOUT = 10.0
# After a failed connection or probe while calls still run.
SUSPICION_PAUSE = 1.0
# A server that refuses our credentials for a moment (a restart of its own, a gateway before it) is asked again: so often, after so long.
REFUSALS = 3
REFUSAL_PAUSE = 1.0
_NEVER = float("inf")
# Timers may go off a little early.
_TICK = 0.01

# What a program writes to standard output that is no message: so many lines of a connection are worth keeping.
MOST_STRAY_LINES = 20

OnStderr = Callable[[str], None]


class Starting(msgspec.Struct, frozen=True):
    """It is being started now. It may have to fetch its program first: then the attempt outlasts the connect timeout."""

    fetches: bool = False


class Late(msgspec.Struct, frozen=True):
    """It has not listed its tools within the connect timeout, and the attempt goes on: it may still come."""


class Connected(msgspec.Struct, frozen=True):
    """Connected, and a revision agreed: calls may go."""

    client: Client


class Listed(msgspec.Struct, frozen=True):
    """The tools were listed, or cannot be: the server is as ready as it gets."""


class Queued(msgspec.Struct, frozen=True):
    """Starting waits, or no longer waits, because as many servers run as may."""

    waits: bool


class Ended(msgspec.Struct, frozen=True):
    """The connection has ended, and is being closed.

    `used_up`: it ended before its tools were listed, and after its whole connect timeout. Of two servers with 30 s for that, it is so for
    one that was given up after 30 s of silence, and not for one that exited after 2 s.
    """

    event: LifecycleEvent
    used_up: bool = False


ConnectionEvent = Starting | Late | Connected | Listed | Queued | Ended | Learned | ServerEvent
Tell = Callable[[ConnectionEvent], None]


class Limiters(msgspec.Struct, frozen=True):
    """Bounds shared by all servers: how many run, how many start at a time, and how many of those fetch their program first."""

    servers: Limiter
    starters: Limiter
    fetchers: Limiter


class PlacingError(TransportError):
    """Where the server runs could not be found out, or that gateway not be reached."""


def event_of(error: OpenClawError, spec: ServerSpec) -> LifecycleEvent:
    """What a failure means for the lifecycle of a server: a person has to act, it cannot work as configured, or it may pass."""
    # The reason may repeat words of the server, and they a secret it was given: masked before it is cut, so that no half of one stays.
    # What a lost link hints at is one request, which is not what this is about.
    told = error.message if isinstance(error, LinkLostError) else str(error)
    if isinstance(error, HttpStatusError) and error.status == 403 and error.said:
        told = f"{told} It said: {error.said}"
    reason = clean_label(redact(told), MAX_REASON)
    match error:
        case SignInNeededError():
            return LifecycleEvent("sign-in", clean_label(redact(error.message), MAX_REASON), "auth")
        case HttpStatusError(status=401) if auth_of(spec) == "headers":
            return LifecycleEvent("broken", "The server refused the configured Authorization header.")
        case HttpStatusError(status=401):
            return LifecycleEvent("sign-in", "The server wants a sign-in.", "auth")
        case HttpStatusError(status=403):
            return LifecycleEvent("broken", reason)
        case SecretError(passing=True):
            return LifecycleEvent("away", reason)
        case AuthError() | SecretError() | ProcessError() | AddressError() | ConfigError() | UsageError():
            return LifecycleEvent("broken", reason)
        case LinkLostError() | OpenClawError(hint=""):
            # A program of ours mostly said why; the words of a remote server do not reach us.
            return LifecycleEvent("lost", reason, "logs" if spec.facts.is_process else "")
        case _:
            return LifecycleEvent("lost", reason)


class _Updated(msgspec.Struct):
    uri: str = ""


class ServerConnection:
    """`tell` hears what becomes of the connection, `take_over` that very many tools were listed. `on_stray` is given what a program wrote
    to standard output that is no message: the first lines of it."""

    def __init__(
        self,
        parts: ServerParts,
        *,
        dependencies: Dependencies,
        limiters: Limiters,
        on_stderr: OnStderr,
        on_stray: OnStderr,
        tell: Tell,
        take_over: Callable[[], Awaitable[None]],
    ) -> None:
        self._spec = parts.spec
        self._state = parts.state
        self._catalog = parts.catalog
        self._log = parts.log
        self._dependencies = dependencies
        self._limiters = limiters
        self._on_stderr = on_stderr
        self._on_stray = on_stray
        self._stray_lines = 0
        self._tell = tell
        self._time = asyncio.get_running_loop().time
        self._wake = asyncio.Event()
        self._listing = Listing(parts, wake=self._wake.set, learned=tell, take_over=take_over)
        self._is_over = False
        self._is_suspect = False
        # Questions in a row that were refused for lack of rights.
        self._refusals = 0
        # When the first question was asked since which nothing was heard.
        self._silent_since = 0.0
        # When the connect timeout is used up: known once it was started, until its tools were listed. And what tells so.
        self._due = _NEVER
        self._alarm: asyncio.TimerHandle | None = None
        # Where the server runs: here, unless somebody says otherwise.
        self._placed = Placed()

    async def run(self) -> None:
        """The whole of it. Never raises but CancelledError; tells how it ended, before it closes what was opened."""
        try:
            async with self._slot(), AsyncExitStack() as stack:
                await self._until_over(stack)
        except Exception:
            _log.exception("MCP server '%s' could not be closed properly.", self._spec.name)
        finally:
            self._disarm()
            self._listing.end()
            self._log.flush()

    async def _until_over(self, stack: AsyncExitStack) -> None:
        try:
            await self._live(await self._connect(stack))
        except OpenClawError as error:
            self._failed(error)
        except Exception as error:
            _log.exception("An internal error with MCP server '%s'.", self._spec.name)
            self._end(LifecycleEvent("lost", f"An internal error: {type(error).__name__}."))

    def _failed(self, error: OpenClawError) -> None:
        self._end(self._event_of(error), used_up=self._time() >= self._due - _TICK)

    def _event_of(self, error: OpenClawError) -> LifecycleEvent:
        """What a failure means: of a server that runs elsewhere, that it is away, and no crash of a process of ours."""
        event = event_of(error, self._spec)
        if event.name in ("lost", "sign-in") and (
            self._placed.elsewhere is not None or isinstance(error, PlacingError)
        ):
            return LifecycleEvent("away", event.reason)
        return event

    def _end(self, event: LifecycleEvent, *, used_up: bool = False) -> None:
        if not self._is_over:
            self._is_over = True
            self._tell(Ended(event, used_up))

    def list_again(self) -> Awaitable[None]:
        """List everything again; done when that has happened."""
        return self._listing.refresh()

    def tools_changed(self) -> None:
        """The list of tools is out of date."""
        self._listing.tools_changed()

    def suspect(self) -> None:
        """A call could not reach the server: look whether it is still there."""
        self._is_suspect = True
        self._wake.set()

    # Coming up

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        slots = self._limiters.servers
        if not slots.try_acquire():
            self._tell(Queued(True))
            await slots.acquire()
            self._tell(Queued(False))
        try:
            yield
        finally:
            slots.release()

    async def _connect(self, stack: AsyncExitStack) -> Client:
        spec = self._spec
        if (place := self._dependencies.place) is not None and spec.placement == "one":
            try:
                self._placed = await stack.enter_async_context(place(spec))
            except OpenClawError as error:
                # Nothing is wrong with the server, and another gateway may well be asked the next time.
                raise PlacingError(error.message, hint=error.hint) from error
        is_new = not self._catalog.is_known and self._placed.elsewhere is None
        fetches = is_new and spec.facts.is_process and may_fetch(spec.command, spec.args)
        async with self._start_slot(fetches=fetches), self._while_placed():
            return await self._attempt(stack, fetches=fetches)

    @asynccontextmanager
    async def _while_placed(self) -> AsyncIterator[None]:
        """The start of a server that is placed here may take longer than we may run it. Raises PlacingError when it does."""
        if self._spec.placement != "one" or self._placed.elsewhere is not None:
            yield
            return
        limit = asyncio.timeout(None)
        try:
            async with limit:
                over = asyncio.create_task(_end_when(self._placed.over, limit))
                try:
                    yield
                finally:
                    over.cancel()
        except TimeoutError:
            if not limit.expired():
                raise
            raise PlacingError("It is handed over to another gateway.") from None

    def _start_slot(self, *, fetches: bool) -> AbstractAsyncContextManager[None]:
        """The slot that a program holds while it starts; a remote server needs none. The connect timeout begins once it has the slot.

        Most programs hold one of the `starters`, for a second at most. One that is fetched first holds one of the few `fetchers`, for up to
        half a minute: twelve downloads at once would slow each other down until no program is up in its time. Example: of twelve `npx`
        servers that were never run, a few are fetched at a time. Only the first fetch of a server is treated so. When it took too long,
        there are more slots for the others, and its own next attempt is among the starters: without a network, twelve servers must not
        wait for each other one by one.
        """
        if not self._spec.facts.is_process or self._placed.elsewhere is not None:
            return nullcontext()
        if fetches and not self._catalog.was_left_fetching and not self._catalog.is_overdue:
            return self._limiters.fetchers.hold(at_most=min(self._spec.connect_timeout, FETCHER_YIELDS), widens=True)
        return self._limiters.starters.hold(at_most=STARTER_YIELDS)

    async def _attempt(self, stack: AsyncExitStack, *, fetches: bool) -> Client:
        dependencies = self._dependencies
        self._due = self._time() + self._spec.connect_timeout
        self._tell(Starting(fetches))
        if fetches:
            self._arm()
        listener = Listener(self._heard, self._dropped, self._on_stderr, self._listing.renewed)
        known: dict[str, str] = {"revision": self._catalog.revision, "transport": self._catalog.transport}
        leaves = fetches and dependencies.lets_fetch and not self._catalog.was_left_fetching
        try:
            through = self._placed.elsewhere
            return await connect(
                stack, self._spec, dependencies, listener, fetches=fetches, leaves=leaves, through=through, **known
            )
        except asyncio.CancelledError:
            if leaves:
                self._catalog.mark_left_fetching()
            raise

    def _arm(self) -> None:
        if self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_at(self._due, self._tell, Late())

    def _disarm(self) -> None:
        self._due = _NEVER
        if self._alarm is not None:
            self._alarm.cancel()

    async def _live(self, client: Client) -> None:
        """Until the link breaks or the server is found to be gone, or idle."""
        self._tell(Connected(client))
        self._arm()
        lost = asyncio.create_task(client.connection.wait_lost())
        kept = asyncio.create_task(self._keep(client))
        moved = asyncio.create_task(self._placed.over.wait())
        others: list[asyncio.Task[None]] = []
        if client.agreement.modern:
            others.append(asyncio.create_task(self._listing.listener(client).run()))
        try:
            await asyncio.wait((lost, kept, moved), return_when=asyncio.FIRST_COMPLETED)
            if kept.done():
                kept.result()
            if moved.done():
                self._end(LifecycleEvent("away", "It is handed over to another gateway."))
            if not self._is_over:
                error = await lost
                self._end(
                    self._event_of(error) if error else LifecycleEvent("lost", "The server ended the connection.")
                )
        finally:
            tasks = [lost, kept, moved, *others]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # Staying up

    async def _keep(self, client: Client) -> None:
        """Until the server is found to be gone, or idle. Tells so at once: no call may begin on a connection that is being given up."""
        try:
            while (event := await self._look_after(client)) is None:
                pass
        except OpenClawError as error:
            # Why a link broke is known to who waits for that.
            if not client.connection.is_lost:
                self._failed(error)
            return
        self._end(event)

    async def _look_after(self, client: Client) -> LifecycleEvent | None:
        """List what is due, and wait until something else is. An event ends the connection."""
        try:
            await self._listing.freshen(client)
        except OpenClawError as error:
            if not self._may_pass(error):
                raise
            await asyncio.sleep(REFUSAL_PAUSE)
            self._listing.tools_changed()
            return None
        self._refusals = 0
        self._disarm()
        self._tell(Listed())
        return await self._rest(client)

    async def _rest(self, client: Client) -> LifecycleEvent | None:
        """Wait until something is due, and do what is not listing. An event ends the connection."""
        await self._wait(client)
        now = self._time()
        if self._idle_at() <= now:
            return LifecycleEvent("stop", "idle")
        if self._is_suspect or self._probe_at(client) <= now:
            return await self._probe(client)
        return None

    async def _wait(self, client: Client) -> None:
        dues = [self._probe_at(client), self._idle_at(), self._listing.due()]
        due = min((moment for moment in dues if moment is not None and moment != _NEVER), default=None)
        try:
            async with asyncio.timeout_at(due):
                await self._wake.wait()
        except TimeoutError:
            return
        self._wake.clear()
        if not self._is_suspect:
            await self._listing.pace()

    def _probe_at(self, client: Client) -> float:
        interval = self._spec.health_interval
        return client.connection.last_heard + interval if interval else _NEVER

    def _idle_at(self) -> float:
        timeout = self._spec.idle_timeout if self._spec.facts.is_process else None
        if not timeout or self._state.is_busy:
            return _NEVER
        return self._state.last_call + timeout

    async def _probe(self, client: Client) -> LifecycleEvent | None:
        """Whether a quiet or suspect server still answers. While calls run, silence is no verdict: it may be busy with them.

        But not for longer than a call may take: then a link is dead that nobody closed, and calls would keep it so for ever.
        """
        asked = self._time()
        try:
            await client.probe(min(PROBE_TIMEOUT, self._spec.connect_timeout))
        except (ProtocolError, StepUpNeededError):
            # It answers, if only to say no.
            pass
        except TransportError as error:
            event = self._event_of(error)
            if client.connection.last_heard > self._silent_since:
                self._silent_since = asked
            is_dead = self._time() - self._silent_since > self._state.longest_call
            if self._may_pass(error):
                self._is_suspect = True
                await asyncio.sleep(REFUSAL_PAUSE)
                return None
            if event.name not in ("lost", "away") or is_dead or not self._state.is_busy:
                return event
            await asyncio.sleep(SUSPICION_PAUSE)
            return None
        except AuthError as error:
            if not self._may_pass(error):
                raise
            self._is_suspect = True
            await asyncio.sleep(REFUSAL_PAUSE)
            return None
        self._is_suspect = False
        self._refusals = 0
        return None

    def _may_pass(self, error: OpenClawError) -> bool:
        """Whether a refusal of our credentials (401, 403) is one of the first in a row: a person is called for the last of them only.

        One who has no credentials at all, or never got anything with them, has to act in any case.
        """
        status = isinstance(error, HttpStatusError) and error.status in (401, 403)
        is_new = isinstance(error, SignInNeededError) and not self._listing.has_listed
        if is_new or not (status or isinstance(error, AuthError)):
            return False
        self._refusals += 1
        return self._refusals < REFUSALS

    # What the server says unasked

    def _heard(self, method: str, params: Raw) -> None:
        name = self._spec.name
        match method:
            case "notifications/tools/list_changed":
                self._listing.tools_changed()
            case "notifications/resources/list_changed":
                self._resources_changed(ResourceChanged(name))
            case "notifications/resources/updated":
                try:
                    self._resources_changed(ResourceChanged(name, parse(params, _Updated).uri))
                except ProtocolError as error:
                    self._dropped(f"a notice that cannot be read: {error}")
            case "notifications/subscriptions/acknowledged":
                self._listing.subscribed()
            case "notifications/prompts/list_changed":
                self._tell(PromptsChanged(name))
            case "notifications/message":
                self._log.log_message(params)
            case _:
                self._log.note(logging.DEBUG, f"a notice nobody here waits for: {method}")

    def _resources_changed(self, event: ResourceChanged) -> None:
        self._tell(event)
        self._listing.resources_changed(is_list=not event.uri)

    def _dropped(self, reason: str) -> None:
        self._log.note(logging.DEBUG, f"dropped {reason}")
        if self._spec.facts.is_process and self._stray_lines < MOST_STRAY_LINES:
            self._stray_lines += 1
            self._on_stray(clean_label(redact(reason), MAX_REASON))


async def _end_when(over: asyncio.Event, limit: asyncio.Timeout) -> None:
    await over.wait()
    limit.reschedule(asyncio.get_running_loop().time())
