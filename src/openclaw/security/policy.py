"""Which tools an agent may use, and which rule of which file says so. Pure.

Owns the matching of names (case does not matter, `*` is the only wildcard), the groups, the profiles, and the order of decisions: a
deny anywhere wins; native tools that can do anything at all are off until they are named; every layer only narrows what the layers
before it leave. Asked when tools are listed and again when one is called, with the same answer. Knows nothing of where tools come from:
a tool is its name, its kind and its origin.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from openclaw.config.agents import ToolLayer
from openclaw.errors import Problem
from openclaw.tool import SEARCH_TOOLS, SKILL_READ, Absence, Kind, Tool
from openclaw.wildcard import matches

# What several names are short for. A tool of a server or a plugin never belongs to a group of native ones, whatever it calls itself. Every
# native tool stands in one of these: a test asks for it.
_NATIVE_GROUPS = {
    "group:fs": frozenset({"read", "write", "edit", "ls", "grep"}),
    "group:runtime": frozenset({"exec"}),
    "group:web": frozenset({"web_fetch", "web_search"}),
    "group:code": frozenset({"run_code"}),
}
_KIND_GROUPS: dict[str, frozenset[Kind]] = {
    "group:mcp": frozenset({"mcp"}),
    "bundle-mcp": frozenset({"mcp"}),
    "group:plugins": frozenset({"plugin", "mcp"}),
}
_ALIASES = {"bash": "exec"}

# `minimal` holds nothing of ours: what is wanted goes into `alsoAllow`.
_PROFILES: dict[str, tuple[str, ...]] = {
    "minimal": (),
    "messaging": ("group:mcp",),
    "coding": ("group:fs", "group:runtime", "group:web", "group:code", "group:mcp"),
    "full": ("*",),
}
# Native tools that can do anything at all: off until a rule or a profile names them, or their group. A wildcard does not.
_NEEDS_GRANT = _NATIVE_GROUPS["group:runtime"]

# Tools are listed at every turn; decisions about this many are kept.
_MOST_KEPT = 200_000
# A list of tools this long is not gone through in every turn.
LONG_LIST = 1_000


class Named(Protocol):
    """What a decision needs to know of a tool."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> Kind: ...

    @property
    def origin(self) -> str: ...


class ToolRef(msgspec.Struct, frozen=True):
    """A tool by name alone, for questions about one that is not there."""

    name: str
    kind: Kind = "native"
    origin: str = ""


class PolicyLayer(msgspec.Struct, frozen=True, eq=False):
    """The rules of one setting. An empty `allow` allows everything. `where` is the setting; `places` say where each list is written.

    `grants` is false for a layer that may narrow but never switch a tool on that needs a grant (the gateway's).
    """

    where: str
    profile: str | None = None
    allow: tuple[str, ...] = ()
    also_allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    grants: bool = True
    places: Mapping[str, str] = msgspec.field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        """The same rules, wherever they are written."""
        if not isinstance(other, PolicyLayer):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__struct_fields__ if name != "places")

    def place(self, rule: str) -> str:
        return self.places.get(rule) or f"{self.where}.{rule}"


class Decision(msgspec.Struct):
    """Whether a tool may be used, by which rule, and where that is written (empty: nowhere, it is the default).

    `cleared` is the approver's mark (`asking/approver.py`), which stands here because every call comes by: the tool of which no call needs
    anybody's approval, but where something was declined in the turn, or where foreign text was read and an argument may name a host: it is
    no text, has a colon, or its name is none of `plain_names`. Without these the tool reaches no host at all. `until` is when (monotonic)
    the mark has to be set anew, because it rests on grants, which others may revoke.
    """

    allowed: bool
    rule: str
    where: str = ""
    cleared: Tool | None = None
    plain_names: Collection[str] | None = ()
    until: float | None = None

    def clear(self, tool: Tool | None, plain_names: Collection[str] | None = (), *, until: float | None = None) -> None:
        """Set the approver's mark; without a tool, take it away."""
        self.cleared, self.plain_names, self.until = tool, plain_names, until

    def __str__(self) -> str:
        return f"{self.rule} ({self.where})" if self.where else self.rule


