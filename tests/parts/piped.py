"""A program that speaks in lines on its standard input and output: started, heard, and ended without anything being left of it.

Where it is `openclaw`, its modules are there already (`loaded.py`).
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from parts import loaded

# A line may be as long as the program takes, and an answer as long as it gives.
LONGEST_LINE = 1 << 30


class PipedProcess:
    """`fresh`: with an interpreter of its own. So it is with `options` too, which are those of `subprocess.Popen`."""

    def __init__(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, fresh: bool = False, **options: Any
    ) -> None:
        self.stderr = b""
        self._command = command
        self._env = env
        self._cwd = cwd
        self._options = options
        self._is_fresh = fresh or bool(options)
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, heard: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        """`heard` gets each line that it says, `ended` comes last."""
        (stdin, ours), (said, stdout), (complained, stderr) = os.pipe(), os.pipe(), os.pipe()
        try:
            self._process = self._started(stdin, stdout, stderr)
        finally:
            for end in (stdin, stdout, stderr):
                os.close(end)
        loop = asyncio.get_running_loop()
        self._input, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(ours, "wb", buffering=0))
        self._output, output = await _reader(said)
        self._errors, errors = await _reader(complained)
        self._tasks = [
            asyncio.create_task(self._read(output, heard, ended)),
            asyncio.create_task(self._read_errors(errors)),
        ]

    def _started(self, stdin: int, stdout: int, stderr: int) -> "loaded.Process | subprocess.Popen[bytes]":
        streams: dict[str, Any] = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
        if not self._is_fresh:
            return loaded.begin(self._command, env=self._env, cwd=self._cwd, **streams)
        process: subprocess.Popen[bytes] = subprocess.Popen(
            self._command, env=self._env, cwd=self._cwd, **streams, **self._options
        )
        return process

    @property
    def pid(self) -> int:
        return self._process.pid

    def write(self, line: bytes) -> None:
        self._input.write(line + b"\n")

    def stop_reading(self) -> None:
        """Close the end that its output goes to."""
        self._output.close()

    async def wait(self) -> int:
        """Its exit code, once it has ended."""
        return await asyncio.to_thread(self._process.wait, loaded.HANG_GUARD)

    async def end(self, how: str = "eof") -> int:
        """End it the way `how` says, and wait; its exit code."""
        if how == "eof":
            self._input.close()
        else:
            self._process.send_signal(getattr(signal, how))
        return await self.wait()

    async def kill(self) -> None:
        """Whatever it does: it is gone after this."""
        self._process.kill()
        await self.wait()
        await asyncio.gather(*self._tasks)
        for end in (self._input, self._output, self._errors):
            end.close()

    async def _read(
        self, output: asyncio.StreamReader, heard: Callable[[bytes], None], ended: Callable[[], None]
    ) -> None:
        while line := await output.readline():
            heard(line)
        ended()

    async def _read_errors(self, errors: asyncio.StreamReader) -> None:
        while data := await errors.read(65536):
            self.stderr += data


async def _reader(end: int) -> tuple[asyncio.ReadTransport, asyncio.StreamReader]:
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(end, "rb", buffering=0)
    )
    return transport, reader
