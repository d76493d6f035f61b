"""What keeps one server alive, and the one object through which others use it.

One task (`run`) decides, by protocol/lifecycle.py, when to connect, wait and give up; a child task of it (connection.py) owns each
connection from open to close, and makes the server ready itself when its lists are read: nobody has to wake up for that. What is known of
the server is in state.py. Calls come from any task (calls.py): `call_tool` never raises, it returns a result or an error result; a call
while the server is down connects at once; a call that may have reached the server is never sent again.
"""

import asyncio
import logging
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Self, TypeVar

import msgspec

from openclaw.config.servers import ServerSpec
from openclaw.errors import (
    ConnectError,
    HttpStatusError,
    LinkLostError,
    OpenClawError,
    ProtocolError,
    RpcError,
    SignInNeededError,
    StepUpNeededError,
    UsageError,
)
from openclaw.mcp import prompts, resources, skills
from openclaw.mcp.cache import ToolCache
from openclaw.mcp.client import Client
from openclaw.mcp.connect import Dependencies
from openclaw.mcp.events import DefinitionsChanged, LeftOut, ServerEvent, StateChanged
from openclaw.mcp.instructions import Instructions, clean_instructions
from openclaw.mcp.pin_store import PinStore
from openclaw.mcp.remedies import with_remedy
from openclaw.mcp.resources import InjectedResources
from openclaw.mcp.server.calls import Calls
from openclaw.mcp.server.connection import (
    Connected,
    ConnectionEvent,
    Ended,
    Late,
    Limiters,
    Listed,
    Queued,
    ServerConnection,
    Starting,
    event_of,
)
from openclaw.mcp.server.log import ServerLog
from openclaw.mcp.server.parts import ServerParts
from openclaw.mcp.server.state import ServerState, UnavailableError
from openclaw.mcp.server.stderr_log import StderrLog
from openclaw.mcp.status import ServerStatus
from openclaw.mcp.tools.catalog import Catalog, Learned
from openclaw.mcp.tools.pins import Change, digest_of
from openclaw.mcp.tools.registry import Toolset
from openclaw.mcp.tools.results import Prompt, PromptEntry, ResourceContents, ResourceEntry, Result
from openclaw.mcp.wording import STILL_STARTING, changed_tools, late, limit, other_loop, report, trust_command
from openclaw.protocol.jsonrpc import METHOD_NOT_FOUND
from openclaw.protocol.lifecycle import Action, LifecycleEvent, RestartPolicy, step
from openclaw.tool import Invocation

_log = logging.getLogger(__name__)

# Lifecycle events that tell of something wrong.
_FAILURES = frozenset({"lost", "away", "broken", "sign-in"})
# A server that comes up and dies again at once is not tried for ever by one call.
MAX_TRIES = 3
_NO_TOOLS = Toolset()

T = TypeVar("T")


def _jitter() -> float:
    # Every step is given one, also the first of a command that makes one call: to load `random` for it takes a millisecond.
    return int.from_bytes(os.urandom(4), "big", signed=True) / 2**31


class ServerDependencies(msgspec.Struct, frozen=True):
    """What every server is given by whoever manages them all."""

    connect: Dependencies
    cache: ToolCache
    pins: PinStore
    limiters: Limiters
    stderr_log: StderrLog
    # Called in the event loop, and must not raise: something happened; a server's tools are others now.
    emit: Callable[[ServerEvent], None]
    tools_changed: Callable[["LiveServer"], None]
    # The same, in steps, when they are very many.
    tools_changed_in_steps: Callable[["LiveServer"], Awaitable[None]]
    # Asks for the slots of servers that run to be given to those that need one.
    share_slots: Callable[[], None] = lambda: None
    jitter: Callable[[], float] = _jitter