def layer_of(written: ToolLayer, *, grants: bool = True) -> PolicyLayer:
    """A layer as the config file has it."""
    rules = {
        "profile": written.profile,
        "allow": written.allow,
        "alsoAllow": written.also_allow,
        "deny": written.deny,
    }
    return PolicyLayer(
        written.name,
        profile=written.profile.names[0] if written.profile and written.profile.names else None,
        allow=written.allow.names if written.allow else (),
        also_allow=written.also_allow.names if written.also_allow else (),
        deny=written.deny.names if written.deny else (),
        grants=grants,
        places={name: rule.where for name, rule in rules.items() if rule and rule.where},
    )


def problems(layers: Iterable[PolicyLayer]) -> list[Problem]:
    """What is wrong with the rules themselves."""
    found: list[Problem] = []
    for layer in layers:
        if layer.allow and layer.also_allow:
            found.append(
                Problem(
                    "allow and alsoAllow exclude each other.", path=layer.where, hint="Put all names into one of them."
                )
            )
        if layer.profile is not None and layer.profile not in _PROFILES:
            found.append(_unknown("profile", layer.profile, _PROFILES, layer.place("profile")))
        lists = (("allow", layer.allow), ("alsoAllow", layer.also_allow), ("deny", layer.deny))
        for key, pattern in ((key, pattern) for key, patterns in lists for pattern in patterns):
            name = _normal(pattern)
            if not name:
                found.append(Problem("An empty name matches no tool.", path=layer.place(key), hint="Remove it."))
            elif name.startswith("group:") and name not in _GROUPS:
                found.append(_unknown("group", name, _GROUPS, layer.place(key)))
    return found


class Policy:
    """Layers of rules, compiled once."""

    def __init__(self, layers: Sequence[PolicyLayer] = ()) -> None:
        self._layers = tuple(_Compiled(layer) for layer in layers)
        self._decisions: dict[tuple[str, Kind, str], Decision] = {}
        # The last long list that was asked about, and what of it may be used.
        self._long: tuple[Sequence[Tool], Mapping[str, Tool]] | None = None

    def admitted(self, tools: Sequence[Tool]) -> Mapping[str, Tool]:
        """Those that may be used, by name; of two with one name the first. A long list is gone through once, for as long as it is the same
        object: whoever changes one makes another."""
        if len(tools) < LONG_LIST:
            return self._admit(tools)
        if self._long is None or self._long[0] is not tools:
            self._long = tools, self._admit(tools)
        return self._long[1]

    def _admit(self, tools: Sequence[Tool]) -> Mapping[str, Tool]:
        found: dict[str, Tool] = {}
        for tool in tools:
            if tool.name not in found and self.decide(tool).allowed:
                found[tool.name] = tool
        return found

    def decide(self, tool: Named) -> Decision:
        key = tool.name, tool.kind, tool.origin
        decision = self._decisions.get(key)
        if decision is None:
            if len(self._decisions) >= _MOST_KEPT:
                self._decisions.clear()
            decision = self._decisions[key] = self._decide(key_of(tool))
        return decision

    def split(self, tools: Iterable[Tool]) -> tuple[list[Tool], list[Absence]]:
        """The tools that may be used, in order, and why each of the others may not."""
        admitted: list[Tool] = []
        hidden: list[Absence] = []
        for tool in tools:
            decision = self.decide(tool)
            if decision.allowed:
                admitted.append(tool)
            else:
                hidden.append(Absence(tool.name, decision.rule, decision.where))
        return admitted, hidden

    def _decide(self, tool: "ToolKey") -> Decision:
        if tool.kind == "native" and tool.name in SEARCH_TOOLS:
            return Decision(True, "it finds and calls nothing but tools that may be used")
        for layer in self._layers:
            if (pattern := layer.deny.match(tool)) is not None:
                return Decision(False, f'deny "{pattern}"', layer.written.place("deny"))
        if tool.kind == "native" and tool.name == SKILL_READ:
            return Decision(True, "it reads nothing but skills that may be used")
        granted: Decision | None = None
        if tool.kind == "native" and tool.name in _NEEDS_GRANT:
            granted = next((grant for layer in self._layers if (grant := layer.grant(tool.name))), None)
            if granted is None:
                return Decision(
                    False, f"{tool.name} is off until tools.allow names it or the profile is {_granting(tool.name)}"
                )
        told: Decision | None = None
        for layer in self._layers:
            answer = layer.narrow(tool)
            if answer is not None and not answer.allowed:
                return answer
            told = answer or told
        return granted or told or Decision(True, "no rule restricts it")


