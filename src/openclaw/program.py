"""The `openclaw` program as a whole: the commands of every surface that is installed, and those that belong to none.

The only place that names the surfaces. Each of them can be left out: nothing else imports it.
"""

from importlib import import_module

from openclaw.commands.parse import Command
from openclaw.commands.table import tree

# Where each surface lists its commands.
SURFACES = (
    "openclaw.acp.table",
    "openclaw.cli.table",
    "openclaw.demo.table",
    "openclaw.gateway.table",
    "openclaw.mcp_server.table",
)


def _commands(table: str) -> tuple[Command, ...]:
    """Empty for a surface that is not installed."""
    try:
        found: tuple[Command, ...] = import_module(table).COMMANDS
    except ModuleNotFoundError as error:
        if error.name is None or not table.startswith(error.name):
            raise
        return ()
    return found


ROOT = tree(*(command for table in SURFACES for command in _commands(table)))
