"""The client's own files and terminals, as the editor that tools may work through (`conversation.Editor`).

Owns the requests for them and their endings: a terminal is released however its program ended. What a client did not declare is not asked
of it, and an answer that is an error means that the tool does the work itself, as does a file that was taken and is not there afterwards. A
program that was started is never started again.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import UNSET

from openclaw.acp import wire
from openclaw.acp.connection import Connection, RequestError
from openclaw.conversation import Ran

_log = logging.getLogger(__name__)

# Seconds for an editor to give or take a file, to open a terminal, and for the last words of one that is ended.
_FILE = 30.0
_OPENING = 30.0
_LAST = 5.0


def can_work(client: wire.ClientCapabilities) -> bool:
    """Whether there is anything that a tool could have done by this client."""
    return client.reads_files or client.writes_files or client.terminal


class ClientEditor:
    """`show` sends an update of the session."""

    def __init__(
        self,
        connection: Connection,
        session: str,
        client: wire.ClientCapabilities,
        show: Callable[[wire.Update], None],
    ) -> None:
        self._connection = connection
        self._session = session
        self._client = client
        self._show = show

    async def read(self, path: str, *, line: int = 1, limit: int | None = None) -> str | None:
        if not self._client.reads_files:
            return None
        window: Any = (line, limit) if line > 1 or limit is not None else (UNSET, UNSET)
        try:
            async with asyncio.timeout(_FILE):
                asked = wire.ReadTextFile(self._session, path, *window)
                return (await self._connection.request("fs/read_text_file", asked, wire.FileText)).content
        except (RequestError, TimeoutError) as error:
            _log.debug("the editor does not give a file: %s", error)
            return None

    async def write(self, path: str, text: str) -> bool:
        if not self._client.writes_files:
            return False
        try:
            async with asyncio.timeout(_FILE):
                asked = wire.WriteTextFile(self._session, path, text)
                await self._connection.request("fs/write_text_file", asked, Any)
        except (RequestError, TimeoutError) as error:
            _log.info("the editor does not write a file: %s", error)
            return False
        # Some clients say yes to everything. One that has written the file can give its first line.
        return not self._client.reads_files or await self.read(path, limit=1) is not None

    async def run(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: str, timeout: float, most_bytes: int, call: str
    ) -> Ran | None:
        if not self._client.terminal:
            return None
        program, *arguments = command
        pairs = [wire.Pair(name, value) for name, value in env.items()]
        asked = wire.CreateTerminal(self._session, program, arguments, pairs, cwd, most_bytes)
        try:
            async with asyncio.timeout(_OPENING):
                made = await self._connection.request("terminal/create", asked, wire.CreatedTerminal)
        except TimeoutError:
            # It may start the program yet.
            return Ran(f"[The editor did not open a terminal within {_OPENING:g} seconds.]")
        except RequestError as error:
            _log.info("the editor opens no terminal: %s", error)
            return None
        terminal = _Terminal(self._connection, wire.NamedTerminal(self._session, made.terminal_id))
        self._show(wire.ToolCallUpdate(call, status="in_progress", content=[wire.Terminal(made.terminal_id)]))
        try:
            return await terminal.ran(timeout)
        finally:
            # Also when the call was cancelled: nobody else would.
            await asyncio.shield(terminal.release())


class _Terminal:
    def __init__(self, connection: Connection, named: wire.NamedTerminal) -> None:
        self._connection = connection
        self._named = named
        self._is_running = True

    async def ran(self, timeout: float) -> Ran:
        """Wait for the end, or end it when its time is over. What it printed is asked for in any case."""
        status, timed_out = wire.ExitStatus(), False
        try:
            async with asyncio.timeout(timeout):
                status = await self._ask("wait_for_exit", wire.ExitStatus)
                self._is_running = False
        except TimeoutError:
            timed_out = True
            await self._quietly("kill")
        except RequestError as error:
            return Ran(f"[The editor lost the program: {error.message}]", place=self._named.terminal_id)
        try:
            async with asyncio.timeout(_LAST):
                output = await self._ask("output", wire.TerminalOutput)
        except (RequestError, TimeoutError):
            output = wire.TerminalOutput("[The editor did not give what it printed.]")
        place = self._named.terminal_id
        return Ran(output.output, status.exit_code, status.signal or "", timed_out, output.truncated, place)

    async def release(self) -> None:
        if self._is_running:
            await self._quietly("kill")
        await self._quietly("release")

    async def _quietly(self, what: str) -> None:
        try:
            async with asyncio.timeout(_LAST):
                await self._ask(what, Any)
        except (RequestError, TimeoutError) as error:
            _log.debug("terminal/%s: %s", what, error)

    async def _ask(self, what: str, kind: Any) -> Any:
        return await self._connection.request(f"terminal/{what}", self._named, kind)
