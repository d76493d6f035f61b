"""How a terminal gives what is typed, at a pseudo-terminal."""

import os
import sys
from collections.abc import Iterator

import pytest

from openclaw.control.terminal_modes import TypingMode, local_modes

if sys.platform != "win32":
    import pty
    import termios

pytestmark = pytest.mark.posix_only("a pseudo-terminal")

SHOWN_LINES, UNSEEN_LINES, UNSEEN_KEYS = (True, True), (True, False), (False, False)


@pytest.fixture
def terminal() -> Iterator[int]:
    ours, theirs = pty.openpty()
    yield theirs
    os.close(ours)
    os.close(theirs)


def modes(terminal: int) -> tuple[bool, bool]:
    """Whether it gives lines, and whether it shows what is typed."""
    local = termios.tcgetattr(terminal)[3]
    return bool(local & termios.ICANON), bool(local & termios.ECHO)


def test_a_terminal_gives_keys_then_lines_and_is_left_as_it_was_found(terminal: int) -> None:
    mode, seen = TypingMode(terminal), []
    with local_modes(terminal, off=["ECHO"]):
        found = termios.tcgetattr(terminal)
        for wants in ("key", "line", "key", None):
            mode.switch(wants)
            seen.append((*modes(terminal), mode.gives_keys))
        assert termios.tcgetattr(terminal) == found
    assert seen == [(*UNSEEN_KEYS, True), (*SHOWN_LINES, False), (*UNSEEN_KEYS, True), (*UNSEEN_LINES, False)]
    assert modes(terminal) == SHOWN_LINES


def test_a_key_that_ends_the_program_at_once_is_off_while_nothing_is_shown(terminal: int) -> None:
    before = termios.tcgetattr(terminal)
    with local_modes(terminal, on=["NOFLSH"], off=["ECHO"]):
        assert termios.tcgetattr(terminal)[6][termios.VQUIT] == b"\0"
        assert termios.tcgetattr(terminal)[3] & termios.NOFLSH
    assert termios.tcgetattr(terminal) == before


def test_what_is_no_terminal_is_left_alone() -> None:
    reading, writing = os.pipe()
    mode = TypingMode(reading)
    with local_modes(reading, off=["ECHO"]):
        mode.switch("key")
        assert not mode.gives_keys
        mode.switch(None)
    os.close(reading)
    os.close(writing)
