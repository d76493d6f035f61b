"""The commands for editors, as data: `acp` and `acp client`."""

from openclaw.commands.options import AGENT
from openclaw.commands.parse import Argument, Command, Option

_OF_SESSIONS = ("agent", "session", "require-existing", "reset-session", "allow-client-servers")

_SERVE = Command(
    "serve",
    "Be the agent of an editor: speak the Agent Client Protocol on stdin and stdout. The same as `acp` alone.",
    handler="openclaw.acp.command:run",
    options=(
        Option("verbose", "Log what passes to stderr.", short="-v"),
        AGENT,
        Option("session", "Let new sessions continue this conversation.", value="KEY"),
        Option("require-existing", "Refuse a new session when there is no such conversation."),
        Option("reset-session", "Start that conversation afresh with each new session."),
        Option("setup", "Say which model would answer and how to set one, and exit: editors run this for you."),
        Option("allow-client-servers", "Start the MCP servers that the editor hands over without asking."),
        Option(
            "print-config",
            "Print the config for this editor, and exit.",
            value="EDITOR",
            choices=("zed", "jetbrains", "codecompanion", "avante", "agent-shell"),
        ),
        Option("session-label", "Taken for the sake of another OpenClaw, and of no effect.", value="LABEL"),
        Option("url", "The same: a gateway of ours is found by itself.", value="URL"),
        Option("token", "The same.", value="TOKEN"),
        Option("token-file", "The same.", value="FILE"),
        Option("password", "The same.", value="WORD"),
        Option("password-file", "The same.", value="FILE"),
        Option("no-prefix-cwd", "The same: the model is told where it works in another way."),
        Option("provenance", "The same.", value="MODE", choices=("off", "meta", "meta+receipt")),
    ),
    local=True,
    stays=True,
)

_CLIENT = Command(
    "client",
    "Talk with any agent that speaks the Agent Client Protocol, and see what it says.",
    handler="openclaw.acp.client.command:run",
    details="""\
The words after the options are the agent's command line; without any, our own agent is started. What you type is a prompt; Ctrl-C cancels
the turn, Ctrl-D leaves. The answer goes to stdout, everything else to stderr.
Example: openclaw acp client --prompt "What is in this folder?"
Example: openclaw acp client -- npx -y @agentclientprotocol/claude-agent-acp\
""",
    options=(
        Option("prompt", "Send this, and leave when it is answered.", value="TEXT"),
        Option("cwd", "The folder the session works in.", value="DIR"),
        Option("mcp-config", 'Hand over the MCP servers of this file: {"mcpServers": [...]}.', value="FILE"),
        Option("load", "Open this session, and have it replayed.", value="ID"),
        Option("resume", "Open this session as it is.", value="ID"),
        Option(
            "permissions",
            "Answer permission requests without asking you.",
            value="HOW",
            choices=("ask", "allow", "reject"),
        ),
        Option("wire", "Show every line that passes."),
        Option("server", "The agent's program, as OpenClaw's other client has it.", value="PROGRAM"),
        Option("server-args", "One argument of that program; may be repeated.", value="WORD", many=True),
        Option("server-verbose", "Start the agent with --verbose."),
    ),
    arguments=(Argument("command", "The agent's command line.", required=False, rest=True, verbatim=True),),
    local=True,
)

_HOST = Command(
    "host",
    "Be that agent for another process of ours: its lines on stdin, ours on stdout.",
    handler="openclaw.acp.hosted:run",
    options=(
        *(one for one in _SERVE.options if one.name in _OF_SESSIONS),
        Option("greeted", "The first line is an `initialize` that was answered already."),
    ),
    hidden=True,
)

_ACP = Command(
    "acp",
    "Be the agent of an editor, by the Agent Client Protocol.",
    details="""\
An editor such as Zed starts this by itself; --print-config shows what to put into its config.
Example: openclaw acp --print-config zed\
""",
    children=(_SERVE, _CLIENT, _HOST),
    default="serve",
)

COMMANDS = (_ACP,)
