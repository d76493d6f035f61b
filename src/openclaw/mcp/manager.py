"""All MCP servers of the process, for every agent: started, shared, called, reconciled, ended.

    async with Manager(specs) as manager:
        for tool in manager.tools(): print(tool.name)
        result = await manager.call("files__read", {"path": "notes.md"})

Owns which servers run (one for each shared spec, however many agents use it) and what each agent sees of them (view.py), or a session that
has servers besides (session_servers.py). It is a ToolSource and a ContextSource. Nothing here waits for a slow server unless asked to; one
that fails never breaks another.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, TypeAlias, TypedDict, Unpack

import msgspec

from openclaw.config.servers import ServersOptions, ServerSpec
from openclaw.content import ToolCall
from openclaw.errors import UsageError
from openclaw.event_hub import EventHub
from openclaw.mcp.cache import Cache, identity
from openclaw.mcp.connect import Dependencies, no_secrets
from openclaw.mcp.context import context_of, foreign_of
from openclaw.mcp.events import ServerEvent, StateChanged, ToolsChanged
from openclaw.mcp.handlers import OnLog
from openclaw.mcp.limiter import Limiter
from openclaw.mcp.pin_store import PinFiles, PinStore
from openclaw.mcp.pool import ServerPool
from openclaw.mcp.readiness import Readiness, named_in
from openclaw.mcp.reconcile import is_wanted, shared_spec
from openclaw.mcp.remedies import command
from openclaw.mcp.server.connection import Limiters
from openclaw.mcp.server.server import LiveServer, ServerDependencies
from openclaw.mcp.server.stderr_log import StderrLog
from openclaw.mcp.session_servers import SessionServers, beside
from openclaw.mcp.skills import ServedSkill
from openclaw.mcp.status import ServerStatus
from openclaw.mcp.tools.registry import Difference, ToolEntry
from openclaw.mcp.tools.results import Result
from openclaw.mcp.view import View
from openclaw.mcp.wording import correction, not_started, other_loop, timed_out
from openclaw.media import MediaStore
from openclaw.tool import Absence, Invocation, OwnWords, Tool, ToolResult
from openclaw.transport.base import Transport
from openclaw.transport.connection import OnProgress

if TYPE_CHECKING:
    # For programs alone: a config has specs, whose questions are answered elsewhere.
    from openclaw.mcp.embedding import Server
    from openclaw.mcp.in_process import InProcess
    from openclaw.mcp.model_messages import Vendor
    from openclaw.mcp.program_sign_in import ProgramSignIn
    from openclaw.mcp.typed_handlers import Elicit, Sample, SignedIn, SignIn, Visit

_log = logging.getLogger(__name__)

# Starting a process is mostly work for the processor: more at a time only makes each of them later.
STARTERS_PER_CORE = 2
# Fetching and unpacking a program keeps a core busy: one for each is the fastest way to all of them. On a single core a second one uses
# the time in which the first waits for the network.
FEWEST_FETCHERS = 2
# The agent every name that has no view of its own is given.
ANY_AGENT = ""

# One list for everybody, or one for each agent (`""` for agents that are not named).
Servers: TypeAlias = "Sequence[Server | ServerSpec] | Mapping[str, Sequence[Server | ServerSpec]]"
# Ends the calls under way whose agent and tool the function it is given names.
Revoke = Callable[[Callable[[str, Tool], bool]], object]


class ManagerOptions(TypedDict, total=False):
    """What a Manager takes besides its servers."""

    elicit: "Elicit | None"
    visit: "Visit | None"
    sample: "Sample | None"
    sign_in: "SignIn | None"
    roots: Iterable[str | os.PathLike[str]]
    on_log: OnLog | None
    options: ServersOptions | None
    dependencies: Dependencies | None
    state: str | os.PathLike[str] | None
    media: MediaStore | None
    reserved: Iterable[str]
    eager: bool
    patience: float
    revoke: Revoke
    events: EventHub | None
    pins: PinStore | None


class Manager:
    """MCP servers kept available, and their tools: `async with Manager([Server(…), …]) as manager`.

    It takes one list of servers for everybody, or a mapping from agents to lists. Servers ask back through `elicit` (a person), `visit` (a
    page that a person opens), `sample` (a model) and `roots` (folders they may work in); what is not given is not offered to them. `on_log`
    hears their log messages. `sign_in` has a person sign in to a server (`manager.sign_in`); its tokens are kept in `state`, encrypted.

    `state` is where tool lists, pins and servers' own words are kept between runs; `media` takes what models cannot.
    `reserved` are names of other tools, which servers' tools must not take. `eager` starts servers at once; without it each starts
    when it is first needed. `patience` is how many seconds entering the context waits for servers never seen before (as long as
    they may take to connect, unless given; a gateway gives 0). `revoke` ends the calls under way of tools that are gone: it is given what
    tells so of an agent and a tool. `events` is told what happens to servers; there is one of its own unless given. `dependencies` is
    everything else that only the program around can know, `options` what holds for all servers. `pins` is where it is kept what was first
    seen of tools; in `state` unless given.
    """

    def __init__(
        self,
        servers: Servers,
        *,
        elicit: "Elicit | None" = None,
        visit: "Visit | None" = None,
        sample: "Sample | None" = None,
        sign_in: "SignIn | None" = None,
        roots: Iterable[str | os.PathLike[str]] = (),
        on_log: OnLog | None = None,
        options: ServersOptions | None = None,
        dependencies: Dependencies | None = None,
        state: str | os.PathLike[str] | None = None,
        media: MediaStore | None = None,
        reserved: Iterable[str] = (),
        eager: bool = True,
        patience: float = float("inf"),
        revoke: Revoke = lambda is_gone: None,
        events: EventHub | None = None,
        pins: PinStore | None = None,
    ) -> None:
        _check_parts(
            options=(options, ServersOptions),
            dependencies=(dependencies, Dependencies),
            media=(media, MediaStore),
            events=(events, EventHub),
        )
        self.events = EventHub() if events is None else events
        self._phase: Literal["new", "open", "closed"] = "new"
        # The one it was opened in.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._state = _folder(state)
        self.stderr_log = StderrLog(self._state / "logs" if self._state else None)
        self._in_process: InProcess | None = None
        self._specs = self._by_agent(servers)
        self._options = options or ServersOptions()
        self._media = media
        self._reserved = _names(reserved)
        self.is_eager = eager
        self._patience = _patience(patience)
        self._revoke = revoke
        given = dependencies or Dependencies()
        if (elicit, visit, sample, on_log, roots) != (None, None, None, None, ()):
            from openclaw.mcp.embedding import check_asked, check_plain
            from openclaw.mcp.typed_handlers import with_typed_handlers

            check_plain("on_log", on_log, "message")
            check_asked(elicit=elicit, visit=visit, sample=sample)
            given = with_typed_handlers(given, elicit=elicit, visit=visit, sample=sample, roots=roots, on_log=on_log)
        self._signing_in = _signing_in(sign_in, self._state, given)
        given = self._signing_in.added_to(given) if self._signing_in else given
        self._dependencies = msgspec.structs.replace(
            given, make_transport=partial(self._transport, given.make_transport)
        )
        self._cache = Cache(self._state)
        self._pins: PinStore = PinFiles(self._state) if pins is None else pins
        cores = os.cpu_count() or 1
        starters, fetchers = Limiter(STARTERS_PER_CORE * cores), Limiter(max(cores, FEWEST_FETCHERS))
        self._limiters = Limiters(Limiter(self._options.max_concurrent_servers), starters, fetchers)
        self._pool: ServerPool
        self._views: dict[str, View] = {}
        self._sessions: dict[str, SessionServers] = {}
        self.readiness = Readiness(self._emit, self._servers_of)
        self._said_started = False

    @classmethod
    def from_config(
        cls,
        source: str | os.PathLike[str] | Mapping[str, Any],
        *,
        agent: str = ANY_AGENT,
        servers: "Sequence[Server]" = (),
        **more: Unpack[ManagerOptions],
    ) -> Self:
        """A manager of the servers that a config names: the path of an `openclaw.json`, or of any program's file with `mcpServers` or
        `servers`; a mapping of the same form; or the block of servers alone. `${NAME}` is taken from the environment, and `secret://…`
        from where the config says. `agent` chooses the servers of one agent; `servers` are others besides, such as objects of the program.
        An entry that is wrong costs its own server alone, and `status()` says why that one is not started; what else is wrong raises
        ConfigError, with every problem. All else is as in `Manager(…)`.
        """
        from openclaw.mcp.embedding import read_servers, secrets_of

        dependencies = more.get("dependencies") or Dependencies()
        found = read_servers(source, agent=agent, environ=dependencies.environ)
        if dependencies.resolve is no_secrets:
            dependencies = msgspec.structs.replace(dependencies, resolve=secrets_of(found.config, dependencies.environ))
        more["dependencies"] = dependencies
        more.setdefault("options", found.options)
        return cls((*found.specs, *servers) if servers else found.specs, **more)

    async def __aenter__(self) -> Self:
        if self._phase != "new":
            raise UsageError(
                f"This manager {'is open already' if self._phase == 'open' else 'was closed'}.",
                hint="Make another one: async with Manager([…]) as manager.",
            )
        self._phase = "open"
        self._loop = asyncio.get_running_loop()
        try:
            await self._open()
        except BaseException:
            # `__aexit__` is not called when entering fails: nothing may be left behind.
            await self.__aexit__()
            raise
        return self

    async def _open(self) -> None:
        given = ServerDependencies(
            self._dependencies,
            self._cache,
            self._pins,
            self._limiters,
            self.stderr_log,
            emit=self._emit,
            tools_changed=self._tools_changed,
            tools_changed_in_steps=self._tools_changed_in_steps,
            share_slots=lambda: self._pool.share_slots(),
        )
        self._pool = ServerPool(given, self._options.session_idle_ttl)
        if self._options.debug:
            _log_as(self._options)
        for spec in _all(self._specs):
            if not spec.enabled:
                _log.info("MCP server '%s' is disabled, skipping", spec.name)
            elif spec.fault:
                _log.error("MCP server '%s' failed to start: %s", spec.name, spec.fault)
        self._apply()
        if not self.is_eager:
            # Let every server listen: from here on who is asked for first starts first.
            await asyncio.sleep(0)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if self._patience == float("inf") else self._patience):
                for agent in self._specs:
                    await self.readiness.settle(agent, float("inf"))

    async def __aexit__(self, *_: object) -> None:
        if self._phase == "new":
            self._check_open()
        self._check_loop()
        self._phase = "closed"
        await self._pool.close()
        if self._signing_in is not None:
            await self._signing_in.close()
        _log.info("MCP manager shut down")

    def __reduce__(self) -> NoReturn:
        raise UsageError(
            "A manager cannot be copied or sent to another process.",
            hint="Give that process the servers, and make a Manager there.",
        )

    # For agents (tool.ToolSource, tool.ContextSource)

    def tools(self, agent: str = ANY_AGENT) -> Sequence[Tool]:
        """The tools there are at the moment, under the names that `call` takes."""
        return self._view(agent).tools()

    def absences(self, agent: str = ANY_AGENT) -> Sequence[Absence]:
        """Of every tool that is missing its name, or a pattern of names, and why."""
        return self._view(agent).absences()

    async def settle(self, agent: str = ANY_AGENT, patience: float = float("inf")) -> None:
        """Wait at most `patience` seconds for servers whose tools are not known yet; for no others, and only once for one that hangs."""
        self._check_loop()
        _patience(patience)
        await self.readiness.settle(agent, patience)

    def context(self, agent: str) -> str:
        view = self._view(agent)
        return context_of(self.status(agent), list(view.servers.values()))

    def foreign(self, agent: str) -> Sequence[tuple[str, str]]:
        return foreign_of(list(self._view(agent).servers.values()))

    def origins(self, agent: str) -> Mapping[str, str]:
        return self._view(agent).origins()

    def skills(self, agent: str) -> Sequence[ServedSkill]:
        """The skills that servers offer an agent, those that cannot be used among them; no text of one is read for this."""
        return self._view(agent).skills()

    # For programs and people

    async def sign_in(self, name: str, agent: str = ANY_AGENT) -> "SignedIn":
        """Have a person sign in to a server, by the function that was given as `sign_in`, and connect to it with what came of it. Raises
        AuthError when it came to nothing."""
        if self._signing_in is None:
            raise UsageError("Nobody can sign in here.", hint="Give Manager(…, sign_in=…, state=…) a function for it.")
        server = self.server(name, agent)
        done = await self._signing_in.sign_in(server.spec)
        await server.refresh()
        return done

    def start(self, agent: str = ANY_AGENT, *, first: str = "") -> None:
        """Start the servers of one agent that do not run yet; lazy ones whose tools are known stay as they are.

        Those that the text `first` names, themselves or a tool of them, come before the others: there may not be a slot for all.
        """
        servers = self._view(agent).servers
        named = named_in(first, servers) if first else ()
        for _, server in sorted(servers.items(), key=lambda item: item[0] not in named):
            server.start()

    @property
    def max_servers(self) -> int:
        """How many servers may run at a time."""
        return self._options.max_concurrent_servers

    def retry(self, agent: str = ANY_AGENT) -> None:
        """Try servers anew that are down: who asks how they are doing wants to know how they are doing now."""
        for server in self.servers(agent):
            server.retry()

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        agent: str = ANY_AGENT,
        session: str = "",
        invocation: Invocation | None = None,
    ) -> Result:
        """Call a tool by the name it has in `tools()`, starting its server if need be.

        What goes wrong is a result, never an exception: `result.is_error`, and `result.raise_for_error()` for who wants one. Raises
        UsageError when the manager is not open or this is no call at all. `timeout` is all the time it may take, in seconds, in place
        of what its server says. `on_progress` hears how far it is: a number, the number at the end or None, and the server's words.
        `invocation` is handed to whoever answers what the server asks about this call.
        """
        given = {} if arguments is None else arguments
        if timeout is not None or on_progress is not None or not isinstance(name, str) or not isinstance(given, dict):
            from openclaw.mcp.embedding import check_call

            check_call(name, given, timeout, on_progress)
        if timeout is None:
            return await self._call(name, given, None, on_progress, agent, session, invocation)
        try:
            async with asyncio.timeout(timeout):
                return await self._call(name, given, timeout, on_progress, agent, session, invocation)
        except TimeoutError:
            return Result.failed(OwnWords(timed_out(timeout)), timed_out=True)

    async def _call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        timeout: float | None,
        on_progress: OnProgress | None,
        agent: str,
        session: str,
        invocation: Invocation | None,
    ) -> Result:
        self._check_open()
        self._check_loop()
        view = self._view(agent)
        entry = await view.find(name)
        if entry is None:
            return Result.failed(view.why_missing(name))
        if fault := view.check(entry, arguments):
            return Result.failed(fault)
        return await view.call(
            entry, arguments, session=session, on_progress=on_progress, timeout=timeout, invocation=invocation
        )

    async def call_checked(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        agent: str,
        show_progress: Callable[[str], None] | None,
        invocation: Invocation,
    ) -> Result:
        """The same for a call whose arguments were found to fit (tools/invoke.py), with its progress in words for a person."""
        view = self._view(agent)
        entry = await view.find(name)
        if entry is None:
            return Result.failed(view.why_missing(name))
        return await view.call(entry, arguments, show_progress=show_progress, invocation=invocation)

    def tools_for(self, vendor: "Vendor", agent: str = ANY_AGENT) -> list[Any]:
        """The tools as a vendor's API takes them as `tools`: `"openai"` (chat completions), `"openai-responses"` or `"anthropic"`."""
        from openclaw.mcp.model_messages import tools_for

        return tools_for(vendor, self.tools(agent))

    async def answers_for(
        self,
        vendor: "Vendor",
        message: object,
        *,
        timeout: float | None = None,
        agent: str = ANY_AGENT,
        session: str = "",
    ) -> list[Any]:
        """Make all calls of a model's message, side by side, and give the messages to send it next; none when it called no tool.

        `message` is what the vendor's library gave you, or the same as a mapping. What servers said is framed as untrusted, pictures are
        pictures, and what failed says why. `timeout` is for each call.
        """

        from openclaw.mcp.model_messages import answers_for, calls_of

        async def answer(call: ToolCall) -> ToolResult:
            if call.fault:
                return ToolResult.error(call.fault)
            view = self._view(agent)
            before = view.registry.entry(call.name)
            result = await self.call(call.name, call.arguments, timeout=timeout, agent=agent, session=session)
            # One that was called may be taken away meanwhile, and one that was not known yet is by now.
            entry = before or view.registry.entry(call.name)
            if entry is None:
                return view.missing(call.name)
            return await view.framed(result, entry.spec.name, entry.definition.name)

        calls = calls_of(vendor, message)
        return answers_for(vendor, calls, await asyncio.gather(*map(answer, calls)))

    def entries(self, agent: str = ANY_AGENT) -> list[ToolEntry]:
        """The tools an agent is offered, each with its server and its definition."""
        return self._view(agent).registry.entries()

    def filter_trouble(self, agent: str = ANY_AGENT) -> dict[str, str]:
        """Servers whose toolFilter leaves nothing, or names what they do not have, and what is wrong with it."""
        registry = self._view(agent).registry
        return {name: said for name in self._view(agent).specs if (said := registry.filter_trouble(name))}

    def tool(self, entry: ToolEntry, agent: str = ANY_AGENT) -> Tool:
        """The Tool that an agent has of an entry."""
        return self._view(agent).tool(entry)

    async def find(self, name: str, agent: str = ANY_AGENT) -> ToolEntry | None:
        """A tool by the name agents know, starting servers whose tools are not known yet if it may be theirs."""
        return await self._view(agent).find(name)

    def tool_name(self, server: str, tool: str, agent: str = ANY_AGENT) -> str:
        """What a server's tool is called where rules are written, whether it is listed or not."""
        registry = self._view(agent).registry
        listed = (entry.name for entry in registry.entries(server) if entry.definition.name == tool)
        return next(listed, registry.base(server, tool))

    def panels(self, agent: str = ANY_AGENT) -> Mapping[str, tuple[str, str]]:
        """By the names of an agent's tools: the server whose panel shows their results, and the panel's address there."""
        return self._view(agent).panels()

    def panel_tool(self, server: str, tool: str, agent: str = ANY_AGENT) -> Tool | None:
        """A tool as a panel of its server may call it, by the server's own name for it; None when it may not, or there is none."""
        return self._view(agent).panel_tool(server, tool)

    def reserved_for(self, name: str, agent: str = ANY_AGENT) -> str:
        """The server whose tools alone may have this name, whatever it lists at the moment; empty when there is none."""
        view = self._view(agent)
        return next((server for server in view.specs if view.registry.may_have(server, name)), "")

    def status(self, agent: str | None = None) -> list[ServerStatus]:
        """Every server of an agent, or of all of them: in the order they are configured, each once."""
        if self._phase == "new":
            self._check_open()
        views = list(dict.fromkeys(self._views.values())) if agent is None else [self._view(agent)]
        found: dict[tuple[str, str], ServerStatus] = {}
        for view in views:
            for name, spec in view.specs.items():
                found.setdefault((name, spec.owner), view.status(spec))
        return list(found.values())

    def server(self, name: str, agent: str = ANY_AGENT) -> LiveServer:
        """One server of an agent. Raises UsageError when there is none that is to run."""
        self._check_open()
        view = self._view(agent)
        server = view.servers.get(name)
        if server is None:
            spec = view.specs.get(name)
            if spec is None:
                known = ", ".join(view.servers) or "none"
                raise UsageError(f"MCP server '{name}' is not configured.", hint=f"There are: {known}.")
            if spec.enabled:
                raise UsageError(
                    not_started(name, spec.fault, "" if spec.fault_has_place else spec.where),
                    hint=correction(spec.commands),
                )
            enable = command("enable", name, spec.owner, prefix=spec.commands)
            raise UsageError(f"MCP server '{name}' is disabled.", hint=f"Run: {enable}")
        return server

    def shared_server(self, spec: ServerSpec) -> LiveServer | None:
        """What runs a shared spec, whoever uses it; None when nothing does any more."""
        return self._pool.shared.get(spec)

    def stderr(self, name: str, count: int = 20, agent: str = ANY_AGENT) -> list[str]:
        """The last lines that a server's program wrote to standard error, each with its time; a server's words, which may be anything."""
        return self.stderr_log.tail(self.server(name, agent).spec, count)

    def servers(self, agent: str = ANY_AGENT) -> list[LiveServer]:
        """The servers of an agent that are to run."""
        return list(self._view(agent).servers.values())

    async def reconcile(self, servers: Servers, options: ServersOptions | None = None) -> None:
        """Take over a new configuration: start, stop and replace what changed, and leave everything else alone.

        Returns when what had to stop has stopped; what starts is not waited for. Without `options` they stay as they are.
        """
        self._check_open()
        self._check_loop()
        offered = {agent: {entry.name: _origin(entry) for entry in self.entries(agent)} for agent in self._specs}
        self._specs = self._by_agent(servers)
        if options is not None and options != self._options:
            self._adopt(options)
        ended = self._apply()
        left = {agent: {_origin(entry) for entry in self.entries(agent)} for agent in offered}
        # Only what was ours and is gone: calls of native and plugin tools run beside ours, and a new name is no other tool.
        self._revoke(
            lambda agent, tool: tool.name in offered.get(agent, ()) and offered[agent][tool.name] not in left[agent]
        )
        await self._end(ended)

    async def roots_changed(self, specs: Collection[ServerSpec]) -> None:
        """The folders that these servers may work in are others now: those that are up are told."""
        shared = {shared_spec(spec) for spec in specs}
        await asyncio.gather(*(server.roots_changed() for server in self._pool.by(shared)))

    def pins_changed(self, identities: Collection[str]) -> None:
        """What was first seen or accepted of the tools of these servers is something else now, by the word of others who share it: those
        that are up are asked for their tools again, and what they list is held against it."""
        for server in self._pool.all():
            if identity(server.spec) in identities:
                server.pins_changed()

    def _adopt(self, options: ServersOptions) -> None:
        """Work by other settings from now on. Servers that run already do so until they end, whatever their number."""
        if options.debug != self._options.debug:
            _log_as(options)
        self._options = options
        self._limiters.servers.resize(options.max_concurrent_servers)
        self._pool.keep_for(options.session_idle_ttl)

    async def end_session(self, session: str) -> None:
        """A conversation is over: close the connections that served it alone (`isolation: session`). Those it was given stay."""
        await self._pool.end_session(session)

    # Servers of one session

    async def give_servers(self, session: str, agent: str, specs: Sequence[ServerSpec]) -> SessionServers:
        """Let a session have servers besides its agent's, in place of those it was given before, until they are removed or we close.

        They begin to start; nobody waits for them here. Returns what the session sees of them. Raises UsageError when two have one name.
        """
        names = [spec.name for spec in specs]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UsageError(f"Two servers of the session are named '{twice}'.", hint="Give each a name of its own.")
        given = SessionServers(session, agent, specs, self.readiness)
        before = self._sessions.pop(session, None)
        self._sessions[session] = given
        _, ended = self._pool.apply(self._all_specs())
        given.show(self._session_view(given))
        if before is not None:
            before.show(None)
        for spec in given.specs:
            if is_wanted(spec):
                self._pool.shared[shared_spec(spec)].start()
        await self._end(ended)
        if self._state is not None:
            from openclaw.mcp.old_files import remove_old_files

            used = {identity(shared_spec(spec)) for spec in self._all_specs()}
            await asyncio.to_thread(remove_old_files, self._state, used)
        return given

    async def remove_servers(self, session: str) -> None:
        """Take back what a session was given. Returns when the servers that nobody else has are ended, and their calls with them."""
        given = self._sessions.pop(session, None)
        if given is not None:
            given.show(None)
            _, ended = self._pool.apply(self._all_specs())
            await self._end(ended)

    def session_servers(self, session: str) -> SessionServers | None:
        """What a session was given; None when that is nothing."""
        return self._sessions.get(session)

    def _session_view(self, given: SessionServers) -> View:
        configured = self._view(given.agent)
        own = beside(tuple(configured.specs.values()), given.specs)
        return self._make_view(own, (*self._reserved, *(entry.name for entry in configured.registry.entries())))

    # Which servers run

    def _all_specs(self) -> list[ServerSpec]:
        given = (spec for one in self._sessions.values() for spec in one.specs)
        return [*_all(self._specs), *given]

    def _apply(self) -> list[LiveServer]:
        """Make what runs fit the specs. The servers that are to end."""
        started, ended = self._pool.apply(self._all_specs())
        for server in started:
            if self.is_eager:
                server.start()
        self._views = {}
        for agent, listed in self._specs.items():
            # Agents with the same servers share a view.
            same = next((view for view in self._views.values() if [*view.specs.values()] == list(listed)), None)
            self._views[agent] = same or self._make_view(listed, self._reserved)
        # Their servers are as they were; what they are beside may be other servers now.
        for given in self._sessions.values():
            given.show(self._session_view(given))
        return ended

    async def _end(self, servers: Sequence[LiveServer]) -> None:
        """End servers that nobody has any more. Callers that wait for one of them stop waiting, however long its end takes."""
        for server in servers:
            server.close()
        self.readiness.changed()
        await self._pool.end(servers)
        # Another one of the same program may have taken the place of one that ended.
        still_here = {identity(spec) for spec in self._pool.shared}
        for server in servers:
            if identity(server.spec) not in still_here:
                self.stderr_log.forget(server.spec)

    def _make_view(self, specs: Sequence[ServerSpec], reserved: Iterable[str]) -> View:
        servers = {spec.name: self._pool.shared[shared_spec(spec)] for spec in specs if is_wanted(spec)}
        return View(
            specs,
            servers,
            self._options,
            reserved,
            pool=self._pool,
            readiness=self.readiness,
            media=self._media,
            tools_differ=self._dependencies.tools_differ,
        )

    # What agents and sessions see

    def _by_agent(self, servers: Servers) -> dict[str, tuple[ServerSpec, ...]]:
        """The specs of each agent, and the objects among the servers taken note of. Raises UsageError for what is no list of servers."""
        listed = servers if isinstance(servers, Mapping) else {ANY_AGENT: servers}
        if all(_are_specs(each) for each in listed.values()):
            if self._in_process is not None:
                self._in_process.take(())
            return {
                agent: tuple(spec for spec in each if isinstance(spec, ServerSpec)) for agent, each in listed.items()
            }
        from openclaw.mcp.embedding import Server, checked_servers
        from openclaw.mcp.in_process import InProcess

        given = {agent: checked_servers(each) for agent, each in listed.items()}
        self._in_process = self._in_process or InProcess()
        self._in_process.take(one for each in given.values() for one in each)
        return {
            agent: tuple(one.spec if isinstance(one, Server) else one for one in each) for agent, each in given.items()
        }

    def _transport(self, other: Callable[[ServerSpec], Transport | None], spec: ServerSpec) -> Transport | None:
        """The way to a server of this program's own, if it is one of them."""
        own = None if self._in_process is None else self._in_process.transport(spec)
        return other(spec) if own is None else own

    def _check_open(self) -> None:
        """Raises UsageError outside of the block in which a manager is used."""
        if self._phase != "open":
            raise UsageError(
                f"The manager is {'not open yet' if self._phase == 'new' else 'closed'}.",
                hint="Use it inside its block: async with Manager([…]) as manager.",
            )

    def _check_loop(self) -> None:
        """Raises UsageError in another event loop than the one in which a manager was opened."""
        if self._loop is not None and self._loop is not asyncio.get_running_loop():
            raise other_loop()

    def _view(self, agent: str) -> View:
        if self._phase == "new":
            self._check_open()
        view = self._views.get(agent) or self._views.get(ANY_AGENT)
        if view is None:
            view = self._views[ANY_AGENT] = self._make_view((), self._reserved)
        return view

    def _all_views(self) -> list[View]:
        given = (one.view for one in self._sessions.values() if one.view is not None)
        return list(dict.fromkeys((*self._views.values(), *given)))

    def _servers_of(self, agent: str, session: str) -> Mapping[str, LiveServer]:
        if not session:
            return self._view(agent).servers
        given = self._sessions.get(session)
        return given.view.servers if given is not None and given.view is not None else {}

    def _tools_changed(self, server: LiveServer) -> None:
        added: dict[str, None] = {}
        removed: dict[str, None] = {}
        for view in self._all_views():
            for name in [name for name, held in view.servers.items() if held is server]:
                difference = view.update(name)
                added |= dict.fromkeys(difference.added)
                removed |= dict.fromkeys(difference.removed)
                if difference.added:
                    server.keep_names(view.registry.unusual_names(name))
        if added or removed:
            self._emit(ToolsChanged(server.spec.name, tuple(added), tuple(removed)))

    async def _tools_changed_in_steps(self, server: LiveServer) -> None:
        """The same for a server that lists very many tools, in steps."""
        added: dict[str, None] = {}
        removed: dict[str, None] = {}

        def note(difference: Difference) -> None:
            added.update(dict.fromkeys(difference.added))
            removed.update(dict.fromkeys(difference.removed))

        try:
            for view in self._all_views():
                for name in [name for name, held in view.servers.items() if held is server]:
                    await view.update_in_steps(name, note)
                    if added:
                        await asyncio.to_thread(server.keep_names, view.registry.unusual_names(name))
        finally:
            if added or removed:
                self._emit(ToolsChanged(server.spec.name, tuple(added), tuple(removed)))

    def _emit(self, event: ServerEvent) -> None:
        self.readiness.changed()
        self.events.send(event)
        if isinstance(event, StateChanged) and not self._said_started and self.is_eager:
            servers = self._pool.shared.values()
            if not any(server.is_starting for server in servers):
                self._said_started = True
                ready = sum(server.is_ready for server in servers)
                _log.info("MCP manager started: %d/%d servers ready", ready, len(servers))


