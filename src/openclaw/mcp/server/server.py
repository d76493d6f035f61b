"""What keeps one server alive, and the way to call it.

One task (`run`) decides, by lifecycle.py, when to connect, wait and give up; a child task of it (life.py) owns each connection from open to
close. Calls come from any task. `call_tool` never raises: it returns a result or an error result; a call while the server is down
connects at once (access.py); a call that may have reached the server is never sent again.
"""

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import Any, TypeVar

import msgspec

from openclaw.config.servers import ServerSpec
from openclaw.errors import LinkLostError, OpenClawError
from openclaw.mcp.cache import Cache
from openclaw.mcp.client import Client
from openclaw.mcp.connect import Services
from openclaw.mcp.resources import Injection
from openclaw.mcp.server.access import Access, UnavailableError
from openclaw.mcp.server.calls import Call, notice_loss
from openclaw.mcp.server.connection import Began, CameUp, Late, Life, News, Over, Places, Queued, Settled
from openclaw.mcp.server.instructions import Instructions
from openclaw.mcp.server.log import Progress, ServerLog, StderrLog
from openclaw.mcp.server.record import Record
from openclaw.mcp.server.state import Standing
from openclaw.mcp.server.workload import Workload
from openclaw.mcp.status import DefinitionsChanged, EngineEvent, ServerStatus, StateChanged
from openclaw.mcp.tools.catalog import Catalog, Learned
from openclaw.mcp.tools.pins import Change
from openclaw.mcp.tools.results import CallResult
from openclaw.mcp.wording import changed_tools, limit, report, trust_command
from openclaw.protocol.lifecycle import Action, Event, RestartPolicy, step
from openclaw.tool import OwnWords

_log = logging.getLogger(__name__)

# Events of a server's life that tell of something wrong.
_FAILURES = frozenset({"lost", "away", "broken", "sign-in"})

T = TypeVar("T")


class Workshop(msgspec.Struct, frozen=True):
    """What all supervisors share."""

    services: Services
    cache: Cache
    places: Places
    stderr_log: StderrLog
    # Called in the event loop, and must not raise: something happened; a server's tools are others now.
    emit: Callable[[EngineEvent], None]
    tools_changed: Callable[["Supervisor"], None]
    # The same, in steps, when they are very many.
    take_over: Callable[["Supervisor"], Awaitable[None]]
    # Asks for the places of servers that run to be given to those that need one.
    take_turns: Callable[[], None] = lambda: None
    jitter: Callable[[], float] = lambda: random.uniform(-1, 1)


