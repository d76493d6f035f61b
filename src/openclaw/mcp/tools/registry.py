"""The MCP tools of one agent: which are offered, under what names, and why the others are not. Pure.

A registry is made from the agent's specs and fed each server's toolset as it changes. It applies the server's filter, gives every
tool its name once (names.py) and keeps it until the tool goes, and maps a name back to server and tool. It calls nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from openclaw.config.servers import ServersOptions, ServerSpec
from openclaw.mcp.tools.definition import Definition, RefusedTool
from openclaw.mcp.tools.names import Claims, base_name, form_for, may_be_of
from openclaw.mcp.tools.pins import Change, Upgrade
from openclaw.mcp.wording import trust_command
from openclaw.security.external import clean_label
from openclaw.tool import Absence, OwnWords
from openclaw.wildcard import first_match, matches

# Tools that are taken over in one step, a few milliseconds: others run in between.
STEP = 500
# A reason may repeat words of the server: enough of them to find the fault, no more.
MAX_REASON = 300


T = TypeVar("T")


class Toolset(msgspec.Struct, frozen=True):
    """What is known of a server's tools at one moment. `utilities` are tools of ours that the server's abilities make possible.

    `upgrade` says that the changes came with another version of the server. `hidden` are tools that only its panels may call.
    """

    offered: tuple[Definition, ...] = ()
    refusals: tuple[RefusedTool, ...] = ()
    changes: tuple[Change, ...] = ()
    utilities: tuple[Definition, ...] = ()
    upgrade: Upgrade | None = None
    hidden: tuple[Definition, ...] = ()


class ToolEntry(msgspec.Struct, frozen=True, gc=False):
    """One tool under the name a model calls it by. `is_renamed` says that it is another than the usual one, which somebody else has.

    `changed` is the digest of what the server says of it now, when that is another thing than what the model keeps seeing.
    """

    name: str
    spec: ServerSpec
    definition: Definition
    is_utility: bool = False
    is_renamed: bool = False
    changed: str = ""


class Difference(msgspec.Struct, frozen=True):
    """Names that came and went with one update."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class _ServerTools(msgspec.Struct):
    """What one server contributes."""

    spec: ServerSpec
    # Tools that had another name than the usual one when last seen, by tool.
    usual_exceptions: Mapping[str, str]
    toolset: Toolset = msgspec.field(default_factory=Toolset)
    entries: dict[str, ToolEntry] = msgspec.field(default_factory=dict)

    def take(self, toolset: Toolset) -> None:
        self.toolset = toolset

    def sort(self) -> None:
        """Put the entries in the order of the tools' own names."""
        self.entries = {tool: self.entries[tool] for tool in sorted(self.entries)}


