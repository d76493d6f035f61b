"""The commands that belong to no surface, as data; every surface has a table of its own, and program.py puts them together.

Handlers are named, not imported, so that reading a table costs nothing. What stands below `openclaw mcp` is in mcp_table.py, because chat
has that part alone.
"""

from openclaw.commands.options import AGENT, ALLOW, JSON, YES
from openclaw.commands.other_words import CONFIG_WORDS, FIRST_WORDS, MCP
from openclaw.commands.parse import Argument, Command, Option

_AGENT = Command(
    "agent",
    "Ask an agent and print its answer.",
    handler="openclaw.commands.agent:run",
    details="""\
The answer streams to stdout as it comes; tool calls are shown on stderr. Text that is piped in goes along with the message.
Examples:
  openclaw agent "what files are in docs?"
  git diff | openclaw agent "write a commit message"\
""",
    options=(
        Option("message", "What to say. `-` reads it from stdin.", value="TEXT", short="-m"),
        AGENT,
        Option(
            "model",
            "The model that answers, as vendor/model, in place of the agent's own.",
            value="MODEL",
            names="model",
        ),
        Option("session-key", "Continue this conversation; a new one when left out.", value="KEY", names="session"),
        Option("attach", "Send a file along (repeat for more).", value="FILE", many=True, names="file"),
        Option(
            "timeout", "Stop after this many seconds, waiting for the session included.", value="SECONDS", kind="float"
        ),
        JSON,
        Option(
            "answers",
            "With --json: print questions of these kinds (approval,form,url), which you answer with `openclaw approvals`.",
            value="KINDS",
        ),
        ALLOW,
        YES,
    ),
    arguments=(Argument("words", "What to say, when -m is not used.", required=False, rest=True),),
)

_KEY = Argument("key", "The session key, as `sessions list` shows it.", names="session")
_SESSIONS = Command(
    "sessions",
    "List, show, rename, export, delete and prune conversations.",
    default="list",
    children=(
        Command(
            "list",
            "List conversations, the newest first.",
            handler="openclaw.commands.sessions:list_sessions",
            options=(
                AGENT,
                Option("all", "All of them; at a terminal, also all that was asked once, without a session key."),
                Option("limit", "At most so many; 1,000 when left out.", value="N", kind="int"),
                Option("active", "Only those used in the last MIN minutes.", value="MIN", kind="float"),
                Option(
                    "store",
                    "Read this store, whichever new conversations are kept in.",
                    value="STORE",
                    choices=("file",),
                ),
                JSON,
            ),
        ),
        Command(
            "show",
            "Print one conversation.",
            handler="openclaw.commands.sessions:show",
            arguments=(_KEY,),
            options=(JSON,),
        ),
        Command(
            "rename",
            "Give one conversation a title.",
            handler="openclaw.commands.sessions:rename",
            details="Until then its title is what you said first.",
            arguments=(_KEY, Argument("title", "What to call it.", rest=True)),
        ),
        Command(
            "export",
            "Print one conversation as JSON lines.",
            handler="openclaw.commands.sessions:export",
            arguments=(_KEY,),
        ),
        Command(
            "delete",
            "Delete one conversation for good.",
            handler="openclaw.commands.sessions:delete",
            arguments=(_KEY,),
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

_STORE = Command(
    "store",
    "Set up, check and fill the database of many gateways.",
    children=(
        Command(
            "init",
            "Make its tables, or bring them to this version.",
            handler="openclaw.commands.store:init",
            details="Safe to repeat, and while gateways run: those of the version before go on working.",
            options=(JSON,),
            local=True,
        ),
        Command(
            "check",
            "Say how the database is, and what could be better.",
            handler="openclaw.commands.store:check",
            options=(JSON,),
            local=True,
        ),
        Command(
            "migrate",
            "Copy what is kept in files into the database, and compare it.",
            handler="openclaw.commands.store:migrate",
            details="Stop the gateway first. The files stay as they are. Ended at any moment, it goes on when it is run again.",
            options=(
                Option("from", "Where from.", value="STORE", choices=("file",)),
                JSON,
            ),
            local=True,
        ),
        Command(
            "export",
            "Print everything in the database as JSON lines; tokens stay encrypted.",
            handler="openclaw.commands.store:export",
            local=True,
        ),
    ),
)

_FLEET = Command(
    "fleet",
    "List the gateways that share the database, and what each holds.",
    handler="openclaw.commands.store:fleet",
    details="Turns are conversations that it is in the middle of; servers are those it runs for all gateways; leases are what else it alone"
    " does. What one holds that is not heard any more is free for the others.",
    options=(JSON,),
    local=True,
)

_WHERE = 'Where in the file: agents.defaults.model.primary, or a["key.with.dots"].b'
_PATH = Argument("path", f"{_WHERE}.", names="setting")
_ANY_PATH = Argument("path", f"{_WHERE}; all of it when left out.", required=False, names="setting")
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
            "Print one value, or the whole file (secrets are not shown).",
            handler="openclaw.commands.config:get",
            arguments=(_ANY_PATH,),
            options=(JSON,),
        ),
        Command(
            "set",
            "Change one value and keep every comment.",
            handler="openclaw.commands.config:set_value",
            details="The value is JSON5; a word that is not is taken as text.",
            arguments=(_PATH, Argument("value", "The new value.", names="value")),
            options=(Option("force", "Write also a model that nobody has."), JSON),
        ),
        Command(
            "unset",
            "Take one setting out and keep every comment.",
            handler="openclaw.commands.config:unset",
            arguments=(_PATH,),
            options=(JSON,),
        ),
        Command("schema", "Print the JSON Schema of the file.", handler="openclaw.commands.config:schema"),
        Command("path", "Print where the file is.", handler="openclaw.commands.config:path"),
        *CONFIG_WORDS,
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
            "search",
            "Find the tools of an agent by what they do.",
            handler="openclaw.commands.tools:search",
            details="Example: openclaw tools search create a calendar event",
            arguments=(Argument("words", "What the tool should do, in English.", rest=True),),
            options=(AGENT, JSON),
        ),
        Command(
            "explain",
            "Say which rule in which file admits or hides a tool, and whether the model is shown it.",
            handler="openclaw.commands.tools:explain",
            arguments=(Argument("name", "The tool.", names="tool"),),
            options=(AGENT, JSON),
        ),
    ),
)

