"""An order handed to a running gateway: it runs the command `openclaw order` there, with the order on its standard input.

Owns our end of that conversation (`control/wire.py`) as a terminal nobody sits at: what the gateway asks goes to the `asker` of the order's
listener, and the gateway is told what that one can show: nothing where nobody is. Until the gateway has been told to go, any trouble means
that the order is carried out here instead; from then on the gateway has it, whatever happens: nothing is done twice. Leaving, by being
cancelled, ends the command there.
"""

import asyncio
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from openclaw.config import plain_paths
from openclaw.control import wire
from openclaw.control.questions import OpenQuestion, answer_frame, read_question
from openclaw.control.socket_client import connect, read_frame
from openclaw.conversation import NO_ANSWER, QUESTION_KINDS, Asker
from openclaw.mcp_server.dialogue import failure
from openclaw.mcp_server.order import Order, written
from openclaw.mcp_server.public import clean
from openclaw.mcp_server.server import OrderListener
from openclaw.version import __version__

_WIDTH = b"80"

_log = logging.getLogger(__name__)


class Sender(msgspec.Struct, frozen=True):
    """On whose behalf an order is forwarded: our environment and directory, and what the command line chose."""

    env: Mapping[str, str]
    cwd: Path
    agent: str
    config: str


async def forward(
    order: Order, version: str, listener: OrderListener, *, gateway: Path, sender: Sender
) -> dict[str, Any] | None:
    """The result of the order; None when the gateway at that address does not take it.

    The gateway sends the questions that the listener's asker can show, and no others.
    """
    try:
        async with asyncio.timeout(wire.ANSWER_TIMEOUT):
            reader, writer, token = await connect(gateway)
    except (OSError, ValueError, TimeoutError):
        return None
    try:
        if not await _is_taken(reader, writer, _request(sender, token, version, order, listener.asker)):
            return None
        try:
            async with _Questions(listener.asker, writer) as questions:
                return await _ForwardedOrder(reader, writer, order, listener, questions).result()
        except (OSError, EOFError, ValueError):
            return failure("The gateway ended while it carried out the order. `openclaw gateway status` says more.")
    finally:
        writer.close()


def _request(sender: Sender, token: bytes, version: str, order: Order, asker: Asker) -> bytes:
    words = ["order", "--revision", version, *(["--agent", sender.agent] if sender.agent else [])]
    words += ["--waited", f"{order.waited:.3f}"] if order.waited else []
    for name, value in order.caller.items():
        words += [f"--{name}", value]
    state, config = (
        plain_paths.state_dir(sender.env),
        plain_paths.config_file(sender.env, sender.config, str(sender.cwd)),
    )
    return wire.request(
        token,
        version=__version__.encode(),
        state_dir=os.fsencode(state),
        config_file=os.fsencode(config),
        cwd=os.fsencode(sender.cwd),
        width=_WIDTH,
        kinds=" ".join(kind for kind in QUESTION_KINDS if asker.can(kind)).encode(),
        words=[os.fsencode(word) for word in words],
    )


async def _is_taken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bool:
    try:
        async with asyncio.timeout(wire.ANSWER_TIMEOUT):
            writer.write(wire.frame(wire.RUN, request))
            kind, why = await read_frame(reader)
    except (OSError, EOFError, ValueError, TimeoutError):
        return False
    if why:
        _log.warning("%s", why.decode("utf-8", "replace"))
    if kind == wire.TAKEN:
        writer.write(wire.frame(wire.GO))
    return kind == wire.TAKEN


class _Questions:
    """What the gateway asks about an order while it is carried out there; an async context manager, which takes back what is still open."""

    def __init__(self, asker: Asker, writer: asyncio.StreamWriter) -> None:
        self._asker = asker
        self._writer = writer
        self._open: dict[str, asyncio.Task[None]] = {}

    async def __aenter__(self) -> "_Questions":
        return self

    async def __aexit__(self, *exc: object) -> None:
        tasks = tuple(self._open.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def ask(self, payload: bytes) -> None:
        """A QUESTION that arrived."""
        asked = read_question(payload)
        if asked is not None:
            task = self._open[asked.id] = asyncio.get_running_loop().create_task(self._answer(asked))
            task.add_done_callback(lambda _: self._open.pop(asked.id, None))

    def withdraw(self, payload: bytes) -> None:
        if (task := self._open.get(payload.decode())) is not None:
            task.cancel()

    async def _answer(self, asked: OpenQuestion) -> None:
        answer = NO_ANSWER
        try:
            if self._asker.can(asked.question.kind):
                answer = await self._asker.ask(asked.question)
        except Exception:
            # The gateway waits for an answer as long as nobody takes the question back: it hears that nobody is there.
            _log.exception("A question of the gateway cannot be asked.")
        self._writer.write(answer_frame(asked.id, answer))


class _ForwardedOrder:
    """An order while the gateway carries it out. What comes back is JSON lines (`command.py` says which)."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        order: Order,
        listener: OrderListener,
        questions: _Questions,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._order = order
        self._listener = listener
        self._questions = questions
        self._pieces: list[bytes] = []
        self._errors = b""
        self._result: dict[str, Any] | None = None

    async def result(self) -> dict[str, Any]:
        """Raises OSError, EOFError or ValueError when the gateway leaves."""
        while True:
            kind, payload = await read_frame(self._reader)
            if kind == wire.OUT:
                self._take(payload)
            elif kind == wire.ERR:
                self._errors += payload
            elif kind == wire.READ:
                await self._give()
            elif kind == wire.QUESTION:
                self._questions.ask(payload)
            elif kind == wire.WITHDRAWN:
                self._questions.withdraw(payload)
            elif kind == wire.BROWSE:
                # There is no screen here.
                number = payload.partition(b"\0")[0]
                self._writer.write(wire.frame(wire.BROWSED, wire.pack([number, b""])))
            elif kind == wire.EXIT:
                return self._result or failure(self._why())

    def _take(self, piece: bytes) -> None:
        *ended, rest = piece.split(b"\n")
        for end in ended:
            line = msgspec.json.decode(b"".join((*self._pieces, end)), type=dict[str, Any])
            self._pieces.clear()
            if "result" in line:
                self._result = line["result"]
            elif "session" in line:
                self._listener.joined(str(line["session"]))
            else:
                self._listener.tell(str(line.get("progress", "")))
        if rest:
            self._pieces.append(rest)

    async def _give(self) -> None:
        given = written(self._order)
        # The gateway has it from here on: nothing is done twice, so nobody needs these any more.
        self._order.images.clear()
        self._order.files.clear()
        for start in range(0, len(given), wire.PIECE_BYTES):
            self._writer.write(wire.frame(wire.INPUT, given[start : start + wire.PIECE_BYTES]))
            await self._writer.drain()
        self._writer.write(wire.frame(wire.INPUT))

    def _why(self) -> str:
        said = clean(self._errors.decode("utf-8", "replace")).strip().removeprefix("error: ")
        return said or "The gateway carried out the order without a result."
