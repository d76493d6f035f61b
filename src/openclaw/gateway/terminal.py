"""The terminal at the other end of the control socket, as a Console for commands.

Output goes out as it is printed; a question waits for the person there; standard input is read there when a command asks for it. When the
person interrupts, or the terminal goes away, whoever runs the command is told once.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from openclaw.commands.console import Console
from openclaw.control import wire
from openclaw.control.socket_client import read_frame
from openclaw.errors import UsageError
from openclaw.gateway.request import CommandRequest

# An order with everything it may carry (`openclaw order`); past it the caller is told, not the memory filled.
MOST_INPUT = 320 * 1024 * 1024


class RemoteTerminal:
    """Made when a request was accepted; `listen` runs beside the command and ends with the connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._answers: asyncio.Queue[str | None] = asyncio.Queue()
        self._input: asyncio.Queue[bytes] = asyncio.Queue()
        self._is_gone = False
        # What an interruption does for a while instead of ending the command, the latest last.
        self._catchers: list[Callable[[], object]] = []

    def console(self, request: CommandRequest) -> Console:
        return Console(
            out=lambda text: self._print(wire.OUT, text),
            err=lambda text: self._print(wire.ERR, text),
            width=request.width,
            screen=request.screen,
            colour=request.colour,
            interactive=request.interactive,
            ask=self._ask,
            read=self._read,
            flush=self._flush,
            browse=self._browse,
            interruptible=self._interruptible,
        )

    async def listen(self, interrupted: Callable[[], object]) -> None:
        """Hear what the other end says; `interrupted` is called when it wants the command to stop, or is gone."""
        try:
            while True:
                kind, payload = await read_frame(self._reader)
                if kind == wire.CANCEL:
                    (self._catchers[-1] if self._catchers else interrupted)()
                elif kind == wire.ANSWER:
                    line = payload.decode("utf-8", "replace")
                    self._answers.put_nowait(line.strip() if line else None)
                elif kind == wire.INPUT:
                    self._input.put_nowait(payload)
        except (OSError, EOFError, ValueError):
            self._is_gone = True
            self._answers.put_nowait(None)
            self._input.put_nowait(b"")
            interrupted()

    @contextmanager
    def _interruptible(self, act: Callable[[], object]) -> Iterator[None]:
        self._catchers.append(act)
        try:
            yield
        finally:
            self._catchers.remove(act)

    async def exit(self, code: int) -> None:
        """Send the exit code. Everything printed before has arrived when it does."""
        if not self._is_gone:
            self._writer.write(wire.frame(wire.EXIT, str(code).encode()))
            await self._writer.drain()

    def _print(self, kind: bytes, text: str) -> None:
        if self._is_gone:
            return
        data = text.encode("utf-8", "backslashreplace")
        for start in range(0, len(data), wire.PIECE_BYTES):
            self._writer.write(wire.frame(kind, data[start : start + wire.PIECE_BYTES]))

    async def _flush(self) -> None:
        if not self._is_gone:
            await self._writer.drain()

    async def _ask(self, question: str) -> str | None:
        return await self._answered(wire.ASK, question)

    async def _browse(self, address: str) -> bool:
        return bool(await self._answered(wire.BROWSE, address))

    async def _answered(self, kind: bytes, text: str) -> str | None:
        if self._is_gone:
            return None
        self._writer.write(wire.frame(kind, text.encode("utf-8", "backslashreplace")))
        return await self._answers.get()

    async def _read(self) -> str:
        if self._is_gone:
            return ""
        self._writer.write(wire.frame(wire.READ))
        given = bytearray()
        size = 0
        while piece := await self._input.get():
            size += len(piece)
            if size <= MOST_INPUT:
                given += piece
        if size > MOST_INPUT:
            raise UsageError(f"Standard input is {size:,} bytes; a gateway takes {MOST_INPUT:,}.", hint="Try --local.")
        return given.decode("utf-8", "replace")