class Registry:
    def __init__(
        self,
        specs: Sequence[ServerSpec],
        options: ServersOptions,
        *,
        reserved: Iterable[str] = (),
        remembered: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """`reserved` are names of native and plugin tools; `remembered` the unusual names of last time, by server."""
        self._options = options
        self._claims = Claims(reserved)
        self._by_server = {spec.name: _ServerTools(spec, (remembered or {}).get(spec.name, {})) for spec in specs}
        self._by_name: dict[str, ToolEntry] = {}

    def update(self, server: str, toolset: Toolset) -> Difference:
        """Take over a server's present toolset. Tools that stay keep their names."""
        return together(self.updating(server, toolset))

    def updating(self, server: str, toolset: Toolset) -> Iterator[Difference]:
        """The same in steps, each with what it changed. What is offered in between is a part of what will be."""
        group = self._by_server[server]
        group.take(toolset)
        changed = {change.tool: change.digest for change in toolset.changes}
        wanted: dict[str, tuple[Definition, bool]] = {}
        for part in _steps(toolset.offered):
            wanted |= {d.name: (d, False) for d in part if not filtered_by(group.spec, d.name)}
            yield Difference()
        for utility in toolset.utilities:
            if utility.name not in wanted and not filtered_by(group.spec, utility.name):
                wanted[utility.name] = (utility, True)
        for gone in _steps([tool for tool in group.entries if tool not in wanted]):
            yield Difference((), tuple(self._drop(group, tool) for tool in gone))
        had_some, has_more = bool(group.entries), False
        # In order of their own names, so that who gets a suffix does not depend on the order a server lists its tools in.
        for coming in _steps(sorted(wanted)):
            added = tuple(
                name for tool in coming if (name := self._put(group, tool, *wanted[tool], changed.get(tool, "")))
            )
            has_more = has_more or bool(added)
            yield Difference(added)
        if had_some and has_more:
            group.sort()

    def entry(self, name: str) -> ToolEntry | None:
        return self._by_name.get(name)

    def entries(self, server: str | None = None) -> list[ToolEntry]:
        """In the order servers are configured, then by tool."""
        groups = self._by_server.values() if server is None else [self._by_server[server]]
        return [entry for group in groups for entry in group.entries.values()]

    def count(self, server: str) -> int:
        """How many entries a server has, without going through them."""
        return len(self._by_server[server].entries)

    def unusual_names(self, server: str) -> dict[str, str]:
        """Tools whose name had to differ from the usual form, to be given the same name next time."""
        group = self._by_server[server]
        return {tool: entry.name for tool, entry in group.entries.items() if entry.is_renamed}

    def base(self, server: str, tool: str) -> str:
        """The usual name of a tool, before collisions."""
        spec = self._by_server[server].spec
        return base_name(form_for(spec, self._options), spec.tool_prefix or spec.name, tool)

    def may_have(self, server: str, name: str) -> bool:
        """Whether a name that nobody has may be one of this server's tools."""
        spec = self._by_server[server].spec
        return may_be_of(form_for(spec, self._options), spec.tool_prefix or spec.name, name)

    def filter_trouble(self, server: str) -> str:
        """What nobody can have meant by a server's toolFilter, as far as its tools are known: none is left, or a name is no tool's."""
        group = self._by_server[server]
        names = [one.name for one in (*group.toolset.offered, *group.toolset.utilities)]
        rules = (("include", group.spec.tool_include), ("exclude", group.spec.tool_exclude))
        if not names or not any(patterns for _, patterns in rules):
            return ""
        said = [] if group.entries else [f"its toolFilter leaves it no tool of {len(names)}"]
        said += [
            f'toolFilter.{key} "{pattern}" names no tool of it'
            for key, patterns in rules
            for pattern in patterns
            if not any(matches(pattern, name) for name in names)
        ]
        return clean_label("; ".join(said), MAX_REASON)

    def absences(self, server: str) -> list[Absence]:
        """Every tool of a server that is known and not offered."""
        group = self._by_server[server]
        spec, toolset = group.spec, group.toolset
        absent = [
            Absence(self.base(server, d.name), OwnWords(f"The tool is left out: {reason}."), spec.where)
            for d in (*toolset.offered, *toolset.utilities)
            if (reason := filtered_by(spec, d.name))
        ]
        absent += [
            Absence(
                self.base(server, refusal.name),
                f"The tool is unusable: {clean_label(refusal.reason, MAX_REASON)}.",
                spec.where,
            )
            for refusal in toolset.refusals
        ]
        absent += [
            Absence(
                self.base(server, change.tool),
                OwnWords(
                    "The server changed the tool so that calls valid before may fail. See what changed and accept it: "
                    f"{trust_command(server, spec.owner, spec.commands)}"
                ),
                spec.where,
            )
            for change in toolset.changes
            if change.held
        ]
        return absent

    def _put(self, group: _ServerTools, tool: str, definition: Definition, is_utility: bool, changed: str) -> str:
        """Enter one tool; its name when it is new here. One that did not change stays the same object, and what was made from it good."""
        known = group.entries.get(tool)
        same = (definition, is_utility, changed)
        if known is not None and (known.definition, known.is_utility, known.changed) == same:
            return ""
        if known is not None:
            name, is_renamed = known.name, known.is_renamed
        else:
            usual = self.base(group.spec.name, tool)
            name = self._name(group, tool, usual)
            is_renamed = name != usual
        entry = ToolEntry(name, group.spec, definition, is_utility, is_renamed, changed)
        group.entries[tool] = self._by_name[entry.name] = entry
        return "" if known else entry.name

    def _name(self, group: _ServerTools, tool: str, usual: str) -> str:
        remembered = group.usual_exceptions.get(tool)
        if remembered and self._claims.claim_exactly(remembered):
            return remembered
        return self._claims.claim(usual)

    def _drop(self, group: _ServerTools, tool: str) -> str:
        entry = group.entries.pop(tool)
        del self._by_name[entry.name]
        self._claims.release(entry.name)
        return entry.name


def together(differences: Iterable[Difference]) -> Difference:
    """What several steps changed."""
    parts = list(differences)
    return Difference(
        tuple(name for part in parts for name in part.added), tuple(name for part in parts for name in part.removed)
    )


def _steps(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + STEP] for start in range(0, len(items), STEP))


def filtered_by(spec: ServerSpec, tool: str) -> str:
    """Why the server's toolFilter leaves a tool out; empty when it does not."""
    # Who wrote it in Python has no config to look into.
    include, exclude = ("toolFilter.include", "toolFilter.exclude") if spec.where else ("tool_include", "tool_exclude")
    if spec.tool_include and first_match(spec.tool_include, tool) is None:
        return f"{include} does not name it"
    pattern = first_match(spec.tool_exclude, tool)
    return "" if pattern is None else f"{exclude} has '{pattern}'"
