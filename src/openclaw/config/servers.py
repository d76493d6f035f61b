"""Three dialects of server config, one frozen `ServerSpec`.

Owns the field names, aliases and defaults of `mcp.servers`, `plugins.entries.mcp-client.config.servers` and `agents.*.mcp.servers`, and
which of them an agent gets. Resolves no secrets and opens nothing: `secret://` references stay as they are, and `{source, provider, id}`
objects become `secret://ref/SOURCE/PROVIDER/ID`. Times are seconds from here on. The names of the fields are in `entry.py`.
"""

import json
import logging
from collections.abc import Callable, Mapping
from operator import attrgetter
from pathlib import Path as FilePath
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import structs

from openclaw.config.check import PLUGIN_CONFIG, check_entry
from openclaw.config.dotted import Path, format_path
from openclaw.config.entry import (
    Auth,
    PluginConfig,
    Sampling,
    SecretRef,
    ServerEntry,
    Value,
    address_of,
    argv_of,
    is_on,
    milliseconds,
    transport_of,
)
from openclaw.config.json5 import parse
from openclaw.config.loaded import Config
from openclaw.config.rules import entry_faults
from openclaw.config.sections import AgentSettings, Root
from openclaw.config.typed import typed
from openclaw.errors import ConfigError, Problem, UsageError
from openclaw.protocol.transports import TRANSPORTS, TransportFacts, TransportName
from openclaw.redact import MASK, SECRET_SCHEME

_log = logging.getLogger(__name__)

T = TypeVar("T")
Section = Literal["mcp", "plugin", "agents"]


class AuthSpec(msgspec.Struct, frozen=True):
    """How to sign in. Any value may be a secret reference."""

    grant: Literal["authorization_code", "client_credentials", "enterprise"] = "authorization_code"
    client_id: str = ""
    client_secret: str = ""
    private_key: str = ""
    signing_alg: str = ""
    token_endpoint_auth_method: str = ""
    client_metadata_url: str = ""
    authorization_server_url: str = ""
    redirect_url: str = ""
    scopes: tuple[str, ...] | None = None
    # Enterprise-managed authorization: where the identity assertion comes from.
    idp_issuer: str = ""
    idp_token_endpoint: str = ""
    idp_client_id: str = ""
    idp_id_token: str = ""

    def __repr__(self) -> str:
        return _shown(self)


class SamplingSpec(msgspec.Struct, frozen=True):
    """What a server may ask our models."""

    enabled: bool = False
    models: tuple[str, ...] = ()
    max_tokens: int = 4_096
    requests_per_minute: int = 6
    tokens_per_day: int = 100_000
    approve: Literal["always", "first", "never"] = "always"


class ServerSpec(msgspec.Struct, frozen=True, eq=False):
    """One server as configured. Equal specs (and equal credentials) share one process or connection."""

    name: str
    section: Section = "mcp"
    # File, line and path of the entry, for messages: "openclaw.json:12 mcp.servers.github". The same entry elsewhere is the same server.
    where: str = ""
    # The agent whose own section names it; empty when it is shared by all.
    owner: str = ""
    enabled: bool = True
    # Why it cannot start (an unset ${VAR}, for one); empty when nothing is wrong with the entry itself.
    fault: str = ""
    # Whether the fault says where in the file it is.
    fault_has_place: bool = False
    # How a person, or the program they wrote, does something about it: with our commands, with the manager it was given to, or in the
    # editor that gave it to a session.
    commands: Literal["openclaw mcp", "manager", "editor"] = "openclaw mcp"

    # The first to try.
    transport: TransportName = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    pass_env: tuple[str, ...] = ()
    allow_env: tuple[str, ...] = ()
    cwd: str = ""

    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    api_key: str = ""
    auth: AuthSpec | None = None
    ssl_verify: bool = True
    ca_cert: str = ""
    client_cert: str = ""
    client_key: str = ""
    allow_private: bool = False

    connect_timeout: float = 30.0
    call_timeout: float = 60.0
    # Progress extends a call up to this.
    max_total_timeout: float = 600.0
    restart_on_crash: bool = True
    max_restarts: int = 5
    # Zero is never, for both.
    health_interval: float = 30.0
    discovery_interval: float = 300.0
    idle_timeout: float | None = None
    lazy: bool = False
    isolation: Literal["shared", "session"] = "shared"
    placement: Literal["each", "one"] = "each"
    trust: Literal["pin", "follow"] = "pin"
    approval: Literal["inherit", "ask", "allow", "deny"] = "inherit"
    annotations: Literal["untrusted", "trusted"] = "untrusted"
    parallel_calls: bool = True
    max_in_flight: int = 64
    max_message_bytes: int = 64 * 1024 * 1024

    sampling: SamplingSpec = SamplingSpec()
    allow_secret_forms: bool = False
    roots: Literal["none", "workspace"] = "none"

    tool_prefix: str = ""
    tool_include: tuple[str, ...] = ()
    tool_exclude: tuple[str, ...] = ()
    inject_resources: tuple[str, ...] = ()
    resources_max_bytes: int = 64 * 1024

    def __post_init__(self) -> None:
        """Specs are keys, so nothing in them may change. Raises UsageError for what a program without types may write instead."""
        for key in _TUPLES:
            if type(getattr(self, key)) is not tuple:
                hint = f"Make a Server of it: Server('{self.name}', …) takes lists, mappings and paths."
                raise UsageError(f"ServerSpec '{self.name}': {key} must be a tuple.", hint=hint)

    @property
    def facts(self) -> TransportFacts:
        """What is true of the transport that is tried first."""
        return TRANSPORTS[self.transport]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ServerSpec) and _compared(self) == _compared(other)

    def __hash__(self) -> int:
        return hash(_compared(self))

    def __repr__(self) -> str:
        return _shown(self)


