"""The control socket: where terminals of the same user hand in commands.

Owns the listening end (a Unix socket, 0600, in a directory that is ours alone; where there are none, a loopback port whose number and
token stand in a file of the same name and mode), one task for each connection, and what becomes of a command when its terminal leaves.
Commands are run by command_runner.py.
"""

import asyncio
import hmac
import logging
import os
import secrets
import socket
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from openclaw.commands.console import Console
from openclaw.commands.failure import error_json
from openclaw.content import to_json
from openclaw.control import wire
from openclaw.control.socket_client import read_frame
from openclaw.errors import OpenClawError
from openclaw.files import create
from openclaw.gateway.request import CommandRequest, read_request
from openclaw.gateway.terminal import RemoteTerminal

_log = logging.getLogger(__name__)

# Time to say what is wanted; the stub does it in the first packet.
REQUEST_TIMEOUT = 5.0
_TOKEN_BYTES = 32
_BACKLOG = 128
# What is asked of the gateway itself.
_ASKED = (wire.STATUS, wire.STOP, wire.DRAIN, wire.TICKET, wire.REVOKE)


class Runner(Protocol):
    """Runs the commands that come in. None of these raise."""

    def refusal(self, request: CommandRequest) -> str | None:
        """Why the terminal has to run a command itself: a sentence for the person, or an empty one; None when it is run here."""
        ...

    async def run(self, request: CommandRequest, console: Console) -> int: ...

    async def status(self) -> Mapping[str, Any]: ...

    def stop(self) -> None: ...

    def drain(self, limit: float, grace: float) -> None:
        """Stop when what runs has ended, at the latest after `limit` seconds."""
        ...

    async def page(self, *, revoke: bool) -> Mapping[str, Any]:
        """A ticket for the page, or the end of all that are signed in."""
        ...


class ControlServer:
    """`unix` is false where Unix sockets are not to be had."""

    def __init__(self, place: Path, runner: Runner, *, unix: bool = sys.platform != "win32") -> None:
        self._place = place
        self._runner = runner
        self._unix = unix
        self._token = b"" if unix else secrets.token_hex(_TOKEN_BYTES).encode()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        # Commands that run now.
        self.busy = 0

    async def start(self) -> None:
        """Raises OpenClawError when others could reach the socket, or it cannot be made."""
        own_directory(self._place.parent)
        try:
            listener = self._listen()
        except OSError as error:
            raise OpenClawError(f"The control socket {self._place} cannot be made: {error.strerror}.") from error
        self._server = await asyncio.start_server(self._accept, sock=listener)

    def _listen(self) -> socket.socket:
        # A socket that is there belongs to a gateway that has ended: its lock is ours now.
        self._place.unlink(missing_ok=True)
        if sys.platform != "win32" and self._unix:
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(str(self._place))
            os.chmod(self._place, 0o600)
        else:
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            listener.bind(("127.0.0.1", 0))
            create(self._place, [b"%d %s\n" % (listener.getsockname()[1], self._token)])
        listener.listen(_BACKLOG)
        listener.setblocking(False)
        return listener

    def leave(self) -> None:
        """Take no more connections; those there are go on."""
        if self._server is not None:
            self._server.close()
            self._server = None
            self._place.unlink(missing_ok=True)

    async def finish(self, patience: float) -> None:
        """Wait for the commands that run, then end those that still do."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=patience)
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT):
                kind, payload = await read_frame(reader)
            request = read_request(payload)
            if kind == wire.RUN:
                await self._run(request, reader, writer)
            elif request is not None and self._is_ours(request) and kind in _ASKED:
                told = await self._told(kind)
                writer.write(wire.frame(wire.DATA, to_json(told)))
                await writer.drain()
                if kind == wire.STOP:
                    self._runner.stop()
                elif kind == wire.DRAIN:
                    limit, grace = map(float, request.words)
                    self._runner.drain(limit, grace)
        except (OSError, EOFError, ValueError, TimeoutError):
            # The other end left, or does not speak our language: nobody is there to be told.
            pass
        except Exception:
            _log.exception("A connection to the control socket failed.")
        finally:
            writer.close()

    async def _told(self, kind: bytes) -> Mapping[str, Any]:
        if kind == wire.STATUS:
            return await self._runner.status()
        if kind in (wire.STOP, wire.DRAIN):
            return {"pid": os.getpid()}
        return await self._runner.page(revoke=kind == wire.REVOKE)

    def _is_ours(self, request: CommandRequest) -> bool:
        return hmac.compare_digest(request.token, self._token)

    async def _run(
        self, request: CommandRequest | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if request is None or not self._is_ours(request):
            refusal: str | None = ""
        else:
            refusal = self._runner.refusal(request)
        if request is None or refusal is not None:
            writer.write(wire.frame(wire.LOCAL, (refusal or "").encode()))
            await writer.drain()
            return
        writer.write(wire.frame(wire.TAKEN))
        async with asyncio.timeout(REQUEST_TIMEOUT):
            if (await read_frame(reader))[0] != wire.GO:
                return
        terminal = RemoteTerminal(reader, writer, request.kinds)
        console = terminal.console(request)
        work = asyncio.get_running_loop().create_task(self._runner.run(request, console))
        listening = asyncio.get_running_loop().create_task(terminal.listen(work.cancel))
        self.busy += 1
        try:
            code = await _outcome(work, console, as_json="--json" in request.words)
            await terminal.exit(code)
        finally:
            self.busy -= 1
            listening.cancel()
            work.cancel()
            await asyncio.gather(listening, work, return_exceptions=True)


async def _outcome(work: "asyncio.Task[int]", console: Console, *, as_json: bool) -> int:
    """How the command ended: by itself, interrupted by its person, or because the gateway stops."""
    try:
        return await work
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or not task.cancelling():
            return wire.INTERRUPTED
        task.uncancel()
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        error = OpenClawError("The gateway is stopping; the command was ended.")
        if as_json:
            console.out(to_json(error_json(error)).decode() + "\n")
        else:
            console.note(f"error: {error}")
        return error.exit_code


def own_directory(path: Path) -> None:
    """Make the directory of the socket, private to this user. Raises OpenClawError when it belongs, or may belong, to another one."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = os.lstat(path)
    except OSError as error:
        raise OpenClawError(f"The directory {path} cannot be made: {error.strerror}.") from error
    if sys.platform == "win32":
        # A new one lets nobody else in: since 3.11.10 Python makes a directory of mode 0700 so there, too.
        return
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        hint = "Remove it, or set XDG_RUNTIME_DIR to a directory of your own."
        raise OpenClawError(f"{path} is not a directory of ours; a control socket in it could be another's.", hint=hint)
    if found.st_mode & 0o077:
        os.chmod(path, 0o700)
