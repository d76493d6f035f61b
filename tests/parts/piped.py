"""A program that speaks in lines on its standard input and output: started, heard, and ended without anything being left of it."""

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any

# A line may be as long as the program takes, and an answer as long as it gives.
LONGEST_LINE = 1 << 30


class PipedProcess:
    """`options` are those of `asyncio.create_subprocess_exec`."""

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], **options: Any) -> None:
        self.stderr = b""
        self._command = command
        self._env = env
        self._options = options
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, heard: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        """`heard` gets each line that it says, `ended` comes last."""
        self.process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._env,
            limit=LONGEST_LINE,
            **self._options,
        )
        self._tasks = [asyncio.create_task(self._read(heard, ended)), asyncio.create_task(self._read_errors())]

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")

    async def end(self, how: str = "eof") -> int:
        """End it the way `how` says, and wait; its exit code."""
        assert self.process.stdin is not None
        if how == "eof":
            self.process.stdin.close()
        else:
            self.process.send_signal(getattr(signal, how))
        return await self.process.wait()

    async def kill(self) -> None:
        """Whatever it does: it is gone after this."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        await asyncio.gather(*self._tasks)
        # What asyncio would otherwise close while it is collected, with a warning.
        self.process._transport.close()  # type: ignore[attr-defined]

    async def _read(self, heard: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            heard(line)
        ended()

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(65536):
            self.stderr += data
