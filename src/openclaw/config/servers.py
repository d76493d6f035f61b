"""Three dialects of server config, one frozen `ServerSpec`.

Owns the field names, aliases and defaults of `mcp.servers`, `plugins.entries.mcp-client.config.servers` and `agents.*.mcp.servers`, and
which of them an agent gets. Resolves no secrets and opens nothing: `secret://` references stay as they are.
Times are seconds from here on.
"""

from dataclasses import dataclass, field
from typing import Literal

Section = Literal["mcp", "plugin", "agents"]
TransportName = Literal["stdio", "streamable-http", "sse"]


@dataclass(frozen=True, slots=True)
class AuthSpec:
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


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """One server as configured. Equal specs (and equal credentials) share one process or connection."""

    name: str
    section: Section = "mcp"
    # File, line and path of the entry, for messages: "openclaw.json:12 mcp.servers.github".
    where: str = field(default="", compare=False)
    # The agent whose own section names it; empty when it is shared by all.
    owner: str = ""
    enabled: bool = True
    # Why it cannot start (an unset ${VAR}, for one); empty when nothing is wrong with the entry itself.
    fault: str = ""

    transport: TransportName = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    pass_env: tuple[str, ...] = ()
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
    health_interval: float = 30.0
    discovery_interval: float = 300.0
    idle_timeout: float | None = None
    lazy: bool = False
    isolation: Literal["shared", "session"] = "shared"
    trust: Literal["pin", "follow"] = "pin"
    parallel_calls: bool = True
    max_in_flight: int = 64
    max_message_bytes: int = 64 * 1024 * 1024

    tool_prefix: str = ""
    tool_include: tuple[str, ...] = ()
    tool_exclude: tuple[str, ...] = ()
    inject_resources: tuple[str, ...] = ()
    resources_max_bytes: int = 64 * 1024


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Settings of the engine as a whole."""

    tool_names: Literal["by-section", "prefix__tool", "mcp_prefix_tool"] = "by-section"
    startup_grace: float = 2.0
    max_concurrent_servers: int = 20
    debug: bool = False
