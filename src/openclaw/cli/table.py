"""The commands of the terminal: `chat`, and the line of a chat that it hands to a running gateway."""

from openclaw.commands.options import AGENT, JSON
from openclaw.commands.parse import Argument, Command, Option

_SESSION = Option("session-key", "The conversation to continue.", value="KEY", names="session")
_MODEL = Option("model", "The model that answers, in place of the agent's own.", value="NAME", names="model")
_CHAT = Command(
    "chat",
    "Talk with an agent in this terminal.",
    handler="openclaw.cli.chat:run",
    details="""\
Without an option it goes on with the conversation `main`. Type /help for commands. Alt-Enter, or a backslash before Enter, begins a new
line; Ctrl-X Ctrl-E opens your editor; @FILE sends a file along. Ctrl-C stops the answer, Ctrl-D leaves.\
""",
    arguments=(Argument("text", "What to say first.", required=False, rest=True),),
    options=(
        AGENT,
        _SESSION,
        Option("continue", "Go on with the conversation that was used last.", short="-c"),
        Option("new", "Begin a new one; the one before stays.", short="-n"),
        Option("resume", "Choose the conversation to go on with from a list.", short="-r"),
        _MODEL,
    ),
    local=True,
    stays=True,
)

_SETUP = Command(
    "setup",
    "Get a model and a server in a few questions.",
    handler="openclaw.cli.setup:run",
    details="Run it as often as you like: what is there stays, and is what Enter takes.",
    options=(Option("yes", "Ask nothing and take what Enter would."),),
    local=True,
)

_VENDOR = Argument("vendor", "The model vendor: anthropic, openai, …, or one of models.providers.", names="vendor")
_KEYS = Command(
    "keys",
    "Put API keys of model vendors into the keychain.",
    default="list",
    children=(
        Command(
            "list",
            "List which vendors have a key, and where it comes from; no key is printed.",
            handler="openclaw.cli.keys:list_keys",
            options=(JSON,),
            local=True,
        ),
        Command(
            "set",
            "Store the key of a vendor.",
            handler="openclaw.cli.keys:set_key",
            details="""\
The key is typed unseen, or piped in, and tried: one that the vendor refuses is not stored. It goes into the
keychain of the system or, where there is none, into an encrypted store of ours; the config gets a reference to it.
Example: openclaw keys set anthropic\
""",
            arguments=(_VENDOR,),
            options=(JSON, Option("force", "Store it without asking the vendor.")),
            local=True,
        ),
        Command(
            "remove",
            "Forget the stored key of a vendor.",
            handler="openclaw.cli.keys:remove_key",
            arguments=(_VENDOR,),
            options=(JSON,),
            local=True,
        ),
    ),
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
        _SESSION,
        _MODEL,
        Option("attach", "A file that goes with the message (repeat for more).", value="FILE", many=True, names="file"),
        Option("complete", "Print how the last word may go on, as JSON."),
        Option(
            "switch", "Print which conversation and model the terminal goes on with, as JSON; the rest goes to stderr."
        ),
        Option("terminal", "Whose lines these are: one terminal is told of a server's trouble once.", value="NAME"),
    ),
    arguments=(Argument("text", "What to say; left out, who would answer is shown.", required=False),),
    hidden=True,
)

COMMANDS = (_CHAT, _SETUP, _KEYS, _LINE)