_SKILLS = Command(
    "skills",
    "List the skills an agent has, those of MCP servers among them, and show one.",
    default="list",
    children=(
        Command(
            "list",
            "List skills, where each comes from, and why one is not used.",
            handler="openclaw.commands.skills:list_skills",
            details="Of a skill of a server it says whether you allowed it as it is now; its text is not read for this.",
            options=(AGENT, JSON),
        ),
        Command(
            "show",
            "Print the text of one skill, and of a server's what it consists of.",
            handler="openclaw.commands.skills:show",
            details="No model sees it by this, and nothing is allowed by it. Example: openclaw skills show acme:refunds",
            arguments=(Argument("name", "The skill, as `skills list` names it."),),
            options=(AGENT, JSON),
        ),
    ),
)

_QUESTION = Argument("id", "The question, as `approvals` lists it; its first 6 letters are enough.")
_APPROVALS = Command(
    "approvals",
    "See the questions that wait for you and answer them, and what you allowed for good.",
    default="list",
    children=(
        Command(
            "list",
            "List the questions that wait in the gateway.",
            handler="openclaw.commands.questions:list_questions",
            options=(Option("recent", "Those that are over instead, the newest first."), JSON),
        ),
        Command(
            "show",
            "Show one question whole.",
            handler="openclaw.commands.questions:show",
            arguments=(_QUESTION,),
            options=(JSON,),
        ),
        Command(
            "answer",
            "Answer one question; the first answer counts.",
            handler="openclaw.commands.questions:answer",
            details="""\
WORD is one of the answers that `approvals show` lists, or allow-once, allow-always, deny, cancel.
Example: openclaw approvals answer q7Hk2dQ allow-once\
""",
            arguments=(_QUESTION, Argument("word", "What you answer.")),
            options=(
                Option("offer", "Which of the offers, when WORD says no more than yes.", value="ID"),
                Option("content", "The fields of a form, as a JSON object.", value="JSON"),
                Option("note", "What a no has to say to the model.", value="TEXT"),
                Option("digest", "Only if the question is still the one with this digest.", value="DIGEST"),
                JSON,
            ),
        ),
        Command(
            "grants",
            "List what you allowed for good.",
            handler="openclaw.commands.approvals:grants",
            options=(JSON,),
        ),
        Command(
            "reading",
            "Choose which tools of servers only read, and run without a question.",
            handler="openclaw.commands.read_tools:reading",
            details="Asked by itself when a server is connected at a terminal; this asks again, and about imported ones.",
            arguments=(
                Argument("names", "The servers; all when left out.", required=False, rest=True, names="server"),
            ),
            options=(AGENT,),
        ),
        Command(
            "revoke",
            "End a grant: the next call is asked about again.",
            handler="openclaw.commands.approvals:revoke",
            arguments=(Argument("id", "The grant, as `approvals grants` lists it.", names="grant"),),
        ),
        Command(
            "explain",
            "Say whether a call would run, be asked about or be refused, and by which rule.",
            handler="openclaw.commands.approvals:explain",
            details="Example: openclaw approvals explain files__write_file path=notes/trip.md",
            arguments=(
                Argument("tool", "The tool, as `tools list` names it.", names="tool"),
                Argument(
                    "words",
                    "Its arguments: key=value …, or one JSON object.",
                    required=False,
                    rest=True,
                    names="argument",
                ),
            ),
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

_MODELS = Command(
    "models",
    "List models, try whether they answer, and choose one.",
    default="list",
    children=(
        Command(
            "list",
            "List the models in use, and those that vendors say they have.",
            handler="openclaw.commands.models:list_models",
            arguments=(Argument("vendor", "Of this vendor alone, all of them.", required=False, names="vendor"),),
            options=(JSON,),
        ),
        Command(
            "test",
            "Ask a model for one word, and say how long it took or what is wrong.",
            handler="openclaw.commands.models:test",
            arguments=(
                Argument(
                    "models",
                    "As vendor/model; those that agents use when left out.",
                    required=False,
                    rest=True,
                    names="model",
                ),
            ),
            options=(JSON,),
        ),
        Command(
            "set",
            "Choose the model that agents use; its vendor is asked whether it has it.",
            handler="openclaw.commands.models:set_model",
            arguments=(Argument("model", "As vendor/model.", names="model"),),
            options=(
                Option("agent", "For this agent alone.", value="ID", names="agent"),
                Option("yes", "Also when the vendor has no such model."),
                JSON,
            ),
        ),
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

# The commands that belong to no surface.
COMMANDS: tuple[Command, ...] = (
    _AGENT,
    Command(
        "status",
        "Show config, model, agents and servers at a glance.",
        handler="openclaw.commands.status:run",
        options=(JSON,),
    ),
    Command(
        "doctor",
        "Check everything and say how to fix what is wrong.",
        handler="openclaw.commands.doctor:run",
        details="""\
Every server is started if it does not run, and asked; one that hangs takes as long as it may take to connect. The model of each agent
is asked for one word.\
""",
        options=(Option("offline", "Ask no server and no model."), JSON),
    ),
    _SESSIONS,
    _STORE,
    _FLEET,
    _CONFIG,
    _TOOLS,
    _SKILLS,
    _APPROVALS,
    MCP,
    _MODELS,
    _SECRETS,
    _AUDIT,
    Command(
        "completion",
        "Print a completion script for your shell, or the manual page.",
        handler="openclaw.commands.completion:run",
        details="""\
Example: eval "$(openclaw completion bash)"
The manual page: openclaw completion man | man -l -\
""",
        arguments=(
            Argument("shell", "Your shell; `man` for the manual page.", choices=("bash", "zsh", "fish", "man")),
        ),
        local=True,
    ),
    Command(
        "complete",
        "Print how a command line may go on.",
        handler="openclaw.commands.completion:complete",
        details="What completion scripts run at every Tab: `openclaw complete -- zsh WORDS …`, the last word being typed.",
        arguments=(Argument("words", "The shell, and what it says of the line.", rest=True),),
        hidden=True,
    ),
)


# What people type first comes first.
ORDER = (
    *("setup", "agent", "chat", "demo", "status", "doctor", "gateway", "sessions", "models", "keys", "config"),
    *("tools", "store", "fleet", "skills", "approvals", "mcp", "mcp-server", "secrets", "audit", "completion"),
)


def tree(*more: Command) -> Command:
    """The whole tree: `more` are the commands of surfaces. Each stands where `ORDER` has it; one that is not in there comes last."""
    place = {name: number for number, name in enumerate(ORDER)}
    children = sorted((*more, *COMMANDS, *FIRST_WORDS), key=lambda command: place.get(command.name, len(ORDER)))
    return Command(
        "openclaw",
        "A personal agent whose tools come from any MCP server.",
        details="Start with: openclaw demo, or set it up: openclaw setup",
        children=tuple(children),
    )