_TUPLES = ("args", "env", "pass_env", "allow_env", "headers", "tool_include", "tool_exclude", "inject_resources")
# A literal credential may stand in any of these; the names in the pairs are no secret.
_HIDDEN = frozenset(
    {"env", "headers", "api_key", "client_id", "client_secret", "private_key", "idp_client_id", "idp_id_token"}
)


def _shown(spec: AuthSpec | ServerSpec) -> str:
    """All of it, credentials masked: a spec is seen in tracebacks and in failed tests."""
    fields = ((name, getattr(spec, name)) for name in spec.__struct_fields__)
    told = (f"{name}={(_masked(value) if name in _HIDDEN else value)!r}" for name, value in fields)
    return f"{type(spec).__name__}({', '.join(told)})"


def _masked(value: str | tuple[tuple[str, str], ...]) -> object:
    if isinstance(value, str):
        return value if not value or value.startswith(SECRET_SCHEME) else MASK
    return tuple((name, _masked(text)) for name, text in value)


def shown_fields(spec: ServerSpec) -> str:
    """What a spec says that is not said by default, credentials masked: for who wrote it."""
    bare = ServerSpec("")
    fields = ((name, getattr(spec, name)) for name in spec.__struct_fields__ if name not in ("commands", "where"))
    told = ((name, value) for name, value in fields if value != getattr(bare, name))
    return ", ".join(f"{name}={(_masked(value) if name in _HIDDEN else value)!r}" for name, value in told)


_compared = attrgetter(*(name for name in ServerSpec.__struct_fields__ if name != "where"))


class ServersOptions(msgspec.Struct, frozen=True):
    """Settings of all servers together."""

    tool_names: Literal["by-section", "prefix__tool", "mcp_prefix_tool"] = "by-section"
    startup_grace: float = 2.0
    max_concurrent_servers: int = 20
    # Seconds until the connections of an idle conversation are closed (`isolation: session`).
    session_idle_ttl: float | None = None
    debug: bool = False


class _Dialect(msgspec.Struct, frozen=True):
    """What a section's document says when an entry says nothing. Milliseconds."""

    section: Section
    connect_ms: float
    call_ms: float


_MCP = _Dialect("mcp", 30_000, 60_000)
_PLUGIN = _Dialect("plugin", 30_000, 30_000)
_AGENTS = _Dialect("agents", 30_000, 60_000)
_DISCOVERY_MS = 300_000.0
_HEALTH_MS = 30_000.0
_CONCURRENT_SERVERS = 20
# Progress extends a call up to this many times its own time.
_TOTAL_FACTOR = 10


class _ServerSection(msgspec.Struct, frozen=True):
    """One object of servers in the file."""

    path: Path
    dialect: _Dialect
    entries: Mapping[str, ServerEntry]
    owner: str = ""


def server_specs(config: Config, agent_id: str) -> tuple[ServerSpec, ...]:
    """The servers of an agent: those of other programs' files, `mcp.servers`, the plugin's, the defaults', its own; the later replaces the
    earlier whole.

    `{enabled: false}` alone removes one. With the plugin `mcp-client` switched off, all of them are disabled.
    """
    chosen: dict[str, tuple[_ServerSection, ServerEntry]] = {}
    for section in _sections(config, agent_id):
        for name, entry in section.entries.items():
            if name in chosen and chosen[name][1] != entry:
                earlier, later = ((*at.path, name) for at in (chosen[name][0], section))
                _log.info("MCP server '%s': %s replaces %s", name, config.where(later), config.where(earlier))
            chosen[name] = (section, entry)
    specs = (
        _spec(config, section, name, entry)
        for name, (section, entry) in chosen.items()
        if is_on(entry) or entry.command or address_of(entry)
    )
    return tuple(specs if engine_enabled(config) else (structs.replace(spec, enabled=False) for spec in specs))


