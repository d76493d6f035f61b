"""Rules between fields, which types cannot say.

Pure: works on a Config that has been read as far as it is right, and reports each broken rule with its place. What a rule says about one
server entry (`entry_faults`) serves commands and editors too, which hand over entries without a file.
"""

import re
from collections.abc import Iterator, Mapping, Set
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

from openclaw.config.call_pattern import CallPattern, read_pattern
from openclaw.config.check import PLUGIN_CONFIG
from openclaw.config.dotted import Path, format_path
from openclaw.config.entry import Auth, ServerEntry, address_of, argv_of, is_on, transport_of
from openclaw.config.loaded import Config
from openclaw.config.sections import AgentSettings, ToolRules
from openclaw.config.wording import nearest
from openclaw.errors import Problem, UsageError
from openclaw.redact import SECRET_SCHEME

AGENT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
# Who answers when no agent is configured, or none is named.
DEFAULT_AGENT = "main"
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_DATABASES = ("postgres://", "postgresql://")

# A fault of one entry: the key it is about, what is wrong, what to do.
Fault = tuple[str, str, str]


def broken_rules(config: Config, faulty: Set[Path]) -> list[tuple[Path, Problem]]:
    """What is broken and why. `faulty` are paths with a fault at or below them that is already reported: nothing more is said about
    those."""
    found = [
        *_agents(config),
        *_tools(config),
        *_approvals(config),
        *_providers(config),
        *_session(config),
        *_gateway(config),
        *_servers(config, faulty),
    ]
    return [
        (subject, Problem(message, *config.locate(path), format_path(path), hint))
        for subject, path, message, hint in found
        if subject not in faulty
    ]


# The setting that is broken, where it is shown, what is wrong, what to do.
_Broken = Iterator[tuple[Path, Path, str, str]]


def _agents(config: Config) -> _Broken:
    agents = config.root.agents
    seen: set[str] = set()
    listed = [(("agents", "list", str(index)), agent.id) for index, agent in enumerate(agents.list)]
    for at, name in [*listed, *((("agents", "entries", name), name) for name in agents.entries)]:
        place = (*at, "id") if at[1] == "list" else at
        if not name:
            yield (*at, "id"), at, 'expected the key "id".', "Every agent of agents.list has one."
        elif not AGENT_ID.fullmatch(name):
            yield place, place, "this is not an agent id.", "Use lower-case letters, digits, _ and -, at most 64."
        elif name in seen:
            yield at, place, f'the agent "{name}" is configured twice.', "Keep one of them."
        seen.add(name)
    known = sorted((seen | {DEFAULT_AGENT}) - {""})
    if agents.default is not None and agents.default not in known:
        path = ("agents", "default")
        yield path, path, "there is no such agent.", f"Known agents: {', '.join(known)}."


def agent_settings(config: Config) -> Iterator[tuple[Path, AgentSettings]]:
    """The defaults, then every agent's own settings, each with its path."""
    agents = config.root.agents
    yield ("agents", "defaults"), agents.defaults
    for index, agent in enumerate(agents.list):
        yield ("agents", "list", str(index)), agent
    for name, settings in agents.entries.items():
        yield ("agents", "entries", name), settings


def _tools(config: Config) -> _Broken:
    layers: list[tuple[Path, ToolRules | None]] = [
        (("tools",), config.root.tools),
        (("gateway", "tools"), config.root.gateway.tools),
    ]
    for path, settings in agent_settings(config):
        layers += [((*path, "tools"), settings.tools), ((*path, "toolPolicy"), settings.tool_policy)]
        if settings.tools and settings.tool_policy:
            yield (
                (*path, "toolPolicy"),
                (*path, "toolPolicy"),
                '"tools" and "toolPolicy" are the same setting.',
                "Keep one of them.",
            )
    for path, rules in layers:
        if rules and rules.allow and rules.also_allow:
            yield (
                (*path, "alsoAllow"),
                (*path, "alsoAllow"),
                '"allow" and "alsoAllow" exclude each other.',
                "Keep one of them.",
            )


# What has to be named with its arguments: a program can do anything at all.
_EXEC = frozenset({"exec", "bash", "group:runtime"})


