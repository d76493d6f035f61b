"""What may be written in openclaw.json: the sections we own, each field with its meaning.

Owns the names, types and defaults; `entry.py` has those of MCP servers. Keys that another OpenClaw reads in the same sections are named in
`foreign`, so that one file may serve both. Decides nothing: `schema.py` checks a file against these types, `agents.py` and `servers.py`
work out what an agent gets.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from openclaw.config.entry import (
    AgentMcp,
    Count,
    McpSection,
    Part,
    Secret,
    ServerEntry,
    Some,
    Timeout,
    Value,
    about,
    keys,
    secret,
)

Names = tuple[str, ...]
Port = Annotated[int, Meta(ge=0, le=65535)]
Amount = Annotated[float, Meta(ge=0)]
# Bounds of code mode: less is of no use, more is asking for trouble.
CodeTime = Annotated[int, Meta(ge=100, le=60_000)]
CodeMemory = Annotated[int, Meta(ge=8 * 1024 * 1024, le=1024 * 1024 * 1024)]
CodeOutput = Annotated[int, Meta(ge=1_024, le=1024 * 1024)]
CodeCalls = Annotated[int, Meta(ge=1, le=64)]


Fallback = Literal["untainted", "deny", "allow"]


class FallbackBySurface(Part, frozen=True):
    """What becomes of a question when nobody can be asked, by the way a call came in."""

    order: Annotated[Fallback | None, about("Orders of MCP clients that cannot be asked.")] = None
    http: Annotated[Fallback | None, about("The gateway's HTTP port.")] = None
    default: Annotated[Fallback | None, about("Everything else, such as `agent` in a pipe. `untainted`.")] = None


class ApprovalRules(Part, frozen=True):
    """Which calls a person is asked about. A pattern is a name as in `tools.allow`, or `NAME(argument=VALUE, …)` with `*`; `deny` comes
    first, then `ask`, then `allow`, then the mode."""

    mode: Annotated[
        Literal["off", "writes", "always", "deny"] | None,
        about(
            "What is asked about that no pattern names: nothing, what changes something (default), everything. `deny` refuses it."
        ),
    ] = None
    allow: Annotated[Names | None, about("Calls that run without a question.")] = None
    ask: Annotated[Names | None, about("Calls that are asked about every time.")] = None
    deny: Annotated[Names | None, about("Calls that are refused.")] = None
    taint: Annotated[
        Literal["off", "ask", "deny"] | None,
        about(
            "A call that text from outside may have set off: a program, a new host, a value from that text. Asked about by default."
        ),
    ] = None
    timeout_ms: Annotated[Timeout | None, about("Time to answer one question. 300,000.")] = None
    pending_ms: Annotated[
        Timeout | None, about("The same for a question that only watchers of a gateway see. 1,800,000.")
    ] = None
    fallback: Annotated[
        Fallback | FallbackBySurface | None,
        about(
            "When nobody can be asked: `untainted` runs what only the mode asks about and refuses the rest. May differ by surface."
        ),
    ] = None


class ToolRules(Part, frozen=True):
    """Which tools may be used. Case does not matter, `*` is the only wildcard, `group:fs` and the like name several; deny wins."""

    foreign = keys(
        "agentToAgent byProvider codeMode elevated exec fs links loopDetection media message sandbox sessions sessions_spawn subagents "
        "toolSearch toolsBySender web"
    )

    profile: Annotated[
        Literal["minimal", "coding", "messaging", "full"] | None, about("A ready-made choice of tools to start from.")
    ] = None
    allow: Annotated[Names | None, about("Only these tools. Not together with `alsoAllow`.")] = None
    also_allow: Annotated[Names | None, about("These tools beside those of the profile.")] = None
    deny: Annotated[Names | None, about("Not these tools, whatever else allows them.")] = None
    approval: Annotated[
        ApprovalRules | None, about("Which calls a person is asked about. Below `tools` it only narrows.")
    ] = None


class CodeModeSection(Part, frozen=True):
    """Code mode: the tool `run_code`, by which a model calls many tools in one short program."""

    foreign = keys("languages maxSearchLimit maxSnapshotBytes runtime searchDefaultLimit snapshotTtlSeconds")

    enabled: Annotated[bool, about("Whether agents have `run_code`. Needs the extra `code` (pydantic-monty).")] = False
    timeout_ms: Annotated[CodeTime, about("Time that the code of one run may take; calls it makes do not count.")] = (
        30_000
    )
    memory_limit_bytes: Annotated[CodeMemory, about("Memory that the code of one run may take.")] = 64 * 1024 * 1024
    max_output_bytes: Annotated[CodeOutput, about("Characters that come back from one run.")] = 65_536
    max_pending_tool_calls: Annotated[CodeCalls, about("Calls that one run makes at the same time.")] = 8


class ToolSearch(Part, frozen=True):
    """When tools are not shown to a model but found by it. Built-in tools are always shown."""

    mode: Annotated[
        Literal["auto", "on", "off"],
        about(
            "`auto`: when their definitions take more than 5 % of the model's window or 20,000 tokens, or are more than 40."
        ),
    ] = "auto"
    keep: Annotated[Names, about("Tools that are always shown, such as `github__*`.")] = ()


class ToolsSection(ToolRules, frozen=True):
    """The same for every agent, and how tools are shown to a model."""

    search: Annotated[ToolSearch, about("When tools are searched for instead of shown.")] = ToolSearch()
    code_mode: Annotated[CodeModeSection, about("Code that calls tools.")] = CodeModeSection()


class ModelChoice(Part, frozen=True):
    """The model of an agent, and what to try when it fails."""

    primary: Annotated[str | None, about("The model, as `provider/model`.")] = None
    fallbacks: Annotated[Names, about("Models to try next, in order, as `provider/model`.")] = ()


class AgentSettings(Part, frozen=True):
    """Settings of one agent; under `agents.defaults`, of every agent that does not say otherwise."""

    foreign = keys(
        "agentDir blockStreamingBreak blockStreamingChunk blockStreamingCoalesce blockStreamingDefault bootstrapMaxChars cliBackends "
        "compaction contextPruning cwd elevatedDefault embeddedPi envelopeElapsed envelopeTimestamp envelopeTimezone groupChat heartbeat "
        "humanDelay identity imageMaxDimensionPx imageModel mediaMaxMb memory memorySearch models params pdfModel repoRoot runtime sandbox "
        "skipBootstrap subagents thinkingDefault timeFormat tts typingIntervalSeconds typingMode userTimezone verboseDefault"
    )

    name: Annotated[str | None, about("A name for people; the id is what config and commands use.")] = None
    model: Annotated[str | ModelChoice | None, about("The model, as `provider/model`, or with fallbacks.")] = None
    tools: Annotated[ToolRules | None, about("Which tools it may use; only narrows what `tools` allows.")] = None
    tool_policy: Annotated[ToolRules | None, about("The same as `tools`.")] = None
    skills: Annotated[Names | None, about("The only skills it has. Empty: none.")] = None
    workspace: Annotated[str | None, about("The directory it works in.")] = None
    prompt: Annotated[str | None, about("Text added to its system prompt.")] = None
    mcp: Annotated[AgentMcp | None, about("MCP servers of its own.")] = None
    verbose: Annotated[bool | None, about("Whether tool results join the answer of an order. Off by default.")] = None
    max_turns: Annotated[Some | None, about("Model requests in one run before it is stopped. 50.")] = None
    timeout_seconds: Annotated[Timeout | None, about("Time for one run, waiting for its session included. 600.")] = None
    context_tokens: Annotated[Some | None, about("Size of the context window, when the model's own is not known.")] = (
        None
    )
    max_concurrent: Annotated[Some | None, about("Tool calls that run at the same time in one run. 8.")] = None


class ListedAgent(AgentSettings, frozen=True):
    """One agent of `agents.list`."""

    id: Annotated[str, about("Its id: lower-case letters, digits, `_` and `-`.")] = ""
    default: Annotated[bool, about("Whether it answers when none is named.")] = False


class AgentsSection(Part, frozen=True):
    """Agents and what they share. `list` and `entries` may both be used; ids are unique over both."""

    foreign = keys("ownership")

    defaults: Annotated[AgentSettings, about("Settings of every agent that does not say otherwise.")] = AgentSettings()
    list: Annotated[tuple[ListedAgent, ...], about("Agents, one after the other, each with its `id`.")] = ()
    entries: Annotated[dict[str, AgentSettings], about("Agents by id.")] = field(default_factory=dict)
    default: Annotated[str | None, about("The id of the agent that answers when none is named. `main`.")] = None


class ModelCost(Part, frozen=True):
    """What a model costs, in dollars for a million tokens: shown behind each turn at a terminal."""

    foreign = keys("cacheWrite")

    input: Annotated[Amount, about("Tokens it reads.")] = 0.0
    output: Annotated[Amount, about("Tokens it writes.")] = 0.0
    cache_read: Annotated[Amount | None, about("Tokens it reads from the vendor's cache. As `input`, if not said.")] = (
        None
    )


class Model(Part, frozen=True):
    """What a provider's model can do, when its wire does not tell."""

    foreign = keys("api compat contextTokens headers reasoning")

    id: Annotated[str, about("The model's name on the wire.")]
    name: Annotated[str, about("A name for people.")] = ""
    context_window: Annotated[Some | None, about("Tokens it can take in.")] = None
    max_tokens: Annotated[Some | None, about("Tokens it can answer with.")] = None
    input: Annotated[Names | None, about("What it takes: text, image. Both when it is not said.")] = None
    cost: Annotated[ModelCost | None, about("What it costs, when the terminal should say what a turn did.")] = None
    tool_search: Annotated[
        bool | None, about("Whether it takes deferred tools in its vendor's own form. Known of vendors' own models.")
    ] = None


