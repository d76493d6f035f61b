"""The commands of the terminal: `chat`, and the line of a chat that it hands to a running gateway."""

from openclaw.commands.options import AGENT
from openclaw.commands.parse import Argument, Command, Option

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
    hidden=True,
)

COMMANDS = (_CHAT, _LINE)