def engine_enabled(config: Config) -> bool:
    """The plugin's switch, which holds for every section."""
    plugin = config.root.plugins.entries.get(PLUGIN_CONFIG[2])
    return plugin is None or plugin.enabled is not False


def servers_options(config: Config) -> ServersOptions:
    mcp, plugin = config.root.mcp, config.plugin
    return ServersOptions(
        tool_names=mcp.tool_names,
        startup_grace=mcp.startup_grace_ms / 1000,
        max_concurrent_servers=mcp.max_concurrent_servers or plugin.max_concurrent_servers or _CONCURRENT_SERVERS,
        session_idle_ttl=mcp.session_idle_ttl_ms / 1000 if mcp.session_idle_ttl_ms else None,
        debug=mcp.debug or plugin.debug,
    )


def read_server(name: str, value: Mapping[str, Any]) -> ServerSpec:
    """A spec from an entry that stands in no file: typed in chat, or handed over by an editor. `${NAME}` in it is plain text.

    Raises ConfigError with every problem.
    """
    path: Path = ("mcp", "servers", name)
    checked = check_entry(name, parse(json.dumps(value)))
    entry = typed(checked.data, ServerEntry)
    problems = [problem for _, problem in checked.refused] or [
        Problem(message, path=format_path((*path, key) if key else path), hint=hint)
        for key, message, hint in entry_faults(entry)
    ]
    if problems:
        raise ConfigError([structs.replace(problem, line=0, column=0) for problem in problems])
    nowhere = Config(Root(), PluginConfig(), {}, FilePath())
    return structs.replace(_spec(nowhere, _ServerSection(path[:-1], _MCP, {}), name, entry), where="")


def map_secrets(spec: ServerSpec, change: Callable[[str], str]) -> ServerSpec:
    """The spec with `change` applied to every text that may name a secret: env, headers, args, url, apiKey and all of auth."""
    auth = spec.auth
    if auth is not None:
        changed: dict[str, Any] = {name: change(getattr(auth, name)) for name in _AUTH_TEXTS}
        scopes = None if auth.scopes is None else tuple(change(scope) for scope in auth.scopes)
        auth = structs.replace(auth, scopes=scopes, **changed)
    return structs.replace(
        spec,
        args=tuple(change(arg) for arg in spec.args),
        env=tuple((name, change(value)) for name, value in spec.env),
        headers=tuple((name, change(value)) for name, value in spec.headers),
        url=change(spec.url),
        api_key=change(spec.api_key),
        auth=auth,
    )


# The texts of an AuthSpec; `grant` is a choice of ours and never a secret.
_AUTH_TEXTS = tuple(name for name in AuthSpec.__struct_fields__ if name not in ("grant", "scopes"))


def secret_text(value: Value | None) -> str:
    """A setting as a spec holds it: numbers and switches as JSON writes them, references as `secret://ref/SOURCE/PROVIDER/ID`."""
    if value is None:
        return ""
    if isinstance(value, SecretRef):
        return f"{SECRET_SCHEME}ref/{value.source}/{value.provider}/{value.id}"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)


def _sections(config: Config, agent_id: str) -> list[_ServerSection]:
    agents = config.root.agents
    sections = [
        _ServerSection(("mcpServers",), _MCP, config.root.mcp_servers),
        _ServerSection(("servers",), _MCP, config.root.servers),
        _ServerSection(("mcp", "servers"), _MCP, config.root.mcp.servers),
        _ServerSection((*PLUGIN_CONFIG, "servers"), _PLUGIN, config.plugin.servers),
    ]
    own: list[tuple[Path, AgentSettings, str]] = [(("agents", "defaults"), agents.defaults, "")]
    own += [
        (("agents", "list", str(i)), agent, agent_id) for i, agent in enumerate(agents.list) if agent.id == agent_id
    ]
    if agent_id in agents.entries:
        own.append((("agents", "entries", agent_id), agents.entries[agent_id], agent_id))
    for path, settings, owner in own:
        if settings.mcp:
            sections.append(_ServerSection((*path, "mcp", "servers"), _AGENTS, settings.mcp.servers, owner))
    return sections


