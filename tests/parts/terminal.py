"""A program at a terminal: it gets one end of a pseudo-terminal, the test types and reads at the other.

with Terminal(["openclaw", "chat"], cwd=…, env=…) as terminal:
    terminal.shows("> ")
    terminal.type("hello\r")
"""

import codecs
import os
import re
import select
import struct
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import pyte
import pytest

from parts import loaded

if sys.platform != "win32":
    import fcntl
    import pty
    import termios

# A busy machine takes its time; only a program that hangs takes this long.
HANG_GUARD = 60.0
CONTROL_C, CONTROL_D, UP, BACK, TAB, ENTER = "\x03", "\x04", "\x1b[A", "\x7f", "\t", "\r"
# A line that says what is waited for, and is wiped out again: a slow machine shows it, a quick one does not.
WAIT = re.compile(r"[^\n]* [·-] \d+ s [·-] [^\n\r]*\r(?:\x1b\[\d+A)?\x1b\[J")
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[()][A-Z0-9]|[=>])")


class Terminal:
    """80 columns, 24 lines, unless others are asked for. What is read is kept until `shows` or `ends` has found what it waits for;
    `screen` is how it looks to a person now."""

    def __init__(
        self, words: Sequence[str], *, cwd: Path, env: Mapping[str, str], columns: int = 80, lines: int = 24
    ) -> None:
        if sys.platform == "win32":
            pytest.skip("types at a pseudo-terminal, which Windows lacks")
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self._drawn = pyte.HistoryScreen(columns, lines, history=1_000)
        self._drawing = pyte.ByteStream(self._drawn)
        self._process = loaded.begin(
            words,
            env={"TERM": "xterm", **env},
            cwd=cwd,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            terminal=True,
        )
        os.close(theirs)
        self._seen = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        # Everything that came, styles and movements included.
        self.received = b""

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def kill(self) -> None:
        """End the program as nothing can be ended by typing."""
        self._process.kill()

    def terminate(self) -> None:
        """Ask the program to end, as the system does."""
        self._process.terminate()

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def resize(self, columns: int, lines: int = 24) -> None:
        """As when a person drags the edge of the window: the program is told by a signal."""
        self._drawn.resize(lines, columns)
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    @property
    def screen(self) -> list[str]:
        """The lines that a person sees now, without blank ones at the end."""
        lines = [line.rstrip() for line in self._drawn.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def until(self, is_so: Callable[[list[str]], object]) -> list[str]:
        """Wait until the screen is as it should be, and give it."""
        while not is_so(self.screen):
            assert self._read(), f"the program ended before it was so: {self.screen!r}"
        return self.screen

    def until_unseen(self) -> None:
        """Wait until what is typed is not shown. No system tells of that: it is looked at, and others go first."""
        deadline = time.monotonic() + HANG_GUARD
        while self.takes_lines():
            assert time.monotonic() < deadline, "what is typed is still shown"
            os.sched_yield()

    def takes_lines(self) -> bool:
        """Whether it is in the mode in which programs find it: whole lines, shown as they are typed."""
        modes = termios.tcgetattr(self._ours)[3]
        return bool(modes & termios.ICANON) and bool(modes & termios.ECHO)

    def shows(self, text: str) -> str:
        """Everything since the last time up to this text, as `_plain` has it."""
        while text not in (seen := _plain(self._seen)):
            if not self._read():
                raise AssertionError(f"the program ended before it showed {text!r}: {seen[-500:]!r}")
        found, _, self._seen = seen.partition(text)
        return found + text

    def ends(self) -> tuple[int, str]:
        """The exit code, and what was shown before."""
        while self._read():
            pass
        return self._process.wait(HANG_GUARD), _plain(self._seen)

    def _read(self) -> bool:
        ready = select.select([self._ours], [], [], HANG_GUARD)[0]
        assert ready, f"nothing came after {self._seen[-500:]!r}"
        try:
            read = os.read(self._ours, 65536)
        except OSError:
            return False
        self.received += read
        self._drawing.feed(read)
        self._seen += self._decoder.decode(read)
        return bool(read)


def _plain(seen: str) -> str:
    """Without styles, movements of the cursor, and what was waited for."""
    return _ESCAPES.sub("", WAIT.sub("", seen))


def stop_an_answer_and_ask_again(terminal: Terminal) -> None:
    """In a chat whose model says "Let me think" and falls silent, and "pong" the next time."""
    terminal.shows(">")
    terminal.type(f"ping{ENTER}")
    terminal.shows("Let me think")
    terminal.type(CONTROL_C)
    terminal.shows("(stopped)")
    terminal.shows(">")
    terminal.type(f"again{ENTER}")
    terminal.shows("pong")
    terminal.shows(">")


def complete_status(terminal: Terminal, told: str) -> None:
    """`/status` by its first letters and the menu under the line, until it has told something."""
    terminal.type("/sta")
    terminal.shows("/status ")
    terminal.type(f"{TAB}{ENTER}")
    terminal.shows(told)
    terminal.shows(">")