class LiveServer:
    """Make it, then run `run` in a task of its own. `spec` is the half of a spec that agents share (reconcile.py).

    `after` are the tasks of those it replaces: it does not connect before they have ended.

    On its way up it answers as follows. It is "new" while its tools, resources or texts for the context were never read:

    | it …                                                              | is_starting | is_coming | is_settling | is_listing_late |
    |-------------------------------------------------------------------|-------------|-----------|-------------|-----------------|
    | is asked for, connects or lists, and is new                       | yes         | yes       | yes         |                 |
    | is asked for, connects or lists, and is not new                   | yes         | yes       |             |                 |
    | waits for a slot that nobody is about to give up, and is new      |             | yes       | yes         |                 |
    | waits for such a slot, and is not new                             |             |           |             |                 |
    | connects, and the connect timeout is over                         |             |           |             |                 |
    | makes its first list of this run, and the connect timeout is over |             |           |             | yes             |
    | is ready or down, and nobody asked for it                         |             |           |             |                 |

    A turn waits while it `is_settling`, a command that starts servers while it `is_coming`, and who looks for a tool until it is neither
    `is_listing_late` nor `is_starting`. What happened before is in `is_known` (its tools were listed, by this run or an earlier one),
    `was_listed` (by this run) and `is_overdue` (in this run or an earlier one its connect timeout was over, and it made no list since).
    """

    def __init__(
        self,
        spec: ServerSpec,
        dependencies: ServerDependencies,
        *,
        catalog: Catalog | None = None,
        after: Collection[asyncio.Task[None]] = (),
    ) -> None:
        self.spec = spec
        self._dependencies = dependencies
        self._catalog = catalog or Catalog(spec, dependencies.cache, dependencies.pins)
        self._injection = InjectedResources(spec.name, spec.inject_resources, spec.resources_max_bytes)
        self._instructions = Instructions(spec.name, self._catalog.instructions)
        self._server_log = ServerLog(spec.name, hear=dependencies.connect.on_log)
        self._state = ServerState(spec, self._catalog, lambda: limit(dependencies.limiters.servers.slots))
        self._calls = Calls(self, self._state, self._catalog, self._server_log)
        # Call a tool by its own name (`Calls.call_tool`): the method itself, for to hand its arguments on would cost every call.
        self.call_tool = self._calls.call_tool
        self._after = after
        self._policy = RestartPolicy(spec.facts.is_process, spec.restart_on_crash, spec.max_restarts)
        self._loop = asyncio.get_running_loop()
        # The connection that is being opened, used or closed.
        self._connection: ServerConnection | None = None
        # What runs on our behalf: a connection, or the wait for a sign-in.
        self._child: asyncio.Task[None] | None = None
        self._connection_has_ended = False
        # When the last attempt to connect began, by the clock on the wall.
        self._tried_at = 0.0
        self._inbox: deque[LifecycleEvent] = deque()
        self._wake = asyncio.Event()
        # The end of an attempt that brought no connection, until it is acted on.
        self._failed_attempt: LifecycleEvent | None = None

    def for_one_session(self, dependencies: ServerDependencies) -> Self:
        """Another server of the same spec, for one conversation alone: what is known of the tools is shared."""
        return type(self)(self.spec, dependencies, catalog=self._catalog)

    # For callers

    def call_utility(
        self, name: str, arguments: Mapping[str, Any], *, timeout: float, invocation: Invocation | None = None
    ) -> Coroutine[Any, Any, Result]:
        """Serve one of the tools of ours that look at the server's resources. Never raises but CancelledError."""
        return self._calls.call_utility(name, arguments, timeout=timeout, invocation=invocation)

    async def use(self, act: Callable[[Client], Awaitable[T]], *, timeout: float | None = None) -> T:
        """Do something with a live client, in a slot like the calls, connecting first if need be. Raises OpenClawError.

        `timeout` is how long it may wait for its slot, in seconds. `act` must not wait for another call of this server: it holds a slot.
        """
        if self._loop is not asyncio.get_running_loop():
            raise other_loop()
        return await self._calls.use(act, timeout=self.spec.call_timeout if timeout is None else timeout)

    # What else a program asks for. All of these connect first if need be, and raise OpenClawError.

    async def ping(self) -> float:
        """Ask whether the server answers. The seconds that took."""
        began = self._loop.time()
        await self.use(lambda client: client.probe(self.spec.call_timeout))
        return self._loop.time() - began

    async def list_resources(self) -> list[ResourceEntry]:
        """All resources of the server; none when it has no such thing."""
        return await self.use(resources.list_resources)

    async def list_templates(self) -> list[ResourceEntry]:
        """All templates of resources (`uri_template`)."""
        return await self.use(resources.list_templates)

    async def read_resource(self, uri: str) -> list[ResourceContents]:
        """What a resource holds, in the server's own words."""
        with self._known("resources"):
            return await self.use(lambda client: resources.read_resource(client, uri))

    async def list_prompts(self) -> list[PromptEntry]:
        """All prompts of the server; none when it has no such thing."""
        return await self.use(prompts.list_prompts)

    async def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None) -> Prompt:
        """A prompt filled in, in the server's own words."""
        with self._known("prompts"):
            return await self.use(lambda client: client.get_prompt(name, arguments or {}))

    async def complete(
        self,
        argument: str,
        value: str,
        *,
        prompt: str = "",
        template: str = "",
        given: Mapping[str, str] | None = None,
    ) -> list[str]:
        """What an argument of a prompt, or of a template of resources, may become, given how it begins and what the others are. None where
        the server offers no completion."""
        if bool(prompt) == bool(template):
            raise UsageError(
                "A completion is of a prompt or of a template.", hint="Give one of them, by its name or uri."
            )
        of = {"type": "ref/prompt", "name": prompt} if prompt else {"type": "ref/resource", "uri": template}
        return await self.use(lambda client: prompts.complete(client, of, argument, value, given or {}))

    async def read_skill_file(self, file: skills.SkillFile, invocation: Invocation | None = None) -> ResourceContents:
        """A file of one of its skills, which is what the list says of it. Raises ProtocolError when it is anything else: the list is read
        again then."""
        try:
            return await self.use(lambda client: skills.read_file(client, file, invocation=invocation))
        except ProtocolError:
            if self._connection is not None:
                self._connection.tools_changed()
            raise

    async def roots_changed(self) -> None:
        """The folders it works in are others now: told if it is up. One that is not, or does not listen, asks when it connects again."""
        client = self._state.live
        if client is not None:
            try:
                await client.roots_changed()
            except (OpenClawError, TimeoutError) as error:
                self._server_log.note(logging.DEBUG, f"cannot be told of its new roots: {error}")

    @property
    def has_client(self) -> bool:
        """Whether there is a client that works as far as we know."""
        return self._state.live is not None

    async def client(self, *, since: int | None = None) -> Client:
        """The live client. Without one, waits for an attempt to connect; raises UnavailableError when that fails.

        An attempt that is under way already may fail for a reason that has passed by now: then another one is made, and its end counts.
        Example: two attempts have failed and the third is under way when a call comes. The third fails, a fourth is made for the call, and
        when that fails too the call is told why. A caller that asked for an attempt before gives as `since` how many had failed by
        then: the first one to fail after those counts.
        """
        state = self._state
        is_under_way = state.name == "starting"
        known = state.failed_attempts + is_under_way if since is None else since
        tries = 0
        with self._wanted():
            while (client := state.live) is None:
                if reason := state.refusal(tried=state.failed_attempts > known or tries > MAX_TRIES):
                    raise UnavailableError(reason)
                # What happens while it is starting is one try.
                tries += state.name != "starting"
                self.post(LifecycleEvent("call"))
                await state.change()
            return client

    @contextmanager
    def _known(self, what: str) -> Iterator[None]:
        """A server that has no such thing does not know the request; "Method not found" would say neither which nor what."""
        try:
            yield
        except RpcError as error:
            if error.code != METHOD_NOT_FOUND:
                raise
            raise RpcError(error.code, f"MCP server '{self.spec.name}' has no {what}.") from error

    @contextmanager
    def _wanted(self) -> Iterator[None]:
        """Meanwhile somebody needs the server: it gets a slot if there is one to be had, and does not give its own away."""
        state = self._state
        state.begin_waiting()
        try:
            yield
        finally:
            state.end_waiting()
            if not state.is_wanted and state.waits_for_slot and self._catalog.is_known:
                # Nobody does any more: it must not keep a slot from others.
                self.post(LifecycleEvent("stop", state.limit))

    async def list_again(self, *, since: int | None = None) -> None:
        """List what the server offers, connecting first if need be. Raises OpenClawError when that fails."""
        with self._wanted():
            await self.client(since=since)
            if self._connection is not None:
                await self._connection.list_again()

    def request_failed(self, error: OpenClawError) -> None:
        """A request failed in a way that says something about the server itself."""
        if isinstance(error, StepUpNeededError):
            # It wants more rights for this request alone: everything else goes on.
            return
        if isinstance(error, SignInNeededError):
            self.post(event_of(error, self.spec))
        elif self._connection is not None and (
            isinstance(error, ConnectError | LinkLostError) or _is_unauthorized(error)
        ):
            # One 401 may pass. Whether the server wants nothing more to do with us is found out by asking it.
            self._connection.suspect()

    def tool_is_unknown(self, tool: str) -> None:
        """The server says it has no such tool: take it out and look again."""
        if self._catalog.forget(tool):
            self._dependencies.tools_changed(self)
        if self._connection is not None:
            self._connection.tools_changed()

    # For whoever manages servers

    async def run(self) -> None:
        """Keep the server as it should be until `close`. Only one task may run it."""
        try:
            while not self._state.is_closing:
                await self._sleep()
                while self._inbox and not self._state.is_closing:
                    await self._advance(self._inbox.popleft())
        finally:
            self._state.ended()
            await self._end_child()

    def post(self, event: LifecycleEvent) -> None:
        """Have `run` act on an event."""
        self._inbox.append(event)
        self._wake.set()

    def start(self) -> None:
        """Start it, unless it runs; one that is lazy and whose tools are known waits for its first call."""
        if not (self.spec.lazy and self._catalog.is_known):
            self.post(LifecycleEvent("start"))

    def retry(self) -> None:
        """Try it anew if it is down."""
        if self._state.name in ("restarting", "unreachable", "failed"):
            self.post(LifecycleEvent("restart" if self._state.name == "failed" else "call"))

    def close(self) -> None:
        """End `run`, and the server with it."""
        self._state.close()
        self._wake.set()

    async def refresh(self) -> None:
        """List again what the server offers, starting it if it is down. Raises OpenClawError when that fails."""
        state = self._state
        state.start_by_hand()
        since = state.failed_attempts
        with self._wanted():
            if state.name in ("failed", "needs-auth", "stopped"):
                self.post(LifecycleEvent("restart"))
                while state.client is None and state.failed_attempts == since and not state.is_out_of_reach:
                    await state.change()
            await self.list_again(since=since)

    async def restart(self) -> None:
        """End the server and start it again. Raises OpenClawError when it does not come back."""
        state = self._state
        state.start_by_hand()
        before = state.client
        self.post(LifecycleEvent("restart"))
        while before is not None and state.client is before and not state.is_closing:
            await state.change()
        await self.client()

    def stop(self, reason: str) -> None:
        """Stop the server until somebody starts it again."""
        self._state.stop_by_hand()
        self.post(LifecycleEvent("stop", reason))

    # What is known of it

    def status(self) -> ServerStatus:
        """How the server is doing. Whoever knows the agent fills in its tools, its owner and where it is configured."""
        return self._state.status()

    @property
    def is_ready(self) -> bool:
        return self._state.name == "ready"

    @property
    def is_stopped_by_hand(self) -> bool:
        return self._state.is_stopped_by_hand

    @property
    def is_starting(self) -> bool:
        """Whether it is being started, or is about to be. Not when its connect timeout is over: it may come, but nobody should wait."""
        state = self._state
        if state.is_out_of_reach or state.is_late:
            return False
        is_asked_for = any(event.name in ("start", "restart", "call") for event in self._inbox)
        return state.name == "starting" or (is_asked_for and state.name != "ready" and not state.is_stopped_by_hand)

    @property
    def is_coming(self) -> bool:
        """Whether it is starting, or waits for the slot in which to be listed for the first time."""
        return self.is_starting or (self._lacks_list and self._state.waits_for_slot)

    @property
    def is_settling(self) -> bool:
        """Whether the first list of its tools, or what it puts into the context, may still come soon."""
        lacks = self._lacks_list or self._catalog.awaits_resources
        return lacks and (self.is_starting or self._state.waits_for_slot)

    @property
    def is_overdue(self) -> bool:
        """Whether its connect timeout was over once, in this run or an earlier one, and it has not listed its tools since."""
        return self._catalog.is_overdue

    @property
    def is_listing_late(self) -> bool:
        """Whether it is connected, its connect timeout is over, and its first list of this run has neither come nor failed."""
        return self._state.is_late and self.has_client and not self._catalog.was_listed

    @property
    def is_known(self) -> bool:
        """Whether its tools were ever listed."""
        return self._catalog.is_known

    @property
    def was_listed(self) -> bool:
        """Whether its tools were listed in this run."""
        return self._catalog.was_listed

    def left_out(self, agent: str) -> LeftOut | None:
        """Why a turn of an agent goes on without it while it is on its way; None when its tools are known, or its state says why they are
        not."""
        name = self.spec.name
        if self._catalog.is_known:
            return None
        if self._state.waits_for_slot:
            return LeftOut(agent, name, self._state.limit)
        if self._catalog.is_overdue or self._state.is_late:
            return LeftOut(agent, name, late(self.spec.connect_timeout))
        return LeftOut(agent, name, STILL_STARTING, is_starting=True) if self.is_starting else None

    # What it offers

    @property
    def is_offering(self) -> bool:
        """Whether its tools may be offered."""
        return self._state.is_offering

    @property
    def offered(self) -> Toolset:
        """What is known of its tools; nothing while they may not be offered. The same object until it changes."""
        return self._catalog.toolset if self._state.is_offering else _NO_TOOLS

    @property
    def skills(self) -> tuple[skills.SkillEntry, ...]:
        """The skills that it lists; none while it may not offer anything. The same object until they change."""
        return self._catalog.skills if self._state.is_offering else ()

    @property
    def unusable_tools(self) -> list[str]:
        """Tools that it lists in a way that cannot be offered, by its own names for them."""
        return [refusal.name for refusal in self._catalog.toolset.refusals]

    @property
    def opening(self) -> str:
        """The first words of what it says about itself, clean and not framed; empty when it says nothing."""
        return self._instructions.opening

    @property
    def context(self) -> list[str]:
        """What it wants to stand in the system prompt, framed: its instructions, and injected resources."""
        return [text for text in (self._instructions.text, self._injection.text) if text]

    @property
    def unusual_names(self) -> Mapping[str, str]:
        """Tools that could not have their usual name when last seen."""
        return self._catalog.names

    def keep_names(self, unusual: dict[str, str]) -> None:
        """Remember which tools could not have their usual name. Blocking, but small."""
        if self._catalog.is_known:
            self._catalog.keep_names(unusual)

    async def trust(self, shown: str) -> tuple[Change, ...]:
        """Accept the changes of its tools that were shown, named by their digest. Raises UsageError when they are others by now."""
        accepted = await self._catalog.trust(shown)
        self._dependencies.tools_changed(self)
        return accepted

    async def trust_changes(self) -> tuple[Change, ...]:
        """Accept all changes of its tools as they are now: for a program that trusts the server. What changed with that."""
        return await self.trust(digest_of(self._catalog.toolset.changes)) if self._catalog.toolset.changes else ()

    def pins_changed(self) -> None:
        """What was accepted of its tools is something else now: it is listed again if it is up, and else when it comes up."""
        if self._connection is not None:
            self._connection.tools_changed()

    # When there is not a slot for every server

    @property
    def is_busy(self) -> bool:
        """Whether anybody waits for an answer of it."""
        return self._state.is_busy

    @property
    def last_call(self) -> float:
        """Loop time of the end of its last call, or of coming up."""
        return self._state.last_call

    @property
    def needs_slot(self) -> bool:
        """Whether it waits for a slot that somebody needs it to have: to be listed for once, or to be called."""
        return self._state.waits_for_slot and (self._lacks_list or self._state.is_wanted)

    @property
    def is_giving_up_slot(self) -> bool:
        return self._state.is_giving_up_slot

    @property
    def may_give_up_slot(self) -> bool:
        """Whether its slot can be given to another: nobody uses it, and what it offers is known, or does not come."""
        state = self._state
        if state.is_busy or state.is_wanted or state.is_giving_up_slot:
            return False
        return state.is_late or (state.name == "ready" and not self._lacks_list)

    def give_up_slot(self) -> None:
        """Stop, so that another has the slot; the next call starts it again."""
        self._state.give_up_slot()
        self.post(LifecycleEvent("stop", self._state.limit))

    def promise_slot(self, *, is_promised: bool) -> None:
        """Another is about to give up its slot for it, or none is."""
        self._state.promise_slot(is_promised=is_promised)

    @property
    def _lacks_list(self) -> bool:
        """Whether nothing is known yet of its tools, or of what it puts into the context."""
        return not self._catalog.is_known or (self._injection.is_wanted and not self._injection.was_read)

    # What a connection tells

    def _on_connection_event(self, event: ConnectionEvent) -> None:
        state = self._state
        match event:
            case Starting(fetches):
                state.attempt_began(fetches=fetches)
            case Late():
                # A launcher's first fetch says nothing about the server: the next command waits for it as for a new one.
                is_first_fetch = state.is_fetching and not self._catalog.was_left_fetching
                if not self._catalog.is_known and not is_first_fetch:
                    self._catalog.mark_overdue()
                state.attempt_is_late()
                self._dependencies.share_slots()
                self._announce_state(to_agents=False)
            case Connected(client):
                self._instructions.take(clean_instructions(client.agreement.instructions))
                state.connected(client)
            case Listed():
                state.listed()
                if state.name == "starting":
                    self._step(LifecycleEvent("ready"))
                    # The decider sleeps until some other time than the one that counts now.
                    self._wake.set()
                self._dependencies.share_slots()
            case Queued(waits):
                state.queue_for_slot(waits=waits)
                self._dependencies.share_slots()
                if waits and not self.needs_slot:
                    # What it offers is known: it comes up when it is called.
                    self.post(LifecycleEvent("stop", state.limit))
                state.announce()
                self._announce_state(to_agents=False)
            case Learned():
                self._learned(event)
            case Ended(why, used_up):
                if used_up:
                    self._catalog.mark_overdue()
                self._ended(why, used_up=used_up)
            case _:
                self._dependencies.emit(event)

    def _learned(self, learned: Learned) -> None:
        if learned.trouble:
            self._state.failed(learned.trouble, self._loop.time())
        if learned.is_new:
            self._dependencies.tools_changed(self)
        if learned.announce:
            name, upgrade = self.spec.name, self._catalog.toolset.upgrade
            said = changed_tools(learned.announce, upgrade)
            sentence = f"MCP server '{name}': {said}; see and accept it: {trust_command(name, self.spec.owner, self.spec.commands)}"
            _log.warning("%s", sentence)
            self._dependencies.emit(DefinitionsChanged(name, learned.announce, sentence))

    def _ended(self, why: LifecycleEvent, *, used_up: bool) -> None:
        was_up = self._state.disconnected()
        self._connection_has_ended = True
        self.post(why)
        if not was_up:
            self._failed_attempt = why
            if used_up:
                # A call that came in the middle of an attempt which took all its time waits for no second one.
                self._state.attempt_failed()
        elif self._state.is_wanted:
            # Somebody asked after the link broke and before we knew.
            self.post(LifecycleEvent("call"))

    # Deciding

    async def _sleep(self) -> None:
        if not self._inbox and not self._state.is_closing:
            try:
                async with asyncio.timeout_at(self._state.due):
                    await self._wake.wait()
            except TimeoutError:
                self._inbox.append(self._state.come_due())
        self._wake.clear()

    async def _advance(self, event: LifecycleEvent) -> None:
        """One step of the lifecycle, and what it asks for."""
        if event.name in ("call", "start") and self._state.is_stopped_by_hand:
            # A server that was stopped by hand is started again by hand only.
            return
        actions = self._step(event)
        if "disconnect" in actions or "connect" in actions:
            await self._end_child()
        if "connect" in actions:
            self._begin_connection()
        elif actions and self._state.name == "needs-auth":
            self._child = self._loop.create_task(self._wait_for_sign_in(), name=f"mcp-sign-in-{self.spec.name}")

    def _step(self, event: LifecycleEvent) -> tuple[Action, ...]:
        """Take the next state, and tell everybody. What is left to do."""
        state = self._state
        before = state.lifecycle
        after = step(self._policy, before, event, jitter=self._dependencies.jitter())
        if event is self._failed_attempt:
            state.attempt_failed()
        if event.name in _FAILURES and event.reason:
            why = with_remedy(event.reason, event.remedy, self.spec.name, self.spec.owner, prefix=self.spec.commands)
            state.failed(why, self._loop.time())
        if not state.enter(after, event):
            return ()
        report(self.spec, before, after, event)
        self._announce_state(to_agents="tell" in after.actions)
        return after.actions

    def _begin_connection(self) -> None:
        connection = ServerConnection(
            ServerParts(self.spec, self._state, self._catalog, self._injection, self._server_log),
            dependencies=self._dependencies.connect,
            limiters=self._dependencies.limiters,
            on_stderr=self._stderr,
            on_stray=self._stray,
            tell=self._on_connection_event,
            take_over=partial(self._dependencies.tools_changed_in_steps, self),
        )
        self._connection = connection
        self._connection_has_ended = False
        self._dependencies.stderr_log.begin(self.spec)
        self._tried_at = time.time()
        self._child = self._loop.create_task(self._run_connection(connection), name=f"mcp-{self.spec.name}")

    async def _run_connection(self, connection: ServerConnection) -> None:
        if self._after:
            await asyncio.wait(self._after)
            self._after = ()
        await connection.run()

    async def _wait_for_sign_in(self) -> None:
        """Until somebody signs in, here or in another process. A sign-in while we still tried counts: it may have come too late for us."""
        signed_in = self._dependencies.connect.signed_in
        if signed_in is not None:
            try:
                await signed_in(self.spec, self._tried_at)
            except OpenClawError as error:
                _log.warning("MCP server '%s': a sign-in will not be noticed: %s", self.spec.name, error)
            else:
                self.post(LifecycleEvent("signed-in"))

    async def _end_child(self) -> None:
        task, self._child, self._connection = self._child, None, None
        self._state.connection_closing()
        if task is not None:
            if not self._connection_has_ended:
                task.cancel()
            # A connection that has ended is closing what it opened, which takes as long as it takes.
            await asyncio.gather(task, return_exceptions=True)
        self._connection_has_ended = False
        self._state.connection_closed()

    def _stderr(self, line: str) -> None:
        _log.warning("MCP server '%s' stderr: %s", self.spec.name, line)
        self._dependencies.stderr_log.add(self.spec, line)

    def _stray(self, said: str) -> None:
        """Beside what it writes to standard error: mostly it is what its author meant for there."""
        self._dependencies.stderr_log.add(self.spec, f"on standard output: {said}")

    def _announce_state(self, *, to_agents: bool) -> None:
        shown = self.status()
        self._dependencies.emit(StateChanged(shown.name, shown.state, shown.told, shown.next_attempt, to_agents))
        self._dependencies.tools_changed(self)


def _is_unauthorized(error: OpenClawError) -> bool:
    return isinstance(error, HttpStatusError) and error.status == 401
