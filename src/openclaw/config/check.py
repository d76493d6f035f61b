"""A file against the types of `sections.py`: every problem at once, each with its place.

Owns the walk over tree and types, which msgspec alone cannot do: it stops at the first error and knows no positions. The walk also puts
variables in, because only the types know which fields hold secrets. What is wrong is left out of the result, so that the rest can still be
checked. Rules between fields are in `rules.py`.
"""

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from math import isfinite
from typing import Any

import msgspec
from msgspec import inspect, structs

from openclaw.config import variables
from openclaw.config.dotted import Path, format_path
from openclaw.config.entry import SECONDS_BELOW, UNITLESS, AgentMcp, McpSection, PluginConfig, ServerEntry, keys
from openclaw.config.json5 import Array, Member, Node, Object, Scalar
from openclaw.config.sections import AgentSettings, EnvSection, Model, Root
from openclaw.config.wording import KEYS_SHOWN, alternatives, choice, is_plain_word, kind_of, nearest, words_for
from openclaw.errors import Problem

# The one plugin whose settings are ours to check: the MCP client.
PLUGIN_CONFIG: Path = ("plugins", "entries", "mcp-client", "config")
# Another OpenClaw, or another program, may know more keys of a server here, and here alone: an unknown one is a warning.
OPEN_SERVERS: tuple[Path, ...] = (("mcp", "servers"), ("mcpServers",), ("servers",))
# The sections of other programs' files, which are read as they are pasted.
PASTED = (("mcpServers",), ("servers",))
# What other programs call settings that we have under another name, or not at all.
_ELSEWHERE = {
    "tools": "Which tools are taken is said by toolFilter.include.",
    "includeTools": "Which tools are taken is said by toolFilter.include.",
    "allowedTools": "Which tools are taken is said by toolFilter.include.",
    "blockedTools": "Which tools are not taken is said by toolFilter.exclude.",
    "excludeTools": "Which tools are not taken is said by toolFilter.exclude.",
    "disabledTools": "Which tools are not taken is said by toolFilter.exclude.",
    "envFile": "Write the variables under env.",
    "requestInit": "Write the headers under headers.",
    "bearerToken": "Write it as apiKey.",
}
# Sections of another OpenClaw. Not ours, and not misspellings of ours.
FOREIGN_SECTIONS = keys(
    "accessGroups approvals attachments auth bindings broadcast browser channels cloudWorkers commands cron desktop diagnostics "
    "discovery hooks memory messages meta nodeHost proxy security surfaces talk transcripts tts ui update web wizard "
    "worktree worktrees inputs args"
)
# Another OpenClaw reads this key, so it is no error; but who writes it expects something.
_NO_REASONING = "nothing is sent for this, and it is ignored: a model thinks as much as its vendor lets it by default."
# Enough of a number to recognise it.
_FOUND_CHARACTERS = 40
# Looking for the nearest word takes a millisecond. A file with more unknown keys than this is not a config of ours.
_HINTS = 100


class Unset(msgspec.Struct, frozen=True):
    """A setting that names variables which are not set."""

    path: Path
    names: tuple[str, ...]


class Checked(msgspec.Struct):
    """What a walk found. `data` holds what is right, with variables put in; `root` is its typed form."""

    data: dict[str, Any] = msgspec.field(default_factory=dict)
    problems: list[Problem] = msgspec.field(default_factory=list)
    warnings: list[Problem] = msgspec.field(default_factory=list)
    ignored: list[Path] = msgspec.field(default_factory=list)
    unset: list[Unset] = msgspec.field(default_factory=list)
    # What is wrong with a server entry: that server is refused, and nothing else.
    refused: list[tuple[Path, Problem]] = msgspec.field(default_factory=list)
    # Paths with a problem at or below them, so that rules between fields do not report the same fault again.
    faulty: set[Path] = msgspec.field(default_factory=set)


class _Omitted:
    """Stands for a value that was wrong or whose variable is not set."""


_OMITTED = _Omitted()


def check(tree: Node, env: Mapping[str, str]) -> Checked:
    """The whole file. Never raises: what is wrong is in `problems`."""
    walk = _Walk(env)
    data = walk.members(tree, Root, _sections(), ()) if isinstance(tree, Object) else walk.value(tree, _type(Root), ())
    return walk.ended(data)


def check_entry(name: str, tree: Node) -> Checked:
    """One server entry by itself, as a command or an editor hands it over. `${NAME}` in it is plain text, never our environment."""
    walk = _Walk(None)
    data = walk.value(tree, _type(ServerEntry), ("mcp", "servers", name))
    return walk.ended(data)


def server_of(path: Path) -> Path | None:
    """The path of the server entry that `path` is in, if it is in one."""
    if path[:1] in PASTED and len(path) > 1:
        return path[:2]
    for index, key in enumerate(path[:-1]):
        if key == "servers" and (path[:index] == PLUGIN_CONFIG or path[index - 1 : index] == ("mcp",)):
            return path[: index + 2]
    return None


