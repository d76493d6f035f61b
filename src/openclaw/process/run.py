"""One program, run to its end: output captured within a bound, the whole group ended when time is up or the caller leaves.

For the `exec` tool, secret helpers, the reader of PDFs and the check of large results. Servers, which live longer, use `spawn.py` itself.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from openclaw.process.pipes import PipeReader, PipeWriter
from openclaw.process.spawn import Process, spawn

# Enough for any text a person or a model would read.
OUTPUT_LIMIT = 1 << 20
# Why it is not waited for any longer.
_Verdict = Literal["ended", "late", "silent"]
# What the program leaves behind it goes without ceremony: whoever waits wants the answer.
LEFTOVER_PATIENCE = 1.0


class Finished(msgspec.Struct, frozen=True):
    """`returncode` is minus the signal when one ended the program. `dropped` counts the bytes of output past the limit. `timed_out` says
    that its time was up, `silent` that it was ended because it printed
    nothing for too long."""

    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    dropped: int = 0
    silent: bool = False


class _Capture:
    def __init__(self, limit: int) -> None:
        self._room = limit
        self._pieces: list[bytes] = []
        self._time = asyncio.get_running_loop().time
        self.dropped = 0
        self.heard_at = self._time()

    def take(self, data: bytes) -> None:
        self.heard_at = self._time()
        kept = data[: self._room]
        self._room -= len(kept)
        self.dropped += len(data) - len(kept)
        if kept:
            self._pieces.append(kept)

    @property
    def data(self) -> bytes:
        return b"".join(self._pieces)


async def run(
    argv: Sequence[str],
    *,
    timeout: float,
    env: Mapping[str, str],
    input: bytes | Sequence[memoryview] = b"",
    cwd: str | Path | None = None,
    output_limit: int = OUTPUT_LIMIT,
    merge_stderr: bool = False,
    silence: float = math.inf,
) -> Finished:
    """Run `argv` for at most `timeout` seconds, and no longer than it goes on printing: `silence` seconds without a byte end it too.
    Raises ProcessError when it cannot be started.

    `input` may come in parts, written one behind the other. `output_limit` bounds each stream; the rest is read and dropped. With
    `merge_stderr` both streams arrive as `stdout`, in order.
    """
    process = spawn(argv, env=env, cwd=cwd, stderr="stdout" if merge_stderr else "pipe")
    out, err = _Capture(output_limit), _Capture(output_limit)
    readers = [
        PipeReader(fd, capture.take, _ignore_end)
        for fd, capture in ((process.stdout, out), (process.stderr, err))
        if fd is not None
    ]
    assert process.stdin is not None  # a pipe unless asked otherwise
    parts = [memoryview(input)] if isinstance(input, bytes) else input
    feeding = asyncio.create_task(_feed(PipeWriter(process.stdin), parts))
    verdict: _Verdict = "ended"
    try:
        verdict = await _watch(process, timeout, silence, (out, err))
    finally:
        feeding.cancel()
        try:
            # No grace: its time is up, or it has exited, or nobody waits for it any more.
            code = await process.end(grace=0.0, patience=LEFTOVER_PATIENCE)
        finally:
            for reader in readers:
                reader.drain()
                reader.close()
    dropped = out.dropped + err.dropped
    return Finished(code, out.data, err.data, verdict != "ended", dropped, verdict == "silent")


async def _watch(process: Process, timeout: float, silence: float, streams: Sequence[_Capture]) -> _Verdict:
    """Until the program has ended, its time is up, or nothing has come for too long."""
    now = asyncio.get_running_loop().time
    ends = now() + timeout
    while True:
        quiet = max(stream.heard_at for stream in streams) + silence
        try:
            async with asyncio.timeout_at(min(ends, quiet)):
                await process.wait()
            return "ended"
        except TimeoutError:
            if now() >= ends:
                return "late"
            if now() >= max(stream.heard_at for stream in streams) + silence:
                return "silent"


def _ignore_end() -> None:
    return None


async def _feed(writer: PipeWriter, parts: Sequence[memoryview]) -> None:
    try:
        for part in parts:
            if part.nbytes:
                writer.write(part)
                await writer.drained()
    except OSError:
        # A program may leave without reading its input.
        pass
    finally:
        writer.close()
