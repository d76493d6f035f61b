"""What a person at a terminal is told of the servers of an agent: one line each, once, in words and without log levels.

Owns which facts are worth a line (a sign-in that is needed, a server that was given up, a credential in plain sight) and what each terminal
has been told. What else happens to servers is in the log, and in `openclaw mcp servers`.
"""

import shlex
from collections.abc import Mapping, Sequence

from openclaw.commands.console import Console
from openclaw.engine import Engine
from openclaw.mcp.status import ServerStatus
from openclaw.secrets.plaintext import server_warnings
from openclaw.security.external import clean_terminal

# Terminals whose lines a gateway remembers; a chat that is older than so many others may be told something twice.
MOST_TERMINALS = 256


class ToldBook:
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


def worth_telling(found: Sequence[ServerStatus], careless: Mapping[str, Sequence[str]]) -> list[str]:
    """One line for each fact. `careless` is what there is to say about servers' credentials, by their names."""
    lines = [f"{text}." for one in found for text in careless.get(one.name, ())]
    for one in found:
        if one.state == "needs-auth":
            lines.append(one.reason or f"MCP server '{one.name}' needs a sign-in.")
        elif one.state == "failed":
            again = f"`openclaw mcp refresh {shlex.quote(one.name)}` starts it again."
            lines.append(f"MCP server '{one.name}' was given up: {one.reason.removesuffix('.')}. {again}")
    return lines


async def tell(console: Console, engine: Engine, agent: str, told: set[str], *, answer: str = "") -> None:
    """Say what this terminal was not told yet, and what the answer does not say anyway."""
    found = (await engine.manager()).status(agent)
    for line in worth_telling(found, server_warnings(engine.config)):
        if line not in told:
            told.add(line)
            if line not in answer:
                console.note(console.dim(clean_terminal(line)))