@cache
def _type(cls: type) -> inspect.Type:
    return inspect.type_info(cls)


class _Section:
    """A section of the file, whose types are worked out when a file has it: all of them take longer than everything else here."""

    def __init__(self, info: structs.FieldInfo) -> None:
        self.required = info.required
        self._annotation = info.type

    @cached_property
    def type(self) -> inspect.Type:
        return inspect.type_info(self._annotation)


@cache
def _sections() -> dict[str, "_Section | inspect.Field"]:
    return {info.encode_name: _Section(info) for info in structs.fields(Root)}


class _Walk:
    def __init__(self, env: Mapping[str, str] | None) -> None:
        self.found = Checked()
        self.env = env
        self.known: dict[type, dict[str, _Section | inspect.Field]] = {}
        self.hints = _HINTS

    def ended(self, data: object) -> Checked:
        """What was found, with what of it is right."""
        return structs.replace(self.found, data=data if isinstance(data, dict) else {})

    def problem(self, node: Node | Member, path: Path, message: str, hint: str = "") -> _Omitted:
        problem = node.source.problem(node.start, message, path=format_path(path), hint=hint)
        server = server_of(path)
        if server is None:
            self.found.problems.append(problem)
        else:
            self.found.refused.append((server, problem))
        self.found.faulty.update(path[:length] for length in range(len(path) + 1))
        return _OMITTED

    def warning(self, node: Node | Member, path: Path, message: str, hint: str = "") -> None:
        self.found.warnings.append(node.source.problem(node.start, message, path=format_path(path), hint=hint))

    def nearest(self, word: str, known: Sequence[str]) -> str:
        self.hints -= 1
        return nearest(word, known) if self.hints >= 0 else ""

    def value(self, node: Node, kind: inspect.Type, path: Path, *, secret: bool = False) -> Any:
        match kind:
            case inspect.Metadata():
                return self.value(node, kind.type, path, secret=secret or bool((kind.extra or {}).get("secret")))
            case inspect.UnionType():
                return self.union(node, kind, path, secret=secret)
            case inspect.StructType() if isinstance(node, Object):
                return self.struct(node, kind, path)
            case inspect.DictType() if isinstance(node, Object):
                return self.mapping(node, kind, path)
            case inspect.VarTupleType() if isinstance(node, Array):
                return self.items(node, kind.item_type, path, secret=secret)
            case inspect.AnyType():
                return self.anything(node, path)
        if (
            isinstance(node, Scalar)
            and isinstance(node.value, str)
            and isinstance(kind, inspect.StrType | inspect.LiteralType)
        ):
            text = self.text(node, path, secret=secret)
            if text is _OMITTED or _fits(text, kind):
                return text
            unset = self.found.unset and self.found.unset[-1].path == path
            return _OMITTED if unset else self.mismatch(node, kind, path)
        if isinstance(node, Scalar) and not isinstance(node.value, str) and _fits(node.value, kind):
            return node.value
        return self.mismatch(node, kind, path)

    def mismatch(self, node: Node, kind: inspect.Type, path: Path) -> _Omitted:
        hint, found = "", kind_of(node)
        if isinstance(kind, inspect.LiteralType) and isinstance(node, Scalar) and isinstance(node.value, str):
            hint = self.nearest(node.value, [str(value) for value in kind.values])
            # A slip of the keyboard is shown; a credential that strayed here is not.
            found = f'"{node.value}"' if hint or is_plain_word(node.value) else "another text"
        elif isinstance(kind, inspect.IntType | inspect.FloatType) and isinstance(node, Scalar) and found == "a number":
            found = str(node.value)[:_FOUND_CHARACTERS]
        elif _holds_entries(kind):
            hint = _BY_NAME
        return self.problem(node, path, f"expected {words_for(kind)}, found {found}.", hint)

    def text(self, node: Scalar, path: Path, *, secret: bool) -> Any:
        """The text with its variables. In a server entry an unset one stays as written: it stops that server, and is never sent."""
        if self.env is None:
            return node.value
        if server_of(path) and (word := variables.foreign(str(node.value))):
            return self.problem(node, path, f"{word[0]} is a word of another program, and means nothing here.", word[1])
        expanded = variables.expand(str(node.value), self.env, bare=secret)
        if not expanded.missing:
            if secret and server_of(path) and expanded.text == node.value and variables.is_blank(expanded.text):
                self.warning(
                    node, path, "this looks like a blank that was not filled in, and is sent as written.", _FILL_IN
                )
            return expanded.text
        self.found.unset.append(Unset(path, expanded.missing))
        message = variables.say_unset(expanded.missing) + _consequence(path)
        self.warning(node, path, message, variables.hint_unset(expanded.missing))
        return expanded.text if server_of(path) else _OMITTED

    def struct(self, node: Object, kind: inspect.StructType, path: Path) -> Any:
        known = self.known.get(kind.cls) or {field.encode_name: field for field in kind.fields}
        return self.members(node, kind.cls, known, path)

    def members(self, node: Object, cls: type, known: dict[str, _Section | inspect.Field], path: Path) -> Any:
        self.known[cls] = known
        data: dict[str, Any] = {}
        for key, member in node.members.items():
            here = (*path, key)
            if cls is ServerEntry and isinstance(member.value, Scalar) and member.value.value is None:
                # Null is leaving the key out.
                continue
            if key in known:
                value = self.value(
                    member.value, _type(PluginConfig) if here == PLUGIN_CONFIG else known[key].type, here
                )
                if value is not _OMITTED:
                    data[key] = value
                if cls is ServerEntry and key in UNITLESS and isinstance(value, int | float) and value < SECONDS_BELOW:
                    self.warning(
                        member, here, f"{value:g} is read as seconds.", "A number from 1000 on is milliseconds."
                    )
            else:
                self.unknown(member, cls, here)
        missing = [name for name, info in known.items() if info.required and name not in data]
        if not missing:
            return data
        for name in missing:
            if name not in node.members:
                self.problem(node, path, f"expected the key {name!r}.".replace("'", '"'), _help(known[name]))
        return _OMITTED

    def unknown(self, member: Member, cls: type, path: Path) -> None:
        known = list(self.known[cls])
        foreign = FOREIGN_SECTIONS if cls is Root else getattr(cls, "foreign", ())
        if (
            cls in (Root, McpSection)
            and member.key not in foreign
            and _holds_server(member, is_among_mcp=cls is McpSection)
        ):
            self.ignore(member, path, "an MCP server at a place where none is read: it is not started.", _SERVERS_GO)
        elif cls is Root or member.key in foreign:
            near = "" if member.key in foreign else self.nearest(member.key, known)
            is_asked_for = cls is Model and member.key == "reasoning" and kind_of(member.value) != "false"
            said = _NO_REASONING if is_asked_for else "unknown section, ignored." if near else ""
            self.ignore(member, path, said, near)
        elif cls is EnvSection and variables.NAME.fullmatch(member.key):
            # Its value has been put among the variables before the walk began.
            self.value(member.value, inspect.StrType(), path)
        elif cls is ServerEntry and path[:-2] in OPEN_SERVERS:
            near = _ELSEWHERE.get(member.key) or self.nearest(member.key, known)
            if _holds_server(member, is_among_mcp=True):
                near = "It looks like a server inside a server: put it one level up, beside the others."
            self.ignore(member, path, "unknown key, ignored.", near)
        elif (place := _servers_place(cls, path)) and _holds_server(member, is_among_mcp=True):
            self.problem(member, path, "no MCP server is read here.", f"Put it under {format_path(place)}.")
        else:
            near = self.nearest(member.key, known)
            listed = "" if near and len(known) > KEYS_SHOWN else f"; expected {choice(known)}"
            self.problem(member, path, f"unknown key{listed}.", near)

    def ignore(self, member: Member, path: Path, message: str, hint: str) -> None:
        self.found.ignored.append(path)
        if message:
            self.warning(member, path, message, hint)

    def mapping(self, node: Object, kind: inspect.DictType, path: Path) -> dict[str, Any]:
        data = {}
        for key, member in node.members.items():
            here = (*path, key)
            value = self.value(member.value, kind.value_type, here)
            if value is not _OMITTED:
                data[key] = value
            elif server_of(here) == here:
                # It is named where servers are listed, with what is wrong.
                data[key] = {}
        return data

    def items(self, node: Array, kind: inspect.Type, path: Path, *, secret: bool) -> list[Any]:
        """A list. An item whose variable is not set stays as written: dropping it could leave an allow list empty, which allows all."""
        values = []
        for index, item in enumerate(node.items):
            value = self.value(item, kind, (*path, str(index)), secret=secret)
            if value is not _OMITTED:
                values.append(value)
            elif (
                isinstance(item, Scalar)
                and isinstance(item.value, str)
                and (*path, str(index)) not in self.found.faulty
            ):
                values.append(item.value)
        return values

    def anything(self, node: Node, path: Path) -> Any:
        """Settings whose meaning is somebody else's: variables are put in, nothing is checked."""
        if isinstance(node, Object):
            return self.mapping(node, inspect.DictType(inspect.StrType(), inspect.AnyType()), path)
        if isinstance(node, Array):
            return self.items(node, inspect.AnyType(), path, secret=False)
        return self.text(node, path, secret=False) if isinstance(node.value, str) else node.value

    def union(self, node: Node, kind: inspect.UnionType, path: Path, *, secret: bool) -> Any:
        """The one alternative that takes this kind of value; a text may be one of several words or any text."""
        fitting = [option for option in kind.types if _takes(option, node)]
        if len(fitting) > 1:
            fitting = [
                option for option in fitting if isinstance(option, inspect.StrType | inspect.FloatType)
            ] or fitting[:1]
        if fitting:
            return self.value(node, fitting[0], path, secret=secret)
        shown = alternatives(kind)
        return self.mismatch(node, shown[0] if len(shown) == 1 else kind, path)


