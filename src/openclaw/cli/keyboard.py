"""What is typed at the terminal of this process, a line or a key at a time: the only reader of standard input while a command runs.

Several may wait: whoever came last gets what is typed, and the others go on waiting. Without a thread, which nobody could call back from
waiting. What is asked, and what a line or a key means, is the business of who waits.
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from openclaw.control import wire
from openclaw.control.single_keys import SingleKeys, key_of


class Keyboard:
    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[bytes]] = []
        # Those of them that wait for a key.
        self._for_keys: set[asyncio.Future[bytes]] = set()
        self._typed = b""
        # Whether the terminal waits for its readers, as others that have it open found it.
        self._is_blocking = True

    async def line(self) -> str | None:
        """The next line that is typed; None at the end of input. Raises OSError when the terminal is gone."""
        if os.name != "posix":
            return await asyncio.to_thread(sys.stdin.readline) or None
        line = await self._next(asyncio.get_running_loop().create_future())
        return line.decode("utf-8", "replace") if line else None

    @contextmanager
    def single_keys(self) -> Iterator[bool]:
        """While it lasts the terminal gives every key at once, if it can: whether it does, and shows none of them."""
        single = SingleKeys(sys.stdin.fileno())
        single.switch(on=True)
        try:
            yield single.is_on
        finally:
            single.switch(on=False)

    async def key(self) -> str | None:
        """The next key that is pressed; None at the end of input. A line stands for one where the terminal gives no single keys. Raises
        OSError when the terminal is gone."""
        if os.name != "posix":
            return key_of((await asyncio.to_thread(sys.stdin.readline)).encode())
        ours: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._for_keys.add(ours)
        try:
            return key_of(await self._next(ours))
        finally:
            self._for_keys.discard(ours)

    async def _next(self, ours: asyncio.Future[bytes]) -> bytes:
        loop, keyboard = asyncio.get_running_loop(), sys.stdin.fileno()
        self._waiting.append(ours)
        # What was begun before is no part of it.
        self._typed = b""
        if len(self._waiting) == 1:
            self._is_blocking = os.get_blocking(keyboard)
        loop.add_reader(keyboard, self._read, keyboard)
        try:
            return await ours
        finally:
            self._waiting.remove(ours)
            if not self._waiting:
                loop.remove_reader(keyboard)
                # The loop may have changed that, also for the shell.
                os.set_blocking(keyboard, self._is_blocking)

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
        if latest in self._for_keys:
            latest.set_result(read)
            return
        self._typed += read
        # A line without its end (Ctrl-D sends one) is not Enter; nothing at all is the end of input.
        if not read or read.endswith(b"\n"):
            latest.set_result(self._typed if read else b"")
            self._typed = b""
