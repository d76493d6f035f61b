"""The servers as one agent sees them: its specs, its registry of tools, and the Tools made from it.

Agents with equal specs share a view. A Tool is made once and stays the same object for as long as its definition does, so that
prompts stay cacheable and compiled checks stay good.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec import structs

from openclaw.config.servers import EngineOptions, ServerSpec
from openclaw.mcp.bridge import tool_of
from openclaw.mcp.registry import Difference, Registry, ToolEntry, Toolset
from openclaw.mcp.status import ServerStatus, auth_of, target_of
from openclaw.mcp.supervisor import Supervisor
from openclaw.mcp.wording import absence, trouble, where_to_look
from openclaw.schema import Checker
from openclaw.tool import Absence, Run, Tool

_log = logging.getLogger(__name__)

_NONE = Toolset()

MakeRun = Callable[["View", str], Run]


class View:
    """`supervisors` maps the name of each server that is to run to what runs it."""

    def __init__(
        self,
        specs: Sequence[ServerSpec],
        supervisors: Mapping[str, Supervisor],
        options: EngineOptions,
        reserved: Iterable[str],
        make_run: MakeRun,
    ) -> None:
        self.specs = {spec.name: spec for spec in specs}
        self.supervisors = dict(supervisors)
        remembered = {name: supervisor.catalog.names for name, supervisor in supervisors.items()}
        self.registry = Registry(specs, options, reserved=reserved, remembered=remembered)
        self._make_run = make_run
        self._made: dict[str, tuple[ToolEntry, Tool]] = {}
        self._checkers: dict[str, tuple[ToolEntry, Checker]] = {}
        self._list: list[Tool] | None = None
        self._taken: dict[str, Toolset] = {}
        # Known tools first get the names they had: all of them, before a server can come up with others.
        for name in self.supervisors:
            self.update(name)

    def update(self, server: str) -> Difference:
        """Take over what a server offers now."""
        supervisor = self.supervisors[server]
        toolset = supervisor.catalog.toolset if supervisor.standing.is_offering else _NONE
        if self._taken.get(server) is toolset:
            return Difference()
        self._taken[server] = toolset
        difference = self.registry.update(server, toolset)
        self._list = None
        for name in difference.removed:
            self._made.pop(name, None)
            self._checkers.pop(name, None)
        for name in difference.added:
            entry = self.registry.entry(name)
            usual = self.registry.base(server, entry.definition.name) if entry else name
            if entry is not None and usual != name:
                _log.warning("MCP server '%s': the name %s is taken, its tool is offered as %s.", server, usual, name)
        return difference

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
        supervisor = self.supervisors.get(spec.name)
        if supervisor is None:
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
        shown = supervisor.describe()
        return structs.replace(
            shown,
            # Who shares it does not know whose it is, and a command about it names the agent.
            reason=shown.reason.replace(where_to_look(supervisor.spec), where_to_look(spec)),
            tools=len(self.registry.entries(spec.name)),
            unusable=tuple(self.registry.base(spec.name, one.name) for one in supervisor.catalog.toolset.refusals),
            owner=spec.owner,
            where=spec.where,
        )

    def absences(self) -> list[Absence]:
        absent: list[Absence] = []
        for name, spec in self.specs.items():
            supervisor = self.supervisors.get(name)
            if supervisor is not None and supervisor.standing.is_offering:
                absent += self.registry.absences(name)
            if reason := self._missing(spec, supervisor):
                waits = supervisor is not None and supervisor.standing.status.state == "needs-auth"
                pattern = f"{self.registry.base(name, '')}*"
                absent.append(Absence(pattern, reason, spec.where, sign_in=name if waits else ""))
        return absent

    def absence(self, tool: str) -> Absence | None:
        """Why a tool that was offered is not there any more; None when nobody knows."""
        return next((absence for absence in self.absences() if fnmatchcase(tool, absence.name)), None)

    def _missing(self, spec: ServerSpec, supervisor: Supervisor | None) -> str:
        """Why a server's tools are missing as a whole; empty when they are there, or would be."""
        shown = self.status(spec)
        if supervisor is not None and supervisor.standing.is_offering and supervisor.catalog.is_known:
            return trouble(shown) if shown.state == "ready" else ""
        return absence(shown)

    def _tool(self, entry: ToolEntry) -> Tool:
        made = self._made.get(entry.name)
        if made is None or made[0] is not entry:
            made = self._made[entry.name] = (entry, tool_of(entry, self._make_run(self, entry.name)))
        return made[1]
