"""A server that is used once and kept nowhere: `openclaw mcp call URL TOOL …`, `--stdio "PROGRAM …"`, and `mcp tools` of the same.

Owns which words of a command name such a server, and the consent before its program is run, as for `mcp connect`. It is tried beside the
servers of the config (trial.py); no entry is written, and its tools are taken as they are listed.
"""

import shlex
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec

from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.commands.trial import Trial, show_last_lines, trial, why_not
from openclaw.commands.typed_server import Entry, consent, entry_of, is_address, name_for, pairs_of
from openclaw.config.agents import agent as agent_spec
from openclaw.config.servers import read_server
from openclaw.config.variables import expand
from openclaw.engine import Engine
from openclaw.errors import OpenClawError, UsageError
from openclaw.log import one_line
from openclaw.mcp.tools.registry import ToolEntry


class Once(msgspec.Struct, frozen=True):
    """`words` are the address, or the program and its arguments; `rest` is what was typed after them."""

    words: tuple[str, ...]
    rest: tuple[str, ...]

    @property
    def command(self) -> str:
        """How it is named in a command line, for one more of them."""
        return (
            shlex.quote(self.words[0])
            if is_address(self.words[0])
            else f"--stdio {shlex.quote(shlex.join(self.words))}"
        )

    @property
    def tool_words(self) -> tuple[str, ...]:
        """The tool, and its arguments. Raises UsageError when none is named."""
        if not self.rest or not self.rest[0]:
            raise UsageError("Which tool? None is named.", hint=f"List them: openclaw mcp tools {self.command}")
        return self.rest


def once(program: str, typed: Sequence[str]) -> Once | None:
    """The server that a command names by itself; None when it names one of the config. Raises UsageError."""
    if program:
        try:
            words = tuple(shlex.split(program))
        except ValueError:
            raise UsageError("--stdio: a quote is not closed.") from None
        if not words:
            raise UsageError("--stdio needs a program.", hint='As in: --stdio "npx -y NAME"')
        return Once(words, tuple(typed))
    if typed and is_address(typed[0]):
        return Once((typed[0],), tuple(typed[1:]))
    return None


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
                await show_last_lines(context.console, tried)
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


def named_in(entries: Sequence[ToolEntry], tool: str) -> ToolEntry | None:
    """A tool by the name that its server gives it, or by the one it would have in the config."""
    return next((one for one in entries if tool in (one.definition.name, one.name)), None)
