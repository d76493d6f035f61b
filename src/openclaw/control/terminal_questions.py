"""The questions of a gateway at the terminal of whoever handed in a command: one at a time, in the order they came.

Reads standard input only while a question is shown, and hears the gateway meanwhile: it may print, or take the question back. The terminal
is switched only while a key or a line is waited for. Loaded when the first question comes. What is shown is question_dialogue.py's.
"""

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from openclaw.control import wire
from openclaw.control.dialogue_steps import Dialogue, Finished, Screen, Step
from openclaw.control.question_dialogue import WITHDRAWN, dialogue
from openclaw.control.questions import MOST_OPEN, OpenQuestion, answer_frame, read_question
from openclaw.control.shown_step import ShownStep
from openclaw.control.terminal_modes import TypingMode, Wants, echo_of, forget_what_was_typed, key_of
from openclaw.conversation import NO_ANSWER

if sys.platform == "win32":
    from openclaw.control import windows_console

if TYPE_CHECKING:
    from _socket import socket

NO_BROWSER = "No browser could be opened here. Open the address in one of your own.\n"


class TerminalQuestions:
    """`show` writes to the terminal, `send` to the gateway; `browse` opens an address on this screen and says whether that went."""

    def __init__(
        self,
        show: Callable[[str], object],
        send: Callable[[bytes], object],
        browse: Callable[[str], bool],
        screen: Screen,
    ) -> None:
        self._show = show
        self._send = send
        self._browse = browse
        self._screen = screen
        self._mode = TypingMode(0)
        # The first of them is shown, and its dialogue under way.
        self._open: list[OpenQuestion] = []
        self._dialogue: Dialogue | None = None
        self._wants_key = False
        self._asked = ShownStep(show)
        # What SIGTERM did before the terminal was switched.
        self._at_sigterm: Any = None
        self._typed = b""

    @property
    def is_open(self) -> bool:
        return bool(self._open)

    def ask(self, payload: bytes) -> None:
        """A QUESTION that arrived."""
        asked = read_question(payload)
        if asked is None:
            return
        if len(self._open) >= MOST_OPEN:
            self._send(answer_frame(asked.id, NO_ANSWER))
            return
        self._open.append(asked)
        if len(self._open) == 1:
            self._show_first()

    def withdraw(self, number: str) -> None:
        """Nobody waits any more for the answer to this question."""
        is_shown = self.is_open and self._open[0].id == number
        self._open = [one for one in self._open if one.id != number]
        if is_shown:
            self._asked.end()
            self._show(WITHDRAWN)
            self._show_first()

    def make_room(self) -> None:
        """Something else is about to be printed."""
        self._asked.make_room()

    def printed(self, *, ends_a_line: bool) -> None:
        """Something else was printed: what is asked is shown again below it, when the gateway has no more to say."""
        self._asked.printed(ends_a_line=ends_a_line)

    def drop(self) -> None:
        """The person wants the command to stop: that answers every question."""
        if self.is_open:
            self._asked.end()
            self._show(WITHDRAWN)
        self._open.clear()
        self._dialogue = None
        self.close()

    def close(self) -> None:
        """Leave the terminal as it was found."""
        self._switch(None)

    def listen(self, connection: "socket") -> None:
        """Hear the person, until no question is open or the gateway has something to say. Raises KeyboardInterrupt."""
        if not self.is_open:
            return
        self._asked.again()
        if sys.platform == "win32":
            self._look_at_the_console(connection)
            return
        with _woken_by_signals() as woken:
            while self.is_open:
                ready = select.select([0, connection.fileno(), woken], [], [])[0]
                if woken in ready:
                    os.read(woken, wire.LINE_BYTES)
                elif connection.fileno() in ready:
                    return
                else:
                    self._hear(_read())

    if sys.platform == "win32":

        def _look_at_the_console(self, connection: "socket") -> None:
            """There is no waiting for keys and a connection: the keys are looked at again and again."""
            line = windows_console.TypedLine()
            while self.is_open:
                if key := windows_console.pressed():
                    if self._wants_key:
                        self._hear(windows_console.key_bytes(key))
                        continue
                    windows_console.show(line.take(key))
                    if line.is_done:
                        self._hear(b"" if line.is_end else line.text.encode() + b"\n")
                        line = windows_console.TypedLine()
                elif select.select([connection.fileno()], [], [], windows_console.LOOK_AFTER)[0]:
                    return

    def _hear(self, data: bytes) -> None:
        if self._wants_key:
            self._asked.end()
            key = key_of(data)
            if self._mode.gives_keys:
                self._show(echo_of(key))
            self._step(key)
            return
        if not data:
            self._typed = b""
            self._step(None)
            return
        *lines, self._typed = (self._typed + data).split(b"\n")
        shown = self._open[0]
        for line in lines:
            # What came with a line that ended the question, or its lines, was not typed for what comes next.
            if self.is_open and self._open[0] is shown and not self._wants_key:
                self._step(line.decode("utf-8", "replace"))

    def _step(self, line: str | None) -> None:
        if self._dialogue is None:
            return
        try:
            self._take(self._dialogue.send(line))
        except StopIteration as ended:
            self._end(ended.value)
            self._show_first()

    def _take(self, step: Step) -> None:
        self._wants_key = step.wants == "key"
        # Before it is shown: what is typed then has to be read as it is meant, and what was typed ahead is no answer to it.
        self._switch("key" if self._wants_key else "line")
        if self._wants_key:
            forget_what_was_typed()
        self._asked.ask(step.shown)

    def _switch(self, wants: Wants | None) -> None:
        self._mode.switch(wants)
        if wants is not None and self._at_sigterm is None:
            self._at_sigterm = signal.signal(signal.SIGTERM, self._end_program)
        elif wants is None and self._at_sigterm is not None:
            signal.signal(signal.SIGTERM, self._at_sigterm)
            self._at_sigterm = None

    def _end_program(self, number: int, frame: FrameType | None) -> None:
        """Somebody ends this program: the terminal is left as it was found."""
        self.close()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _show_first(self) -> None:
        while self.is_open:
            question = self._open[0].question
            forget_what_was_typed()
            self._typed = b""
            self._dialogue = dialogue(question, self._screen)
            try:
                self._take(next(self._dialogue))
                return
            except StopIteration as ended:
                self._end(ended.value)
        self._dialogue = None
        self.close()

    def _end(self, finished: Finished) -> None:
        self._asked.end()
        if finished.said:
            self._show(finished.said)
        if finished.address and not self._browse(finished.address):
            self._show(NO_BROWSER)
        self._send(answer_frame(self._open.pop(0).id, finished.answer))


@contextmanager
def _woken_by_signals() -> Iterator[int]:
    """What can be read when a signal came. One that comes just before a wait begins would not end it otherwise: Ctrl-C would be lost."""
    reading, writing = os.pipe()
    if sys.platform != "win32":
        os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield reading
    finally:
        signal.set_wakeup_fd(before, warn_on_full_buffer=False)
        os.close(reading)
        os.close(writing)


def _read() -> bytes:
    try:
        return os.read(0, wire.LINE_BYTES)
    except BlockingIOError:
        # Somebody else made it so; there is nothing to be read after all.
        select.select([0], [], [])
        return os.read(0, wire.LINE_BYTES)
    except OSError:
        # The terminal is gone.
        return b""
