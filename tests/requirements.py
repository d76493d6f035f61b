"""What the five requirement documents ask for, sentence by sentence, and how it stands.

Owns the list alone: `test_requirements.py` holds it against the tests, which name the rows they show with
`@pytest.mark.requirement("id")`. `built` rows have a test. `decided` rows are answered otherwise than their document says, and the note
says how. `planned` rows are not there yet, and the note says what is missing; there should be none.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

Status = Literal["built", "decided", "planned"]


class Requirement(NamedTuple):
    """`source` is document and section; `id` begins with both, shortened."""

    id: str
    source: str
    text: str
    status: Status
    note: str = ""


class Row(NamedTuple):
    """A requirement whose source is the section it stands in."""

    id: str
    text: str
    status: Status
    note: str = ""


def built(id: str, text: str) -> Row:
    return Row(id, text, "built")


def decided(id: str, text: str, instead: str) -> Row:
    return Row(id, text, "decided", instead)


def planned(id: str, text: str, missing: str) -> Row:
    return Row(id, text, "planned", missing)


def section(source: str, *rows: Row) -> tuple[Requirement, ...]:
    return tuple(Requirement(row.id, source, row.text, row.status, row.note) for row in rows)


def document(*sections: Iterable[Requirement]) -> tuple[Requirement, ...]:
    return tuple(requirement for rows in sections for requirement in rows)


# HTTP MCP servers: transport, OAuth, plugin, skill, slash command.
SEED_000 = document(
    section(
        "000 §2 Plugin, skill and slash command",
        built("000-2-plugin", "The MCP client is a plugin with tools, state and hooks into the host's life."),
        built("000-2-skill", "A skill tells the agent how and when to use MCP tools."),
        built("000-2-command", "A person manages servers by /mcp, delivered through the skill's command dispatch."),
    ),
    section(
        "000 §3.1 Components",
        built("000-3.1-one-connection", "There is one logical connection for each configured server."),
        built("000-3.1-batching", "JSON-RPC batches are understood."),
        built("000-3.1-tools-come-and-go", "Remote tools are registered and taken away while the host runs."),
        built("000-3.1-namespaces", "Tools of several servers stand side by side under prefixes, without collisions."),
    ),
    section(
        "000 §4.1 Endpoint model",
        built("000-4.1-post", "Every message to the server is a POST of its own to one address."),
        built("000-4.1-get", "A GET opens the stream for what the server says unasked; a server may have none."),
        built("000-4.1-delete", "A DELETE with the session id ends the session."),
    ),
    section(
        "000 §4.2 Request format",
        built(
            "000-4.2-headers", "A POST carries the content type, accepts JSON and event streams, and its bearer token."
        ),
    ),
    section(
        "000 §4.3 Response handling",
        built("000-4.3-json", "An answer may be one JSON-RPC message."),
        built("000-4.3-sse", "An answer may be an event stream of several messages: answers, notifications, requests."),
    ),
    section(
        "000 §4.4 Session management",
        built("000-4.4-session-kept", "The session id that comes with the answer to initialize is kept."),
        built("000-4.4-session-sent", "The session id goes with every later POST, GET and DELETE."),
        built("000-4.4-session-404", "A 404 on the session begins a new one with initialize."),
        built("000-4.4-session-ended", "Leaving ends the session with a DELETE."),
    ),
    section(
        "000 §4.5 Resumability",
        built("000-4.5-event-ids", "Event ids are kept for each stream."),
        built("000-4.5-last-event-id", "A broken stream is resumed with Last-Event-ID."),
        built("000-4.5-no-mixing", "What belongs to one stream is never replayed on another."),
    ),
    section(
        "000 §4.6 Backwards compatibility",
        built("000-4.6-post-first", "A server of unknown kind is asked by POST first."),
        decided(
            "000-4.6-any-4xx",
            "Any 4xx leads to the older HTTP+SSE transport.",
            "Only 400, 404 and 405 without a modern error body do; 401, 403 and 429 say something else.",
        ),
        built("000-4.6-endpoint-event", "The older transport is opened by GET and named its endpoint by an event."),
        built("000-4.6-stays", "The older transport serves the rest of the session."),
    ),
    section(
        "000 §5.1 Auth flow",
        built("000-5.1-challenge", "A 401's WWW-Authenticate header names where the resource's metadata is."),
        built("000-5.1-resource-metadata", "The resource's metadata names the authorization servers (RFC 9728)."),
        built(
            "000-5.1-server-metadata", "The authorization server's metadata is found by RFC 8414 or OpenID discovery."
        ),
        decided(
            "000-5.1-registration-order",
            "A client is known by metadata document, then dynamic registration, then configuration.",
            "Configured first, as §5.2 of the same document says.",
        ),
        built("000-5.1-code-flow", "The sign-in is an authorization code with PKCE S256 and the resource parameter."),
        built("000-5.1-exchange", "The code becomes an access token, and a refresh token where there is one."),
        built("000-5.1-retry", "The request that was turned down is sent again with the token."),
    ),
    section(
        "000 §5.2 Client registration",
        built("000-5.2-configured", "A client id in the config, with or without a secret, needs no registration."),
        decided(
            "000-5.2-document-hosted",
            "The plugin hosts the client's metadata document at an HTTPS address.",
            "The operator hosts it and names it in `auth.clientMetadataUrl`; a command prints the document.",
        ),
        built("000-5.2-document", "A client metadata document goes before dynamic registration."),
        built("000-5.2-dynamic", "Else the client registers itself (RFC 7591)."),
    ),
    section(
        "000 §5.3 Token storage",
        built("000-5.3-encrypted", "Access and refresh tokens are encrypted in files under mcp/tokens."),
        built("000-5.3-keychain", "The key is in the system's keychain."),
        built("000-5.3-client", "Client credentials come from the config, or are registered and kept by us."),
    ),
    section(
        "000 §5.4 Token lifecycle",
        built("000-5.4-401", "After a 401 the token is renewed, and a person is asked only when that fails."),
        built("000-5.4-403", "A 403 for want of scope leads to a sign-in with more scopes."),
        built("000-5.4-s256", "PKCE is S256; a server that does not promise it is refused."),
        built("000-5.4-resource", "Authorization and token requests name the server's address as their resource."),
    ),
    section(
        "000 §5.5 Security requirements",
        built("000-5.5-https", "Server addresses are https, but for this machine."),
        decided(
            "000-5.5-origin-check",
            "Servers validate the Origin header.",
            "That is the remote server's duty; our own HTTP port checks Host and Origin of every request.",
        ),
        built("000-5.5-no-passthrough", "A token goes to the server it was issued for and to nobody else."),
        decided(
            "000-5.5-audience-check",
            "Servers check the audience of tokens.",
            "That is the remote server's duty; we name the audience in every request for a token.",
        ),
        built("000-5.5-redirect", "The redirect address of a local sign-in is http://127.0.0.1:PORT/callback."),
    ),
    section(
        "000 §6.1 Manifest",
        decided(
            "000-6.1-manifest",
            "A plugin is described by package.json.",
            "By a ToolPlugin value in Python, found by entry point or path.",
        ),
        built(
            "000-6.1-fields", "A plugin has a label, a description, slots, a config schema and a least host version."
        ),
    ),
    section(
        "000 §6.2 Configuration schema",
        built("000-6.2-checked", "The plugin's config is held against a typed schema, and faults name their place."),
        built(
            "000-6.2-server", "Enabled, url, transport, command, args, env, auth, key, prefix and times are settings."
        ),
        built("000-6.2-global", "Discovery interval, number of servers and debug are settings of the plugin."),
    ),
    section(
        "000 §6.3 Configuration example",
        built("000-6.3-example", "The example with four servers loads as it stands."),
    ),
    section(
        "000 §6.4 Plugin entry point",
        built("000-6.4-initialize", "A plugin is initialised with its config and gives back tools and hooks."),
        built("000-6.4-connect-all", "Every enabled server is connected to."),
        built("000-6.4-shutdown", "At the end every connection is closed."),
        built("000-6.4-config-change", "A new config is reconciled with what runs."),
    ),
    section(
        "000 §6.5 Tool registration",
        built("000-6.5-names", "The tool search of the server tavily is tavily__search."),
        built("000-6.5-schema", "Description and parameters come straight from the server's list."),
    ),
    section(
        "000 §7.1 Skill file",
        built(
            "000-7.1-front-matter", "The bundled skill has the name, description, dispatch and gate of the document."
        ),
        built(
            "000-7.1-commands", "It lists the commands servers, tools, connect, disconnect, auth, status and refresh."
        ),
        built("000-7.1-relevant", "It tells the agent to look among MCP tools for what a task needs."),
        built("000-7.1-naming", "It tells the agent how MCP tools are named, and to use them like others."),
        built("000-7.1-auth-hint", "It tells the agent to point to /mcp auth after a 401 or 403."),
    ),
    section(
        "000 §7.2 Skill gating",
        built("000-7.2-gate", "The skill is there only while the plugin mcp-client is enabled."),
    ),
    section(
        "000 §8 Slash command",
        built("000-8-by-name", "/mcp finds the skill of that name."),
        built("000-8-no-model", "The command runs without the model."),
        built("000-8-raw", "The tool mcp_manage gets the words as they were typed."),
        built("000-8-parses", "The tool takes the subcommand apart and carries it out."),
    ),
    section(
        "000 §8.1 Subcommands",
        built("000-8.1-servers", "/mcp servers lists servers with state, sign-in and number of tools."),
        built("000-8.1-tools", "/mcp tools lists the tools of all servers, or of one."),
        built("000-8.1-connect", "/mcp connect adds a server to the config, connects and signs in."),
        built("000-8.1-connect-name", "/mcp connect takes a name for the server."),
        built("000-8.1-disconnect", "/mcp disconnect ends the session for this run and leaves the config alone."),
        built("000-8.1-auth", "/mcp auth signs in by a browser and its callback."),
        built("000-8.1-status", "/mcp status shows session, last sign of life and number of tools."),
        built("000-8.1-status-expiry", "/mcp status shows when the token expires."),
        built("000-8.1-refresh", "/mcp refresh lists the tools of one server or of all anew."),
    ),
    section(
        "000 §8.2 Example output",
        built("000-8.2-list", "The list has a heading with the count, and two lines a server between rules."),
        built("000-8.2-words", "A server is Connected, or Running with its PID; sign-in is API Key, OAuth or None."),
        built("000-8.2-expiry", "A sign-in is shown with the time it has left."),
    ),
    section(
        "000 §9.1 API key",
        built("000-9.1-bearer", "An API key is sent as a bearer token with every request."),
        built("000-9.1-no-oauth", "A server with an API key never starts a sign-in."),
    ),
    section(
        "000 §9.2 OAuth 2.1",
        built("000-9.2-challenge-scope", "The scopes of the challenge are asked for."),
        built("000-9.2-address", "The address to open has client, redirect, S256 challenge, resource and scope."),
        built("000-9.2-exchange", "The code is exchanged with verifier, redirect and resource."),
        built("000-9.2-stored", "Tokens are stored before they are used."),
    ),
    section(
        "000 §9.3 Interactive sign-in",
        built("000-9.3-listener", "A listener on 127.0.0.1 and a random port waits for the callback."),
        built("000-9.3-browser", "The person's browser is opened at the authorization address."),
        built("000-9.3-callback", "The callback's code is exchanged for tokens."),
        built("000-9.3-listener-ends", "The listener is gone afterwards."),
        built("000-9.3-report", "Success is reported with the expiry."),
        built("000-9.3-headless-url", "Without a browser the address is printed for the person to open."),
        built("000-9.3-headless-code", "/mcp auth NAME --code takes the callback address."),
        decided(
            "000-9.3-bare-code",
            "--code takes the code alone.",
            "Only where the authorization server neither sends nor promises `iss`; else the whole address, with its state.",
        ),
    ),
    section(
        "000 §9.4 Token refresh",
        built("000-9.4-sixty-seconds", "A token that expires within 60 seconds is renewed before the request."),
        built("000-9.4-refresh-token", "It is renewed with the refresh token."),
        built("000-9.4-refused", "A renewal that is refused leads to a new sign-in, and the person is told."),
        built("000-9.4-rotation", "A refresh token that is replaced is used once."),
    ),
    section(
        "000 §9.5 Step-up",
        built("000-9.5-scopes", "The scopes that are missing are read from the 403."),
        built("000-9.5-expanded", "The new sign-in asks for the old scopes and the missing ones."),
        built("000-9.5-retry", "The call is sent again with the new token."),
        built("000-9.5-two-attempts", "After two attempts the failure is reported."),
    ),
    section(
        "000 §10 Error handling",
        decided(
            "000-10-unreachable-word",
            "A server that cannot be reached is called disconnected.",
            "`unreachable`; `stopped` is what somebody disconnected.",
        ),
        built("000-10-unreachable-backoff", "It is tried again after 1, 2, 4 … 60 seconds, without end."),
        built("000-10-unreachable-told", "After three attempts the agent is told."),
        built("000-10-401", "A 401 leads to renewal, then to a sign-in, then to the person."),
        built("000-10-403", "A 403 leads to a step-up, and to the person when the scopes cannot be had."),
        built("000-10-404", "A session that expired is begun anew and the call sent again, once."),
        built("000-10-stream", "A broken stream is resumed and cancels nothing."),
        built("000-10-malformed", "A malformed message is logged and skipped, and the stream goes on."),
        built("000-10-timeout", "A call past its time is cancelled, and the server is told."),
        built("000-10-unknown-tool", "A tool the server does not know is taken out, and the agent is told."),
    ),
    section(
        "000 §11.1 Tool presentation",
        built("000-11.1-list", "Remote tools stand in the agent's list like native ones."),
    ),
    section(
        "000 §11.2 Tool call flow",
        decided(
            "000-11.2-prefix",
            "A call is routed by taking its prefix off.",
            "The registry maps a name back; strings are never split.",
        ),
        built("000-11.2-call", "A call becomes tools/call with the server's own name of the tool."),
        built("000-11.2-result", "The answer, JSON or stream, becomes the agent's tool result."),
    ),
    section(
        "000 §11.3 Context injection",
        built("000-11.3-servers", "The system prompt lists servers with name, number of tools and state."),
        built("000-11.3-no-tools", "It does not list their tools."),
    ),
    section(
        "000 §12.1 Per-server configuration",
        built("000-12.1-enabled", "A server is on unless `enabled` is false."),
        built("000-12.1-url", "`url` is required for HTTP."),
        decided(
            "000-12.1-transport",
            "`transport` is http unless it says stdio.",
            "What it names is tried first; else a command means stdio and a URL means Streamable HTTP.",
        ),
        built("000-12.1-stdio", "`command`, `args` and `env` start a stdio server."),
        built("000-12.1-auth", "`auth` has clientId, clientSecret, authorizationServerUrl and scopes."),
        built("000-12.1-scopes", "`auth.scopes` goes before the scopes of the challenge."),
        built("000-12.1-as-override", "`auth.authorizationServerUrl` goes before the discovered one."),
        built("000-12.1-prefix", "`toolPrefix` replaces the server's name in tool names."),
        decided(
            "000-12.1-times",
            "Connecting may take 10 seconds and a request 30, unless the entry says otherwise.",
            "A request 30 seconds here, as asked; connecting 30 seconds in every section, since a launcher may have to fetch its server.",
        ),
        built("000-12.1-connect-timeout", "A server that does not answer in time to connect is given up."),
    ),
    section(
        "000 §12.2 Global configuration",
        built("000-12.2-discovery", "Tools are listed again every `toolDiscoveryInterval`, 300 seconds by default."),
        built("000-12.2-limit", "At most `maxConcurrentServers` run at once, 20 by default."),
        built("000-12.2-debug", "`debug` turns on debug logging."),
    ),
    section(
        "000 §13 Layout",
        decided("000-13-layout", "The files are laid out as listed.", "As the layers of the Python package are."),
    ),
    section(
        "000 §14 Security considerations",
        built("000-14.1-https", "Only https reaches another machine."),
        built("000-14.2-isolation", "Tokens of one server are never sent to another."),
        built("000-14.3-passthrough", "Tokens do not follow a redirect and stand in no address or body."),
        built("000-14.4-audience", "Tokens are bound to the server's address (RFC 8707)."),
        built("000-14.5-pkce", "Servers without S256 get neither a client nor a person."),
        decided(
            "000-14.6-origin",
            "Requests carry an Origin header.",
            "None by default: a native client has no origin. `headers.Origin` sets one.",
        ),
        built("000-14.7-at-rest", "No token can be read from the disk."),
        built("000-14.8-loopback", "The callback listens on 127.0.0.1 alone."),
        built("000-14.9-variables", "Keys and client secrets may be `$NAME` of an environment variable."),
        built("000-14.9-managers", "Keys and client secrets may come from secret managers."),
        built("000-14.10-rate-limit", "A rate limit is respected: the server says when to try again."),
    ),
    section(
        "000 §15 Testing strategy",
        built("000-15-unit", "PKCE, event streams and the renewal of tokens have tests of their own."),
        built("000-15-integration", "Connect, sign in, discover, call and disconnect are tested in one go."),
        built("000-15-e2e", "A server that nobody here wrote is discovered and called."),
        built("000-15-security", "Isolation, audience, PKCE and https are tested against hostile servers."),
        built("000-15-compat", "A server of 2024-11-05 over HTTP+SSE is tested."),
    ),
    section(
        "000 §16 Rollout plan",
        built("000-16-pooling", "Connections are kept and used again."),
        built("000-16-health", "A quiet connection is probed, and one that is dead is found out."),
        built("000-16-metrics", "Calls and servers can be watched by metrics."),
        built("000-16-telemetry", "Metrics are given to OpenTelemetry."),
        decided(
            "000-16-clawhub",
            "The skill is published as a community skill.",
            "It is bundled: every installation has it.",
        ),
    ),
    section(
        "000 §17 Open questions",
        built("000-17-approval", "Tools that write need an approval."),
        built("000-17-per-agent", "Agents may have servers of their own."),
        built(
            "000-17-sampling",
            "Servers may use our model where their entry allows it; else that is not declared and refused.",
        ),
        built("000-17-subscriptions", "Resources in the context are subscribed to and read again when they change."),
    ),
)

# Native MCP support: what users want of it.
SEED_001 = document(
    section(
        "001 §2 Goals",
        built("001-2.1-stdio", "Local servers run as child processes with command, arguments and environment."),
        built("001-2.1-http", "Remote servers are reached by URL, with headers for authentication."),
        decided(
            "001-2.1-sessions",
            "Servers start and stop with agent sessions.",
            "With the process that runs agents, shared by its sessions; `isolation: session` opts out.",
        ),
        built("001-2.1-routing", "A tool call goes to its server and the result comes back to the agent."),
        built("001-2.1-resources", "Resources of servers become context of the agent."),
        built("001-2.2-prompts", "Prompt templates of servers can be listed and filled in."),
        built("001-2.2-hot-reload", "A changed config restarts the servers concerned without a restart of the host."),
    ),
    section(
        "001 US-1 Configure a server",
        built("001-US-1-accepts", "The config takes servers with name, command, arguments and environment."),
        built("001-US-1-error", "A missing command or an unknown transport is a clear error at start."),
        built("001-US-1-schema", "Servers are validated by the same schema as everything else."),
    ),
    section(
        "001 US-2 Use tools in conversation",
        built("001-US-2-listed", "MCP tools stand in the agent's list with name, description and parameters."),
        built("001-US-2-called", "The agent calls them and receives results."),
        built("001-US-2-namespaced", "Their names cannot collide with native tools."),
        built("001-US-2-errors", "Errors of servers do not end the agent's run."),
    ),
    section(
        "001 US-3 Lifecycle",
        built("001-US-3-start", "Servers start with the gateway or with the first session."),
        built("001-US-3-restart", "A crashed server is started again after a pause."),
        built("001-US-3-shutdown", "Stopping ends every server cleanly."),
        built("001-US-3-visible", "The state of servers can be seen in the log and by commands."),
    ),
    section(
        "001 US-4 Per-agent configuration",
        built("001-US-4-places", "Servers stand under agents.defaults.mcp for all agents, or under one agent."),
        built("001-US-4-override", "An agent's own server replaces the default one of the same name."),
        built("001-US-4-policy", "An agent's toolPolicy applies to MCP tools."),
    ),
    section(
        "001 US-5 Security and isolation",
        built("001-US-5-permissions", "Servers run with our rights and no more."),
        built("001-US-5-logged", "Calls of MCP tools are written down."),
        built("001-US-5-secrets", "Variables of servers may be secret references."),
        built("001-US-5-policy", "Allow and deny lists hold for MCP tools."),
        built("001-US-5-framed", "Results are framed as untrusted before a model sees them."),
        built("001-US-5-not-instructions", "The agent is told that framed content is never an instruction."),
        built("001-US-5-managers", "Credentials may stand in external secret managers, by secret:// references."),
        built("001-US-5-runtime", "They are resolved when used, and neither kept in the config nor logged."),
        decided(
            "001-US-5-gcp-preferred",
            "Google's Secret Manager is preferred when it is available.",
            "The reference names its provider; none stands in for another.",
        ),
    ),
    section(
        "001 US-6 Credential management",
        built("001-US-6-schemes", "gcp, aws and vault are providers of secret:// references."),
        built("001-US-6-spawn", "Secrets are resolved when the server starts, not when the config is read."),
        built("001-US-6-fails", "A secret that cannot be resolved stops the server with a clear error."),
        built("001-US-6-plaintext", "Plaintext variables work, with a warning."),
        built("001-US-6-redacted", "Secret values are redacted wherever something is logged."),
    ),
    section(
        "001 FR-1 Configuration schema",
        built("001-FR-1-example", "The example loads as it stands."),
        built("001-FR-1-enabled", "`enabled` is true unless it says otherwise."),
        built("001-FR-1-command", "`command` is required for stdio."),
        built("001-FR-1-args-env", "`args` and `env` reach the process."),
        decided(
            "001-FR-1-transport",
            "`transport` is stdio unless it says sse or http.",
            "What it names is tried first; else a command means stdio and a URL means Streamable HTTP.",
        ),
        built("001-FR-1-url", "`url` is required for sse and http."),
        built("001-FR-1-headers", "`headers` go with every HTTP request."),
        built("001-FR-1-timeout", "`timeout` is the time to connect, 30 seconds by default."),
        built("001-FR-1-restart", "`restartOnCrash` false leaves a crashed server down."),
        built("001-FR-1-max-restarts", "`maxRestarts` ends the restarts, 5 by default."),
        built("001-FR-1-prefix", "`toolPrefix` replaces the prefix of tool names."),
    ),
    section(
        "001 FR-2 Tool bridging",
        built("001-FR-2-discovered", "Tools are discovered by tools/list on connection."),
        built("001-FR-2-names", "A tool is named mcp_{server}_{tool} under agents.*.mcp."),
        built("001-FR-2-parameters", "The JSON Schema of parameters is kept."),
        built("001-FR-2-description", "The description names the server."),
        built("001-FR-2-results", "Text and images of a result arrive as the agent's result."),
    ),
    section(
        "001 FR-3 Lifecycle management",
        built("001-FR-3-startup", "Configured servers are started when the gateway starts."),
        built("001-FR-3-health", "The exit of a process is noticed."),
        built("001-FR-3-backoff", "Restarts wait 1, 2, 4, 8, 16 and at most 30 seconds."),
        built("001-FR-3-shutdown", "A server gets SIGTERM, five seconds, and SIGKILL if need be."),
        built("001-FR-3-lazy", "A lazy server starts when one of its tools is first called."),
    ),
    section(
        "001 FR-4 Prompt injection protection",
        built("001-FR-4-boundary", "Every tool result stands within the untrusted boundary."),
        built("001-FR-4-pattern", "The boundary is the one that web content has."),
        built("001-FR-4-sentence", "The frame says which server it is from, and not to follow instructions in it."),
        built("001-FR-4-binary", "Pictures are passed on and called external."),
        built("001-FR-4-chatter", "Log messages and notifications of servers reach our log and no model."),
    ),
    section(
        "001 FR-5 Credential resolution",
        built("001-FR-5-gcp", "secret://gcp/NAME reads Google's Secret Manager."),
        built("001-FR-5-gcp-version", "secret://gcp/NAME#VERSION reads that version."),
        built("001-FR-5-aws", "secret://aws/NAME reads AWS Secrets Manager."),
        built("001-FR-5-vault", "secret://vault/PATH reads HashiCorp Vault."),
        built("001-FR-5-env", "secret://env/NAME reads a variable of the host."),
        built("001-FR-5-lazy", "References are resolved at spawn."),
        built("001-FR-5-error", "The error names the secret and not its value."),
        built("001-FR-5-warning", "A plaintext credential is warned about in the documented words."),
        built("001-FR-5-redacted", "Secret values are [REDACTED] in logs, diagnostics and errors."),
    ),
    section(
        "001 FR-6 Error handling",
        built("001-FR-6-crash", "A crash is logged and the server restarted."),
        decided(
            "001-FR-6-meanwhile",
            "The tools of a server are unavailable while it restarts.",
            "They stay: a call connects at once, and says when the next attempt is if that fails.",
        ),
        built("001-FR-6-unavailable", "A call to a server that is away returns an error to the agent."),
        built("001-FR-6-timeout", "A call has a configurable time, 60 seconds by default."),
        built("001-FR-6-invalid", "An invalid response is an error with details."),
    ),
    section(
        "001 FR-7 Logging and diagnostics",
        built("001-FR-7-lifecycle", "Starts, stops and restarts are logged at info."),
        built("001-FR-7-calls", "Calls are logged at debug, with their time."),
        built("001-FR-7-stderr", "What a server writes to standard error is logged at warn."),
        built("001-FR-7-status", "A command shows how servers are doing: openclaw status, or one for servers alone."),
    ),
    section(
        "001 NFR-1 Performance",
        built("001-NFR-1-parallel", "Servers start in parallel and hold up nothing."),
        decided(
            "001-NFR-1-overhead",
            "The bridge adds less than 50 ms to a call.",
            "Ratios to a plain client, far below that, are measured side by side by the benchmarks.",
        ),
        decided(
            "001-NFR-1-idle",
            "Idle servers take little.",
            "`idleTimeoutMs` stops an idle process; what an idle gateway takes is measured by the benchmarks.",
        ),
    ),
    section(
        "001 NFR-2 Compatibility",
        built("001-NFR-2-spec", "Any server of revision 2024-11-05 works."),
        decided(
            "001-NFR-2-platforms",
            "Linux, macOS and Windows.",
            "Linux and macOS; of Windows what platforms.md says.",
        ),
        built("001-NFR-2-native", "Native tools work as before, beside MCP tools."),
    ),
    section(
        "001 NFR-3 Security",
        built("001-NFR-3-privileges", "Nobody gains privileges through a server."),
        built("001-NFR-3-secrets", "Secrets in the environment are never logged."),
        decided(
            "001-NFR-3-context",
            "Servers inherit our process's security context.",
            "The user and its rights, but of the environment only a short list, `passEnv` and the declared `env`.",
        ),
        built("001-NFR-3-policy", "Policy holds for MCP tools as for all others."),
    ),
    section(
        "001 NFR-4 Testability",
        built("001-NFR-4-unit", "Config, bridging and lifecycle have tests of their own."),
        built("001-NFR-4-integration", "A small stdio server is part of the tests."),
        built("001-NFR-4-real", "A real, simple server such as the filesystem one is tested end to end."),
    ),
    section(
        "001 §6 Dependencies",
        decided(
            "001-6-sdk",
            "The official SDK is the client.",
            "The wire is ours; the SDK is the other side in tests.",
        ),
    ),
    section(
        "001 §7 Risks",
        built("001-7-versions", "Protocol versions are negotiated."),
        decided(
            "001-7-pinned",
            "The protocol is pinned to revision 2024-11-05.",
            "All five revisions are spoken, the newest both sides know.",
        ),
        decided(
            "001-7-sandbox",
            "A malicious server is sandboxed.",
            "It is a process without our environment and descriptors, and cannot take the name of another tool; no sandbox is promised.",
        ),
        built("001-7-audit", "There is an audit log of calls."),
    ),
    section(
        "001 §8 Decisions",
        built("001-8-naming", "mcp_{server}_{tool} by default, changed by `toolPrefix`."),
        built("001-8-resources", "Resources stand in the context as untrusted content."),
        built("001-8-location", "agents.defaults.mcp and agents.list[].mcp are where servers stand."),
        built("001-8-eager", "Servers start eagerly and in parallel, unless `lazy`."),
        built("001-8-policy", "Policy works on the prefixed name."),
    ),
    section(
        "001 §9 Success criteria",
        built("001-9-end-to-end", "A server added to openclaw.json is used in a conversation."),
        built("001-9-crash", "A crash of a server is not one of ours."),
        built("001-9-docs", "Config reference and example configs are documented."),
    ),
)

# Native MCP support: how it is made.
SEED_002 = document(
    section(
        "002 §1 Data flow",
        built("002-1-handshake", "A server is initialised, then asked for its tools."),
    ),
    section(
        "002 §2 Modules",
        decided("002-2-layout", "The modules are those listed.", "Those of the Python package and its layers."),
    ),
    section(
        "002 §3.1 Config types",
        built("002-3.1-fields", "Every field of the type is read."),
        built("002-3.1-cwd", "`cwd` is the working directory of the process."),
        built("002-3.1-secret-values", "Values of `env` and `headers` may be secret:// references."),
        built("002-3.1-tool-timeout", "`toolTimeout` is the time of a call, 60 seconds by default."),
    ),
    section(
        "002 §3.2 Client",
        decided(
            "002-3.2-states",
            "A client is disconnected, connecting, ready, error or closed.",
            "A server is stopped, starting, ready, restarting, unreachable, needs-auth, failed or disabled.",
        ),
        built("002-3.2-events", "Changes of state and of tools are events."),
    ),
    section(
        "002 §3.3 stdio client",
        built("002-3.3-secrets", "Secret references of the environment are resolved before the process starts."),
        decided(
            "002-3.3-environment",
            "The process gets our whole environment.",
            "A short list of harmless variables, `passEnv` and the declared `env`: the rest holds secrets.",
        ),
        built("002-3.3-client-info", "We introduce ourselves as openclaw-mcp."),
        decided(
            "002-3.3-not-ready",
            "A call to a server that is not ready throws.",
            "It connects at once and sends; if that fails, the result says when the next attempt is.",
        ),
        built("002-3.3-closed", "A server that was closed on purpose is not restarted."),
        built("002-3.3-crash-log", "A crash is logged with the delay in milliseconds and the number of the attempt."),
        built("002-3.3-gave-up-log", "The end of restarts is logged."),
        decided(
            "002-3.3-counter",
            "The count of restarts only grows.",
            "A minute of health clears it.",
        ),
    ),
    section(
        "002 §3.4 SSE and HTTP client",
        built("002-3.4-secrets", "Secret references of headers are resolved before connecting."),
        built("002-3.4-transport", "`http` is Streamable HTTP and `sse` is HTTP+SSE."),
        built("002-3.4-reconnect", "A connection that is lost is made again."),
    ),
    section(
        "002 §3.5 Tool bridge",
        decided(
            "002-3.5-schema",
            "Schemas are converted to another schema language.",
            "They pass through as they are, adapted only where a vendor refuses them.",
        ),
        built("002-3.5-label", "The label is MCP: server/tool."),
        built("002-3.5-description", "The description begins with [MCP server: name]; without one it says so."),
        built("002-3.5-text", "The texts of a result are joined by line breaks."),
        decided(
            "002-3.5-dropped",
            "Only texts of a result are passed on.",
            "Images, audio, links, embedded resources and structured content arrive too, as pictures, files or words.",
        ),
        built("002-3.5-suspicious", "Suspicious patterns are logged with server and tool."),
        built("002-3.5-wrapped", "The text is wrapped with the source mcp_server, the server's name and the warning."),
        built("002-3.5-details", "The details say untrusted, source, server, tool and wrapped."),
        built("002-3.5-error", "A failed call is a result: MCP tool error (server/tool): message."),
    ),
    section(
        "002 §3.6 Secret resolver",
        built("002-3.6-uri", "A reference is secret://PROVIDER/PATH."),
        built("002-3.6-parallel", "All references of a server are resolved at the same time."),
        decided(
            "002-3.6-plaintext",
            "Each plaintext credential is warned about by its key.",
            "One warning a server in the words of 001 FR-5; `openclaw secrets audit` lists the places.",
        ),
        built("002-3.6-looks", "Names such as password, secret, token, key and auth count as credentials."),
        built("002-3.6-unknown", "An unknown provider is an error."),
        built("002-3.6-gcp-latest", "Without a version Google's latest is read."),
        built("002-3.6-gcp-project", "The project is found in the surroundings."),
        built("002-3.6-gcp-empty", "An empty secret is an error."),
        decided(
            "002-3.6-gcloud",
            "Without the library, gcloud is run by a shell line.",
            "gcloud is run by its arguments, without a shell.",
        ),
        built("002-3.6-gcloud-time", "gcloud has ten seconds."),
        built("002-3.6-env", "A variable that is not set is an error."),
        built("002-3.6-cli", "AWS is read by library or command line likewise."),
    ),
    section(
        "002 §3.7 Manager",
        built("002-3.7-disabled-log", "A disabled server is skipped with a line in the log."),
        built("002-3.7-failed-log", "A server that fails to start is logged, and the others start."),
        built("002-3.7-ready-log", "The log says how many servers of how many are ready."),
        built("002-3.7-tools", "Tools of all ready servers are given."),
        built("002-3.7-shutdown-log", "The end is logged."),
        built("002-3.7-shutdown-error-log", "A server that fails while it is ended is logged, and the others end."),
        built("002-3.7-status", "Status gives state and number of tools of every server."),
        built("002-3.7-needs", "stdio needs a command, sse and http need a url, and other transports are unknown."),
    ),
    section(
        "002 §4.1 Config schema",
        built("002-4.1-types", "Types, positive times and addresses are validated."),
        built("002-4.1-refine", "A server without what its transport needs is refused."),
    ),
    section(
        "002 §4.2 Tool assembly",
        built("002-4.2-order", "Native tools come first, then those of plugins, then those of servers."),
    ),
    section(
        "002 §4.3 ACP translator",
        built("002-4.3-servers", "Servers an editor hands over are configured and started."),
        built("002-4.3-log", "The log says how many servers are configured."),
    ),
    section(
        "002 §4.4 External content source",
        built("002-4.4-source", "mcp_server is a source of external content, shown as MCP Server."),
    ),
    section(
        "002 §4.5 Gateway lifecycle",
        built("002-4.5-boot", "The manager starts with the gateway."),
        built("002-4.5-shutdown", "The manager ends with the gateway."),
    ),
    section(
        "002 §4.6 Tool policy",
        built("002-4.6-example", "The example with allow and deny by prefixed name works."),
    ),
    section(
        "002 §5.1 Prompt injection defence",
        built("002-5.1-detect", "Suspicious patterns are detected."),
        built("002-5.1-sanitize", "Markers in the text cannot close the boundary."),
        built("002-5.1-wrap", "The text is wrapped with notice and markers."),
        built("002-5.1-details", "The details of a result are never kept for the model."),
        built("002-5.1-same", "It is the same pipeline as for web pages."),
    ),
    section(
        "002 §5.2 Credential security",
        built("002-5.2-memory", "Secret values are in memory alone."),
        built("002-5.2-closed", "Resolution that fails keeps the server down."),
    ),
    section(
        "002 §5.3 Process isolation",
        built("002-5.3-children", "stdio servers are child processes without more rights."),
        built("002-5.3-internals", "They share nothing with us but three pipes."),
        built("002-5.3-crash", "A crashed server cannot crash us: every call has a deadline and ends as a value."),
    ),
    section(
        "002 §6 Error handling",
        built("002-6-no-start", "A server that will not start is logged, is unavailable, and the others start."),
        built("002-6-crash", "A server that crashes is restarted with growing pauses."),
        built("002-6-max-restarts", "Too many crashes: the server has failed for good."),
        built("002-6-timeout", "A call past its time: Tool call timed out after Xms."),
        built("002-6-tool-error", "A tool's error: MCP tool error with its message."),
        built("002-6-invalid", "An invalid response is an error with details."),
        built("002-6-secret", "A secret that cannot be resolved: the server does not start, and no value is shown."),
        built("002-6-network", "A network error is retried with growing pauses."),
        built("002-6-principle", "Failures of servers are results of tools, never exceptions."),
    ),
    section(
        "002 §7 Testing strategy",
        built("002-7-mock", "A small stdio server with configurable tools is part of the tests."),
        built("002-7-manager", "Start, stop, parallel start and isolation of failures are tested."),
        built("002-7-stdio", "Connect, call, crash and restart over stdio are tested."),
        built("002-7-http", "Connect, call and reconnect over HTTP and SSE are tested."),
        built("002-7-bridge", "Schemas, names, framing and errors of the bridge are tested."),
        built("002-7-secrets", "References, Google, the environment and errors of secrets are tested."),
        built("002-7-config", "Validation, the choice of transport and required fields are tested."),
        built("002-7-integration", "Config, start, call, framed result and shutdown are tested in one go."),
    ),
    section(
        "002 §9 Compatibility",
        built("002-9-additive", "A config without MCP works as before."),
        built("002-9-namespaced", "Names of MCP tools collide with none that exist."),
        built("002-9-off", "Without a section there are no servers."),
        built("002-9-acp", "An editor that hands over no servers changes nothing."),
    ),
    section(
        "002 §10 Open decisions",
        decided(
            "002-10-resources",
            "Resources are left to a later version.",
            "They are in, as 001 §8 asks.",
        ),
        decided(
            "002-10-rediscovery",
            "Tools are listed again on reconnect only.",
            "Also when the server says so, every `toolDiscoveryInterval`, and by /mcp refresh.",
        ),
        built("002-10-reconnect", "Tools are listed again on reconnect."),
        decided("002-10-hot-reload", "A changed config needs a restart.", "It takes effect while the gateway runs."),
    ),
)

# The order server: design.
SEED_003 = document(
    section(
        "003 Requirements",
        built("003-1-tool", "The server offers the tool order_openclaw by MCP."),
        built("003-2-unmodified", "The message reaches the agent unmodified."),
        built("003-3-collected", "Partial, block and final replies are collected by the infrastructure."),
        built("003-4-single", "The caller gets one combined answer."),
    ),
    section(
        "003 Integration point",
        built("003-reply", "An order goes the way of every other message to an agent."),
    ),
    section(
        "003 Response aggregation",
        built("003-agg-no-prefix", "Nothing is put before the message."),
        built("003-agg-callbacks", "Intermediate outputs are collected while the agent runs."),
        built("003-agg-final", "The final answer is taken from the run's end."),
        built("003-agg-dedup", "Parts are deduplicated and combined."),
        decided(
            "003-agg-dedup-final",
            "All parts are deduplicated.",
            "The final answer is never dropped, whatever else contains it.",
        ),
    ),
    section(
        "003 Channel and routing",
        built("003-in-band", "Answers come in-band; no channel is involved."),
    ),
    section(
        "003 Session handling",
        built("003-session-unique", "Each call without a sessionKey has a conversation of its own."),
        built("003-session-continued", "The same sessionKey continues the conversation."),
        built("003-session-persists", "Conversations are kept by the file-based session store."),
    ),
    section(
        "003 Transport",
        built("003-stdio", "The server speaks over standard input and output."),
        built("003-own-process", "Each client has a process of its own."),
        built("003-exits", "The server ends when its client leaves."),
        built("003-no-network", "It opens no port."),
    ),
    section(
        "003 Usage",
        built("003-command", "openclaw mcp-server starts it."),
        built("003-verbose", "--verbose logs what passes."),
        built("003-client-config", "A client is configured with the command openclaw and the argument mcp-server."),
    ),
)

# The order server: its page for users.
SEED_004 = document(
    section(
        "004 Quick start",
        built("004-quick-start", "openclaw mcp-server serves on stdin and stdout."),
        built("004-quick-client", "Any MCP client can call the tool."),
    ),
    section(
        "004 CLI reference",
        built("004-cli-verbose", "-v and --verbose turn on logging."),
        built("004-cli-version", "--version prints the version and ends."),
        built("004-cli-help", "-h and --help show the help."),
    ),
    section(
        "004 Tool definition",
        built("004-tool-single", "The server has one tool, order_openclaw."),
        built("004-tool-definition", "Name, description and input schema are the documented ones."),
    ),
    section(
        "004 Parameters",
        built("004-message-required", "`message` is required and a text."),
        built("004-message-unmodified", "`message` is passed through unmodified."),
        built("004-session-key", "`sessionKey` is optional; without it a unique one is made for each call."),
        built("004-images-files", "`images` and `files` are optional lists."),
    ),
    section(
        "004 Response format",
        built("004-response", "The result has content and isError false."),
        built("004-response-error", "An error is a text that begins with Error: and isError true."),
    ),
    section(
        "004 Session management",
        built("004-session-form", "A key that nobody gave is mcp-{timestamp}-{random}."),
        built("004-session-isolated", "Unrelated calls share no context."),
        built("004-session-history", "With one key a later call remembers an earlier one."),
        decided(
            "004-session-namespace",
            "The key is the session's own.",
            "It stands in a namespace, `agent:<id>:mcp:<key>`, so that no client reaches another surface's conversation.",
        ),
    ),
    section(
        "004 Image attachments",
        built("004-image-fields", "An image has data, mimeType and an optional filename."),
        built("004-image-types", "JPEG, PNG, GIF and WebP are taken."),
        built("004-image-limits", "Ten images of 15 MB at most."),
        built("004-image-seen", "The model sees the image."),
    ),
    section(
        "004 File attachments",
        built("004-file-fields", "A file has data, mimeType and an optional filename."),
        built("004-file-types", "Every documented type of documents, text, data, audio, video and archives is taken."),
        built("004-file-limits", "Five files of 15 MB at most."),
        built("004-file-archives", "Archives are opaque: nothing is unpacked."),
        built("004-file-untranscribed", "Audio without a transcription provider is accepted, not transcribed."),
        built("004-file-transcribed", "Audio is transcribed where a provider is configured."),
    ),
    section(
        "004 Receiving media",
        built("004-out-text", "Text comes as a text block."),
        built("004-out-image", "An image comes as an image block with base64 and type."),
        built("004-out-audio", "Audio comes as an audio block with base64 and type."),
        built("004-out-resource", "A document comes as an embedded resource with an attachment:// address."),
    ),
    section(
        "004 Size limits",
        built("004-limit-in", "15 MB for each item that is sent."),
        built("004-limit-item", "20 MB for each item of an answer."),
        built("004-limit-answer", "50 MB for a whole answer."),
        built("004-base64-only", "Media travel as base64 alone; no address is ever fetched."),
    ),
    section(
        "004 Configuration examples",
        built("004-config-clients", "The config of Claude Code, verbose or not, with any path to the command."),
        decided("004-config-npx", "It can be run by npx.", "It is a Python program: by uvx, or by its path."),
    ),
    section(
        "004 Architecture",
        built(
            "004-aggregated", "Block replies and tool results are collected, deduplicated and combined into one answer."
        ),
        decided(
            "004-tool-results",
            "Tool results are part of every answer.",
            "When the agent is verbose or nothing else was said, and framed.",
        ),
    ),
    section(
        "004 Troubleshooting",
        built("004-trouble-version", "openclaw --version tells whether it is installed."),
        built("004-trouble-doctor", "openclaw doctor checks the config."),
        built("004-trouble-verbose", "--verbose shows requests and answers on standard error."),
        built("004-trouble-which", "The program is on the path as openclaw."),
        built("004-trouble-status", "openclaw status tells whether a model and its credentials are configured."),
        built("004-trouble-sessions", "openclaw sessions --store file shows what is stored."),
    ),
    section(
        "004 Security considerations",
        built("004-sec-authorised", "Calls have the rights of the local user."),
        built("004-sec-no-network", "There is no network exposure."),
        built("004-sec-process", "Each client has a process of its own, which ends with it."),
        built("004-sec-messages", "Messages are passed on without additions."),
        built("004-sec-keys", "Session keys are treated as sensitive."),
    ),
    section(
        "004 Limitations",
        built("004-limits-synchronous", "The tool waits until the agent is done."),
        built("004-limits-one-block", "The answer comes as a whole."),
        built("004-limits-one-tool", "Tools of OpenClaw are not offered one by one."),
    ),
)

REQUIREMENTS = (*SEED_000, *SEED_001, *SEED_002, *SEED_003, *SEED_004)