Api = Literal[
    "openai-completions",
    "anthropic-messages",
    "openai-responses",
    "openai-chatgpt-responses",
    "google-generative-ai",
    "google-vertex",
    "github-copilot",
    "bedrock-converse-stream",
    "azure-openai-responses",
    "ollama",
    "pi-messages",
    "scripted",
]


class ModelProvider(Part, frozen=True):
    """An endpoint that serves models."""

    foreign = keys("auth authHeader injectNumCtxForOpenAICompat request")

    base_url: Annotated[str | None, about("Address of its API, such as `http://127.0.0.1:11434/v1`.")] = None
    api_key: Annotated[Secret | None, secret("Its key.")] = None
    api: Annotated[
        Api | None,
        about(
            "The wire it speaks. With a `baseUrl`: openai-completions. We speak it, openai-responses and anthropic-messages;"
            " `scripted` replays a file."
        ),
    ] = None
    headers: Annotated[dict[str, Annotated[Value, secret("")]], about("HTTP headers sent with every request.")] = field(
        default_factory=dict
    )
    models: Annotated[tuple[str | Model, ...], about("Its models, by name or with what they can do.")] = ()
    timeout_seconds: Annotated[Timeout | None, about("Time for one answer. 600.")] = None
    max_retries: Annotated[Count | None, about("Attempts after a 429 or 5xx. 4.")] = None
    script: Annotated[str | None, about("File of turns that a `scripted` provider replays.")] = None


