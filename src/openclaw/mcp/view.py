"""The servers as one agent sees them: its specs, its registry of tools, the Tools made from it, and the way from a name to a call.

Agents with equal specs share a view. A call of a name goes to the server that has the tool, the shared one or a conversation's own. Policy,
arguments, revocation and the audit line come before it (tools/invoke.py), at-most-once after it (server/calls.py). A Tool is made once and
stays the same object for as long as its definition does, so that prompts stay cacheable and compiled checks stay good.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import structs

from openclaw.config.servers import ServersOptions, ServerSpec
from openclaw.errors import StoreError
from openclaw.json_schema import CheckerCache
from openclaw.mcp.pool import ServerPool
from openclaw.mcp.readiness import Readiness
from openclaw.mcp.server.server import LiveServer
from openclaw.mcp.server.state import UnavailableError
from openclaw.mcp.sign_in import again_after_sign_in
from openclaw.mcp.skills import SKILLS_TOOL, ServedSkill, SkillEntry
from openclaw.mcp.status import ServerStatus, auth_of, target_of
from openclaw.mcp.tools.bridge import facts_of, is_heavy, plain_result, result_of, tool_of, unavailable
from openclaw.mcp.tools.definition import Definition, audience
from openclaw.mcp.tools.panel import for_panel, panel_of
from openclaw.mcp.tools.registry import Difference, Registry, ToolEntry, Toolset, filtered_by, together
from openclaw.mcp.tools.results import Result
from openclaw.mcp.wording import absence, no_such_tool, trouble
from openclaw.media import MediaStore
from openclaw.tool import Absence, Invocation, OwnWords, Tool, ToolFacts, ToolResult, find_absence
from openclaw.transport.connection import OnProgress

_log = logging.getLogger(__name__)

# Of one server: tools whose unusual name is told in the log.
MOST_RENAMED = 100


class View:
    """`servers` are those of its specs that are to run, by their names."""

    def __init__(
        self,
        specs: Sequence[ServerSpec],
        servers: Mapping[str, LiveServer],
        options: ServersOptions,
        reserved: Iterable[str],
        *,
        pool: ServerPool,
        readiness: Readiness,
        media: MediaStore | None,
        tools_differ: Callable[[], None] = lambda: None,
    ) -> None:
        self.specs = {spec.name: spec for spec in specs}
        self.servers = dict(servers)
        remembered = {name: server.unusual_names for name, server in servers.items()}
        self.registry = Registry(specs, options, reserved=reserved, remembered=remembered)
        self._pool = pool
        self._readiness = readiness
        self._media = media
        self._tools_differ = tools_differ
        self._made: dict[str, tuple[ToolEntry, Tool]] = {}
        self._checkers = CheckerCache()
        self._list: list[Tool] | None = None
        self._taken: dict[str, Toolset] = {}
        # Servers whose tools are being taken over in steps.
        self._in_steps: set[str] = set()
        # How many tools of each server could not have their usual name.
        self._renamed: dict[str, int] = {}
        # Known tools first get the names they had: all of them, before a server can come up with others.
        for name in self.servers:
            self.update(name)

    def update(self, server: str) -> Difference:
        """Take over what a server offers now; nothing while that is being done in steps."""
        return Difference() if server in self._in_steps else together(self._updating(server))

    async def update_in_steps(self, server: str, note: Callable[[Difference], None]) -> None:
        """The same for a server that offers very much: others run in between. What each step changed is noted."""
        if server in self._in_steps:
            return
        self._in_steps.add(server)
        try:
            # Until what was taken over is what the server offers by then.
            while self._taken.get(server) is not self.servers[server].offered:
                for difference in self._updating(server):
                    note(difference)
                    await asyncio.sleep(0)
        finally:
            self._in_steps.discard(server)
            # Also when it was cancelled half-way.
            self.update(server)

    def _updating(self, server: str) -> Iterator[Difference]:
        toolset = self.servers[server].offered
        if self._taken.get(server) is toolset:
            return
        for difference in self.registry.updating(server, toolset):
            self._changed(server, difference)
            yield difference
        self._taken[server] = toolset

    def _changed(self, server: str, difference: Difference) -> None:
        self._list = None
        self._tools_differ()
        for name in difference.removed:
            self._made.pop(name, None)
        for name in difference.added:
            entry = self.registry.entry(name)
            if entry is not None and entry.is_renamed:
                self._tell_renamed(server, entry)

    def _tell_renamed(self, server: str, entry: ToolEntry) -> None:
        told = self._renamed[server] = self._renamed.get(server, 0) + 1
        if told <= MOST_RENAMED:
            usual = self.registry.base(server, entry.definition.name)
            _log.warning("MCP server '%s': the name %s is taken, its tool is offered as %s.", server, usual, entry.name)
        elif told == MOST_RENAMED + 1:
            _log.warning("MCP server '%s': names of more of its tools are taken.", server)

    def tools(self) -> Sequence[Tool]:
        if self._list is None:
            self._list = [self.tool(entry) for entry in self.registry.entries()]
        return self._list

    def origins(self) -> dict[str, str]:
        """What servers say of themselves, in their first words."""
        return {name: words for name, server in self.servers.items() if (words := server.opening)}

    def skills(self) -> list[ServedSkill]:
        """The skills of its servers, in the order of the servers, those that cannot be used among them."""
        return [
            ServedSkill(
                self.specs[name],
                self.registry.base(name, SKILLS_TOOL),
                entry,
                server.read_skill_file,
                partial(_skill_now, server, entry.uri),
            )
            for name, server in self.servers.items()
            for entry in server.skills
        ]

    # From a name to a call

    async def find(self, name: str) -> ToolEntry | None:
        """A tool by its name. One that is not known yet is asked for: its server may be starting, away, or have it since last time."""
        if entry := self.registry.entry(name):
            return entry
        likely = [
            one
            for server, one in self.servers.items()
            # Whether it has resources, and so tools of ours to read them, is heard behind its list.
            if (not one.was_listed or one.is_settling) and self.registry.may_have(server, name)
        ]
        await asyncio.gather(*map(self._ask, likely))
        return self.registry.entry(name)

    async def _ask(self, server: LiveServer) -> None:
        """Have a server list its tools, connecting at once if need be. When it does not, its status says why."""
        with contextlib.suppress(UnavailableError):
            # One that fell silent is given up with its list, and started again by who wants it.
            await self._readiness.until(lambda: not server.is_listing_late)
            await server.client()
            await self._readiness.until(lambda: not server.is_starting)

    async def call(
        self,
        entry: ToolEntry,
        arguments: Mapping[str, Any],
        *,
        session: str = "",
        show_progress: Callable[[str], None] | None = None,
        on_progress: OnProgress | None = None,
        timeout: float | None = None,
        invocation: Invocation | None = None,
    ) -> Result:
        """Call a tool of a server, the shared one or the conversation's own. Never raises but CancelledError. `timeout` is all the time it
        has, in place of what its spec says."""
        spec = entry.spec
        server = self.servers[spec.name]
        if spec.isolation == "session" and session:
            try:
                server = await self._pool.private(server, session)
            except StoreError as error:
                return Result.failed(OwnWords(error))
        patience = spec.call_timeout if timeout is None else timeout
        if entry.is_utility:
            return await server.call_utility(entry.definition.name, arguments, timeout=patience, invocation=invocation)
        return await server.call_tool(
            entry.definition.name,
            arguments,
            timeout=patience,
            max_total=spec.max_total_timeout if timeout is None else timeout,
            show_progress=show_progress,
            on_progress=on_progress,
            invocation=invocation,
        )

    async def _run(
        self, called: str | ToolEntry, keeps: bool, arguments: dict[str, Any], invocation: Invocation
    ) -> ToolResult:
        """What a Tool does when it is called: that of a name as it is by then, or a certain one. With `keeps`, what the server answered
        stays in the result's details, for a panel."""
        if isinstance(called, str):
            known = self.registry.entry(called)
            if known is None:
                return unavailable(called, self.absence(called))
            entry = known
        else:
            entry = called
        spec, tool = entry.spec, entry.definition.name
        began = time.monotonic()
        if spec.isolation == "session" or entry.is_utility:
            result = await self._called(entry, arguments, invocation)
        else:
            # `call`, for the call that nearly every one is: what is awaited on its way costs it each time.
            call_tool = self.servers[spec.name].call_tool
            result = await call_tool(
                tool,
                arguments,
                timeout=spec.call_timeout,
                max_total=spec.max_total_timeout,
                show_progress=invocation.progress,
                invocation=invocation,
            )
        if result.needs_sign_in:
            call = partial(self._called, entry, arguments, invocation)
            result = await again_after_sign_in(result, began, call, spec.name, invocation)
        framed = plain_result(result, spec.name, tool) or await self.framed(result, spec.name, tool)
        return for_panel(framed, result) if keeps else framed

    def _called(
        self, entry: ToolEntry, arguments: dict[str, Any], invocation: Invocation
    ) -> Coroutine[Any, Any, Result]:
        return self.call(
            entry, arguments, session=invocation.session, show_progress=invocation.progress, invocation=invocation
        )

    async def framed(self, result: Result, server: str, tool: str) -> ToolResult:
        """A result as a model sees it."""
        given = result, server, tool, self._media
        # Megabytes to decode and to keep on a disk are nothing that other calls should wait for.
        return await asyncio.to_thread(result_of, *given) if is_heavy(result) else result_of(*given)

    # What servers show

    def panels(self) -> dict[str, tuple[str, str]]:
        """By the names of tools: the server whose panel shows their results, and the panel's address there."""
        return {
            entry.name: (entry.spec.name, uri)
            for entry in self.registry.entries()
            if not entry.is_utility and (uri := panel_of(entry.definition))
        }

    def panel_tool(self, server: str, tool: str) -> Tool | None:
        """A tool as a panel of its server may call it, by the server's own name for it; None when it may not, or there is none."""
        live = self.servers.get(server)
        if live is None:
            return None
        offered = (one for one in self.registry.entries(server) if one.definition.name == tool and not one.is_utility)
        entry = next(offered, None)
        if entry is None and not filtered_by(self.specs[server], tool):
            hidden = next((one for one in live.offered.hidden if one.name == tool), None)
            entry = None if hidden is None else self._hidden(server, hidden)
        if entry is None or "app" not in audience(entry.definition.details().meta):
            return None
        return tool_of(entry, partial(self._run, entry, True))

    def _hidden(self, server: str, definition: Definition) -> ToolEntry:
        return ToolEntry(self.registry.base(server, definition.name), self.specs[server], definition)

    def check(self, entry: ToolEntry, arguments: object) -> str | None:
        """What is wrong with the arguments of a call; None when nothing is."""
        return self._checkers.check(self.tool(entry).parameters, arguments)

    def status(self, spec: ServerSpec) -> ServerStatus:
        """How one of its servers is doing, with what belongs to the agent."""
        server = self.servers.get(spec.name)
        if server is None:
            return ServerStatus(
                name=spec.name,
                state="failed" if spec.enabled else "disabled",
                reason=spec.fault,
                transport=spec.transport,
                target=target_of(spec),
                auth=auth_of(spec),
                owner=spec.owner,
                where=spec.where,
                is_refused=spec.enabled,
                reason_has_place=spec.fault_has_place,
                commands=spec.commands,
            )
        shown = server.status()
        return structs.replace(
            shown,
            tools=self.registry.count(spec.name),
            unusable=tuple(self.registry.base(spec.name, tool) for tool in server.unusable_tools),
            owner=spec.owner,
            where=spec.where,
        )

    def absences(self) -> list[Absence]:
        absent: list[Absence] = []
        for name, spec in self.specs.items():
            server, shown = self.servers.get(name), self.status(spec)
            if server is not None and server.is_offering:
                absent += self.registry.absences(name)
            if reason := _missing(server, shown):
                sign_in = name if shown.state == "needs-auth" else ""
                absent.append(Absence(f"{self.registry.base(name, '')}*", reason, spec.where, sign_in=sign_in))
        return absent

    def absence(self, tool: str) -> Absence | None:
        """Why a tool that was offered is not there any more; None when nobody knows."""
        return find_absence(self.absences(), tool)

    def why_missing(self, name: str) -> str:
        """What is said of a name that is no tool's, or not any more."""
        absent = self.absence(name)
        return absent.reason if absent else no_such_tool(name, [tool.name for tool in self.tools()])

    def missing(self, name: str) -> ToolResult:
        """The same as a model sees it."""
        absent = self.absence(name)
        return unavailable(name, absent) if absent else ToolResult.error(self.why_missing(name))

    def tool(self, entry: ToolEntry) -> Tool:
        """What a model is offered of an entry."""
        made = self._made.get(entry.name)
        if made is None or made[0] is not entry:
            keeps = bool(panel_of(entry.definition))
            made = self._made[entry.name] = (
                entry,
                tool_of(entry, partial(self._run, entry.name, keeps), partial(self._facts, entry)),
            )
        return made[1]

    def _facts(self, entry: ToolEntry) -> ToolFacts:
        """Of what a call would reach now: its server may have changed it since it was offered."""
        return facts_of(self.registry.entry(entry.name) or entry)


def _skill_now(server: LiveServer, uri: str) -> SkillEntry | None:
    return next((entry for entry in server.skills if entry.uri == uri), None)


def _missing(server: LiveServer | None, shown: ServerStatus) -> str:
    """Why a server's tools are missing as a whole; empty when they are there, or would be."""
    if server is not None and server.is_offering and server.is_known:
        return trouble(shown) if shown.state == "ready" else ""
    return absence(shown)
