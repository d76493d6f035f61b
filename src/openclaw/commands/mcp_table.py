"""Every word about MCP servers: the tree of `openclaw mcp`, which is also that of `/mcp` in chat (plugin_mcp.py).

Data alone, like table.py, which has the rest and puts this into its place.
"""

from openclaw.commands.options import AGENT, ALLOW, JSON, YES
from openclaw.commands.parse import Argument, Command, Option
from openclaw.protocol.transports import CONFIGURED

_SERVER = Argument("server", "The server; all of them when left out.", required=False)
_NAME = Argument("name", "The server.")


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
        _about_servers("tools", "List the tools of servers.", "openclaw.commands.mcp:tools", which=_SERVER),
        _about_servers("status", "Show everything about one server.", "openclaw.commands.mcp:status"),
        Command(
            "refresh",
            "List a server's tools anew.",
            handler="openclaw.commands.mcp:refresh",
            arguments=(Argument("name", "The server; all of them when left out.", required=False),),
            options=(AGENT, JSON),
        ),
        Command(
            "call",
            "Call a tool and print its result.",
            handler="openclaw.commands.call:call",
            details="Example: openclaw mcp call files__read_file path=notes.md",
            arguments=(
                Argument("tool", "The tool, as `mcp tools` names it."),
                Argument("words", "Its arguments: key=value …, or one JSON object.", required=False, rest=True),
            ),
            options=(AGENT, JSON, ALLOW, YES),
        ),
        _about_servers("resources", "List the resources of servers.", "openclaw.commands.mcp:resources", which=_SERVER),
        Command(
            "read",
            "Print one resource.",
            handler="openclaw.commands.mcp:read",
            arguments=(Argument("server", "The server."), Argument("uri", "The resource.")),
            options=(AGENT, JSON),
        ),
        _about_servers("prompts", "List the prompts of servers.", "openclaw.commands.mcp:prompts", which=_SERVER),
        Command(
            "prompt",
            "Fill in a prompt and print it.",
            handler="openclaw.commands.mcp:prompt",
            arguments=(
                Argument("server", "The server."),
                Argument("name", "The prompt."),
                Argument("words", "Its arguments: key=value …", required=False, rest=True),
            ),
            options=(AGENT, JSON),
        ),
        Command(
            "logs",
            "Show what a server wrote to standard error.",
            handler="openclaw.commands.mcp:logs",
            arguments=(_NAME,),
            options=(
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
            "Add a server and connect to it.",
            handler="openclaw.commands.manage:connect",
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
                Option("header", "An HTTP header (repeat for more).", value="NAME=VALUE", many=True),
                Option("env", "A variable for the program (repeat for more).", value="NAME=VALUE", many=True),
                Option("yes", "Agree to running the program."),
                AGENT,
                JSON,
            ),
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
                Argument("name", "The server; a client metadata document is printed without one.", required=False),
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