class ModelsSection(Part, frozen=True):
    """Where models come from."""

    mode: Annotated[
        Literal["merge", "replace"], about("Beside the providers found in the environment, or instead of them.")
    ] = "merge"
    providers: Annotated[dict[str, ModelProvider], about("Providers by the name that stands before the slash.")] = (
        field(default_factory=dict)
    )


class GatewayAuth(Part, frozen=True):
    """Who may use the gateway's HTTP port."""

    foreign = keys("allowTailscale rateLimit trustedProxy")

    mode: Annotated[
        Literal["token", "password"] | None,
        about("What callers prove themselves with: the token alone, or the password alone. Either of them by default."),
    ] = None
    token: Annotated[Secret | None, secret("The bearer token. Without one, a random one is made at first start.")] = (
        None
    )
    password: Annotated[Secret | None, secret("A password taken as a bearer token too.")] = None


class GatewaySection(Part, frozen=True):
    """The long-lived process."""

    foreign = keys(
        "controlUi customBindHost discovery http mode nodes publicOrigin reload remote tailscale tls trustedProxies"
    )

    port: Annotated[Port, about("HTTP port.")] = 28789
    bind: Annotated[str, about("`loopback`, `lan` (every address of this machine) or one address.")] = "loopback"
    auth: Annotated[GatewayAuth, about("Who may use the HTTP port.")] = GatewayAuth()
    allowed_hosts: Annotated[Names, about("Further Host headers to accept, for a gateway behind a name.")] = ()
    allowed_origins: Annotated[Names, about("Web origins that may call the HTTP port.")] = ()
    tools: Annotated[ToolRules, about("Which tools may be used through the gateway; only narrows.")] = ToolRules()
    fleet_url: Annotated[
        str, about("Where other gateways of its fleet reach this one, such as `https://gateway-1.example.com`.")
    ] = ""


