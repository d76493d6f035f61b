"""What one agent is: `agents.defaults` with the agent's own settings over them.

Owns which agents exist, which answers when none is named, and how defaults and own settings meet: field by field, so that an agent with its
own `tools.allow` keeps the defaults' `tools.deny`. Decides no policy: the tool rules are handed on as layers, each with its place in
the file. Its servers are worked out by `servers.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from openclaw.config.dotted import Path
from openclaw.config.entry import AgentMcp
from openclaw.config.loaded import Config
from openclaw.config.rules import DEFAULT_AGENT
from openclaw.config.sections import AgentSettings, ApprovalRules, FallbackBySurface, ModelChoice, ToolRules
from openclaw.errors import UsageError

# Model requests in one run. A task that needs more is going in circles.
DEFAULT_MAX_TURNS = 50
# Seconds for one run, tools included.
DEFAULT_TIMEOUT = 600.0
DEFAULT_MAX_CONCURRENT = 8


class Rule(msgspec.Struct, frozen=True, eq=False):
    """One list of a layer, and where it is written: `openclaw.json:12 tools.deny`."""

    names: tuple[str, ...]
    # For messages: the same names at another place are the same rule.
    where: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rule) and self.names == other.names

    def __hash__(self) -> int:
        return hash(self.names)


# Settings of approvals that are seconds here and milliseconds in the file.
_IN_MILLISECONDS = {"timeout": "timeoutMs", "pending": "pendingMs"}


class ApprovalLayer(msgspec.Struct, frozen=True, eq=False):
    """What one layer says about approvals; None or nothing where it is silent. `fallback` is by surface. `places` say where each setting
    is written: the same rules at another place are the same."""

    # The setting, such as `tools.approval`.
    name: str = "tools.approval"
    mode: str | None = None
    allow: tuple[str, ...] | None = None
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    taint: str | None = None
    # Seconds.
    timeout: float | None = None
    pending: float | None = None
    fallback: Mapping[str, str] = msgspec.field(default_factory=dict)
    places: Mapping[str, str] = msgspec.field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ApprovalLayer):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__struct_fields__ if name != "places")

    def place(self, setting: str) -> str:
        return self.places.get(setting) or f"{self.name}.{setting}"


class ToolLayer(msgspec.Struct, frozen=True):
    """One layer of tool policy as written; each only narrows those before it. None: the layer says nothing of the kind."""

    # The setting, such as `tools` or `agents.entries.research.tools`.
    name: str
    profile: Rule | None = None
    allow: Rule | None = None
    also_allow: Rule | None = None
    deny: Rule | None = None
    approval: ApprovalLayer | None = None


class AgentSpec(msgspec.Struct, frozen=True):
    """One agent as configured, defaults filled in."""

    id: str
    name: str = ""
    # `provider/model`; empty when none is configured: then one is looked for.
    model: str = ""
    fallbacks: tuple[str, ...] = ()
    # The rules for all agents, then its own.
    tools: tuple[ToolLayer, ...] = ()
    # Holds beside them for calls that come through the gateway.
    gateway_tools: ToolLayer = ToolLayer("gateway.tools")
    # The only skills it has; None is all of them.
    skills: tuple[str, ...] | None = None
    workspace: str | None = None
    prompt: str = ""
    verbose: bool = False
    max_turns: int = DEFAULT_MAX_TURNS
    timeout: float = DEFAULT_TIMEOUT
    context_tokens: int | None = None
    max_concurrent: int = DEFAULT_MAX_CONCURRENT
    mcp: AgentMcp = AgentMcp()


def agent_ids(config: Config) -> tuple[str, ...]:
    """Every agent, the default one first."""
    first = default_agent(config)
    return tuple(dict.fromkeys([first, *_paths(config)]))


def default_agent(config: Config) -> str:
    """`agents.default`, else the one of `agents.list` marked so, else `main`, else the first, else `main` with all defaults."""
    agents = config.root.agents
    marked = [agent.id for agent in agents.list if agent.default]
    known = list(_paths(config))
    if agents.default or marked:
        return agents.default or marked[0]
    return DEFAULT_AGENT if DEFAULT_AGENT in known or not known else known[0]


def agent(config: Config, agent_id: str = "") -> AgentSpec:
    """The agent of that id; the default one when it is empty. Raises UsageError when there is none."""
    chosen = agent_id or default_agent(config)
    if chosen not in agent_ids(config):
        raise UsageError(f'There is no agent "{chosen}".', hint=f"Known agents: {', '.join(agent_ids(config))}.")
    defaults = config.root.agents.defaults
    path, own = _paths(config).get(chosen, (("agents", "entries", chosen), AgentSettings()))
    model, fallbacks = _model(own, defaults)
    skills = own.skills if own.skills is not None else defaults.skills
    workspace = own.workspace or defaults.workspace
    return AgentSpec(
        id=chosen,
        name=own.name or "",
        model=model,
        fallbacks=fallbacks,
        tools=(_layer(config, ("tools",), config.root.tools), _agent_layer(config, path, own)),
        gateway_tools=_layer(config, ("gateway", "tools"), config.root.gateway.tools),
        skills=skills,
        workspace=str(config.resolve(workspace)) if workspace else None,
        prompt=own.prompt if own.prompt is not None else defaults.prompt or "",
        verbose=own.verbose if own.verbose is not None else bool(defaults.verbose),
        max_turns=own.max_turns or defaults.max_turns or DEFAULT_MAX_TURNS,
        timeout=own.timeout_seconds or defaults.timeout_seconds or DEFAULT_TIMEOUT,
        context_tokens=own.context_tokens or defaults.context_tokens,
        max_concurrent=own.max_concurrent or defaults.max_concurrent or DEFAULT_MAX_CONCURRENT,
        mcp=own.mcp or AgentMcp(),
    )


def _paths(config: Config) -> dict[str, tuple[Path, AgentSettings]]:
    agents = config.root.agents
    listed: dict[str, tuple[Path, AgentSettings]] = {
        settings.id: (("agents", "list", str(index)), settings) for index, settings in enumerate(agents.list)
    }
    return listed | {name: (("agents", "entries", name), settings) for name, settings in agents.entries.items()}


def _model(own: AgentSettings, defaults: AgentSettings) -> tuple[str, tuple[str, ...]]:
    """An agent's own model comes without the defaults' fallbacks, unless it names only fallbacks."""
    for settings in (own, defaults):
        if isinstance(settings.model, str):
            return settings.model, ()
        if isinstance(settings.model, ModelChoice) and settings.model.primary:
            return settings.model.primary, settings.model.fallbacks
        if isinstance(settings.model, ModelChoice) and settings is own:
            primary, _ = _model(AgentSettings(), defaults)
            return primary, settings.model.fallbacks
    return "", defaults.model.fallbacks if isinstance(defaults.model, ModelChoice) else ()


def _layer(config: Config, path: Path, rules: ToolRules) -> ToolLayer:
    approval = _approval(config, (*path, "approval"), [((*path, "approval"), rules.approval)])
    return ToolLayer(".".join(path), approval=approval, **_rules(config, path, rules))


def _agent_layer(config: Config, path: Path, own: AgentSettings) -> ToolLayer:
    """The defaults' rules with the agent's own over them, list by list."""
    merged: dict[str, Rule] = {}
    approvals: list[tuple[Path, ApprovalRules | None]] = []
    for at, settings in ((("agents", "defaults"), config.root.agents.defaults), (path, own)):
        for key, rules in (("tools", settings.tools), ("toolPolicy", settings.tool_policy)):
            if rules is None:
                continue
            # The two exclude each other: an agent that has one of them means it instead of the defaults' other.
            if rules.allow is not None or rules.also_allow is not None:
                merged.pop("allow", None)
                merged.pop("also_allow", None)
            merged |= _rules(config, (*at, key), rules)
            approvals.append(((*at, key, "approval"), rules.approval))
    approval = _approval(config, (*path, "tools", "approval"), approvals)
    return ToolLayer(".".join((*path, "tools")), approval=approval, **merged)


def _approval(config: Config, name: Path, written: Sequence[tuple[Path, ApprovalRules | None]]) -> ApprovalLayer | None:
    """What is said about approvals at several places, the later over the earlier, setting by setting."""
    said: dict[str, Any] = {}
    places: dict[str, str] = {}
    for path, rules in written:
        if rules is None:
            continue
        fallback = rules.fallback
        if isinstance(fallback, FallbackBySurface):
            ways = {"order": fallback.order, "http": fallback.http, "default": fallback.default}
            by_surface = {surface: word for surface, word in ways.items() if word}
        else:
            by_surface = {"default": fallback} if fallback else {}
        found = {
            "mode": rules.mode,
            "allow": rules.allow,
            "ask": rules.ask,
            "deny": rules.deny,
            "taint": rules.taint,
            "timeout": rules.timeout_ms / 1000 if rules.timeout_ms else None,
            "pending": rules.pending_ms / 1000 if rules.pending_ms else None,
            "fallback": by_surface or None,
        }
        found = {key: value for key, value in found.items() if value is not None}
        said |= found
        places |= {key: config.where((*path, _IN_MILLISECONDS.get(key, key))) for key in found}
    return ApprovalLayer(".".join(name), places=places, **said) if said else None


def _rules(config: Config, path: Path, rules: ToolRules) -> dict[str, Rule]:
    written = {
        "profile": (rules.profile,) if rules.profile else None,
        "allow": rules.allow,
        "also_allow": rules.also_allow,
        "deny": rules.deny,
    }
    keys = {"also_allow": "alsoAllow"}
    return {
        name: Rule(names, config.where((*path, keys.get(name, name))))
        for name, names in written.items()
        if names is not None
    }
