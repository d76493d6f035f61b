"""The command tree: every word a user can type after `openclaw`, as data.

Handlers are named, not imported, so that reading this table costs nothing. docs/reference/cli.md is generated from it. What stands below
`openclaw mcp` is in mcp_table.py, because chat has that part alone.
"""

from openclaw.commands.mcp_table import MCP
from openclaw.commands.options import AGENT, JSON
from openclaw.commands.parse import Argument, Command, Option

_AGENT = Command(
    "agent",
    "Ask an agent and print its answer.",
    handler="openclaw.commands.agent:run",
    details="""\
The answer streams to stdout as it comes; tool calls are shown on stderr.
Example: openclaw agent -m "what files are in docs?"\
""",
    options=(
        Option("message", "What to say. `-` reads it from stdin.", value="TEXT", short="-m"),
        AGENT,
        Option("session-key", "Continue this conversation; a new one when left out.", value="KEY"),
        Option("attach", "Send a file along (repeat for more).", value="FILE", many=True),
        Option(
            "timeout", "Stop after this many seconds, waiting for the session included.", value="SECONDS", kind="float"
        ),
        JSON,
    ),
    arguments=(Argument("words", "What to say, when -m is not used.", required=False, rest=True),),
)

_CHAT = Command(
    "chat",
    "Talk with an agent in this terminal.",
    handler="openclaw.cli.chat:run",
    details="Type /help for commands. Ctrl-C stops the answer, Ctrl-D leaves.",
    options=(AGENT, Option("session-key", "The conversation to continue.", value="KEY")),
    local=True,
)

_LINE = Command(
    "line",
    "Say one line of a chat.",
    handler="openclaw.commands.chat:run",
    details="""\
What `openclaw chat` has a running gateway do, line by line. Words with a slash work here as they do there.
Example: openclaw line "/mcp servers"\
""",
    options=(
        AGENT,
        Option("session-key", "The conversation to continue.", value="KEY"),
        Option("complete", "Print how the last word may go on, as JSON."),
        Option("terminal", "Whose lines these are: one terminal is told of a server's trouble once.", value="NAME"),
    ),
    arguments=(Argument("text", "What to say; left out, who would answer is shown.", required=False),),
)

_SESSIONS = Command(
    "sessions",
    "List, show, export, delete and prune conversations.",
    default="list",
    children=(
        Command(
            "list",
            "List conversations, the newest first.",
            handler="openclaw.commands.sessions:list_sessions",
            options=(
                AGENT,
                Option("active", "Only those used in the last MIN minutes.", value="MIN", kind="float"),
                Option("store", "Which store to read.", value="STORE", choices=("file",)),
                JSON,
            ),
        ),
        Command(
            "show",
            "Print one conversation.",
            handler="openclaw.commands.sessions:show",
            arguments=(Argument("key", "The session key, as `sessions list` shows it."),),
            options=(JSON,),
        ),
        Command(
            "export",
            "Print one conversation as JSON lines.",
            handler="openclaw.commands.sessions:export",
            arguments=(Argument("key", "The session key, as `sessions list` shows it."),),
        ),
        Command(
            "delete",
            "Delete one conversation for good.",
            handler="openclaw.commands.sessions:delete",
            arguments=(Argument("key", "The session key, as `sessions list` shows it."),),
            options=(JSON,),
        ),
        Command(
            "prune",
            "Remove conversations that `sessions.keep` no longer keeps.",
            handler="openclaw.commands.sessions:prune",
            details="One that is in a turn stays. Also done by itself, once a day.",
            options=(
                Option("dry-run", "Only say what would be removed."),
                Option(
                    "older-than",
                    "All that were not used for DAYS, whatever the config says.",
                    value="DAYS",
                    kind="float",
                ),
                JSON,
            ),
        ),
    ),
)

_PATH = Argument("path", 'Where in the file: agents.defaults.model.primary, or a["key.with.dots"].b.')
_CONFIG = Command(
    "config",
    "Check, read and change openclaw.json.",
    children=(
        Command(
            "validate",
            "Check the file and report every problem at once.",
            handler="openclaw.commands.config:validate",
            options=(JSON,),
        ),
        Command(
            "get",
            "Print one value (secrets are not shown).",
            handler="openclaw.commands.config:get",
            arguments=(_PATH,),
        ),
        Command(
            "set",
            "Change one value and keep every comment.",
            handler="openclaw.commands.config:set_value",
            details="The value is JSON5; a word that is not is taken as text.",
            arguments=(_PATH, Argument("value", "The new value.")),
        ),
        Command(
            "unset",
            "Take one setting out and keep every comment.",
            handler="openclaw.commands.config:unset",
            arguments=(_PATH,),
        ),
        Command("schema", "Print the JSON Schema of the file.", handler="openclaw.commands.config:schema"),
        Command("path", "Print where the file is.", handler="openclaw.commands.config:path"),
    ),
)