def _log_as(options: ServersOptions) -> None:
    for part in ("openclaw.mcp", "openclaw.transport"):
        logging.getLogger(part).setLevel(logging.DEBUG if options.debug else logging.NOTSET)


def _origin(entry: ToolEntry) -> tuple[str, str]:
    """Which tool an entry is, whatever agents call it."""
    return entry.spec.name, entry.definition.name


def _all(specs: Mapping[str, Sequence[ServerSpec]]) -> list[ServerSpec]:
    return list(dict.fromkeys(spec for listed in specs.values() for spec in listed))


def _are_specs(servers: object) -> bool:
    """Whether this is what a config gives: nothing about it needs to be checked."""
    return (
        isinstance(servers, list | tuple)
        and all(isinstance(one, ServerSpec) for one in servers)
        and len({one.name for one in servers}) == len(servers)
    )


def _check_parts(**parts: tuple[object, type]) -> None:
    """Raises UsageError for what is given as something that it is not."""
    for key, (part, kind) in parts.items():
        if part is not None and not isinstance(part, kind):
            from openclaw.mcp.embedding import kind_of

            write = "events=other_manager.events" if kind is EventHub else f"{key}={kind.__name__}(…)"
            raise UsageError(f"{key} must be of type {kind.__name__}, not {kind_of(part)}.", hint=f"Write {write}.")


def _names(reserved: Iterable[str]) -> frozenset[str]:
    if isinstance(reserved, list | tuple | set | frozenset):
        return frozenset(reserved)
    from openclaw.mcp.embedding import names

    return names("reserved", reserved)


def _patience(patience: float) -> float:
    if patience not in (0, float("inf")):
        from openclaw.mcp.embedding import check_patience

        check_patience(patience)
    return patience


def _folder(state: str | os.PathLike[str] | None) -> Path | None:
    if state is None or isinstance(state, Path):
        return state
    from openclaw.mcp.embedding import folder

    return folder("state", state)


def _signing_in(sign_in: "SignIn | None", folder: Path | None, dependencies: Dependencies) -> "ProgramSignIn | None":
    if sign_in is None:
        return None
    from openclaw.mcp.embedding import check_asked
    from openclaw.mcp.program_sign_in import ProgramSignIn

    check_asked(sign_in=sign_in)
    return ProgramSignIn(sign_in, folder, dependencies)
