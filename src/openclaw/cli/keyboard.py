"""What is typed at the terminal of this process, a line at a time: the only reader of standard input while a command runs.

Several may wait for a line: whoever came last gets it, and the others go on waiting. Without a thread, which nobody could call back from
waiting. What is asked, and what a line means, is the business of who waits.
"""

import asyncio
import os
import sys

from openclaw.control import wire


class Keyboard:
    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[bytes]] = []
        self._typed = b""

    async def line(self) -> str | None:
        """The next line that is typed; None at the end of input. Raises OSError when the terminal is gone."""
        if os.name != "posix":
            return await asyncio.to_thread(sys.stdin.readline) or None
        loop, keyboard = asyncio.get_running_loop(), sys.stdin.fileno()
        ours: asyncio.Future[bytes] = loop.create_future()
        self._waiting.append(ours)
        # What was begun before is no part of this line.
        self._typed = b""
        loop.add_reader(keyboard, self._read, keyboard)
        try:
            line = await ours
        finally:
            self._waiting.remove(ours)
            if not self._waiting:
                loop.remove_reader(keyboard)
        return line.decode("utf-8", "replace") if line else None

    async def enter(self) -> None:
        """Until Enter is pressed, or never can be."""
        try:
            await self.line()
        except OSError:
            return

    def _read(self, keyboard: int) -> None:
        latest = self._waiting[-1]
        if latest.done():
            # It has its line, and leaves in a moment: the rest is for who waits then.
            return
        try:
            read = os.read(keyboard, wire.LINE_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            latest.set_exception(error)
            return
        self._typed += read
        # A line without its end (Ctrl-D sends one) is not Enter; nothing at all is the end of input.
        if not read or read.endswith(b"\n"):
            latest.set_result(self._typed if read else b"")
            self._typed = b""
