"""A server that is tried before anybody keeps it: run beside those of the config, for one command alone.

Owns what a trial says when it fails: why, the last lines that the program wrote, and the one next step. It runs like the servers that a
session is given (`Engine.give_servers`), so that a config which names the same server a moment later takes over what runs.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from secrets import token_hex

import msgspec

from openclaw.commands.console import Console
from openclaw.config.servers import ServerSpec, engine_enabled
from openclaw.engine import Engine
from openclaw.errors import OpenClawError, UsageError
from openclaw.mcp.server.server import LiveServer
from openclaw.mcp.status import ServerStatus
from openclaw.mcp.view import View
from openclaw.security.external import clean_label

# Lines of a program that failed: enough for a sentence and where it comes from.
LAST_LINES = 5
_LONGEST_LINE = 300
_MOST_INDENTED = 8
_SWITCHED_OFF = "MCP servers are switched off: plugins.entries.mcp-client.enabled is false."


class Trial(msgspec.Struct, frozen=True):
    """One server that runs for this command. `spec` is as the config would have it."""

    engine: Engine
    spec: ServerSpec
    view: View
    began: float

    @property
    def server(self) -> LiveServer:
        return self.view.servers[self.spec.name]

    @property
    def status(self) -> ServerStatus:
        return self.view.status(self.spec)

    async def attempt(self) -> ServerStatus:
        """Wait for the one attempt that began with the trial, and for the list of tools. How it stands then."""
        readiness = (await self.engine.manager()).readiness
        with suppress(OpenClawError):
            # Its status says why.
            await self.server.client(since=0)
            await readiness.until(lambda: not self.server.is_starting)
        return self.status

    async def again(self) -> ServerStatus:
        """Another attempt: somebody has signed in."""
        with suppress(OpenClawError):
            await self.server.refresh()
        return self.status

    async def last_lines(self) -> list[str]:
        """What the program wrote last, since it was tried."""
        if not self.spec.facts.is_process:
            return []
        book = (await self.engine.manager()).stderr_log
        lines = await asyncio.to_thread(book.tail, self.server.spec, LAST_LINES)
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.began))
        told = (line.partition(" ") for line in lines)
        # One that goes away when it is greeted is greeted again in an older way, and says the same again.
        return list(dict.fromkeys(_as_indented(words) for stamp, _, words in told if stamp >= since))


def _as_indented(line: str) -> str:
    """A line of a program: in a traceback its indentation tells what is what."""
    indentation = len(line) - len(line.lstrip(" "))
    return " " * min(indentation, _MOST_INDENTED) + clean_label(line, _LONGEST_LINE)


@asynccontextmanager
async def trial(engine: Engine, spec: ServerSpec, agent: str) -> AsyncIterator[Trial]:
    """A server beside those of an agent, until this is left. Raises UsageError when none may run."""
    if not engine_enabled(engine.config):
        raise UsageError(_SWITCHED_OFF)
    # No conversation has such a key.
    session = f"agent:{agent}:trial:{token_hex(8)}"
    began = time.time()
    await engine.give_servers(session, agent, [spec], may_use_secrets=True)
    try:
        given = engine.session_servers(session)
        assert given is not None  # it was given a line above
        assert given.view is not None
        yield Trial(engine, spec, given.view, began)
    finally:
        await engine.remove_servers(session)


def show_last_lines(console: Console, lines: Sequence[str]) -> None:
    if lines:
        console.note("It wrote:")
    for line in lines:
        console.note(console.dim(f"  {line}"))


def works(status: ServerStatus) -> bool:
    """Whether a server is worth keeping: it is up, or would be if somebody signed in."""
    return status.state in ("ready", "needs-auth")


def why_not(status: ServerStatus) -> str:
    """Why it is not, in a sentence without a command: those are about servers that are kept."""
    said = status.reason or f"It is {status.state}."
    return said if said.endswith((".", "?", "!")) else f"{said}."
