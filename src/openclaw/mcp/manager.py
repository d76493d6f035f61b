"""All MCP servers of the process, for every agent: started, shared, called, reconciled, ended.

    async with Manager(specs) as manager:
        for tool in manager.tools(): print(tool.name)
        result = await manager.call("files__read", {"path": "notes.md"})

Owns which supervisors run (one for each link, however many agents use it) and what each agent sees of them (view.py). It is a
ToolSource and a ContextSource. Nothing here waits for a slow server unless asked to; one that fails never breaks another.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from openclaw.config.servers import EngineOptions, ServerSpec
from openclaw.errors import UsageError
from openclaw.mcp.arrivals import Arrivals, named_in
from openclaw.mcp.cache import Cache
from openclaw.mcp.calling import Calling
from openclaw.mcp.connect import Services
from openclaw.mcp.context import context_of
from openclaw.mcp.events import Broadcast
from openclaw.mcp.glob import matches
from openclaw.mcp.limiter import Turnstile
from openclaw.mcp.pool import Roster
from openclaw.mcp.reconcile import is_wanted, link_of
from openclaw.mcp.running import Running
from openclaw.mcp.server.connection import Places
from openclaw.mcp.server.log import StderrLog
from openclaw.mcp.server.server import Supervisor, Workshop
from openclaw.mcp.status import EngineEvent, ServerStatus, StateChanged, ToolsChanged
from openclaw.mcp.tools.registry import Difference, ToolEntry
from openclaw.mcp.tools.results import CallResult
from openclaw.mcp.view import View
from openclaw.mcp.wording import CORRECT, command, not_started
from openclaw.media import MediaStore
from openclaw.protocol.lifecycle import Event
from openclaw.tool import Absence, Tool

_log = logging.getLogger(__name__)

# Starting a process is mostly work for the processor: more at a time only makes each of them later.
STARTERS_PER_CORE = 2
# Fetching and unpacking a program keeps a core busy: one for each is the fastest way to all of them. On a single core a second one uses
# the time in which the first waits for the network.
FEWEST_FETCHERS = 2
# The agent every name that has no view of its own is given.
ANY_AGENT = ""

# One list for everybody, or one for each agent (`""` for agents that are not named).
Specs = Sequence[ServerSpec] | Mapping[str, Sequence[ServerSpec]]


class Manager:
    """`state` is where tool lists, pins and servers' own words are kept between runs; `media` takes what models cannot.

    `reserved` are names of other tools, which servers' tools must not take. `eager` starts servers at once; without it each starts
    when it is first needed. `patience` is how many seconds entering the context waits for servers never seen before (as long as
    they may take to connect, unless given; a gateway gives 0).
    """

    def __init__(
        self,
        specs: Specs,
        *,
        options: EngineOptions | None = None,
        services: Services | None = None,
        state: Path | None = None,
        media: MediaStore | None = None,
        reserved: Iterable[str] = (),
        eager: bool = True,
        patience: float = float("inf"),
    ) -> None:
        self.events = Broadcast()
        self.running = Running()
        self.stderr_log = StderrLog(state / "logs" if state else None)
        self._specs = _by_agent(specs)
        self._options = options or EngineOptions()
        self._media = media
        self._reserved = frozenset(reserved)
        self.is_eager = eager
        self._patience = patience
        self._services = services or Services()
        self._cache = Cache(state)
        cores = os.cpu_count() or 1
        starters, fetchers = Turnstile(STARTERS_PER_CORE * cores), Turnstile(max(cores, FEWEST_FETCHERS))
        self._places = Places(Turnstile(self._options.max_concurrent_servers), starters, fetchers)
        self._roster: Roster
        self._calling: Calling
        self._views: dict[str, View] = {}
        self.arrivals = Arrivals(self._emit, lambda agent: self._view(agent).supervisors)
        self._said_started = False

    async def __aenter__(self) -> Self:
        workshop = Workshop(
            self._services,
            self._cache,
            self._places,
            self.stderr_log,
            emit=self._emit,
            tools_changed=self._tools_changed,
            take_over=self._take_over,
            take_turns=lambda: self._roster.take_turns(),
        )
        self._roster = Roster(workshop, self._options.session_idle_ttl)
        self._calling = Calling(self._roster, self.arrivals, self.running, self._media)
        if self._options.debug:
            _log_as(self._options)
        for spec in _all(self._specs):
            if not spec.enabled:
                _log.info("MCP server '%s' is disabled, skipping", spec.name)
            elif spec.fault:
                _log.error("MCP server '%s' failed to start: %s", spec.name, spec.fault)
        self._apply()
        if not self.is_eager:
            # Let every supervisor listen: from here on who is asked for first starts first.
            await asyncio.sleep(0)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if self._patience == float("inf") else self._patience):
                for agent in self._specs:
                    await self.arrivals.settle(agent, float("inf"))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._roster.close()
        _log.info("MCP manager shut down")

    # For agents (tool.ToolSource, tool.ContextSource)

    def tools(self, agent: str = ANY_AGENT) -> Sequence[Tool]:
        return self._view(agent).tools()

    def absences(self, agent: str = ANY_AGENT) -> Sequence[Absence]:
        return self._view(agent).absences()

    async def settle(self, agent: str, patience: float) -> None:
        """Wait for servers whose tools are not known yet; for no others, and only once for one that hangs (arrivals.py)."""
        await self.arrivals.settle(agent, patience)

    def context(self, agent: str) -> str:
        view = self._view(agent)
        return context_of(self.status(agent), list(view.supervisors.values()))

    # For programs and people

    def start(self, agent: str = ANY_AGENT, *, first: str = "") -> None:
        """Start the servers of one agent that do not run yet; lazy ones whose tools are known stay as they are.

        Those that the text `first` names, themselves or a tool of them, come before the others: there may not be a place for all.
        """
        servers = self._view(agent).supervisors
        named = named_in(first, servers) if first else ()
        for _, supervisor in sorted(servers.items(), key=lambda item: item[0] not in named):
            if not (supervisor.spec.lazy and supervisor.catalog.is_known):
                supervisor.post(Event("start"))

    @property
    def places(self) -> int:
        """How many servers may run at a time."""
        return self._options.max_concurrent_servers

    def retry(self, agent: str = ANY_AGENT) -> None:
        """Try servers anew that are down: who asks how they are doing wants to know how they are doing now."""
        for one in self.servers(agent):
            if one.standing.status.state in ("restarting", "unreachable", "failed"):
                one.post(Event("restart" if one.standing.status.state == "failed" else "call"))

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        agent: str = ANY_AGENT,
        session: str = "",
        show_progress: Callable[[str], None] | None = None,
    ) -> CallResult:
        """Call a tool by the name agents know, starting its server if need be. Never raises but CancelledError."""
        view = self._view(agent)
        entry = await self._calling.find(view, name)
        if entry is None:
            absence = next((a for a in view.absences() if matches(a.name, name)), None)
            return CallResult.failed(absence.reason if absence else f"There is no tool named {name}.")
        if fault := view.check(entry, arguments):
            return CallResult.failed(fault)
        return await self._calling.call(view, entry, arguments, agent, session, show_progress)

    def entries(self, agent: str = ANY_AGENT) -> list[ToolEntry]:
        """The tools an agent is offered, each with its server and its definition."""
        return self._view(agent).registry.entries()

    async def find(self, name: str, agent: str = ANY_AGENT) -> ToolEntry | None:
        """A tool by the name agents know, starting servers whose tools are not known yet if it may be theirs."""
        return await self._calling.find(self._view(agent), name)

    def tool_name(self, server: str, tool: str, agent: str = ANY_AGENT) -> str:
        """What a server's tool is called where rules are written, whether it is listed or not."""
        registry = self._view(agent).registry
        listed = (entry.name for entry in registry.entries(server) if entry.definition.name == tool)
        return next(listed, registry.base(server, tool))

    def owner_of(self, name: str, agent: str = ANY_AGENT) -> str:
        """The server whose tools alone may have this name, whatever it lists at the moment; empty when there is none."""
        view = self._view(agent)
        return next((server for server in view.specs if view.registry.may_have(server, name)), "")

    def status(self, agent: str | None = None) -> list[ServerStatus]:
        """Every server of an agent, or of all of them: in the order they are configured, each once."""
        views = list(dict.fromkeys(self._views.values())) if agent is None else [self._view(agent)]
        found: dict[tuple[str, str], ServerStatus] = {}
        for view in views:
            for name, spec in view.specs.items():
                found.setdefault((name, spec.owner), view.status(spec))
        return list(found.values())

    def server(self, name: str, agent: str = ANY_AGENT) -> Supervisor:
        """What runs one server of an agent. Raises UsageError when there is none."""
        view = self._view(agent)
        supervisor = view.supervisors.get(name)
        if supervisor is None:
            spec = view.specs.get(name)
            if spec is None:
                known = ", ".join(view.supervisors) or "none"
                raise UsageError(f"MCP server '{name}' is not configured.", hint=f"There are: {known}.")
            if spec.enabled:
                raise UsageError(not_started(name, spec.fault, spec.where), hint=CORRECT)
            raise UsageError(f"MCP server '{name}' is disabled.", hint=f"Run: {command('enable', name, spec.owner)}")
        return supervisor

    def servers(self, agent: str = ANY_AGENT) -> list[Supervisor]:
        """What runs the servers of an agent that are to run."""
        return list(self._view(agent).supervisors.values())

    async def reconcile(self, specs: Specs, options: EngineOptions | None = None) -> None:
        """Take over a new configuration: start, stop and replace what changed, and leave everything else alone.

        Returns when what had to stop has stopped; what starts is not waited for. Without `options` they stay as they are.
        """
        offered = {agent: {entry.name: _origin(entry) for entry in self.entries(agent)} for agent in self._specs}
        self._specs = _by_agent(specs)
        if options is not None and options != self._options:
            self._adopt(options)
        ended = self._apply()
        # Who waits for one that ends now waits no longer.
        for supervisor in ended:
            supervisor.close()
        self.arrivals.noted()
        left = {agent: {_origin(entry) for entry in self.entries(agent)} for agent in offered}
        # Only what was ours and is gone: calls of native and plugin tools run beside ours, and a new name is no other tool.
        self.running.revoke(
            lambda agent, name: name in offered.get(agent, ()) and offered[agent][name] not in left[agent]
        )
        await self._roster.end(ended)

    def _adopt(self, options: EngineOptions) -> None:
        """Work by other settings from now on. Servers that run already do so until they end, whatever their number."""
        if options.debug != self._options.debug:
            _log_as(options)
        self._options = options
        self._places.servers.resize(options.max_concurrent_servers)
        self._roster.keep_for(options.session_idle_ttl)

    async def end_session(self, session: str) -> None:
        """A conversation is over: close the connections that served it alone (`isolation: session`)."""
        await self._roster.end_session(session)

    # Which servers run

    def _apply(self) -> list[Supervisor]:
        """Make what runs fit the specs. The supervisors that are to end."""
        started, ended = self._roster.apply(_all(self._specs))
        for supervisor in started:
            if self.is_eager and not (supervisor.spec.lazy and supervisor.catalog.is_known):
                supervisor.post(Event("start"))
        self._views = {}
        for agent, listed in self._specs.items():
            # Agents with the same servers share a view.
            same = next((view for view in self._views.values() if [*view.specs.values()] == list(listed)), None)
            self._views[agent] = same or self._make_view(listed)
        return ended

    def _make_view(self, specs: Sequence[ServerSpec]) -> View:
        supervisors = {spec.name: self._roster.shared[link_of(spec)] for spec in specs if is_wanted(spec)}
        return View(specs, supervisors, self._options, self._reserved, self._calling.run_of)

    # What agents see

    def _view(self, agent: str) -> View:
        view = self._views.get(agent) or self._views.get(ANY_AGENT)
        if view is None:
            view = self._views[ANY_AGENT] = self._make_view(())
        return view

    def _tools_changed(self, supervisor: Supervisor) -> None:
        added: dict[str, None] = {}
        removed: dict[str, None] = {}
        for view in dict.fromkeys(self._views.values()):
            for name in [name for name, held in view.supervisors.items() if held is supervisor]:
                difference = view.update(name)
                added |= dict.fromkeys(difference.added)
                removed |= dict.fromkeys(difference.removed)
                if difference.added and supervisor.catalog.is_known:
                    supervisor.catalog.keep_names(view.registry.unusual_names(name))
        if added or removed:
            self._emit(ToolsChanged(supervisor.spec.name, tuple(added), tuple(removed)))

    async def _take_over(self, supervisor: Supervisor) -> None:
        """The same for a server that lists very many tools, in steps."""
        added: dict[str, None] = {}
        removed: dict[str, None] = {}

        def note(difference: Difference) -> None:
            added.update(dict.fromkeys(difference.added))
            removed.update(dict.fromkeys(difference.removed))

        try:
            for view in dict.fromkeys(self._views.values()):
                for name in [name for name, held in view.supervisors.items() if held is supervisor]:
                    await view.update_in_steps(name, note)
                    if added and supervisor.catalog.is_known:
                        await asyncio.to_thread(supervisor.catalog.keep_names, view.registry.unusual_names(name))
        finally:
            if added or removed:
                self._emit(ToolsChanged(supervisor.spec.name, tuple(added), tuple(removed)))

    def _emit(self, event: EngineEvent) -> None:
        self.arrivals.noted()
        self.events.send(event)
        if isinstance(event, StateChanged) and not self._said_started and self.is_eager:
            supervisors = self._roster.shared.values()
            states = [supervisor.standing.status.state for supervisor in supervisors]
            if not any(supervisor.is_starting for supervisor in supervisors):
                self._said_started = True
                _log.info("MCP manager started: %d/%d servers ready", states.count("ready"), len(states))


def _log_as(options: EngineOptions) -> None:
    for part in ("openclaw.mcp", "openclaw.transport"):
        logging.getLogger(part).setLevel(logging.DEBUG if options.debug else logging.NOTSET)


def _origin(entry: ToolEntry) -> tuple[str, str]:
    """Which tool an entry is, whatever agents call it."""
    return entry.spec.name, entry.definition.name


def _by_agent(specs: Specs) -> dict[str, tuple[ServerSpec, ...]]:
    if isinstance(specs, Mapping):
        return {agent: tuple(listed) for agent, listed in specs.items()}
    return {ANY_AGENT: tuple(specs)}


def _all(specs: Mapping[str, Sequence[ServerSpec]]) -> list[ServerSpec]:
    return list(dict.fromkeys(spec for listed in specs.values() for spec in listed))
