"""The servers as one agent sees them: its specs, its registry of tools, and the Tools made from it.

Agents with equal specs share a view. A Tool is made once and stays the same object for as long as its definition does, so that
prompts stay cacheable and compiled checks stay good.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec import structs

from openclaw.config.servers import EngineOptions, ServerSpec
from openclaw.mcp.server.server import Server
from openclaw.mcp.status import ServerStatus, auth_of, target_of
from openclaw.mcp.tools.bridge import tool_of
from openclaw.mcp.tools.registry import Difference, Registry, ToolEntry, Toolset, together
from openclaw.mcp.wording import absence, trouble, where_to_look
from openclaw.schema import Checker
from openclaw.tool import Absence, Run, Tool

_log = logging.getLogger(__name__)

# Of one server: tools whose unusual name is told in the log.
MOST_RENAMED = 100

MakeRun = Callable[["View", str], Run]


class View:
    """`servers` are those of its specs that are to run, by their names."""

    def __init__(
        self,
        specs: Sequence[ServerSpec],
        servers: Mapping[str, Server],
        options: EngineOptions,
        reserved: Iterable[str],
        make_run: MakeRun,
    ) -> None:
        self.specs = {spec.name: spec for spec in specs}
        self.servers = dict(servers)
        remembered = {name: server.unusual_names for name, server in servers.items()}
        self.registry = Registry(specs, options, reserved=reserved, remembered=remembered)
        self._make_run = make_run
        self._made: dict[str, tuple[ToolEntry, Tool]] = {}
        self._checkers: dict[str, tuple[ToolEntry, Checker]] = {}
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
        """The same for a server that offers very much: everybody else has a turn in between. What each step changed is noted."""
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
        for name in difference.removed:
            self._made.pop(name, None)
            self._checkers.pop(name, None)
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
            self._list = [self._tool(entry) for entry in self.registry.entries()]
        return self._list

    def check(self, entry: ToolEntry, arguments: object) -> str | None:
        """What is wrong with the arguments of a call; None when nothing is."""
        known = self._checkers.get(entry.name)
        if known is None or known[0] is not entry:
            known = self._checkers[entry.name] = (entry, Checker(self._tool(entry).parameters))
        return known[1].check(arguments)

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
            )
        shown = server.status()
        return structs.replace(
            shown,
            # Who shares it does not know whose it is, and a command about it names the agent.
            reason=shown.reason.replace(where_to_look(server.spec), where_to_look(spec)),
            tools=len(self.registry.entries(spec.name)),
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
        return next((absence for absence in self.absences() if fnmatchcase(tool, absence.name)), None)

    def _tool(self, entry: ToolEntry) -> Tool:
        made = self._made.get(entry.name)
        if made is None or made[0] is not entry:
            made = self._made[entry.name] = (entry, tool_of(entry, self._make_run(self, entry.name)))
        return made[1]


def _missing(server: Server | None, shown: ServerStatus) -> str:
    """Why a server's tools are missing as a whole; empty when they are there, or would be."""
    if server is not None and server.is_offering and server.is_known:
        return trouble(shown) if shown.state == "ready" else ""
    return absence(shown)
