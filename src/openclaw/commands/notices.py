"""Notices about the servers of an agent for the person at a terminal: one line each, once, in words and without log levels.

Owns which facts are worth a line (a sign-in that is needed, a server that is down or not started, tools that are held back, a credential in
plain sight) and what each terminal has been told. What else happens to servers is in the log, and in `openclaw mcp servers`.
"""

from collections.abc import Collection, Mapping, Sequence

from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context, Surface
from openclaw.engine import Engine
from openclaw.mcp.remedies import CHAT, SHELL, CommandPrefix
from openclaw.mcp.status import ServerStatus
from openclaw.mcp.wording import held_back_by, next_step, trouble
from openclaw.secrets.plaintext import server_warnings
from openclaw.security.external import clean_terminal

# Terminals whose lines a gateway remembers; a chat that is older than so many others may be told something twice.
MOST_TERMINALS = 256


class ShownNotices:
    """The lines that each terminal has been told, by the name it gave itself."""

    def __init__(self) -> None:
        self._told: dict[str, set[str]] = {}

    def of(self, terminal: str) -> set[str]:
        """An empty set for a terminal that was not heard of before, or gave no name."""
        if not terminal:
            return set()
        if terminal not in self._told and len(self._told) >= MOST_TERMINALS:
            del self._told[next(iter(self._told))]
        return self._told.setdefault(terminal, set())


def prefix_on(surface: Surface) -> CommandPrefix:
    """How commands about a server begin where the person is."""
    return CHAT if surface == "chat" else SHELL


def worth_telling(
    found: Sequence[ServerStatus],
    careless: Mapping[str, Sequence[str]],
    but: Collection[str] = (),
    prefix: CommandPrefix = SHELL,
) -> list[str]:
    """One line for each fact, with what to do. `careless` is what there is to say about servers' credentials, by their names. What is wrong
    with those named in `but` was said already. Commands begin with `prefix`."""
    lines = [f"{text}." for one in found for text in careless.get(one.name, ())]
    # One that is stopped is so by a person's word, or until it is needed.
    troubled = [one for one in found if one.name not in but and one.state != "stopped"]
    lines += [f"{said} {next_step(one, prefix)}".rstrip() for one in troubled if (said := trouble(one, prefix))]
    return lines + [said for one in found if (said := held_back_by(one, prefix))]


async def tell(
    context: Context, engine: Engine, agent: str, told: set[str], *, answer: str = "", but: Collection[str] = ()
) -> None:
    """Say what this terminal was not told yet, and what the answer does not say anyway. Of servers in `but` it was said without which."""
    found = (await engine.manager()).status(agent)
    careless = server_warnings(engine.config)
    typed_here = worth_telling(found, careless, but, prefix_on(context.surface))
    # What was told is remembered with commands as they are typed in a shell, and so does an answer name them.
    for line, shown in zip(worth_telling(found, careless, but), typed_here, strict=True):
        if line not in told:
            told.add(line)
            if line not in answer:
                say(context.console, shown)


def say(console: Console, line: str) -> None:
    """One line about a server."""
    console.note(console.dim(clean_terminal(line)))
