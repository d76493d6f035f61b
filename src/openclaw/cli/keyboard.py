"""What is typed at the terminal of this process, a line or a key at a time: the only reader of standard input while a command runs.

Several may wait: whoever came last gets what is typed, and the others go on waiting. Without a thread, which nobody could call back from
waiting. What is asked, and what a line or a key means, is the business of who waits.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from openclaw.control import wire
from openclaw.control.terminal_modes import TypingMode, Wants, key_of
from openclaw.daemon_thread import in_daemon_thread

if sys.platform == "win32":
    from openclaw.control import windows_console


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
        if sys.platform == "win32":
            return await self._line_of_the_console()
        line = await self._next(asyncio.get_running_loop().create_future())
        return line.decode("utf-8", "replace") if line else None

    @contextmanager
    def giving(self, wants: Wants) -> Iterator[bool]:
        """While it lasts the terminal gives every key at once, or lines that are shown: whether it gives keys, and shows none of them."""
        mode = TypingMode(sys.stdin.fileno())
        mode.switch(wants)
        try:
            yield mode.gives_keys
        finally:
            mode.switch(None)

    async def key(self) -> str | None:
        """The next key that is pressed; None at the end of input. A line stands for one where the terminal gives no single keys. Raises
        OSError when the terminal is gone."""
        if sys.platform == "win32":
            async with self._at_the_console() as pressed:
                return key_of(windows_console.key_bytes(await pressed()))
        ours: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._for_keys.add(ours)
        try:
            return key_of(await self._next(ours))
        finally:
            self._for_keys.discard(ours)

    if sys.platform == "win32":

        @asynccontextmanager
        async def _at_the_console(self) -> AsyncIterator[Callable[[], Awaitable[str]]]:
            """Gives what waits for the next key that is pressed while nobody else came to wait for one."""
            ours: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

            async def pressed() -> str:
                while self._waiting[-1] is not ours or not (key := windows_console.pressed()):
                    await asyncio.sleep(windows_console.LOOK_AFTER)
                return key

            self._waiting.append(ours)
            try:
                yield pressed
            finally:
                self._waiting.remove(ours)

        async def _line_of_the_console(self) -> str | None:
            if not sys.stdin.isatty():
                return await in_daemon_thread(sys.stdin.readline) or None
            line = windows_console.TypedLine()
            async with self._at_the_console() as pressed:
                while not line.is_done:
                    windows_console.show(line.take(await pressed()))
            return None if line.is_end else line.text + "\n"

    async def _next(self, ours: asyncio.Future[bytes]) -> bytes:
        loop, keyboard = asyncio.get_running_loop(), sys.stdin.fileno()
        self._waiting.append(ours)
        # What was begun before is no part of it.
        self._typed = b""
        if sys.platform != "win32" and len(self._waiting) == 1:
            self._is_blocking = os.get_blocking(keyboard)
        loop.add_reader(keyboard, self._read, keyboard)
        try:
            return await ours
        finally:
            self._waiting.remove(ours)
            if not self._waiting:
                loop.remove_reader(keyboard)
                if sys.platform != "win32":
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
