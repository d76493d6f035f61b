"""Single keys of a terminal, without Enter: the mode it has to be in, what was typed ahead, and what one read of it comes to.

Where a terminal has no such mode a line stands for a key. Ctrl-C still interrupts; Ctrl-D is the end of input.
"""

import os
from contextlib import suppress
from typing import Any

_CONTROL_D = "\x04"
# Places in what termios tells of a terminal: its local modes, and its special characters.
_LOCAL, _CHARACTERS = 3, 6


class SingleKeys:
    """The terminal at a descriptor, and the way back to how it was found."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._before: list[Any] | None = None

    @property
    def is_on(self) -> bool:
        return self._before is not None

    def switch(self, *, on: bool) -> None:
        if on != self.is_on:
            self._turn_on() if on else self._turn_off()

    def _turn_on(self) -> None:
        with suppress(ImportError, OSError):
            import termios

            with suppress(termios.error):
                before, modes = (termios.tcgetattr(self._descriptor) for _ in range(2))
                modes[_LOCAL] &= ~(termios.ICANON | termios.ECHO)
                modes[_CHARACTERS][termios.VMIN], modes[_CHARACTERS][termios.VTIME] = 1, 0
                # A key that ends the program at once would leave the terminal as it is now.
                modes[_CHARACTERS][termios.VQUIT] = bytes([os.fpathconf(self._descriptor, "PC_VDISABLE")])
                termios.tcsetattr(self._descriptor, termios.TCSANOW, modes)
                self._before = before

    def _turn_off(self) -> None:
        import termios

        before, self._before = self._before, None
        with suppress(termios.error):
            termios.tcsetattr(self._descriptor, termios.TCSANOW, before or [])


def forget_what_was_typed() -> None:
    """Typed before the question was there, it is no answer to it."""
    with suppress(ImportError, OSError):
        import termios

        with suppress(termios.error):
            termios.tcflush(0, termios.TCIFLUSH)


def key_of(data: bytes) -> str | None:
    """The key that one read of a terminal comes to, as a dialogue takes it: empty for Enter, None for the end of input.

    More than one character at a time is a key that sends several, or a text that was pasted: no key of ours.
    """
    text = data.decode("utf-8", "replace")
    return None if not text or text[0] == _CONTROL_D else text.strip("\r\n")


def echo_of(key: str | None) -> str:
    """What the terminal would have shown if it had been a line."""
    return f"{key}\n" if key and len(key) == 1 and key.isprintable() else "\n"
