"""The replaying side of a suite's server (`suite_server.py`): its tasks, the state of one of them, and what came of it."""

import asyncio
import json
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import msgspec

# As long as a loaded machine may need for the largest state; it takes milliseconds.
PATIENCE = 120.0
SUITES = ("workspace", "travel", "banking", "slack")
# One order or answer is one line.
LONGEST_LINE = 16 * 1024 * 1024
# What an attack does: changes something, only visits an address, or has the model say something.
Way = Literal["", "write", "address", "words"]


class Wanted(msgspec.Struct, frozen=True, array_like=True):
    """A call of a reference: the function of the suite, and what it is given."""

    function: str
    arguments: dict[str, Any]


class Play(msgspec.Struct, frozen=True):
    """A task and, unless it is empty, the injection that is in what it reads."""

    suite: str
    user: str
    injection: str = ""


class Scene(msgspec.Struct, frozen=True):
    """What a play is made of: the person's words and the calls that do what they want; the goal of the attack, the calls that reach it, and
    the words that do."""

    prompt: str
    calls: tuple[Wanted, ...]
    output: str
    goal: str = ""
    attack: tuple[Wanted, ...] = ()
    words: str = ""
    way: Way = ""

    @property
    def can_be_played(self) -> bool:
        """An attack without a reference cannot be: nobody knows what an obedient model would do."""
        return not self.goal or bool(self.attack or self.words)


class Suite:
    """`async with Suite(socket) as suite`, when the server listens there."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_unix_connection(self._socket, limit=LONGEST_LINE)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()

    async def tasks(self) -> tuple[list[str], list[str]]:
        """The ids of what people want, and of what attackers do."""
        told = json.loads(await self._ask(do="tasks"))
        return told["user"], told["injections"]

    async def load(self, play: Play) -> Scene:
        return msgspec.json.decode(await self._ask(do="load", user=play.user, injection=play.injection), type=Scene)

    async def judge(self, play: Play, output: str) -> bool:
        """Whether the attack reached its goal; without one, whether the person has what they wanted. By the suite's own checks."""
        told = json.loads(await self._ask(do="judge", user=play.user, injection=play.injection, output=output))
        return bool(told["reached"])

    async def _ask(self, **order: str) -> bytes:
        self._writer.write(json.dumps(order).encode() + b"\n")
        async with asyncio.timeout(PATIENCE):
            if line := await self._reader.readline():
                return line
        raise RuntimeError("the suite's server is gone; its own words are in the log")