# What to do with a server that stands where none is read.
_SERVERS_GO = 'Write it as mcp: {servers: {NAME: {command: "…", args: […]}}}, with a url in place of the command for a remote one.'
_BY_NAME = 'Write each server by its name: {NAME: {command: "…", args: […]}}, or a url.'
_FILL_IN = "Write the value itself, ${NAME} for an environment variable, or a secret:// reference."
_ADDRESSES = ("url", "httpUrl", "serverUrl", "baseUrl")


def _holds_entries(kind: inspect.Type) -> bool:
    """Whether a type is an object of servers by name."""
    match kind:
        case inspect.Metadata():
            return _holds_entries(kind.type)
        case inspect.DictType():
            return isinstance(kind.value_type, inspect.StructType) and kind.value_type.cls is ServerEntry
    return False


def _servers_place(cls: type, path: Path) -> Path | None:
    """Where servers stand that were put, under the last key of `path`, beside or above their place."""
    if cls in (AgentMcp, PluginConfig):
        return (*path[:-1], "servers")
    if issubclass(cls, AgentSettings) and path[-1] in ("mcpServers", "servers"):
        return (*path[:-1], "mcp", "servers")
    return None


def _holds_server(member: Member, *, is_among_mcp: bool) -> bool:
    """Whether what stands under an unknown name is a server, or holds some, as the files of other programs do.

    Not everything that has an address is one; what stands in `mcp` is.
    """
    if member.key == "command" or member.key in _ADDRESSES:
        return True
    node = member.value
    within = (
        [one.value for one in node.members.values()]
        if isinstance(node, Object)
        else node.items
        if isinstance(node, Array)
        else []
    )
    return any(
        isinstance(one, Object)
        and (
            "command" in one.members
            or ((is_among_mcp or "type" in one.members) and any(name in one.members for name in _ADDRESSES))
        )
        for one in (node, *within)
    ) or (member.key in _OTHER_SECTIONS and bool(within))