class PluginEntry(Part, frozen=True):
    """One plugin."""

    foreign = keys("hooks llm subagent")

    enabled: Annotated[bool | None, about("Whether it is loaded. On by default.")] = None
    config: Annotated[dict[str, Any], about("Its own settings, checked by the plugin.")] = field(default_factory=dict)
    env: Annotated[dict[str, Annotated[Value, secret("")]], about("Variables it may read.")] = field(
        default_factory=dict
    )
    api_key: Annotated[Secret | None, secret("A key it may read.")] = None


class PluginLoad(Part, frozen=True):
    """Where plugins are looked for, beside installed packages, and how long they may take."""

    paths: Annotated[Names, about("Python files or directories to load plugins from.")] = ()
    timeout_seconds: Annotated[
        Timeout | None, about("Time for a plugin to be imported, and again to be ready; then it is left out. 10.")
    ] = None


class PluginsSection(Part, frozen=True):
    """Extensions in Python. The MCP client is the bundled plugin `mcp-client`."""

    foreign = keys("installs slots")

    enabled: Annotated[bool, about("Whether plugins other than the bundled ones are loaded at all.")] = True
    entries: Annotated[dict[str, PluginEntry], about("Plugins by id.")] = field(default_factory=dict)
    load: Annotated[PluginLoad, about("Where plugins are looked for.")] = PluginLoad()
    allow: Annotated[Names | None, about("Only these plugins.")] = None
    deny: Annotated[Names, about("Not these plugins.")] = ()


class SkillEntry(Part, frozen=True):
    """One skill."""

    enabled: Annotated[bool | None, about("Whether it is offered.")] = None
    api_key: Annotated[
        Secret | None, secret("Value of the variable that the skill names as its `primaryEnv`, for its programs alone.")
    ] = None
    env: Annotated[
        dict[str, Annotated[Value, secret("")]],
        about("Variables for the programs that are run for the skill, and for no others."),
    ] = field(default_factory=dict)
    config: Annotated[
        dict[str, Any], about("Its own settings: its programs get them as JSON in `OPENCLAW_SKILL_CONFIG`.")
    ] = field(default_factory=dict)


class SkillLoad(Part, frozen=True):
    """Where skills are looked for, beside the usual directories."""

    foreign = keys("allowSymlinkTargets watch watchDebounceMs")

    extra_dirs: Annotated[Names, about("Further directories, lowest in precedence.")] = ()


class SkillLimits(Part, frozen=True):
    """Bounds of what skills may take."""

    max_candidates_per_root: Annotated[Count, about("Directories looked at below one root.")] = 300
    max_skills_loaded_per_source: Annotated[Count, about("Skills taken from one root.")] = 200
    max_skills_in_prompt: Annotated[Count, about("Skills named in the prompt.")] = 150
    max_skills_prompt_chars: Annotated[Count, about("Characters of the prompt they may take.")] = 18_000
    max_skill_file_bytes: Annotated[Count, about("Size of one SKILL.md.")] = 256_000


