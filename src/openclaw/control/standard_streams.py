"""Standard input and output, taken away from everybody else: from here on stdout carries protocol lines and nothing but them.

Owns the two descriptors and the threads that wait for them. Whatever is printed, by us, a library or a child, goes to stderr; whoever
reads standard input finds it empty. Threads, because the other side may give us a pipe, a socket, a file or a terminal, may read nothing
for minutes, and shares its descriptors' modes with us: an event loop can wait for none of them all.
"""

import os
import queue
import select
import sys
import threading
from asyncio import AbstractEventLoop, Future, get_running_loop
from collections.abc import Callable
from contextlib import suppress

from openclaw.protocol.framing import LineFramer, Oversized

Line = bytes | Oversized

# All attachments that one order may carry take 300 MB of Base64, and there is a message beside them.
LINE_BYTES = 320 * 1_048_576
# A pipe gives 64 KiB at a time, a file as much as it is asked for.
_READ_BYTES = 1 << 20
# While more than this is waiting to be read by a client, nothing more is read from it.
_MOST_WAITING = 8 << 20
# While more than this is, a turn makes no more for it: about a minute of what a quick model says.
_MOST_MADE = 1 << 20
# Seconds after which we look whether a client that is so far behind has left.
_LOOK_AFTER = 0.5
# Log lines that wait for a reader of stderr; a busy second of `--verbose` has a tenth of that.
_MOST_LOGGED = 10_000


def take_over() -> tuple[int, int]:
    """Private copies of standard input and output. The public ones lead to nothing and to stderr; what is buffered goes there too.

    Raises OSError when one of them is closed.
    """
    for descriptor in (0, 1):
        # A copy of one would take the place of the other.
        os.fstat(descriptor)
    reading, writing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:
        # A client may give us no stderr at all.
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
    os.close(nothing)
    return reading, writing


class Writer:
    """Lines to the client, in order. `on_broken` is called, from a thread of ours, when nobody reads them any more."""

    def __init__(self, descriptor: int, on_broken: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._on_broken = on_broken
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0
        # Who waits until no more than so many bytes are waiting.
        self._when_room: list[tuple[int, Callable[[], None]]] = []
        self._thread = threading.Thread(target=self._write_all, name="stdout", daemon=True)
        self._thread.start()
        if sys.platform != "win32":
            threading.Thread(target=self._watch, name="stdout-watch", daemon=True).start()

    def write(self, line: bytes) -> None:
        """Never waits."""
        with self._lock:
            self._waiting += len(line)
        self._lines.put(line)

    def when_room(self, callback: Callable[[], None], most: int = _MOST_WAITING) -> None:
        """Call back, from whatever thread, as soon as the client is not so many bytes behind: at once, usually."""
        with self._lock:
            if self._waiting > most:
                self._when_room.append((most, callback))
                return
        callback()

    @property
    def is_behind(self) -> bool:
        """Whether the client reads too slowly for what it is told."""
        return self._waiting > _MOST_MADE

    async def caught_up(self) -> None:
        """Wait until it is not."""
        if not self.is_behind:
            return
        loop = get_running_loop()
        room: Future[None] = loop.create_future()

        def settle() -> None:
            if not room.done():
                room.set_result(None)

        def wake() -> None:
            # There may be no loop any more.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(settle)

        self.when_room(wake, _MOST_MADE)
        await room

    def close(self, patience: float) -> None:
        """Wait for what was written to be read, so many seconds at most."""
        self._lines.put(None)
        self._thread.join(patience)

    def _watch(self) -> None:
        """Notice that nobody reads any more while there is nothing to write: an order may run for minutes in between."""
        if sys.platform == "win32":
            # It is noticed when the next line is written.
            return
        poll = select.poll()
        # For errors alone, which are reported unasked. A file or a terminal has none: this waits until the end then.
        poll.register(self._descriptor, 0)
        if any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll()):
            self._on_broken()

    def _write_all(self) -> None:
        broken = False
        while (line := self._lines.get()) is not None:
            if not broken:
                try:
                    # In one piece, unless joining them would cost more than a second call.
                    for piece in (line + b"\n",) if len(line) < _READ_BYTES else (line, b"\n"):
                        _write(self._descriptor, piece)
                except OSError:
                    broken = True
                    self._on_broken()
            self._made_room(len(line))

    def _made_room(self, size: int) -> None:
        with self._lock:
            self._waiting -= size
            ready = [callback for most, callback in self._when_room if self._waiting <= most]
            if ready:
                self._when_room = [one for one in self._when_room if self._waiting > one[0]]
        for callback in ready:
            callback()


