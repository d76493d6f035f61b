"""Servers that one session has besides those of its agent: an editor brings them with the session.

Owns what the turns and calls of that session see of them, as a ToolSource and a ContextSource of their own. They run in the pool like all
others (manager.py), and their tools pass the policy of the session's agent; no other session sees them. What the agent has already, by name
and by entry, is not shown twice; a server whose name another one of the agent's has gets a suffix in the names of its tools.
"""

from collections.abc import Mapping, Sequence

from msgspec import structs

from openclaw.config.servers import ServerSpec
from openclaw.mcp.context import context_of, foreign_of
from openclaw.mcp.readiness import Readiness
from openclaw.mcp.reconcile import shared_spec
from openclaw.mcp.skills import ServedSkill
from openclaw.mcp.status import ServerStatus
from openclaw.mcp.tools.names import Claims
from openclaw.mcp.view import View
from openclaw.tool import Absence, Tool


class SessionServers:
    """`view` is what is seen of them: another one after every change of the config, and None once the session has no servers any more."""

    def __init__(self, session: str, agent: str, specs: Sequence[ServerSpec], readiness: Readiness) -> None:
        self.agent = agent
        self.specs = tuple(specs)
        self.view: View | None = None
        self._session = session
        self._readiness = readiness

    def show(self, view: View | None) -> None:
        self.view = view

    # For the turns of the session (tool.ToolSource, tool.ContextSource)

    def tools(self, agent: str) -> Sequence[Tool]:
        return self.view.tools() if self.view is not None else ()

    def absences(self, agent: str) -> Sequence[Absence]:
        return self.view.absences() if self.view is not None else ()

    async def settle(self, agent: str, patience: float) -> None:
        await self._readiness.settle(self.agent, patience, session=self._session)

    def context(self, agent: str) -> str:
        if self.view is None:
            return ""
        return context_of(self.status(), list(self.view.servers.values()))

    def foreign(self, agent: str) -> Sequence[tuple[str, str]]:
        return foreign_of(list(self.view.servers.values())) if self.view is not None else ()

    def origins(self, agent: str) -> Mapping[str, str]:
        return self.view.origins() if self.view is not None else {}

    def skills(self, agent: str) -> Sequence[ServedSkill]:
        return self.view.skills() if self.view is not None else ()

    def status(self) -> list[ServerStatus]:
        """Those that the agent does not have anyway."""
        return [self.view.status(spec) for spec in self.view.specs.values()] if self.view is not None else []


def beside(configured: Sequence[ServerSpec], specs: Sequence[ServerSpec]) -> list[ServerSpec]:
    """The specs of a session as they stand beside those of its agent: without what the agent has, and each with a prefix of its own."""
    known = {shared_spec(spec) for spec in configured}
    prefixes = Claims(spec.tool_prefix or spec.name for spec in configured)
    own = [spec for spec in specs if shared_spec(spec) not in known]
    return [structs.replace(spec, tool_prefix=prefixes.claim(spec.tool_prefix or spec.name)) for spec in own]
