"""The commands of the gateway, as data."""

from openclaw.commands.options import JSON
from openclaw.commands.parse import Command

_GATEWAY = Command(
    "gateway",
    "Run the long-lived OpenClaw that keeps servers warm and answers in milliseconds.",
    default="status",
    children=(
        Command("run", "Run it in this terminal.", handler="openclaw.gateway.command:run", local=True),
        Command("start", "Start it as a process of its own.", handler="openclaw.gateway.command:start", local=True),
        Command("stop", "Let running calls finish, then stop it.", handler="openclaw.gateway.command:stop", local=True),
        Command("restart", "Stop it and start it again.", handler="openclaw.gateway.command:restart", local=True),
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
    ),
)

COMMANDS = (_GATEWAY,)
