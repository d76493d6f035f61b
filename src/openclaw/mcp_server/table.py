"""The commands of the MCP server, as data: `mcp-server`, and the order that it hands to a running gateway."""

from openclaw.commands.options import AGENT
from openclaw.commands.parse import Command, Option

_MCP_SERVER = Command(
    "mcp-server",
    "Be one tool of an MCP client: serve order_openclaw on stdin and stdout.",
    handler="openclaw.mcp_server.command:run",
    details="""\
Claude Code, an editor or another agent starts this by itself; --print-config shows what to put into its config.
Example: openclaw mcp-server --print-config claude-code\
""",
    stays=True,
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
    handler="openclaw.mcp_server.command:run_order",
    details="""\
The input is what the tool order_openclaw takes. First comes {"session": "…"}, the
hash by which logs know the conversation, then progress as {"progress": "…"}, at the end {"result": {…}}.
Example: echo '{"message": "what files are in docs?"}' | openclaw order\
""",
    options=(
        AGENT,
        Option("revision", "The MCP revision whose content blocks the result uses.", value="DATE"),
        Option("waited", "Seconds of the agent's time that are over already.", value="SECONDS", kind="float"),
        Option("traceparent", "The trace that whoever orders is part of, by W3C Trace Context.", value="TEXT"),
        Option("tracestate", "What else is said of that trace.", value="TEXT"),
    ),
    hidden=True,
)

COMMANDS = (_MCP_SERVER, _ORDER)