# What other programs call the object of their servers.
_OTHER_SECTIONS = frozenset(
    {"context_servers", "amp.mcpServers", "github.copilot.chat.mcp.servers", "augment.advanced"}
)


def _consequence(path: Path) -> str:
    if server_of(path):
        return ": this server will not start."
    if path[:2] == ("models", "providers"):
        return ": this provider cannot be used."
    return ": the setting is ignored."


def _takes(kind: inspect.Type, node: Node) -> bool:
    """Whether an alternative of a union is meant for this kind of value, right or wrong."""
    if isinstance(kind, inspect.Metadata):
        return _takes(kind.type, node)
    if isinstance(node, Object):
        return isinstance(kind, inspect.StructType | inspect.DictType | inspect.AnyType)
    if isinstance(node, Array):
        return isinstance(kind, inspect.VarTupleType | inspect.AnyType)
    match node.value:
        case None:
            return isinstance(kind, inspect.NoneType | inspect.AnyType)
        case bool():
            return isinstance(kind, inspect.BoolType | inspect.AnyType)
        case str():
            return isinstance(kind, inspect.StrType | inspect.LiteralType | inspect.AnyType)
    return isinstance(kind, inspect.IntType | inspect.FloatType | inspect.AnyType)


def _fits(value: Any, kind: inspect.Type) -> bool:
    match kind:
        case inspect.NoneType():
            return value is None
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.StrType():
            return isinstance(value, str)
        case inspect.LiteralType():
            return value in kind.values
        case inspect.IntType() | inspect.FloatType():
            whole = isinstance(value, int) or (isinstance(kind, inspect.FloatType) and isinstance(value, float))
            return whole and not isinstance(value, bool) and isfinite(value) and _within(value, kind)
    return False


def _within(value: float, kind: inspect.IntType | inspect.FloatType) -> bool:
    return (
        (kind.ge is None or value >= kind.ge)
        and (kind.gt is None or value > kind.gt)
        and (kind.le is None or value <= kind.le)
        # Beyond this msgspec takes no integer, and nothing that is counted here comes near.
        and abs(value) < 2**63
    )


def _help(field: _Section | inspect.Field) -> str:
    kind = field.type
    schema = (kind.extra_json_schema or {}) if isinstance(kind, inspect.Metadata) else {}
    return str(schema.get("description", ""))
