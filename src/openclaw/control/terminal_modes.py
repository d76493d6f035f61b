"""How a terminal gives what is typed: lines that are shown, single keys, or unseen; and what one read of it comes to.

Owns every change of a terminal's modes and the way back to how it was found. Where a terminal has no single keys a line stands for one.
Ctrl-C still interrupts; Ctrl-D is the end of input. The console of Windows gives single keys in any case: `windows_console.py`.
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from types import FrameType
from typing import Any, Literal

if sys.platform == "win32":
    from openclaw.control import windows_console

_CONTROL_D = "\x04"
# Places in what termios tells of a terminal: its local modes, and its special characters.
_LOCAL, _CHARACTERS = 3, 6

Wants = Literal["key", "line"]


class TypingMode:
    """The terminal at a descriptor, and the way back to how it was found."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._found: list[Any] | None = None
        self.gives_keys = False

    def switch(self, wants: Wants | None) -> None:
        """`key`: every key at once, and none is shown. `line`: whole lines, shown as they are typed. None: as it was found."""
        if sys.platform == "win32":
            self.gives_keys = wants == "key"
            return
        self.gives_keys = False
        if wants is None:
            found, self._found = self._found, None
            _set(self._descriptor, found)
            return
        if self._found is None:
            self._found = _modes(self._descriptor)
        if self._found is None:
            return
        modes = [*self._found[:_CHARACTERS], list(self._found[_CHARACTERS])]
        _change(
            modes, on=("ICANON", "ECHO") if wants == "line" else (), off=("ICANON", "ECHO") if wants == "key" else ()
        )
        if wants == "key":
            import termios

            modes[_CHARACTERS][termios.VMIN], modes[_CHARACTERS][termios.VTIME] = 1, 0
            _without_quit(modes, self._descriptor)
        self.gives_keys = _set(self._descriptor, modes) and wants == "key"


def local_modes(descriptor: int, *, on: Sequence[str] = (), off: Sequence[str] = ()) -> AbstractContextManager[None]:
    """While it lasts a terminal has these modes, as termios names them, and is as before afterwards, however that ends. What is no
    terminal is left alone."""
    if sys.platform == "win32":
        return nullcontext()
    return _changed(descriptor, on=on, off=off, quits=False)


def line_unseen(descriptor: int) -> AbstractContextManager[None]:
    """While it lasts nothing of a line that is typed is shown, and not its end either: it may have been typed before."""
    if sys.platform == "win32":
        return windows_console.unseen()
    return _changed(descriptor, on=(), off=("ECHO", "ECHONL"), quits=False)


def typing_unseen(descriptor: int) -> AbstractContextManager[None]:
    """While it lasts what is typed is not shown, and stays for whoever reads next. Every key still does what it did: a shell puts the
    terminal right whose program was ended by one."""
    return _changed(descriptor, on=(), off=("ECHO",), quits=True)


@contextmanager
def _changed(descriptor: int, *, on: Sequence[str], off: Sequence[str], quits: bool) -> Iterator[None]:
    """`quits`: whether the key that ends the program at once still does."""
    before, modes = _modes(descriptor), _modes(descriptor)
    if before is None or modes is None:
        yield
        return
    _change(modes, on=on, off=off)
    if not quits:
        _without_quit(modes, descriptor)
    _set(descriptor, modes)
    try:
        yield
    finally:
        _set(descriptor, before)


@contextmanager
def unseen_until_ended(descriptor: int) -> Iterator[None]:
    """The same, and the terminal is put right also when SIGTERM ends this program before an event loop takes it."""
    with ExitStack() as changed:

        def end_program(number: int, frame: FrameType | None) -> None:
            changed.close()
            os.kill(os.getpid(), number)

        before = signal.signal(signal.SIGTERM, end_program)
        changed.callback(signal.signal, signal.SIGTERM, before)
        # Known before it is changed: the signal may come between the change and the way back from it.
        changed.callback(_set, descriptor, _modes(descriptor))
        changed.enter_context(typing_unseen(descriptor))
        yield


def _modes(descriptor: int) -> list[Any] | None:
    if sys.platform == "win32":
        return None
    import termios

    try:
        return termios.tcgetattr(descriptor)
    except (termios.error, OSError, ValueError):
        return None


def _change(modes: list[Any], *, on: Sequence[str], off: Sequence[str]) -> None:
    if sys.platform == "win32":
        return
    import termios

    for name in on:
        modes[_LOCAL] |= getattr(termios, name)
    for name in off:
        modes[_LOCAL] &= ~getattr(termios, name)


def _without_quit(modes: list[Any], descriptor: int) -> None:
    """A key that ends the program at once would leave the terminal as it is now."""
    if sys.platform == "win32":
        return
    import termios

    modes[_CHARACTERS][termios.VQUIT] = bytes([os.fpathconf(descriptor, "PC_VDISABLE")])


def _set(descriptor: int, modes: list[Any] | None) -> bool:
    """Whether the terminal is so now."""
    if sys.platform == "win32" or modes is None:
        return False
    import termios

    try:
        if _is_elsewhere(descriptor):
            return False
        termios.tcsetattr(descriptor, termios.TCSANOW, modes)
    except (termios.error, OSError):
        # The terminal is gone.
        return False
    return True


def _is_elsewhere(descriptor: int) -> bool:
    """Whether the terminal is another program's now: who changes it from the background is stopped by the system."""
    if sys.platform == "win32":
        return False
    try:
        return os.tcgetpgrp(descriptor) != os.getpgrp()
    except OSError:
        # It is not the one that this process is controlled from.
        return False


def forget_what_was_typed() -> None:
    """Typed before the question was there, it is no answer to it."""
    if sys.platform == "win32":
        windows_console.forget()
        return
    import termios

    with suppress(OSError, termios.error):
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
