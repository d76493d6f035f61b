"""A server that is used once and kept nowhere, as a command names it (once.py).

Owns the consent before its program is run, as for `mcp connect`. It is tried beside the servers of the config (trial.py); no entry is
written, and its tools are taken as they are listed.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openclaw.commands.dispatch import Context
from openclaw.commands.once import Once
from openclaw.commands.parse import Parsed
from openclaw.commands.trial import Trial, show_last_lines, trial, why_not
from openclaw.commands.typed_server import Entry, consent, entry_of, name_for, pairs_of
from openclaw.config.agents import agent as agent_spec
from openclaw.config.servers import read_server
from openclaw.config.variables import expand
from openclaw.engine import Engine
from openclaw.errors import OpenClawError, UsageError
from openclaw.log import one_line


@asynccontextmanager
async def opened_once(context: Context, parsed: Parsed, asked: Once) -> AsyncIterator[tuple[Engine, Trial, str]]:
    """The server, up and listed. Raises OpenClawError when it does not come up, or nobody agreed to running it."""
    entry = _as_typed(entry_of(context, parsed, asked.words, verb="run"))
    if "command" in entry and not parsed.flag("yes"):
        variables = list(pairs_of(parsed, "env"))
        if not await consent(context, asked.words, variables, when="once", question="Run it?"):
            raise OpenClawError("It was not run.")
    name = name_for(asked.words)
    settings = {"cwd": str(context.cwd)} if "command" in entry else {}
    # There is no entry that a person could say of what they think of its next version.
    spec = read_server(name, {**entry, **settings, "trust": "follow"})
    async with context.open_engine() as engine:
        agent = agent_spec(engine.config, parsed.text("agent")).id
        async with trial(engine, spec, agent) as tried:
            status = await tried.attempt()
            if status.state == "needs-auth":
                raise OpenClawError(
                    f"{name} wants a sign-in.", hint=f"Add it and sign in: openclaw mcp connect {asked.command}"
                )
            if status.state != "ready":
                show_last_lines(context.console, await tried.last_lines())
                raise OpenClawError(f"{name} cannot be used: {why_not(status)}")
            yield engine, tried, agent


def _as_typed(entry: Entry) -> Entry:
    """The entry without a file around it, whose variables it could use: `$${` is `${`. Raises UsageError for a variable.

    A gateway may run this, and its variables are not those of who types.
    """

    def plain(value: str, *, bare: bool = False) -> str:
        expanded = expand(value, {}, bare=bare)
        if expanded.missing:
            name = one_line(expanded.missing[0], 60)
            raise UsageError(
                f"${{{name}}} stands for a variable in openclaw.json, and this server is not in it.",
                hint=f'Let your shell put it in: "${name}"',
            )
        return expanded.text

    made: Entry = {}
    for key, value in entry.items():
        if isinstance(value, str):
            made[key] = plain(value)
        elif isinstance(value, list):
            made[key] = [plain(one) for one in value]
        elif isinstance(value, dict):
            made[key] = {name: plain(one, bare=True) for name, one in value.items()}
        else:
            made[key] = value
    return made