def _approvals(config: Config) -> _Broken:
    written: list[tuple[Path, ToolRules | None]] = [
        (("tools",), config.root.tools),
        (("gateway", "tools"), config.root.gateway.tools),
    ]
    for path, settings in agent_settings(config):
        written += [((*path, "tools"), settings.tools), ((*path, "toolPolicy"), settings.tool_policy)]
    for path, tools in written:
        rules = tools.approval if tools else None
        if rules is None:
            continue
        lists = {"deny": rules.deny or (), "ask": rules.ask or (), "allow": rules.allow or ()}
        read: dict[str, list[CallPattern]] = {}
        for key, patterns in lists.items():
            for index, text in enumerate(patterns):
                place = (*path, "approval", key, str(index))
                try:
                    pattern = read_pattern(text)
                except UsageError as error:
                    yield place, place, error.message, error.hint
                    continue
                read.setdefault(key, []).append(pattern)
                if key == "allow" and not pattern.arguments and pattern.name.casefold() in _EXEC:
                    yield (
                        place,
                        place,
                        f'"{pattern.name}" without a command would allow every program.',
                        'Name the beginning of a command line: exec(command=["git","status","*"]).',
                    )
                if key == "allow" and pattern in read.get("deny", ()):
                    yield place, place, f'"{text}" is allowed and denied.', "Keep one of them."


def _providers(config: Config) -> _Broken:
    for name, provider in config.root.models.providers.items():
        path = ("models", "providers", name)
        if not name or "/" in name:
            yield path, path, "a provider's name has no slash in it.", "It stands before the slash in provider/model."
        fault = url_fault(provider.base_url) if provider.base_url else ""
        if fault:
            yield (*path, "baseUrl"), (*path, "baseUrl"), fault, "Write an address such as https://api.example.com/v1."


def _session(config: Config) -> _Broken:
    section, at = config.root.session, ("session", "postgres")
    if section.store != "postgres":
        return
    if section.postgres.url is None and not config.fault(at):
        yield ("session", "store"), at, 'expected the key "url".', "It is the address of the database."
    for name, url in (("url", section.postgres.url), ("listenUrl", section.postgres.listen_url)):
        # What a reference leads to is seen when it is used.
        if isinstance(url, str) and SECRET_SCHEME not in url and not url.startswith(_DATABASES):
            yield (
                (*at, name),
                (*at, name),
                "this is no address of a PostgreSQL.",
                "Use postgres://user@host:5432/database.",
            )


def _gateway(config: Config) -> _Broken:
    url, at = config.root.gateway.fleet_url, ("gateway", "fleetUrl")
    if url and (fault := url_fault(url) or plaintext_fault(url)):
        yield at, at, fault, "Write an address that other gateways reach, such as https://gateway-1.example.com."


def servers(config: Config) -> Iterator[tuple[Path, ServerEntry]]:
    """Every server entry of the file, with its path."""
    sections: list[tuple[Path, dict[str, ServerEntry]]] = [
        (("mcpServers",), config.root.mcp_servers),
        (("servers",), config.root.servers),
        (("mcp", "servers"), config.root.mcp.servers),
        ((*PLUGIN_CONFIG, "servers"), config.plugin.servers),
        *(
            ((*path, "mcp", "servers"), settings.mcp.servers)
            for path, settings in agent_settings(config)
            if settings.mcp
        ),
    ]
    for path, entries in sections:
        for name, entry in entries.items():
            yield (*path, name), entry


def _servers(config: Config, faulty: Set[Path]) -> _Broken:
    for path, entry in servers(config):
        if not path[-1].strip() or path[-1] == "__proto__" or not path[-1].isprintable():
            yield (*path, ""), path, "this is not a name for a server.", "Use letters, digits, _ and -."
        # An unset variable stops this server alone; what it would have held cannot be judged, and neither can what is no entry at all.
        if not is_on(entry) or config.fault(path) or not isinstance(config.get(path), Mapping):
            continue
        for key, message, hint in entry_faults(entry):
            if not key:
                hint = _misspelt(config.get(path)) or hint
            # What decides the transport may be missing only because it was wrong.
            if key or not any((*path, name) in faulty for name in _DECIDING):
                yield (*path, key), (*path, key) if key else path, message, hint