class SkillsSection(Part, frozen=True):
    """Instructions an agent may read."""

    foreign = keys("install")

    allow_bundled: Annotated[Names | None, about("The only bundled skills that are offered.")] = None
    load: Annotated[SkillLoad, about("Where skills are looked for.")] = SkillLoad()
    entries: Annotated[dict[str, SkillEntry], about("Settings by skill.")] = field(default_factory=dict)
    limits: Annotated[SkillLimits, about("Bounds of what skills may take.")] = SkillLimits()


class SecretProviderEntry(Part, frozen=True):
    """A named place that `{source, provider, id}` and `secret://exec/NAME/…` refer to."""

    foreign = keys("allowInsecurePath allowSymlinkCommand pluginIntegration")

    source: Annotated[Literal["env", "file", "exec", "store"], about("The kind of place.")]
    allowlist: Annotated[Names | None, about("env: the only variables that may be read.")] = None
    path: Annotated[str | None, about("file: where it is; ours alone and 0600.")] = None
    mode: Annotated[
        Literal["json", "singleValue"], about("file: one JSON document, or the secret and nothing else.")
    ] = "json"
    command: Annotated[str | None, about("exec: absolute path of the program.")] = None
    args: Annotated[Names, about("exec: its arguments; `{id}` stands for the secret's name.")] = ()
    env: Annotated[dict[str, str], about("exec: variables for the program.")] = field(default_factory=dict)
    pass_env: Annotated[Names, about("exec: names of our variables that it inherits too.")] = ()
    trusted_dirs: Annotated[Names | None, about("exec: the program must be in one of these.")] = None
    json_only: Annotated[bool, about("exec: speak the JSON protocol; otherwise what it prints is the secret.")] = True
    timeout_ms: Annotated[Timeout, about("Time to answer.")] = 5_000
    no_output_timeout_ms: Annotated[Timeout | None, about("exec: time without a byte of output.")] = None
    max_bytes: Annotated[Some, about("file: bound of its size.")] = 1024 * 1024
    max_output_bytes: Annotated[Some, about("exec: bound of its output.")] = 1024 * 1024


class SecretDefaults(Part, frozen=True):
    """Which provider a reference means that names none."""

    env: Annotated[str, about("For source env.")] = "default"
    file: Annotated[str, about("For source file.")] = "default"
    exec: Annotated[str, about("For source exec.")] = "default"
    store: Annotated[str, about("For source store.")] = "default"


class Gcp(Part, frozen=True):
    """Google Secret Manager."""

    project: Annotated[str | None, about("Project of `secret://gcp/NAME`; else the credentials' own.")] = None


class Aws(Part, frozen=True):
    """AWS Secrets Manager."""

    region: Annotated[str | None, about("Region; else by the usual AWS rules.")] = None
    profile: Annotated[str | None, about("Profile of the shared credentials file.")] = None
    endpoint_url: Annotated[str | None, about("Another endpoint, such as a private one.")] = None


class Vault(Part, frozen=True):
    """HashiCorp Vault or OpenBao."""

    address: Annotated[str | None, about("Its address; else VAULT_ADDR.")] = None
    namespace: Annotated[str | None, about("Namespace; else VAULT_NAMESPACE.")] = None
    token: Annotated[Secret | None, secret("Token; else VAULT_TOKEN. Not a reference to Vault itself.")] = None
    role_id: Annotated[Secret | None, secret("AppRole: role id.")] = None
    secret_id: Annotated[Secret | None, secret("AppRole: secret id.")] = None