def _spec(config: Config, section: _ServerSection, name: str, entry: ServerEntry) -> ServerSpec:
    path = (*section.path, name)
    mcp, plugin = config.root.mcp, config.plugin
    discovery = [entry.tool_discovery_interval, mcp.tool_discovery_interval, plugin.tool_discovery_interval]
    if section.dialect.section == "plugin":
        discovery[1:] = [plugin.tool_discovery_interval, mcp.tool_discovery_interval]
    call_ms = _first(entry.request_timeout_ms, milliseconds(entry.tool_timeout), default=section.dialect.call_ms)
    connect_ms = _first(
        entry.connection_timeout_ms,
        entry.connect_timeout_ms,
        milliseconds(entry.timeout),
        default=section.dialect.connect_ms,
    )
    argv = tuple(secret_text(word) for word in argv_of(entry))
    return ServerSpec(
        name=name,
        section=section.dialect.section,
        where=config.where(path),
        owner=section.owner,
        enabled=is_on(entry),
        fault=config.fault(path),
        fault_has_place=config.is_refused(path),
        transport=transport_of(entry) or "stdio",
        command=_command(config, argv[0] if argv else ""),
        args=argv[1:],
        env=tuple((key, secret_text(value)) for key, value in {**entry.environment, **entry.env}.items()),
        pass_env=entry.pass_env,
        allow_env=entry.allow_env,
        cwd=_file(config, entry.cwd or entry.working_directory),
        url=secret_text(address_of(entry)),
        headers=tuple((key, secret_text(value)) for key, value in entry.headers.items()),
        api_key=secret_text(entry.api_key),
        auth=_auth(entry),
        ssl_verify=_first(entry.ssl_verify, entry.ssl_verify_alias, default=True),
        ca_cert=_file(config, entry.ca_cert),
        client_cert=_file(config, entry.client_cert or entry.client_cert_alias),
        client_key=_file(config, entry.client_key or entry.client_key_alias),
        allow_private=entry.allow_private,
        connect_timeout=connect_ms / 1000,
        call_timeout=call_ms / 1000,
        max_total_timeout=_first(entry.max_total_timeout_ms, default=call_ms * _TOTAL_FACTOR) / 1000,
        restart_on_crash=entry.restart_on_crash,
        max_restarts=entry.max_restarts,
        health_interval=_first(entry.health_interval_ms, mcp.health_interval_ms, default=_HEALTH_MS) / 1000,
        discovery_interval=_first(*discovery, default=_DISCOVERY_MS) / 1000,
        idle_timeout=entry.idle_timeout_ms / 1000 if entry.idle_timeout_ms else None,
        lazy=entry.lazy,
        isolation=entry.isolation,
        placement=entry.placement,
        trust=entry.trust,
        approval=entry.approval,
        annotations=entry.annotations,
        parallel_calls=_first(
            entry.supports_parallel_tool_calls, entry.supports_parallel_tool_calls_alias, default=True
        ),
        max_in_flight=entry.max_in_flight,
        max_message_bytes=entry.max_message_bytes,
        sampling=_sampling(entry.sampling),
        allow_secret_forms=entry.allow_secret_forms,
        roots=entry.roots,
        tool_prefix=entry.tool_prefix or "",
        tool_include=entry.tool_filter.include,
        tool_exclude=entry.tool_filter.exclude,
        inject_resources=entry.resources.inject,
        resources_max_bytes=entry.resources.max_bytes,
    )


def _sampling(section: Sampling) -> SamplingSpec:
    return SamplingSpec(
        enabled=section.enabled,
        models=section.models,
        max_tokens=section.max_tokens,
        requests_per_minute=section.requests_per_minute,
        tokens_per_day=section.tokens_per_day,
        approve=section.approve,
    )


def _auth(entry: ServerEntry) -> AuthSpec | None:
    auth = entry.auth if isinstance(entry.auth, Auth) else entry.oauth
    if auth is None:
        return AuthSpec() if entry.auth == "oauth" else None
    scopes = auth.scopes if auth.scopes is not None else auth.scope
    return AuthSpec(
        grant=auth.grant,
        client_id=secret_text(auth.client_id),
        client_secret=secret_text(auth.client_secret),
        private_key=secret_text(auth.private_key),
        signing_alg=auth.signing_alg,
        token_endpoint_auth_method=auth.token_endpoint_auth_method,
        client_metadata_url=auth.client_metadata_url,
        authorization_server_url=auth.authorization_server_url,
        redirect_url=auth.redirect_url,
        scopes=tuple(scopes.split()) if isinstance(scopes, str) else scopes,
        idp_issuer=auth.idp_issuer,
        idp_token_endpoint=auth.idp_token_endpoint,
        idp_client_id=secret_text(auth.idp_client_id),
        idp_id_token=secret_text(auth.idp_id_token),
    )


def _first(*values: T | None, default: T) -> T:
    return next((value for value in values if value is not None), default)


def _file(config: Config, name: str | None) -> str:
    return str(config.resolve(name)) if name else ""


def _command(config: Config, command: str) -> str:
    """Looked up in PATH when it is a bare name, so only `~/` is ours to resolve."""
    return str(config.resolve(command)) if command.startswith("~/") else command