# What decides how a server is reached.
_DECIDING = ("transport", "type", "transportType", "command", "url", "httpUrl", "serverUrl", "baseUrl")


def _misspelt(entry: Mapping[str, object]) -> str:
    """A hint, when a key of an entry looks like what is missing from it."""
    for key in entry:
        if key not in _DECIDING and (near := nearest(key, ("command", "url"))):
            return f'{near.removesuffix("?")} by "{key}"?'
    return ""


def entry_faults(entry: ServerEntry) -> Iterator[Fault]:
    """What is wrong with a server entry by itself."""
    transport = transport_of(entry)
    if transport is None:
        key = "transport" if entry.transport else "type" if entry.type else "transportType"
        yield key, "unknown transport.", "Use stdio, streamable-http (or http) or sse."
    elif transport == "stdio":
        if not entry.command:
            needs = (
                "a server needs a command to start (stdio) or a url (HTTP)."
                if entry.type is entry.transport is entry.transport_type is None
                else ""
            )
            yield "", needs or "the stdio transport needs a command.", 'Add "command".'
    elif not (address := address_of(entry)):
        yield "", f"the {transport} transport needs a url.", 'Add "url".'
    elif isinstance(address, str) and SECRET_SCHEME not in address:
        fault = url_fault(address) or plaintext_fault(address)
        if fault:
            yield _address_key(entry), fault, "Write an address such as https://example.com/mcp."
    if len({*filter(None, (entry.url, entry.http_url, entry.server_url, entry.base_url))}) > 1:
        yield _address_key(entry), "the entry has two different addresses.", "Keep one of them."
    if entry.command and address_of(entry) and not (entry.transport or entry.type or entry.transport_type):
        yield (
            _address_key(entry),
            "the entry has a command and an address, and does not say which one is meant.",
            'Keep one of them, or add transport: "stdio" for the command or "http" for the address.',
        )
    if isinstance(entry.auth, Auth) and entry.oauth is not None:
        yield "oauth", '"auth" and "oauth" are the same setting.', "Keep one of them."
    if entry.placement == "one" and transport != "stdio":
        yield "placement", "a server with an address is reached from every gateway.", "Leave placement out."
    elif entry.placement == "one" and entry.isolation == "session":
        yield (
            "placement",
            "a server of its own for each conversation runs where the conversation does.",
            "Leave placement or isolation out.",
        )
    yield from _unsendable(entry)


def _address_key(entry: ServerEntry) -> str:
    return "url" if entry.url else "httpUrl" if entry.http_url else "serverUrl" if entry.server_url else "baseUrl"


def _unsendable(entry: ServerEntry) -> Iterator[Fault]:
    """Names and values that no process and no HTTP request can carry."""
    for name, value in entry.headers.items():
        if not _HEADER_NAME.fullmatch(name) or (isinstance(value, str) and _CONTROL.search(value.strip("\t"))):
            yield (
                "headers",
                f"{name!r} cannot be sent as an HTTP header.".replace("\\n", " "),
                "Remove spaces and line breaks.",
            )
    for name, value in (*entry.env.items(), *entry.environment.items()):
        if not name or "=" in name or "\0" in name or (isinstance(value, str) and "\0" in value):
            yield "env", "a variable's name is empty or holds =, or a value holds a NUL.", "Rename it."
    if any("\0" in text for text in argv_of(entry) if isinstance(text, str)):
        yield "args", "an argument holds a NUL character.", "Remove it."


def url_fault(url: str) -> str:
    """Why a text is not an HTTP address; empty when it is one."""
    if _CONTROL.search(url) or " " in url:
        return "an address holds no spaces and no line breaks."
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "this is not an address."
    if parts.scheme not in ("http", "https") or not host:
        return "expected an address that starts with https:// or http://."
    return ""


def plaintext_fault(url: str) -> str:
    """Plain http is for this machine only: anyone on the way could read the credentials and change the answers."""
    parts = urlsplit(url)
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        return "plain http:// is refused for any host but this machine; use https://."
    return ""


def is_loopback(host: str) -> bool:
    """Whether a host name or address literal means this machine, without asking a resolver."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