class SecretsSection(Part, frozen=True):
    """Where secrets come from."""

    foreign = keys("resolution")

    providers: Annotated[dict[str, SecretProviderEntry], about("Named places.")] = field(default_factory=dict)
    defaults: Annotated[SecretDefaults, about("Which of them a reference means that names none.")] = SecretDefaults()
    gcp: Annotated[Gcp, about("Google Secret Manager.")] = Gcp()
    aws: Annotated[Aws, about("AWS Secrets Manager.")] = Aws()
    vault: Annotated[Vault, about("HashiCorp Vault or OpenBao.")] = Vault()
    timeout_ms: Annotated[Timeout, about("Time to resolve one reference.")] = 10_000


class PostgresSection(Part, frozen=True):
    """The database that many gateways share. Read when the program starts."""

    url: Annotated[
        Secret | None,
        secret("Its address: `postgres://user:password@host:5432/database`, or a `secret://` reference to that."),
    ] = None
    listen_url: Annotated[
        Secret | None, secret("An address that leads to it without a pooler, to hear at once what other gateways do.")
    ] = None
    pool_size: Annotated[Some, about("Connections at a time. One more is kept for signs of life.")] = 8
    statement_cache: Annotated[
        bool, about("Statements stay prepared on a connection. Behind PgBouncer in transaction mode: false.")
    ] = True


class SessionSection(Part, frozen=True):
    """Conversations."""

    foreign = keys(
        "agentToAgent dmScope groupScope identityLinks idleMinutes mainKey maintenance reset resetByChannel resetByType scope sendPolicy "
        "threadBindings typingIntervalSeconds typingMode"
    )

    store: Annotated[
        Literal["file", "memory", "postgres"],
        about("Where they are kept: in a file, nowhere but in the process, or in the database of many gateways."),
    ] = "file"
    postgres: Annotated[PostgresSection, about("The database of many gateways.")] = PostgresSection()


class KeepSection(Part, frozen=True):
    """How long conversations are kept. `null`: without limit."""

    days: Annotated[
        Timeout | None, about("Days after its last use that any conversation is deleted. Never by default.")
    ] = None
    unnamed_days: Annotated[Timeout | None, about("The same for conversations that nobody gave a key.")] = 30
    megabytes: Annotated[
        Timeout | None,
        about(
            "Room for all of them with their media; past it those used least recently go, unnamed ones first. No limit by default."
        ),
    ] = None


class SessionsSection(Part, frozen=True):
    """What becomes of conversations."""

    keep: Annotated[KeepSection, about("How long conversations are kept.")] = KeepSection()


class AcpSection(Part, frozen=True):
    """Editors that have us as their agent."""

    # Another OpenClaw also starts agents of others by this protocol.
    foreign = keys("enabled dispatch backend defaultAgent allowedAgents maxConcurrentSessions stream runtime fallbacks")

    client_servers: Annotated[
        Literal["ask", "allow", "deny"],
        about("Whether MCP servers that an editor hands over are started: asked about, started, or left alone."),
    ] = "ask"


class LoggingSection(Part, frozen=True):
    """What is logged, and where."""

    foreign = keys("consoleLevel consoleStyle maxFileBytes redactPatterns redactSensitive")

    level: Annotated[
        Literal["silent", "fatal", "error", "warn", "warning", "info", "debug", "trace"] | None,
        about(
            "The least important lines to log: info for the gateway, warning for `mcp-server` and `acp`, error for commands."
        ),
    ] = None
    file: Annotated[str | None, about("The gateway's log file.")] = None
    json: Annotated[bool, about("One JSON object a line.")] = False


class Transcription(Part, frozen=True):
    """An OpenAI-compatible `/audio/transcriptions` endpoint."""

    base_url: Annotated[str, about("Its address, such as `http://127.0.0.1:8000/v1`.")]
    api_key: Annotated[Secret | None, secret("Its key.")] = None
    model: Annotated[str, about("The model to ask for.")] = "whisper-1"
    language: Annotated[str | None, about("Language of the recordings; else found out.")] = None
    timeout_seconds: Annotated[Timeout, about("Time for one recording.")] = 120