_TOOLS = Command(
    "tools",
    "List the tools an agent has, and explain the ones it has not.",
    default="list",
    children=(
        Command(
            "list", "List the tools an agent has.", handler="openclaw.commands.tools:list_tools", options=(AGENT, JSON)
        ),
        Command(
            "explain",
            "Say which rule in which file admits or hides a tool.",
            handler="openclaw.commands.tools:explain",
            arguments=(Argument("name", "The tool."),),
            options=(AGENT, JSON),
        ),
    ),
)

_SECRETS = Command(
    "secrets",
    "Check secret references, and find credentials in plain sight.",
    children=(
        Command(
            "check",
            "Resolve every reference and say which work; no value is printed.",
            handler="openclaw.commands.secrets:check",
            options=(JSON,),
        ),
        Command(
            "audit",
            "List credentials that stand in the config in plain sight, with file and line.",
            handler="openclaw.commands.secrets:audit",
            options=(Option("check", "Exit with 1 when there is one."), JSON),
        ),
    ),
)

_GATEWAY = Command(
    "gateway",
    "Run the long-lived OpenClaw that keeps servers warm and answers in milliseconds.",
    default="status",
    children=(
        Command("run", "Run it in this terminal.", handler="openclaw.cli.gateway:run", local=True),
        Command("start", "Start it as a process of its own.", handler="openclaw.cli.gateway:start", local=True),
        Command("stop", "Let running calls finish, then stop it.", handler="openclaw.cli.gateway:stop", local=True),
        Command("restart", "Stop it and start it again.", handler="openclaw.cli.gateway:restart", local=True),
        Command(
            "status",
            "Show whether it runs, since when, and how its servers are.",
            handler="openclaw.cli.gateway:status",
            options=(JSON,),
            local=True,
        ),
        Command(
            "install",
            "Write a service that starts it with your session.",
            handler="openclaw.cli.gateway:install",
            details="A systemd user unit on Linux, a launchd job on macOS. Nothing is started.",
            local=True,
        ),
    ),
)

_MCP_SERVER = Command(
    "mcp-server",
    "Be one tool of an MCP client: serve order_openclaw on stdin and stdout.",
    handler="openclaw.cli.mcp_server:run",
    details="""\
Claude Code, an editor or another agent starts this by itself; --print-config shows what to put into its config.
Example: openclaw mcp-server --print-config claude-code\
""",
    options=(
        Option("verbose", "Log what passes to stderr.", short="-v"),
        AGENT,
        Option(
            "print-config",
            "Print the config for this client, and exit.",
            value="CLIENT",
            choices=(
                "claude-code",
                "claude-desktop",
                "cursor",
                "vscode",
                "codex",
                "gemini-cli",
                "opencode",
                "cline",
                "continue",
                "windsurf",
                "zed",
            ),
        ),
    ),
    local=True,
)

_ORDER = Command(
    "order",
    "Carry out one order of a program: JSON on stdin, JSON lines on stdout.",
    handler="openclaw.mcp_server.command:run",
    details="""\
The input is what the tool order_openclaw takes. First comes {"session": "…"}, the
hash by which logs know the conversation, then progress as {"progress": "…"}, at the end {"result": {…}}.
Example: echo '{"message": "what files are in docs?"}' | openclaw order\
""",
    options=(
        AGENT,
        Option("revision", "The MCP revision whose content blocks the result uses.", value="DATE"),
        Option("waited", "Seconds of the agent's time that are over already.", value="SECONDS", kind="float"),
    ),
)

_AUDIT = Command(
    "audit",
    "See what was called, when and how it ended.",
    default="tail",
    children=(
        Command(
            "tail",
            "Show the last calls.",
            handler="openclaw.commands.audit:tail",
            options=(Option("lines", "How many; 20 when left out.", value="N", kind="int"), JSON),
        ),
        Command("export", "Print the whole trail as JSON lines.", handler="openclaw.commands.audit:export"),
    ),
)

ROOT = Command(
    "openclaw",
    "A personal agent whose tools come from any MCP server.",
    details="Start with: openclaw demo",
    children=(
        _AGENT,
        _CHAT,
        _LINE,
        Command(
            "demo",
            "Take a tour of two minutes: an agent, servers, a crash, a sign-in, an attack.",
            handler="openclaw.cli.demo:run",
            details="Everything is real, runs on this machine alone in a temporary folder, and is gone afterwards. Enter goes on.",
            local=True,
        ),
        Command(
            "status",
            "Show config, model, agents and servers at a glance.",
            handler="openclaw.commands.status:run",
            options=(JSON,),
        ),
        Command(
            "doctor",
            "Check everything and say how to fix what is wrong.",
            handler="openclaw.gateway.doctor:run",
            details="Every server is started if it does not run, and asked; one that hangs takes as long as it may take to connect.",
            options=(JSON,),
        ),
        _GATEWAY,
        _SESSIONS,
        _CONFIG,
        _TOOLS,
        MCP,
        _MCP_SERVER,
        _ORDER,
        _SECRETS,
        _AUDIT,
        Command(
            "completion",
            "Print a completion script for your shell.",
            handler="openclaw.commands.completion:run",
            details='Example: eval "$(openclaw completion bash)"',
            arguments=(Argument("shell", "Your shell.", choices=("bash", "zsh", "fish")),),
            local=True,
        ),
    ),
)
