"""Options that more than one command has, worded once. Those that every command takes are `SHARED`.

The commands themselves are in table.py and mcp_table.py.
"""

from openclaw.commands.parse import Option

JSON = Option("json", "Print JSON instead of text.")
AGENT = Option("agent", "The agent to use; the default agent when left out.", value="ID", names="agent")
ALLOW = Option(
    "allow", "A pattern of calls that nobody is asked about in this run (repeat for more).", value="PATTERN", many=True
)
YES = Option("yes", "Say yes in this run to every call that would be asked about.")
STDIO = Option("stdio", "Use this program as the server, this once: nothing is saved.", value="PROGRAM")
HEADER = Option("header", "An HTTP header (repeat for more).", value="NAME=VALUE", many=True)
ENV = Option("env", "A variable for the program (repeat for more).", value="NAME=VALUE", many=True)
HELP = Option("help", "Show this help.", short="-h")

SHARED = (
    Option("config", "Read this file instead of ~/.openclaw/openclaw.json.", value="FILE", names="file"),
    Option("local", "Do the work in this process even when a gateway is running."),
    Option("log-level", "How much to log to stderr.", value="LEVEL", choices=("debug", "info", "warning", "error")),
    Option("log-json", "Log one JSON object a line."),
    Option("no-color", "No colours, as with NO_COLOR=1."),
    Option("version", "Print the version and exit."),
    HELP,
)
