"""What is typed at the console of Windows: single keys, which it gives unseen, and lines put together from them.

Nothing there waits for a key beside something else, and a thread that waits could not be called back: so the keys are asked for a few times
a second. Elsewhere a terminal gives lines, and `terminal_modes.py` has its modes. `TypedLine` is pure, and tested everywhere.
"""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Seconds between two looks at the keyboard: less than anybody notices.
LOOK_AFTER = 0.03

_ENTER = "\r\n"
_BACKSPACE = "\b\x7f"
_CONTROL_C = "\x03"
# Ctrl-D, and Ctrl-Z as it is usual there.
_END = "\x04\x1a"
# The first half of a key that sends two, such as an arrow: neither is a character.
_HALVES = "\x00\xe0"


class TypedLine:
    """A line while it is typed."""

    def __init__(self) -> None:
        self.text = ""
        self.is_done = False
        # Whether it was the end of input instead.
        self.is_end = False

    def take(self, key: str) -> str:
        """One key, and what is to be shown for it."""
        if key in _ENTER:
            self.is_done = True
            return "\n"
        if key in _END:
            # Behind something that was typed it means nothing.
            self.is_done = self.is_end = not self.text
            return ""
        if key in _BACKSPACE:
            had, self.text = self.text, self.text[:-1]
            return "\b \b" if had else ""
        if not key.isprintable():
            return ""
        self.text += key
        return key


def key_bytes(key: str) -> bytes:
    """A key as a terminal elsewhere would give it."""
    return b"\x04" if key in _END else key.encode()


# Whether what is typed is shown: there is one console.
_shown = [True]


@contextmanager
def unseen() -> Iterator[None]:
    """While it lasts, nothing of what is typed is shown."""
    _shown.append(False)
    try:
        yield
    finally:
        _shown.pop()


def show(typed: str) -> None:
    if _shown[-1]:
        sys.stderr.write(typed)
        sys.stderr.flush()


if sys.platform == "win32":
    import msvcrt

    def pressed() -> str:
        """The next key that was pressed; empty when there is none. Ctrl-C interrupts, as it does elsewhere."""
        if not msvcrt.kbhit():
            return ""
        key = msvcrt.getwch()
        if key in _HALVES:
            msvcrt.getwch()
            return ""
        if key == _CONTROL_C:
            signal.raise_signal(signal.SIGINT)
            return ""
        return key

    def forget() -> None:
        """Typed before the question was there, it is no answer to it."""
        while msvcrt.kbhit():
            msvcrt.getwch()