class LogLines:
    """Standard error for the log, as a stream whose writer never waits: many clients give us a pipe that they do not read, and a log is
    no reason to stop serving. What finds no room is dropped, and counted."""

    def __init__(self, descriptor: int = 2) -> None:
        self._descriptor = descriptor
        self._lines: queue.SimpleQueue[str | threading.Event] = queue.SimpleQueue()
        self._dropped = 0
        threading.Thread(target=self._write_all, name="stderr", daemon=True).start()

    def write(self, text: str) -> None:
        if self._lines.qsize() < _MOST_LOGGED:
            self._lines.put(text)
        else:
            self._dropped += 1

    def flush(self, patience: float = 0.0) -> None:
        """Wait for what was written to be read, so many seconds at most."""
        if patience:
            written = threading.Event()
            self._lines.put(written)
            written.wait(patience)

    def _write_all(self) -> None:
        told = 0
        while True:
            line = self._lines.get()
            if isinstance(line, threading.Event):
                line.set()
                continue
            dropped = self._dropped
            note = f"({dropped - told} lines found no reader)\n" if dropped > told else ""
            told = dropped
            # Nobody reads it, now or any more: there is nowhere to say so.
            with suppress(OSError):
                _write(self._descriptor, f"{note}{line}".encode("utf-8", "backslashreplace"))


class Reader:
    """Lines from the client. `on_lines` gets them in the loop and says, by a callback, when it wants more; `on_end` comes last, from
    this object's thread.

    `on_lines` empties the list it is given: a line may be 300 MB, and this thread would hold on to it. `first` is what was read before.
    """

    def __init__(
        self,
        descriptor: int,
        loop: AbstractEventLoop,
        on_lines: Callable[[list[Line], Callable[[], None]], None],
        on_end: Callable[[], None],
        *,
        limit: int = LINE_BYTES,
        first: bytes = b"",
    ) -> None:
        self._limit = limit
        self._first = first
        self._descriptor = descriptor
        self._loop = loop
        self._on_lines = on_lines
        self._on_end = on_end
        self._turn = threading.Semaphore(0)
        threading.Thread(target=self._read_all, name="stdin", daemon=True).start()

    def _read_all(self) -> None:
        framer = LineFramer(self._limit)
        if (lines := framer.feed(self._first)) and not self._hand_over(lines):
            return
        with suppress(OSError):
            while data := _read(self._descriptor):
                if (lines := framer.feed(data)) and not self._hand_over(lines):
                    return
                del lines, data
        if (lines := framer.finish()) and not self._hand_over(lines):
            return
        self._on_end()

    def _hand_over(self, lines: list[Line]) -> bool:
        """False when there is no use in reading on: the loop is gone, or the client is, and has left too many answers unread."""
        try:
            self._loop.call_soon_threadsafe(self._on_lines, lines, self._turn.release)
        except RuntimeError:
            return False
        while not self._turn.acquire(timeout=_LOOK_AFTER):
            if _is_hung_up(self._descriptor):
                self._on_end()
                return False
        return True


def _is_hung_up(descriptor: int) -> bool:
    """Whether the other end of a pipe is closed, whatever is still in it."""
    if sys.platform == "win32":
        return False
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & select.POLLHUP for _, event in poll.poll(0))


def _read(descriptor: int) -> bytes:
    while True:
        try:
            return os.read(descriptor, _READ_BYTES)
        except BlockingIOError:
            # The other side made what we share non-blocking.
            select.select([descriptor], [], [])


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            select.select([], [descriptor], [])