class ToolKey(msgspec.Struct, frozen=True):
    """A tool as rules see it: names without case."""

    name: str
    kind: Kind
    origin: str


def key_of(tool: Named) -> ToolKey:
    return ToolKey(_normal(tool.name), tool.kind, _normal(tool.origin))


class _Compiled:
    """One layer, ready to match."""

    def __init__(self, layer: PolicyLayer) -> None:
        self.written = layer
        self.deny = NamePatterns(layer.deny)
        self._allow = NamePatterns(layer.allow)
        self._also_allow = NamePatterns(layer.also_allow)
        self._profile = NamePatterns(_PROFILES.get(layer.profile or "", ()))

    def narrow(self, tool: ToolKey) -> Decision | None:
        """What this layer says of a tool that it does not deny; None when it says nothing."""
        layer = self.written
        told: Decision | None = None
        if layer.profile is not None:
            if self._profile.match(tool) is not None:
                told = Decision(True, f'profile "{layer.profile}"', layer.place("profile"))
            elif (pattern := self._also_allow.match(tool)) is not None:
                told = Decision(True, f'alsoAllow "{pattern}"', layer.place("alsoAllow"))
            else:
                return Decision(False, f'profile "{layer.profile}" does not include it', layer.place("profile"))
        if layer.allow:
            pattern = self._allow.match(tool)
            if pattern is None:
                return Decision(False, "allow names other tools only", layer.place("allow"))
            told = Decision(True, f'allow "{pattern}"', layer.place("allow"))
        return told

    def grant(self, name: str) -> Decision | None:
        """The rule of this layer that switches on a tool that is off by default: a name or a group, never a wildcard."""
        if not self.written.grants:
            return None
        for rule, patterns in (("allow", self._allow), ("alsoAllow", self._also_allow)):
            if (pattern := patterns.naming(name)) is not None:
                return Decision(True, f'{rule} "{pattern}"', self.written.place(rule))
        if self._profile.naming(name) is not None:
            return Decision(True, f'profile "{self.written.profile}"', self.written.place("profile"))
        return None


class NamePatterns:
    """Several names, wildcards and groups. A match is the pattern as written, for the explanation."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._exact: dict[str, str] = {}
        self._wild: list[tuple[str, str]] = []
        self._groups: list[tuple[str, str]] = []
        for written in patterns:
            name = _normal(written)
            if name in _GROUPS:
                self._groups.append((name, written))
            elif "*" in name:
                self._wild.append((name, written))
            elif name:
                self._exact.setdefault(name, written)

    def match(self, tool: ToolKey) -> str | None:
        if (written := self._exact.get(tool.name)) is not None:
            return written
        # A plugin's id stands for all its tools.
        if tool.kind == "plugin" and (written := self._exact.get(tool.origin)) is not None:
            return written
        for group, written in self._groups:
            if tool.kind in _KIND_GROUPS.get(group, ()) or (
                tool.kind == "native" and tool.name in _NATIVE_GROUPS.get(group, ())
            ):
                return written
        for pattern, written in self._wild:
            if matches(pattern, tool.name):
                return written
        return None

    def naming(self, name: str) -> str | None:
        """The pattern that names a native tool, or its group."""
        if name in self._exact:
            return self._exact[name]
        return next((written for group, written in self._groups if name in _NATIVE_GROUPS.get(group, ())), None)


_GROUPS = frozenset({*_NATIVE_GROUPS, *_KIND_GROUPS})
# What a rule may name besides tools; one of them is for a tool that comes.
OTHER_NAMES = _GROUPS | frozenset({*_ALIASES, SKILL_READ}) | _NATIVE_GROUPS["group:web"]


def _granting(name: str) -> str:
    """The profiles that switch a tool on which needs a grant, in words."""
    return " or ".join(f'"{profile}"' for profile, named in _PROFILES.items() if NamePatterns(named).naming(name))


def _normal(name: str) -> str:
    name = name.strip().casefold()
    return _ALIASES.get(name, name)


def _unknown(what: str, name: str, known: Iterable[str], place: str) -> Problem:
    from difflib import get_close_matches

    near = get_close_matches(name, sorted(known), 1)
    hint = f'Did you mean "{near[0]}"?' if near else f"Use one of {', '.join(sorted(known))}."
    return Problem(f'There is no {what} "{name}".', path=place, hint=hint)
