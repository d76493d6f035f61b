"""The terminal at the other end of the control socket, as a Console for commands and as an Asker for turns.

Output goes out as it is printed; a question waits for the person there; standard input is read there when a command asks for it. When the
person interrupts, or the terminal goes away, whoever runs the command is told once, and every open question is answered with `cancel`.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from itertools import count

import msgspec

from openclaw.commands.console import Console
from openclaw.commands.screen.live import alive
from openclaw.control import wire
from openclaw.control.questions import MOST_OPEN, checked, question_frame, read_answer
from openclaw.control.socket_client import read_frame
from openclaw.conversation import NO_ANSWER, Answer, Question, QuestionKind
from openclaw.errors import UsageError
from openclaw.gateway.request import CommandRequest, usable_width

# An order with everything it may carry (`openclaw order`); past it the caller is told, not the memory filled.
MOST_INPUT = 320 * 1024 * 1024

# Bytes that wait for the other end to read them, beyond which it is behind: where streams of asyncio have others wait, too.
_MOST_UNSENT = 64 * 1024

_log = logging.getLogger(__name__)


class RemoteTerminal:
    """Made when a request was accepted; `listen` runs beside the command and ends with the connection.

    `kinds` are the questions that can be shown there: nothing else is sent.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kinds: frozenset[str]) -> None:
        self._reader = reader
        self._writer = writer
        self._kinds = kinds
        # By the id that each has on the wire.
        self._open: dict[str, asyncio.Future[Answer]] = {}
        self._ids = map(str, count(1))
        # Addresses on their way to a browser there, by the same ids.
        self._browsing: dict[str, asyncio.Future[bool]] = {}
        self._input: asyncio.Queue[bytes] = asyncio.Queue()
        self._has_left = False
        # What an interruption does for a while instead of ending the command, the latest last.
        self._catchers: list[Callable[[], object]] = []
        self._width = 0
        self._encoding = "utf-8"

    @property
    def _is_gone(self) -> bool:
        """Whether nobody is at the other end: it told so, or what was written last could not be."""
        return self._has_left or self._writer.is_closing()

    def console(self, request: CommandRequest) -> Console:
        self._width = request.width
        self._encoding = "utf-8" if request.utf8 else "ascii"
        return alive(self._console(request))

    def _console(self, request: CommandRequest) -> Console:
        return Console(
            out=lambda text: self._print(wire.OUT, text),
            err=lambda text: self._print(wire.ERR, text),
            width=request.width,
            screen=request.screen,
            colour=request.colour,
            interactive=request.interactive,
            cursor=request.cursor,
            utf8=request.utf8,
            pictures=request.pictures,
            width_now=lambda: self._width,
            asker=self,
            read=self._read,
            piped=self._piped,
            pieces=self._pieces,
            flush=self._flush,
            is_behind=self._is_behind,
            browse=self._browse,
            interruptible=self._interruptible,
            unseen=self._unseen,
        )

    @contextmanager
    def _unseen(self) -> Iterator[None]:
        self._send(wire.UNSEEN, b"1")
        try:
            yield
        finally:
            self._send(wire.UNSEEN)

    async def listen(self, interrupted: Callable[[], object]) -> None:
        """Hear what the other end says; `interrupted` is called when it wants the command to stop, or is gone."""
        try:
            while True:
                kind, payload = await read_frame(self._reader)
                if kind == wire.CANCEL:
                    self._leave_unanswered()
                    (self._catchers[-1] if self._catchers else interrupted)()
                elif kind == wire.ANSWER:
                    self._take_answer(payload)
                elif kind == wire.BROWSED:
                    self._take_browsed(payload)
                elif kind == wire.WIDTH:
                    self._width = usable_width(payload.decode("ascii", "replace"))
                elif kind == wire.INPUT:
                    self._input.put_nowait(payload)
        except (OSError, EOFError, ValueError):
            self._has_left = True
            self._leave_unanswered()
            for opened in self._browsing.values():
                if not opened.done():
                    opened.set_result(False)
            self._input.put_nowait(b"")
            interrupted()

    def can(self, kind: QuestionKind) -> bool:
        return kind in self._kinds and not self._is_gone

    async def ask(self, question: Question) -> Answer:
        if not self.can(question.kind) or len(self._open) >= MOST_OPEN:
            return NO_ANSWER
        number = next(self._ids)
        # A name of a file may hold what no JSON can.
        text = question.text.encode("utf-8", "backslashreplace").decode()
        try:
            frame = question_frame(number, msgspec.structs.replace(question, text=text))
        except (TypeError, ValueError, RecursionError):
            _log.warning("A question could not be asked: it is not JSON.")
            return NO_ANSWER
        answer = self._open[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(frame)
            return checked(question, await answer)
        finally:
            del self._open[number]
            if answer.cancelled():
                self._send(wire.WITHDRAWN, number.encode())

    def _take_answer(self, payload: bytes) -> None:
        given = read_answer(payload)
        answer = self._open.get(given.id) if given is not None else None
        if given is not None and answer is not None and not answer.done():
            answer.set_result(given.answer)

    def _leave_unanswered(self) -> None:
        for number, answer in self._open.items():
            if not answer.done():
                answer.set_result(NO_ANSWER)
                # It may be on its way there.
                self._send(wire.WITHDRAWN, number.encode())

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
        data = text.encode(self._encoding, "backslashreplace")
        for start in range(0, len(data), wire.PIECE_BYTES):
            self._writer.write(wire.frame(kind, data[start : start + wire.PIECE_BYTES]))

    async def _flush(self) -> None:
        if not self._is_gone:
            await self._writer.drain()

    def _is_behind(self) -> bool:
        return not self._is_gone and self._writer.transport.get_write_buffer_size() > _MOST_UNSENT

    async def _browse(self, address: str) -> bool:
        if self._is_gone:
            return False
        number = next(self._ids)
        opened: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._browsing[number] = opened
        try:
            self._send(wire.BROWSE, wire.pack([number.encode(), address.encode("utf-8", "backslashreplace")]))
            return await opened
        finally:
            del self._browsing[number]

    def _take_browsed(self, payload: bytes) -> None:
        number, _, word = payload.partition(b"\0")
        opened = self._browsing.get(number.decode("utf-8", "replace"))
        if opened is not None and not opened.done():
            opened.set_result(bool(word))

    def _send(self, kind: bytes, payload: bytes = b"") -> None:
        if not self._is_gone:
            self._writer.write(wire.frame(kind, payload))

    async def _piped(self, most: int) -> bytes:
        if self._is_gone:
            return b""
        self._send(wire.READ, b"%d" % (most + 1))
        given = bytearray()
        while piece := await self._input.get():
            given += piece
        return bytes(given)

    async def _pieces(self) -> AsyncIterator[bytes]:
        if self._is_gone:
            return
        self._send(wire.READ)
        while piece := await self._input.get():
            yield piece

    async def _read(self) -> str:
        given = bytearray()
        size = 0
        async for piece in self._pieces():
            size += len(piece)
            if size <= MOST_INPUT:
                given += piece
        if size > MOST_INPUT:
            raise UsageError(f"Standard input is {size:,} bytes; a gateway takes {MOST_INPUT:,}.", hint="Try --local.")
        return given.decode("utf-8", "replace")