class Supervisor:
    """Make it, then run `run` in a task of its own. `spec` is the link half of a spec (reconcile.py).

    `after` are the tasks of those whose place it takes: it does not connect before they have ended.
    """

    def __init__(
        self,
        spec: ServerSpec,
        workshop: Workshop,
        *,
        catalog: Catalog | None = None,
        after: Collection[asyncio.Task[None]] = (),
    ) -> None:
        self.spec = spec
        self.catalog = catalog or Catalog(spec, workshop.cache)
        self.injection = Injection(spec.name, spec.inject_resources, spec.resources_max_bytes)
        self.log = ServerLog(spec.name)
        self.instructions = Instructions(spec.name)
        self.workload = Workload(spec)
        self.standing = Standing(spec, lambda: limit(workshop.places.servers.places))
        self.access = Access(
            spec,
            self.catalog,
            self.log,
            self.standing,
            post=self.post,
            tools_changed=lambda: workshop.tools_changed(self),
        )
        self._workshop = workshop
        self._after = after
        self._policy = RestartPolicy(bool(spec.command), spec.restart_on_crash, spec.max_restarts)
        self._loop = asyncio.get_running_loop()
        # What runs on our behalf: a life, or the wait for a sign-in.
        self._child: asyncio.Task[None] | None = None
        self._life_is_over = False
        # When the last attempt to connect began, by the clock on the wall.
        self._tried_at = 0.0
        self._inbox: deque[Event] = deque()
        self._wake = asyncio.Event()
        # The end of an attempt that brought no connection, until it is acted on.
        self._fruitless: Event | None = None
        self._record = Record()
        # From when it was asked to make room until it has.
        self.is_giving_way = False

    # For callers

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        timeout: float,
        max_total: float,
        show_progress: Callable[[str], None] | None = None,
    ) -> CallResult:
        """Call a tool by its own name. Never raises but CancelledError."""
        workload = self.workload
        if not workload.try_enter(timeout) and (fault := await workload.enter(timeout, "Tool call")):
            return CallResult.failed(OwnWords(fault))
        began = self._loop.time()
        try:
            progress = Progress(self.log, name, show_progress)
            result = await Call(self.access, name, arguments, timeout, max_total, progress).make()
        except OpenClawError as error:
            waits = self.standing.status.state == "needs-auth"
            result = CallResult(is_error=True, fault=str(error), needs_sign_in=waits)
        except Exception as error:
            _log.exception("The engine's own fault in a call to MCP server '%s'.", self.spec.name)
            result = CallResult.failed(OwnWords(f"An internal error: {type(error).__name__}."))
        finally:
            ended = workload.leave()
        if result.fault:
            self._record.failed(result.fault, ended)
        else:
            self._record.answered(ended - began)
        return result

    async def use(self, act: Callable[[Client], Awaitable[T]], *, timeout: float | None = None) -> T:
        """Do something with a live client, in turn with the calls, connecting first if need be. Raises OpenClawError.

        `timeout` is how long it may wait for its turn, in seconds. `act` must not wait for another call of this server: it holds a place.
        """
        patience = self.spec.call_timeout if timeout is None else timeout
        if not self.workload.try_enter(patience) and (fault := await self.workload.enter(patience, "The request")):
            raise UnavailableError(fault)
        try:
            client = await self.access.client()
            try:
                return await act(client)
            except LinkLostError as error:
                if error.maybe_sent:
                    raise
                await notice_loss(client)
                return await act(await self.access.client())
            except OpenClawError as error:
                self.access.troubled(error)
                raise
        finally:
            self.workload.leave()

    async def client(self) -> Client:
        """The live client. Waits for one attempt to connect if there is none; raises UnavailableError when that fails."""
        return await self.access.client()

    # For whoever manages servers

    async def run(self) -> None:
        """Keep the server as it should be until `close`. Only one task may run it."""
        try:
            while not self.standing.is_closing:
                await self._sleep()
                while self._inbox and not self.standing.is_closing:
                    await self._advance(self._inbox.popleft())
        finally:
            self.standing.is_closing = True
            self.standing.client = None
            self.standing.announce()
            await self._end_child()

    def post(self, event: Event) -> None:
        self._inbox.append(event)
        self._wake.set()

    def close(self) -> None:
        """End `run`, and the server with it."""
        self.standing.is_closing = True
        self._wake.set()

    async def refresh(self) -> None:
        """List again what the server offers, starting it if it is down. Raises OpenClawError when that fails."""
        self.standing.is_parked = False
        failures = self.access.failures
        with self.access.wanted():
            if self.standing.status.state in ("failed", "needs-auth", "stopped"):
                self.post(Event("restart"))
                standing = self.standing
                while standing.client is None and self.access.failures == failures and not standing.is_out_of_reach:
                    await standing.change()
            await self.access.refresh(failures=failures)

    async def restart(self) -> None:
        """End the server and start it again. Raises OpenClawError when it does not come back."""
        before, self.standing.is_parked = self.standing.client, False
        self.post(Event("restart"))
        while before is not None and self.standing.client is before and not self.standing.is_closing:
            await self.standing.change()
        await self.access.client()

    def stop(self, reason: str) -> None:
        """Stop the server until somebody starts it again."""
        self.standing.is_parked = True
        self.post(Event("stop", reason))

    def trust(self, shown: str) -> tuple[Change, ...]:
        """Accept the changes of its tools that were shown, named by their digest. Raises UsageError when they are others by now."""
        accepted = self.catalog.trust(shown)
        self._workshop.tools_changed(self)
        return accepted

    @property
    def is_listing_late(self) -> bool:
        """Whether it is up and has used up its time, and its first list may still come, or fail at last."""
        return self.standing.is_late and self.access.live is not None and not self.catalog.was_listed

    @property
    def is_starting(self) -> bool:
        """Whether it is being started, or is about to be. One that is late may come, but nobody should count on it."""
        standing = self.standing
        if standing.is_out_of_reach or standing.is_late:
            return False
        is_asked_for = any(event.name in ("start", "restart", "call") for event in self._inbox)
        return standing.status.state == "starting" or (
            is_asked_for and standing.status.state != "ready" and not standing.is_parked
        )

    @property
    def lacks_list(self) -> bool:
        """Whether nothing is known yet of its tools, or of what it puts into the context."""
        return not self.catalog.is_known or (self.injection.is_wanted and not self.injection.was_read)

    # When there is not a place for every server

    @property
    def needs_place(self) -> bool:
        """Whether it waits for a place that somebody needs it to have: to be listed for once, or to be called."""
        return self.standing.is_queued and (self.lacks_list or self.access.is_wanted)

    @property
    def may_give_way(self) -> bool:
        """Whether its place can be given to another: nobody uses it, and what it offers is known, or does not come."""
        if self.workload.is_busy or self.access.is_wanted or self.is_giving_way:
            return False
        return self.standing.is_late or (self.standing.status.state == "ready" and not self.lacks_list)

    def give_way(self) -> None:
        """Stop, so that another has the place; the next call starts it again."""
        self.is_giving_way = True
        self.post(Event("stop", self.standing.limit))

    def describe(self) -> ServerStatus:
        """How the server is doing. Whoever knows the agent fills in its tools, owner and place."""
        return self.standing.describe(self.catalog, self.workload, self._record)

    # What a connection tells

    def _told(self, news: News) -> None:
        match news:
            case Began(fetches):
                self.standing.is_late, self.standing.is_fetching = False, fetches
            case Late():
                # A launcher's first fetch says nothing about the server: the next command waits for it as for a new one.
                is_first_fetch = self.standing.is_fetching and not self.catalog.was_left_fetching
                if not self.catalog.is_known and not is_first_fetch:
                    self.catalog.mark_overdue()
                self.standing.is_late = True
                self.access.failures += 1
                self.standing.announce()
                self._workshop.take_turns()
                self._tell_state(tell=False)
            case CameUp(client):
                self.standing.client = client
                self.workload.last_call = self._loop.time()
                self.instructions.take(client.agreement.instructions)
                self.standing.announce()
            case Settled():
                self.standing.is_late = False
                if self.standing.status.state == "starting":
                    self._step(Event("ready"))
                    # The decider sleeps until some other time than the one that counts now.
                    self._wake.set()
                self._workshop.take_turns()
            case Queued(waits):
                self.standing.is_queued, self.standing.is_promised_place = waits, False
                self._workshop.take_turns()
                if waits and not self.needs_place:
                    # What it offers is known: it comes up when it is called.
                    self.post(Event("stop", self.standing.limit))
                self.standing.announce()
                self._tell_state(tell=False)
            case Learned():
                self._learned(news)
            case Over(event, used_up):
                self._over(event, used_up=used_up)
            case _:
                self._workshop.emit(news)

    def _learned(self, learned: Learned) -> None:
        if learned.trouble:
            self._record.failed(learned.trouble, self._loop.time())
        if learned.is_new:
            self._workshop.tools_changed(self)
        if learned.announce:
            name, upgrade = self.spec.name, self.catalog.toolset.upgrade
            said = changed_tools(learned.announce, upgrade)
            sentence = f"MCP server '{name}': {said}; see and accept it: {trust_command(name, self.spec.owner)}"
            _log.warning("%s", sentence)
            self._workshop.emit(DefinitionsChanged(name, learned.announce, sentence))

    def _over(self, event: Event, *, used_up: bool) -> None:
        was_up, self.standing.client = self.standing.client is not None, None
        self._life_is_over = True
        self.post(event)
        if not was_up:
            self._fruitless = event
            # Who came in the middle of an attempt that took all its time waits for no second one.
            self.access.failures += used_up
        elif self.access.is_wanted:
            # Somebody asked after the link broke and before we knew.
            self.post(Event("call"))

    # Deciding

    async def _sleep(self) -> None:
        if not self._inbox and not self.standing.is_closing:
            try:
                async with asyncio.timeout_at(self.standing.due):
                    await self._wake.wait()
            except TimeoutError:
                self.standing.due = None
                self._inbox.append(Event("healthy" if self.standing.status.state == "ready" else "due"))
        self._wake.clear()

    async def _advance(self, event: Event) -> None:
        """One step of the server's life, and what it asks for."""
        if event.name in ("call", "start") and self.standing.is_parked:
            # Who stopped it by hand starts it by hand.
            return
        actions = self._step(event)
        if "disconnect" in actions or "connect" in actions:
            await self._end_child()
        if "connect" in actions:
            self._begin_life()
        elif actions and self.standing.status.state == "needs-auth":
            self._child = self._loop.create_task(self._wait_for_sign_in(), name=f"mcp-sign-in-{self.spec.name}")

    def _step(self, event: Event) -> tuple[Action, ...]:
        """Take the next state, and tell everybody. What is left to do."""
        before = self.standing.status
        after = step(self._policy, before, event, jitter=self._workshop.jitter())
        if event is self._fruitless:
            self.access.failures += 1
        if event.name in _FAILURES and event.reason:
            self._record.failed(event.reason, self._loop.time())
        if not after.actions and after.state == before.state:
            self.standing.status = after
            return ()
        self.standing.enter(after, event)
        report(self.spec.name, before, after, event)
        self._tell_state(tell="tell" in after.actions)
        return after.actions

    def _begin_life(self) -> None:
        discovered = partial(self._workshop.take_over, self)
        life = Life(self.spec, self._told, discovered, self.workload, self.catalog, self.injection, self.log)
        self.access.life = life
        self._life_is_over = False
        self._workshop.stderr_log.begin(self.spec)
        self._tried_at = time.time()
        self._child = self._loop.create_task(self._live(life), name=f"mcp-{self.spec.name}")

    async def _live(self, life: Life) -> None:
        if self._after:
            await asyncio.wait(self._after)
            self._after = ()
        await life.run(self._workshop.services, self._workshop.places, self._stderr)

    async def _wait_for_sign_in(self) -> None:
        """Until somebody signs in, here or in another process. A sign-in while we still tried counts: it may have come too late for us."""
        signed_in = self._workshop.services.signed_in
        if signed_in is not None:
            try:
                await signed_in(self.spec, self._tried_at)
            except OpenClawError as error:
                _log.warning("MCP server '%s': a sign-in will not be noticed: %s", self.spec.name, error)
            else:
                self.post(Event("signed-in"))

    async def _end_child(self) -> None:
        task, self._child, self.access.life = self._child, None, None
        self.standing.is_queued = self.standing.is_promised_place = self.standing.is_late = False
        if task is not None:
            if not self._life_is_over:
                task.cancel()
            # A life that is over is closing what it opened, which takes as long as it takes.
            await asyncio.gather(task, return_exceptions=True)
        self._life_is_over = self.is_giving_way = False

    def _stderr(self, line: str) -> None:
        _log.warning("MCP server '%s' stderr: %s", self.spec.name, line)
        self._workshop.stderr_log.add(self.spec, line)

    def _tell_state(self, *, tell: bool) -> None:
        shown = self.describe()
        self._workshop.emit(StateChanged(shown.name, shown.state, shown.reason, shown.next_attempt, tell))
        self._workshop.tools_changed(self)
