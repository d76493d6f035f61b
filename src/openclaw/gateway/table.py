"""The commands of the gateway, as data."""

from openclaw.commands.options import JSON
from openclaw.commands.other_words import GATEWAY_WORDS
from openclaw.commands.parse import Command, Option


def _command(name: str, summary: str) -> Command:
    return Command(name, summary, handler=f"openclaw.gateway.command:{name}", options=(JSON,), local=True)


_GATEWAY = Command(
    "gateway",
    "Run the long-lived OpenClaw that keeps servers warm and answers in milliseconds.",
    default="status",
    children=(
        Command("run", "Run it in this terminal.", handler="openclaw.gateway.command:run", local=True, stays=True),
        _command("start", "Start it as a process of its own; no error when it runs already."),
        Command(
            "stop",
            "Let running calls finish, then stop it.",
            handler="openclaw.gateway.command:stop",
            options=(
                Option(
                    "drain", "Take no more work, finish all turns, runs and calls, hand over what it holds, then stop."
                ),
                Option(
                    "within",
                    "With --drain: cut off what still runs after so long; 300 when left out.",
                    "SECONDS",
                    kind="float",
                ),
                Option(
                    "grace",
                    "With --drain: take what still comes for so long (part of --within); 5 in a fleet, else 0.",
                    "SECONDS",
                    kind="float",
                ),
                JSON,
            ),
            details="Without --drain what runs has 10 seconds. While it drains, /ready says so, and a balancer sends work elsewhere.",
            local=True,
        ),
        _command("restart", "Stop it and start it again."),
        Command(
            "status",
            "Show whether it runs, since when, and how its servers are.",
            handler="openclaw.gateway.command:status",
            options=(JSON,),
            local=True,
        ),
        Command(
            "install",
            "Write a service that starts it with your session.",
            handler="openclaw.gateway.command:install",
            details="A systemd user unit on Linux, a launchd job on macOS. Nothing is started.",
            local=True,
        ),
        Command(
            "uninstall",
            "Take the service away again.",
            handler="openclaw.gateway.command:uninstall",
            local=True,
        ),
        Command(
            "logs",
            "Show what the gateway wrote to its log.",
            handler="openclaw.gateway.log_command:logs",
            options=(
                Option("follow", "Go on with what it writes, until Ctrl-C.", short="-f"),
                Option("lines", "How many of the last lines; 80 when left out.", value="N", kind="int", short="-n"),
                JSON,
            ),
            local=True,
        ),
        *GATEWAY_WORDS,
    ),
)

_UI = Command(
    "ui",
    "Open the gateway's page in your browser.",
    handler="openclaw.gateway.page_command:ui",
    options=(
        Option("no-open", "Print the address, and open nothing."),
        Option("sign-out", "Sign out every page that is open."),
        JSON,
    ),
    details="The address is good once and for a minute. What it opens stays signed in for up to a week, in that tab.",
    local=True,
)

COMMANDS = (_GATEWAY, _UI)
