"""Notices about the servers of an agent for the person at a terminal: one line each, once, in words and without log levels.

Owns which facts are worth a line (a sign-in that is needed, a server that is down or not started, tools that are held back, a credential in
plain sight) and what each terminal has been told. What else happens to servers is in the log, and in `openclaw mcp servers`.
"""

from collections.abc import Collection, Mapping, Sequence

from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context, Surface
from openclaw.engine import Engine
from openclaw.mcp.status import ServerStatus
from openclaw.mcp.wording import held_back_by, in_chat, next_step, trouble
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


def worth_telling(
    found: Sequence[ServerStatus], careless: Mapping[str, Sequence[str]], but: Collection[str] = ()
) -> list[str]:
    """One line for each fact, with what to do. `careless` is what there is to say about servers' credentials, by their names. What is wrong
    with those named in `but` was said already."""
    lines = [f"{text}." for one in found for text in careless.get(one.name, ())]
    # One that is stopped is so by a person's word, or until it is needed.
    troubled = [one for one in found if one.name not in but and one.state != "stopped"]
    lines += [f"{said} {next_step(one)}".rstrip() for one in troubled if (said := trouble(one))]
    return lines + [said for one in found if (said := held_back_by(one))]


async def tell(
    context: Context, engine: Engine, agent: str, told: set[str], *, answer: str = "", but: Collection[str] = ()
) -> None:
    """Say what this terminal was not told yet, and what the answer does not say anyway. Of servers in `but` it was said without which."""
    found = (await engine.manager()).status(agent)
    for line in worth_telling(found, server_warnings(engine.config), but):
        if line not in told:
            told.add(line)
            if line not in answer:
                say(context.console, line, context.surface)


def say(console: Console, line: str, surface: Surface) -> None:
    """One line about a server, with its commands as they are typed where the person is."""
    console.note(console.dim(clean_terminal(in_chat(line) if surface == "chat" else line)))
