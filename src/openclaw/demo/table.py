"""The command of the tour, as data."""

from openclaw.commands.parse import Command

COMMANDS = (
    Command(
        "demo",
        "Take a tour of two minutes: an agent, servers, a crash, a sign-in, an attack.",
        handler="openclaw.demo.command:run",
        details="Everything is real, runs on this machine alone in a temporary folder, and is gone afterwards. Enter goes on.",
        local=True,
        stays=True,
    ),
)
