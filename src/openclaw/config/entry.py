"""What may be written about one MCP server, in any of the three dialects, and about all servers together.

Owns the names: every field and alias of `mcp.servers.<name>`, `plugins.entries.mcp-client.config.servers.<name>` and
`agents.*.mcp.servers.<name>`. Which alias wins, what defaults each dialect has and what a spec is made of is in `servers.py`.
"""

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta, field

from openclaw.protocol.transports import CONFIGURED, TransportName


def about(description: str) -> Meta:
    return Meta(description=description)


def secret(description: str) -> Meta:
    """A field that holds a credential: `$NAME` as its whole value means an environment variable."""
    return Meta(description=description, extra={"secret": True})


def keys(words: str) -> frozenset[str]:
    return frozenset(words.split())


Milliseconds = Annotated[float, Meta(ge=0)]
Timeout = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=0)]
Some = Annotated[int, Meta(ge=1)]


class Part(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Options of every type of the schema: camelCase in the file, closed. `foreign` are keys that another OpenClaw reads: kept, ignored."""

    foreign: ClassVar[frozenset[str]] = frozenset()


class SecretRef(Part, frozen=True):
    """A secret by reference: which kind of source, which configured provider, which secret."""

    source: Annotated[Literal["env", "file", "exec", "store"], about("The kind of place the secret is in.")]
    id: Annotated[str, about("The secret's name there: a variable, a JSON pointer, or what the program expects.")]
    provider: Annotated[str, about("The name under `secrets.providers`.")] = "default"


Secret = str | SecretRef
Value = str | int | float | bool | SecretRef


class Auth(Part, frozen=True):
    """How to sign in to a server, when discovery alone is not enough. Any text may be a `secret://` reference."""

    foreign = keys("identity authProfileId")

    grant: Annotated[
        Literal["authorization_code", "client_credentials", "enterprise"],
        about("A person signs in, the client signs in by itself, or an identity provider vouches."),
    ] = "authorization_code"
    client_id: Annotated[Secret | None, secret("Client id of an application that was registered by hand.")] = None
    client_secret: Annotated[Secret | None, secret("Its secret, for confidential clients.")] = None
    private_key: Annotated[Secret | None, secret("PEM key that signs client assertions (private_key_jwt).")] = None
    signing_alg: Annotated[str, about("Algorithm of those assertions, such as ES256.")] = ""
    token_endpoint_auth_method: Annotated[
        str, about("How the client proves itself; chosen by discovery when empty.")
    ] = ""
    client_metadata_url: Annotated[str, about("HTTPS address of the Client ID Metadata Document you host.")] = ""
    authorization_server_url: Annotated[str, about("Authorization server to use instead of the discovered one.")] = ""
    redirect_url: Annotated[str, about("Fixed loopback redirect address, for registrations that demand one.")] = ""
    scopes: Annotated[tuple[str, ...] | str | None, about("Scopes to ask for instead of the challenged ones.")] = None
    scope: Annotated[str | None, about("The same as `scopes`, separated by spaces.")] = None
    idp_issuer: Annotated[str, about("Enterprise: issuer of the identity provider.")] = ""
    idp_token_endpoint: Annotated[str, about("Enterprise: its token endpoint.")] = ""
    idp_client_id: Annotated[Secret | None, secret("Enterprise: our client id there.")] = None
    idp_id_token: Annotated[Secret | None, secret("Enterprise: the identity token to exchange.")] = None


class ToolFilter(Part, frozen=True):
    """Which of a server's tools are taken, by the names the server uses. Exact or with `*`; include first, then exclude."""

    include: Annotated[tuple[str, ...], about("Only these tools. Empty: all.")] = ()
    exclude: Annotated[tuple[str, ...], about("Not these.")] = ()


class Resources(Part, frozen=True):
    """Resources of a server that join the system context, framed as untrusted."""

    inject: Annotated[tuple[str, ...], about("Resource addresses, exact or with `*`.")] = ()
    max_bytes: Annotated[Count, about("Bound for all of them together.")] = 64 * 1024


class Sampling(Part, frozen=True):
    """What a server may ask our models. Nothing unless `enabled`: every answer is paid for by you."""

    enabled: Annotated[bool, about("Whether the server may ask a model at all.")] = False
    models: Annotated[
        tuple[str, ...], about("The models it may use, the usual one first. Empty: the agent's own.")
    ] = ()
    max_tokens: Annotated[Some, about("Tokens of one answer, at most.")] = 4_096
    requests_per_minute: Annotated[Some, about("How often it may ask.")] = 6
    tokens_per_day: Annotated[Some, about("Tokens of prompts and answers together, for each day (UTC).")] = 100_000
    approve: Annotated[
        Literal["always", "first", "never"],
        about("Whether a person sees each prompt and each answer, only the first of a conversation, or none."),
    ] = "always"


class ServerEntry(Part, frozen=True, forbid_unknown_fields=False):
    """One MCP server. `{enabled: false}` alone removes a server that an earlier section names."""

    # Settings of other programs that change nothing here: who is asked before a call is `tools`, and a name is the entry's own.
    foreign = keys("alwaysAllow autoApprove codex description gallery icon name source start_on_launch version")

    enabled: Annotated[bool, about("Whether the server is started.")] = True
    disabled: Annotated[bool, about("The opposite of `enabled`, as other programs write it.")] = False
    transport: Annotated[
        str | None,
        about(
            "`stdio`, `streamable-http` (also `http`) or `sse`. By default: a command is stdio, a URL is streamable-http."
        ),
    ] = None
    type: Annotated[str | None, about("The same as `transport`.")] = None
    transport_type: Annotated[str | None, about("The same as `transport`.")] = None

    command: Annotated[
        str | tuple[str, ...] | None, about("Program to start (stdio). As a list: the program and its first arguments.")
    ] = None
    args: Annotated[tuple[Value, ...], about("Its arguments. Process listings show them: keep secrets in `env`.")] = ()
    env: Annotated[
        dict[str, Annotated[Value, secret("")]], about("Variables for the program, beside the few it inherits.")
    ] = field(default_factory=dict)
    environment: Annotated[dict[str, Annotated[Value, secret("")]], about("The same as `env`.")] = field(
        default_factory=dict
    )
    pass_env: Annotated[tuple[str, ...], about("Names of our own variables that the program inherits too.")] = ()
    allow_env: Annotated[
        tuple[str, ...],
        about(
            "Names in `env` and `passEnv` that the program gets although they can make it run other code (`NODE_OPTIONS`, …)."
        ),
    ] = ()
    cwd: Annotated[str | None, about("Its working directory.")] = None
    working_directory: Annotated[str | None, about("The same as `cwd`.")] = None

    url: Annotated[Secret | None, about("Address of the server (HTTP). https, unless the host is this machine.")] = None
    http_url: Annotated[Secret | None, about("The same as `url`.")] = None
    server_url: Annotated[Secret | None, about("The same as `url`.")] = None
    base_url: Annotated[Secret | None, about("The same as `url`.")] = None
    headers: Annotated[dict[str, Annotated[Value, secret("")]], about("HTTP headers sent to this server only.")] = (
        field(default_factory=dict)
    )
    api_key: Annotated[
        Secret | None, secret("Sent as `Authorization: Bearer`. A 401 is then reported, never answered by OAuth.")
    ] = None
    auth: Annotated[Auth | Literal["oauth", "none"] | None, about('OAuth settings, or "oauth" for all defaults.')] = (
        None
    )
    oauth: Annotated[Auth | None, about("The same as an `auth` object.")] = None
    ssl_verify: Annotated[bool | None, about("Whether the server's certificate is checked. On by default.")] = None
    ssl_verify_alias: Annotated[bool | None, about("The same as `sslVerify`.")] = field(default=None, name="ssl_verify")
    ca_cert: Annotated[str | None, about("PEM file of a certificate authority to trust for this server.")] = None
    client_cert: Annotated[str | None, about("PEM file of our certificate, for mutual TLS.")] = None
    client_cert_alias: Annotated[str | None, about("The same as `clientCert`.")] = field(
        default=None, name="client_cert"
    )
    client_key: Annotated[str | None, about("PEM file of its key.")] = None
    client_key_alias: Annotated[str | None, about("The same as `clientKey`.")] = field(default=None, name="client_key")
    allow_private: Annotated[bool, about("Whether its authorization server may be at a private address.")] = False

    connection_timeout_ms: Annotated[Timeout | None, about("Time to come up, from its start on. 30,000.")] = None
    connect_timeout_ms: Annotated[Timeout | None, about("The same as `connectionTimeoutMs`.")] = None
    timeout: Annotated[
        Timeout | None,
        about("The same as `connectionTimeoutMs`. A number below 1,000 is seconds, as other programs mean it."),
    ] = None
    request_timeout_ms: Annotated[Timeout | None, about("Time for one call. 60,000; under the plugin 30,000.")] = None
    tool_timeout: Annotated[
        Timeout | None,
        about("The same as `requestTimeoutMs`. A number below 1,000 is seconds, as other programs mean it."),
    ] = None
    max_total_timeout_ms: Annotated[
        Timeout | None, about("How far progress may extend a call. Ten times the call's own time.")
    ] = None
    restart_on_crash: Annotated[bool, about("Whether a crashed program is started again (stdio).")] = True
    max_restarts: Annotated[Count, about("Restarts in a row before it counts as failed.")] = 5
    health_interval_ms: Annotated[
        Milliseconds | None, about("How often a quiet connection is probed. 30,000; 0 never.")
    ] = None
    tool_discovery_interval: Annotated[
        Milliseconds | None, about("How often tools are listed again, in ms. 300,000; 0 never.")
    ] = None
    idle_timeout_ms: Annotated[
        Milliseconds | None, about("Stop the program after this long without a call. Never by default.")
    ] = None
    lazy: Annotated[bool, about("Start at the first call instead of at once.")] = False
    isolation: Annotated[
        Literal["shared", "session"], about("One process or connection for all, or one for each conversation.")
    ] = "shared"
    placement: Annotated[
        Literal["each", "one"],
        about("Where gateways share a database: each runs a process of its own (stdio), or one of them does for all."),
    ] = "each"
    trust: Annotated[
        Literal["pin", "follow"],
        about("Keep tool definitions as first seen until they are accepted again, or follow the server."),
    ] = "pin"
    approval: Annotated[
        Literal["inherit", "ask", "allow", "deny"],
        about(
            "Whether calls of its tools are asked about: as `tools.approval` says, those that do not only read, none, or they are refused."
        ),
    ] = "inherit"
    annotations: Annotated[
        Literal["untrusted", "trusted"],
        about(
            "Whether its word is believed that a tool only reads (`readOnlyHint`), and that it reaches nobody else "
            "(`openWorldHint: false`: an address it is given goes nowhere). Otherwise it is shown in the question, and no more."
        ),
    ] = "untrusted"
    supports_parallel_tool_calls: Annotated[bool | None, about("Whether calls may overlap. They may by default.")] = (
        None
    )
    supports_parallel_tool_calls_alias: Annotated[bool | None, about("The same as `supportsParallelToolCalls`.")] = (
        field(default=None, name="supports_parallel_tool_calls")
    )
    max_in_flight: Annotated[Some, about("Calls sent at the same time; more wait in a queue.")] = 64
    max_message_bytes: Annotated[Some, about("Largest message taken from the server, after decompression.")] = (
        64 * 1024 * 1024
    )

    sampling: Annotated[Sampling, about("What it may ask our models.")] = Sampling()
    allow_secret_forms: Annotated[bool, about("Whether its forms may ask for passwords, keys and the like.")] = False
    roots: Annotated[
        Literal["none", "workspace"],
        about("Whether it is told the agent's workspace as a root. Some servers then work there, and nowhere else."),
    ] = "none"

    tool_prefix: Annotated[str | None, about("Replaces the server's name in tool names.")] = None
    tool_filter: Annotated[ToolFilter, about("Which of its tools are taken.")] = ToolFilter()
    resources: Annotated[Resources, about("Resources that join the system context.")] = Resources()


Servers = Annotated[dict[str, ServerEntry], about("MCP servers by name.")]


# What other programs' configs call a transport, beside its own name.
_TRANSPORT_ALIASES: dict[str, TransportName] = {
    "http": "streamable-http",
    "local": "stdio",
    "remote": "streamable-http",
}
# A time in milliseconds that is smaller than this was meant in seconds: nothing connects or answers within a second as a rule.
SECONDS_BELOW = 1_000
# The settings whose names do not say in what they are counted.
UNITLESS = frozenset({"timeout", "toolTimeout"})


def transport_of(entry: ServerEntry) -> TransportName | None:
    """The transport to try first; None when the entry names one that does not exist."""
    named = entry.transport or entry.type or entry.transport_type
    if named:
        word = named.strip().lower().replace("_", "").replace("-", "")
        return next((name for name in CONFIGURED if word == name.replace("-", "")), _TRANSPORT_ALIASES.get(word))
    return "streamable-http" if address_of(entry) and not entry.command else "stdio"


def is_on(entry: ServerEntry) -> bool:
    return entry.enabled and not entry.disabled


def address_of(entry: ServerEntry) -> Secret | None:
    """The address under any of its names."""
    return entry.url or entry.http_url or entry.server_url or entry.base_url


def argv_of(entry: ServerEntry) -> tuple[Value, ...]:
    """The program and its arguments; empty when there is no program."""
    if isinstance(entry.command, tuple):
        return (*entry.command, *entry.args) if entry.command else ()
    return (entry.command, *entry.args) if entry.command else ()


def milliseconds(value: float | None) -> float | None:
    """The value of one of UNITLESS."""
    return value * 1000 if value is not None and value < SECONDS_BELOW else value


class AgentMcp(Part, frozen=True):
    """Servers of one agent, or of all (`agents.defaults.mcp`). Their tools are named `mcp_{server}_{tool}`."""

    servers: Servers = field(default_factory=dict)


class PluginConfig(Part, frozen=True):
    """`plugins.entries.mcp-client.config`. Tools are named `{server}__{tool}`."""

    servers: Servers = field(default_factory=dict)
    tool_discovery_interval: Annotated[
        Milliseconds | None, about("How often tools are listed again, in ms. 300,000; 0 never.")
    ] = None
    max_concurrent_servers: Annotated[Some | None, about("Servers that may run at the same time. 20.")] = None
    debug: Annotated[bool, about("Log every call with its time, and each step of a server's life.")] = False


class Elicitation(Part, frozen=True):
    """Questions of servers to a person."""

    timeout_ms: Annotated[Timeout, about("How long one waits for its answer before it counts as cancelled.")] = 300_000


class Apps(Part, frozen=True):
    """MCP Apps: what servers show beside the results of their tools, in the gateway's page."""

    foreign = keys("sandboxOrigin")

    enabled: Annotated[bool, about("Whether they are shown. Off, because their script comes from the servers.")] = False
    sandbox_port: Annotated[
        Annotated[int, Meta(ge=0, le=65535)] | None,
        about("The second port on this machine, which they come from. One above `gateway.port`."),
    ] = None


class McpSection(Part, frozen=True):
    """The MCP client and the servers that every agent has. Tools are named `{server}__{tool}`."""

    foreign = keys("inputs")

    servers: Servers = field(default_factory=dict)
    tool_names: Annotated[
        Literal["by-section", "prefix__tool", "mcp_prefix_tool"],
        about("How tools are named: as the section says that names the server, or one form everywhere."),
    ] = "by-section"
    startup_grace_ms: Annotated[
        Milliseconds,
        about(
            "How long a gateway turn waits for servers never seen before. A command waits as long as each may take to connect."
        ),
    ] = 2_000
    max_concurrent_servers: Annotated[Some | None, about("Servers that may run at the same time. 20.")] = None
    tool_discovery_interval: Annotated[
        Milliseconds | None, about("How often tools are listed again, in ms. 300,000; 0 never.")
    ] = None
    health_interval_ms: Annotated[
        Milliseconds | None, about("How often a quiet connection is probed. 30,000; 0 never.")
    ] = None
    session_idle_ttl_ms: Annotated[
        Milliseconds | None,
        about("Close the connections of a conversation idle for this long (`isolation: session`). Never by default."),
    ] = None
    elicitation: Annotated[Elicitation, about("Questions of servers to a person.")] = Elicitation()
    apps: Annotated[Apps, about("What servers show in the gateway's page. Needs a restart of the gateway.")] = Apps()
    debug: Annotated[bool, about("Log every call with its time, and each step of a server's life.")] = False