class MediaAudio(Part, frozen=True):
    """Sound in and out."""

    transcription: Annotated[
        Transcription | None, about("Turns audio into text. Without it, audio is kept as a file.")
    ] = None
    output: Annotated[Literal["block", "resource"], about("How orders return audio.")] = "block"


class MediaSection(Part, frozen=True):
    """Attachments."""

    audio: Annotated[MediaAudio, about("Sound in and out.")] = MediaAudio()


class TokenStoreSection(Part, frozen=True):
    """OAuth tokens at rest, and secrets that were given to us where there is no keychain."""

    key: Annotated[
        Secret | None, secret("The key that encrypts them, by `secret://` reference. Else the system's keychain.")
    ] = None


class EnvSection(Part, frozen=True):
    """Variables for `${NAME}`, used when the environment itself has none of that name. Upper-case names may also stand here directly."""

    foreign = keys("shellEnv")

    vars: Annotated[dict[str, str], about("Values by name.")] = field(default_factory=dict)


class OtlpSection(Part, frozen=True):
    """Where traces and metrics are sent."""

    endpoint: Annotated[
        str | None,
        about(
            "Address of a collector that takes OTLP over HTTP, without `/v1/traces`. Else `OTEL_EXPORTER_OTLP_ENDPOINT`."
        ),
    ] = None
    headers: Annotated[dict[str, Annotated[Value, secret("")]], about("HTTP headers sent to it.")] = field(
        default_factory=dict
    )


class TelemetrySection(Part, frozen=True):
    """Traces and metrics for OpenTelemetry. Read when the program starts."""

    enabled: Annotated[
        bool | None,
        about("Whether anything is traced. Unset: when an endpoint is named, here or by a variable `OTEL_…`."),
    ] = None
    content: Annotated[
        bool, about("Puts messages, arguments and results into traces. Whoever reads those then reads everything.")
    ] = False
    otlp: Annotated[OtlpSection, about("Where it is sent.")] = OtlpSection()


class Root(Part, frozen=True, forbid_unknown_fields=False):
    """openclaw.json. Sections that are not named here belong to another program: they are kept and ignored."""

    schema: Annotated[str | None, about("Address of the schema, for editors.")] = field(default=None, name="$schema")
    agents: Annotated[AgentsSection, about("Agents and what they share.")] = AgentsSection()
    models: Annotated[ModelsSection, about("Where models come from.")] = ModelsSection()
    tools: Annotated[ToolsSection, about("Which tools any agent may use, and which it is shown.")] = ToolsSection()
    mcp: Annotated[McpSection, about("The MCP client and the servers that every agent has.")] = McpSection()
    mcp_servers: Annotated[
        dict[str, ServerEntry],
        about("The servers of another program's file, as it writes them: the same as `mcp.servers`."),
    ] = field(default_factory=dict)
    servers: Annotated[dict[str, ServerEntry], about("The same as `mcpServers`.")] = field(default_factory=dict)
    gateway: Annotated[GatewaySection, about("The long-lived process.")] = GatewaySection()
    plugins: Annotated[PluginsSection, about("Extensions in Python.")] = PluginsSection()
    skills: Annotated[SkillsSection, about("Instructions an agent may read.")] = SkillsSection()
    secrets: Annotated[SecretsSection, about("Where secrets come from.")] = SecretsSection()
    session: Annotated[SessionSection, about("Conversations.")] = SessionSection()
    sessions: Annotated[SessionsSection, about("What becomes of conversations.")] = SessionsSection()
    acp: Annotated[AcpSection, about("Editors that have us as their agent.")] = AcpSection()
    logging: Annotated[LoggingSection, about("What is logged, and where.")] = LoggingSection()
    telemetry: Annotated[TelemetrySection, about("Traces and metrics for OpenTelemetry.")] = TelemetrySection()
    media: Annotated[MediaSection, about("Attachments.")] = MediaSection()
    token_store: Annotated[TokenStoreSection, about("OAuth tokens and stored secrets at rest.")] = TokenStoreSection()
    env: Annotated[EnvSection, about("Variables for `${NAME}`.")] = EnvSection()
