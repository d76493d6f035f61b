"""Every word about MCP servers: the tree of `openclaw mcp`, which is also that of `/mcp` in chat (plugin_mcp.py).

Data alone, like table.py, which has the rest and puts this into its place.
"""

from openclaw.commands.options import AGENT, ALLOW, ENV, HEADER, JSON, STDIO, YES
from openclaw.commands.parse import Argument, Command, Option
from openclaw.protocol.transports import CONFIGURED

_SERVER = Argument("server", "The server; all of them when left out.", required=False, names="server")
_NAME = Argument("name", "The server.", names="server")


def _about_servers(word: str, help: str, handler: str, *, which: Argument = _NAME) -> Command:
    return Command(word, help, handler=handler, arguments=(which,), options=(AGENT, JSON))


MCP = Command(
    "mcp",
    "See and use MCP servers.",
    details="The same words work as /mcp … in chat.",
    children=(
        Command(
            "servers", "List servers with their state.", handler="openclaw.commands.mcp:servers", options=(AGENT, JSON)
        ),
        Command(
            "tools",
            "List the tools of servers, and of one server what each takes.",
            handler="openclaw.commands.mcp:tools",
            details="""\
Examples:
  openclaw mcp tools files
  openclaw mcp tools https://mcp.example.com/mcp\
""",
            arguments=(
                Argument(
                    "server",
                    "The server, or the address of one that is not configured; all when left out.",
                    required=False,
                ),
            ),
            options=(STDIO, HEADER, ENV, Option("yes", "Agree to running the program of --stdio."), AGENT, JSON),
        ),
        _about_servers(
            "status",
            "Show everything about one server.",
            "openclaw.commands.mcp:status",
            which=Argument("name", "The server; all of them, shortly, when left out.", required=False, names="server"),
        ),
        Command(
            "refresh",
            "List a server's tools anew.",
            handler="openclaw.commands.mcp:refresh",
            arguments=(Argument("name", "The server; all of them when left out.", required=False, names="server"),),
            options=(AGENT, JSON),
        ),
        Command(
            "call",
            "Call a tool and print its result.",
            handler="openclaw.commands.call:call",
            help_handler="openclaw.commands.call:help",
            details="""\
`TOOL --help` shows what a tool takes. Before the tool may stand the address of a server that is not configured.

Examples:
  openclaw mcp call files__read_file path=notes.md
  openclaw mcp call https://mcp.example.com/mcp search query=trains
  openclaw mcp call --stdio "npx -y @modelcontextprotocol/server-everything" echo message=hi\
""",
            arguments=(
                Argument("tool", "The tool, as `mcp tools` names it.", names="mcp-tool"),
                Argument(
                    "words",
                    "Its arguments: key=value …, or one JSON object.",
                    required=False,
                    rest=True,
                    names="argument",
                ),
            ),
            options=(STDIO, HEADER, ENV, AGENT, JSON, ALLOW, YES),
        ),
        _about_servers("resources", "List the resources of servers.", "openclaw.commands.mcp:resources", which=_SERVER),
        Command(
            "read",
            "Print one resource.",
            handler="openclaw.commands.mcp:read",
            arguments=(Argument("server", "The server.", names="server"), Argument("uri", "The resource.")),
            options=(AGENT, JSON),
        ),
        _about_servers("prompts", "List the prompts of servers.", "openclaw.commands.mcp:prompts", which=_SERVER),
        Command(
            "prompt",
            "Fill in a prompt and print it.",
            handler="openclaw.commands.mcp:prompt",
            details="Example: openclaw mcp prompt web:summarize topic=trains",
            arguments=(
                Argument("prompt", "SERVER:PROMPT, as `mcp prompts` lists it.", names="prompt"),
                Argument("words", "Its arguments: key=value …", required=False, rest=True, names="prompt-argument"),
            ),
            options=(AGENT, JSON),
        ),
        Command(
            "logs",
            "Show what a server wrote to standard error, and to standard output beside its messages.",
            handler="openclaw.commands.mcp_logs:logs",
            arguments=(_NAME,),
            options=(
                Option("follow", "Go on with what it writes, until Ctrl-C.", short="-f"),
                Option(
                    "lines",
                    "How many of the last lines; when left out, 80, and the first 20 since its start.",
                    value="N",
                    kind="int",
                ),
                AGENT,
                JSON,
            ),
        ),
        Command(
            "connect",
            "Try a server, and add it when it works.",
            handler="openclaw.commands.connect:connect",
            details="""\
Examples:
  openclaw mcp connect https://mcp.example.com/mcp
  openclaw mcp connect npx -y @modelcontextprotocol/server-filesystem /tmp\
""",
            arguments=(Argument("words", "Its address, or the program and its arguments.", rest=True, verbatim=True),),
            options=(
                Option("name", "What to call it; from the host or program when left out.", value="NAME"),
                Option(
                    "transport",
                    "The transport to try first.",
                    value="KIND",
                    # The last is what most people call the second.
                    choices=(*CONFIGURED, "http"),
                ),
                HEADER,
                ENV,
                Option(
                    "timeout",
                    "Seconds it may take to come up, 30 when left out; kept as connectionTimeoutMs.",
                    value="SECONDS",
                    kind="float",
                ),
                Option("yes", "Agree to running the program."),
                Option("force", "Add it also when it does not work."),
                AGENT,
                JSON,
            ),
        ),
        Command(
            "import",
            "Take over the servers of other programs.",
            handler="openclaw.commands.import_servers:run",
            details="""\
Without a program it lists what was found where. Programs: claude-desktop, claude-code,
cursor, vscode, copilot, codex, gemini, windsurf, zed, opencode, mcporter, lm-studio,
openclaw, or all.
Examples:
  openclaw mcp import cursor --dry-run
  openclaw mcp import ./.mcp.json\
""",
            arguments=(
                Argument("program", "The program, or a file of one.", required=False, names="program"),
                Argument("file", "Its file, where it is not at its usual place.", required=False, names="file"),
            ),
            options=(
                Option("dry-run", "Only say what would be done."),
                Option("only", "This server alone (repeat for more).", value="NAME", many=True),
                Option("overwrite", "Replace servers of the same name instead of giving new ones another."),
                Option(
                    "secrets",
                    "Where secrets go: the keychain where there is one, else an encrypted file each.",
                    value="PLACE",
                    choices=("keychain", "file"),
                ),
                Option("yes", "Agree to running the programs and to what the servers are sent."),
                JSON,
            ),
            # The files, variables and keychain are those of who types.
            local=True,
        ),
        _about_servers("disconnect", "Stop a server for this run.", "openclaw.commands.manage:disconnect"),
        _about_servers("restart", "Start a server again.", "openclaw.commands.manage:restart"),
        _about_servers("remove", "Take a server out of the config.", "openclaw.commands.manage:remove"),
        _about_servers("enable", "Switch a server on in the config.", "openclaw.commands.manage:enable"),
        _about_servers("disable", "Switch a server off in the config.", "openclaw.commands.manage:disable"),
        Command(
            "auth",
            "Sign in to a server, or out of it.",
            handler="openclaw.commands.sign_in:auth",
            # A browser opens where the person sits, which a gateway does not know.
            arguments=(
                Argument(
                    "name",
                    "The server; a client metadata document is printed without one.",
                    required=False,
                    names="server",
                ),
            ),
            options=(
                Option("code", "Finish a sign-in with the address the browser ended at.", value="CALLBACK_URL"),
                Option("logout", "Revoke and forget the tokens."),
                Option("no-browser", "Print the address instead of opening it."),
                Option("print-client-metadata", "Print the document to host at auth.clientMetadataUrl."),
                AGENT,
                JSON,
            ),
        ),
        Command(
            "trust",
            "See what changed in a server's tools, and accept it.",
            handler="openclaw.commands.trust:trust",
            arguments=(_NAME,),
            options=(
                Option("yes", "Accept without being asked, as in a pipe."),
                Option("digest", "Accept what was shown with this digest, and nothing else.", value="DIGEST"),
                AGENT,
                JSON,
            ),
        ),
    ),
)
