"""How a surface on standard input and output ends: when the other side leaves or a signal comes, and within a time, whatever hangs."""

import asyncio
import os
import queue
import signal
import threading
import time
from contextlib import suppress
from functools import partial

from openclaw.control.event_loop import on_signal


class Ending:
    """Made in the loop of the surface. From the first `leave` on, the process has `seconds` left; then it is ended by force, even when a
    thread, a server or the loop itself does not let it end."""

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._end: asyncio.Future[int] = self._loop.create_future()
        self._seconds = seconds
        self._codes: queue.SimpleQueue[int] = queue.SimpleQueue()
        threading.Thread(target=self._enforce, name="end", daemon=True).start()
        for name in ("SIGTERM", "SIGINT"):
            on_signal(name, partial(self.leave, 128 + getattr(signal, name)))

    def leave(self, code: int = 0) -> None:
        """From any thread: the loop may be stuck, in a line that a library writes to a stderr nobody reads for one."""
        self.begin(code)
        # There may be no loop any more.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._finish, code)

    def begin(self, code: int) -> None:
        """Count from now, without waking who waits for the end. `code` is that of the process; only the first call counts."""
        self._codes.put(code)

    async def wait(self) -> int:
        """The exit code, once it ends."""
        return await self._end

    def _finish(self, code: int) -> None:
        if not self._end.done():
            self._end.set_result(code)

    def _enforce(self) -> None:
        code = self._codes.get()
        time.sleep(self._seconds)
        os._exit(code)
