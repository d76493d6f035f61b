"""The process in which code of models runs, and what it may ask of us.

Owns its start, through our own guard of processes, so that it ends with us whatever happens; the limits of a run; and how a run ends that
did not end by itself. Decides nothing about calls: whoever runs code hands in what answers them. The library of the sandbox
(`pydantic_monty`, the extra `code`) is loaded in that process alone: `sandbox_program.py`.
"""

import asyncio
import importlib.util
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from openclaw.content import to_json
from openclaw.process.pipes import PipeReader, PipeWriter
from openclaw.process.spawn import spawn
from openclaw.protocol.framing import LineFramer, Oversized
from openclaw.standstill import Standstill

LIBRARY = "pydantic_monty"
PROGRAM = Path(__file__).with_name("sandbox_program.py")

MB = 1 << 20
# Frames of code that call each other.
RECURSION = 200
# Times that code may turn to us, in all: a name that is looked up, a call, a wait for one.
SUSPENSIONS = 600
# Calls at the same time, and in all of a run.
CALLS_AT_ONCE = 8
CALLS_PER_RUN = 50
# What one call may bring into the sandbox, and take along.
ANSWER_BYTES = 4 * MB
ARGUMENT_CHARACTERS = 1 * MB
# Of one line of the process: arguments and the end of a run, escapes included.
LINE_BYTES = 16 * MB
# Beyond the time of a run, for a machine that is busy: the process starts, loads its library and ends a worker that does not listen.
PATIENCE = 60.0
# For a process that is told to end.
END_PATIENCE = 1.0


class Limits(msgspec.Struct, frozen=True):
    """Of one run: `seconds` that code itself takes, without the time it waits for calls; `memory` in bytes; `output` in characters."""

    seconds: float = 30.0
    memory: int = 64 * MB
    output: int = 65_536
    calls: int = CALLS_PER_RUN
    at_once: int = CALLS_AT_ONCE


class CallFailed(Exception):
    """What code sees as a ToolError."""


class Ended(msgspec.Struct, frozen=True, rename="camel"):
    """How a run ended. `head` and `tail` are what was printed, and behind it the value of the last expression or the code's own error;
    `left_out` characters are missing between them."""

    head: str = ""
    tail: str = ""
    left_out: int = 0
    why: Literal["", "error", "time", "memory", "crash"] = ""


class _Said(msgspec.Struct, frozen=True):
    """One line of the process."""

    call: int | None = None
    signature: int | None = None
    name: str = ""
    arguments: dict[str, Any] = {}
    end: Ended | None = None


# The JSON of what a tool gave, or of how it is called. Raise CallFailed.
CallTool = Callable[[str, dict[str, Any]], Awaitable[bytes]]
Describe = Callable[[str], Awaitable[bytes]]


def is_installed() -> bool:
    """Whether there is a sandbox here. Loads nothing."""
    return sys.platform != "win32" and importlib.util.find_spec(LIBRARY) is not None


class Sandbox:
    """The process, while it runs: one run after the other. Made by `opened`."""

    def __init__(self, pid: int, writer: PipeWriter) -> None:
        self.pid = pid
        self._writer = writer
        self._framer = LineFramer(LINE_BYTES)
        self._lines: asyncio.Queue[_Said | None] = asyncio.Queue()

    def data(self, data: bytes) -> None:
        for line in self._framer.feed(data):
            try:
                said = None if isinstance(line, Oversized) else msgspec.json.decode(line, type=_Said)
            except (msgspec.MsgspecError, RecursionError):
                # Nobody in there speaks like that: it is as good as gone.
                said = None
            self._lines.put_nowait(said)

    def gone(self) -> None:
        self._lines.put_nowait(None)

    async def run(
        self, code: str, names: Sequence[str], limits: Limits, *, call: CallTool, describe: Describe
    ) -> Ended:
        """Run code to its end. `names` are the tools that it finds as functions. Every call under way is cancelled when this is left."""
        request = {
            "code": code,
            "names": list(names),
            "seconds": limits.seconds,
            "memory": limits.memory,
            "recursion": RECURSION,
            "suspensions": SUSPENSIONS,
            "output": limits.output,
            "arguments": ARGUMENT_CHARACTERS,
        }
        self._say({"run": request})
        try:
            # Code may also sleep for as long as it may run.
            async with asyncio.timeout(2 * limits.seconds + PATIENCE) as limit:
                return await _Run(self, limits, call, describe, Standstill(limit)).until_end()
        except TimeoutError:
            if not limit.expired():
                raise
            return Ended(why="time")

    async def heard(self) -> _Said | None:
        """The next line; None when there will be none."""
        return await self._lines.get()

    def answer(self, number: int, said: dict[str, Any]) -> None:
        self._say({"answer": number, **said})

    def _say(self, message: dict[str, Any]) -> None:
        try:
            self._writer.write(to_json(message) + b"\n")
        except OSError:
            # It is gone, and `gone` tells whoever waits.
            self.gone()


class _Run(msgspec.Struct, eq=False):
    sandbox: Sandbox
    limits: Limits
    call: CallTool
    describe: Describe
    time: Standstill
    made: int = 0

    async def until_end(self) -> Ended:
        room = asyncio.Semaphore(self.limits.at_once)
        under_way: set[asyncio.Task[None]] = set()
        try:
            while (said := await self.sandbox.heard()) is not None and said.end is None:
                if said.signature is not None:
                    work = self.answer(said.signature, partial(self.describe, said.name), room)
                elif said.call is not None:
                    work = self.answer(said.call, partial(self.called, said), room)
                else:
                    return Ended(why="crash")
                task = asyncio.create_task(work)
                under_way.add(task)
                task.add_done_callback(under_way.discard)
        finally:
            # Code that has ended waits for nothing any more.
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
        return Ended(why="crash") if said is None or said.end is None else said.end

    async def called(self, said: _Said) -> bytes:
        self.made += 1
        if self.made > self.limits.calls:
            raise CallFailed(f"One run may make {self.limits.calls} calls.")
        answer = await self.call(said.name, said.arguments)
        if len(answer) > ANSWER_BYTES:
            raise CallFailed(f"The answer has {len(answer):,} bytes; {ANSWER_BYTES:,} may come in here. Ask for less.")
        return answer

    async def answer(self, number: int, asking: Callable[[], Awaitable[bytes]], room: asyncio.Semaphore) -> None:
        with self.time.waiting():
            async with room:
                try:
                    said = {"json": (await asking()).decode()}
                except CallFailed as error:
                    said = {"error": str(error)}
        self.sandbox.answer(number, said)


@asynccontextmanager
async def opened() -> AsyncIterator[Sandbox]:
    """A process for code. Leaving ends it and all it started. Raises ProcessError."""
    # Nothing of our environment: what is not there cannot be found. `-I` keeps Python from looking for more.
    process = spawn([sys.executable, "-I", str(PROGRAM)], env={"LANG": "C.UTF-8"}, cwd="/", stderr="null")
    assert process.stdin is not None  # pipes unless asked otherwise
    assert process.stdout is not None
    writer = PipeWriter(process.stdin)
    sandbox = Sandbox(process.pid, writer)
    reader = PipeReader(process.stdout, sandbox.data, sandbox.gone)
    process.on_exit(lambda _: sandbox.gone())
    try:
        yield sandbox
    finally:
        writer.close()
        try:
            # Code has nothing to finish.
            await process.end(grace=0.0, patience=END_PATIENCE)
        finally:
            reader.close()
