"""The two ends of a pipe where no event loop can wait for one, as on Windows: a thread waits for each.

The thread of a pipe owns its descriptor and closes it: whoever closed one that is being read would wait for that read, on Windows. Nothing
here is Windows' own, so the same code is tested everywhere. A hop between threads costs some 50 microseconds each way.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

_READ_SIZE = 65536
# Pieces that are read ahead of a loop which is busy, before the other side has to wait: a mebibyte.
_AHEAD = 16
# How long, in seconds, to wait for more of what a program said that has gone. Only a descendant that keeps the pipe lets it pass in vain.
_LAST_WORDS = 0.05
# Bytes we hold for a reader that is slower than we write, before those who write have to wait.
HIGH_WATER = 1 << 20


class PipeReader:
    """Calls `on_data` with what arrives, then `on_end` once, both in the loop. Owns the descriptor."""

    def __init__(self, fd: int, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._fd = fd
        self._on_data = on_data
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._open = True
        self._paused = False
        # What was read and not handed over yet; nothing at all is the end.
        self._arrived: deque[bytes] = deque()
        self._has_ended = False
        self._changed = threading.Condition()
        threading.Thread(target=self._read_all, name="pipe-reader", daemon=True).start()

    def pause(self) -> None:
        """Leave what arrives in the pipe until `resume`, but for what was read ahead: who writes has to wait."""
        self._paused = True

    def resume(self) -> None:
        if self._paused:
            self._paused = False
            self._loop.call_soon(self._hand_over)

    def drain(self) -> None:
        """Take what is there right now, without waiting for the loop: the one who wrote it is gone."""
        # Bounded, for a descendant may hold the pipe as well and write faster than we read.
        for _ in range(_AHEAD):
            with self._changed:
                came = self._changed.wait_for(lambda: bool(self._arrived), _LAST_WORDS)
            if not (self._open and came):
                break
            self._take()

    def close(self) -> None:
        with self._changed:
            self._open = False
            self._changed.notify_all()

    def _read_all(self) -> None:
        data = b"-"
        while data:
            with self._changed:
                self._changed.wait_for(lambda: len(self._arrived) < _AHEAD or not self._open)
            if not self._open:
                break
            try:
                data = os.read(self._fd, _READ_SIZE)
            except OSError:
                data = b""
            with self._changed:
                self._arrived.append(data)
                self._changed.notify_all()
            # There may be no loop any more.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._hand_over)
        os.close(self._fd)

    def _hand_over(self) -> None:
        while self._open and not self._paused and self._arrived:
            self._take()

    def _take(self) -> None:
        with self._changed:
            data = self._arrived.popleft()
            self._changed.notify_all()
        if data:
            self._on_data(data)
        else:
            self.close()
            self._on_end()


class PipeWriter:
    """Owns the descriptor. `offered` counts the bytes given to `write`, `written` those the pipe took."""

    def __init__(self, fd: int) -> None:
        self.offered = 0
        self.written = 0
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._open = True
        self._pending: deque[bytes | memoryview] = deque()
        self._changed = threading.Condition()
        self._waiters: set[asyncio.Future[None]] = set()
        threading.Thread(target=self._write_all, name="pipe-writer", daemon=True).start()

    @property
    def is_full(self) -> bool:
        return self.offered - self.written > HIGH_WATER

    def write(self, data: bytes | memoryview) -> None:
        """Raises OSError when it is known that nobody reads any more; then nothing of `data` was taken."""
        with self._changed:
            if not self._open:
                raise BrokenPipeError
            self.offered += len(data)
            self._pending.append(data)
            self._changed.notify_all()

    async def room(self) -> None:
        """Until the other side has read enough for more to be taken, or the pipe is closed."""
        while self._open and self.is_full:
            await self._moved()

    async def drained(self) -> None:
        """Until everything written was taken, or the pipe is closed."""
        while self._open and self.written < self.offered:
            await self._moved()

    def unread(self) -> int | None:
        """Nobody can look into a pipe from here."""
        return None

    def close(self) -> None:
        """What was written before still goes out, as far as somebody reads it."""
        with self._changed:
            self._open = False
            self._changed.notify_all()
        self._wake()

    async def _moved(self) -> None:
        """Until something was taken, or the pipe is closed."""
        waiter = self._loop.create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)

    def _write_all(self) -> None:
        while (piece := self._next()) is not None:
            rest = memoryview(piece)
            try:
                while rest:
                    taken = os.write(self._fd, rest)
                    self.written += taken
                    rest = rest[taken:]
                    self._tell(self._wake)
            except OSError:
                # Nobody reads any more.
                self._tell(self.close)
                break
        os.close(self._fd)

    def _next(self) -> bytes | memoryview | None:
        """What is to be written next; None when there will be nothing."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._pending) or not self._open)
            return self._pending.popleft() if self._pending else None

    def _tell(self, act: Callable[[], None]) -> None:
        # There may be no loop any more.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(act)

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
