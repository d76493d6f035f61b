"""The person at the terminal of this process, as an Asker: one question at a time, the others wait.

Nobody is there when standard input or standard error is no terminal. A question whose asker is cancelled goes away, and what is typed
then is not lost on it. What is shown is control/question_dialogue.py's, as it is at the far end of a gateway; it is loaded with the first
question.
"""

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from openclaw.cli.keyboard import Keyboard
from openclaw.commands.console import Browse
from openclaw.control import wire
from openclaw.control.shown_step import ShownStep
from openclaw.control.terminal_modes import echo_of, forget_what_was_typed
from openclaw.conversation import NO_ANSWER, Answer, Question, QuestionKind

if TYPE_CHECKING:
    from openclaw.control.dialogue_steps import Finished, Screen

_KINDS = frozenset(wire.TERMINAL_KINDS.decode().split())


class TerminalAsker:
    """`browse` opens an address on this screen; `screen` tells what it is like when a question is shown."""

    def __init__(self, browse: Browse, keyboard: Keyboard, screen: "Callable[[], Screen]") -> None:
        self._browse = browse
        self._keyboard = keyboard
        self._screen = screen
        self._shown = asyncio.Lock()
        self._open = 0
        self._step = ShownStep(_show)

    def make_room(self) -> None:
        """Something else is about to be printed."""
        self._step.make_room()

    def printed(self, text: str) -> None:
        """Something else was printed: what is asked is shown again below it, and below what is printed in the same breath."""
        if self._step.printed(ends_a_line=text.endswith("\n")):
            asyncio.get_running_loop().call_soon(self._show_again)

    def _show_again(self) -> None:
        # Whoever waits for the answer finds out that the terminal is gone.
        with suppress(OSError):
            self._step.again()

    def can(self, kind: QuestionKind) -> bool:
        return kind in _KINDS and sys.stdin.isatty() and sys.stderr.isatty()

    async def ask(self, question: Question) -> Answer:
        from openclaw.control.questions import MOST_OPEN

        if not self.can(question.kind) or self._open >= MOST_OPEN:
            return NO_ANSWER
        self._open += 1
        try:
            async with self._shown:
                return await self._answer(question)
        except OSError:
            # The terminal is gone.
            return NO_ANSWER
        finally:
            self._open -= 1

    async def _answer(self, question: Question) -> Answer:
        from openclaw.control.question_dialogue import WITHDRAWN
        from openclaw.control.terminal_questions import NO_BROWSER

        forget_what_was_typed()
        try:
            finished = await self._finished(question)
        except asyncio.CancelledError:
            # The cancellation counts, also when the terminal is gone by now.
            with suppress(OSError):
                _show(WITHDRAWN)
            raise
        finally:
            self._step.end()
        if finished.said:
            _show(finished.said)
        if finished.address and not await self._browse(finished.address):
            _show(NO_BROWSER)
        return finished.answer

    async def _finished(self, question: Question) -> "Finished":
        from openclaw.control.question_dialogue import dialogue

        steps = dialogue(question, self._screen())
        try:
            step = next(steps)
            while True:
                step = steps.send(await (self._key(step.shown) if step.wants == "key" else self._line(step.shown)))
        except StopIteration as ended:
            finished: Finished = ended.value
            return finished

    async def _line(self, shown: str) -> str | None:
        with self._keyboard.giving("line"):
            self._step.ask(shown)
            line = await self._keyboard.line()
            self._step.end()
            return line

    async def _key(self, shown: str) -> str | None:
        # Before it is shown: what is typed then has to be read as it is meant, and what was typed ahead is no answer to it.
        with self._keyboard.giving("key") as is_silent:
            forget_what_was_typed()
            self._step.ask(shown)
            key = await self._keyboard.key()
            self._step.end()
        if is_silent:
            _show(echo_of(key))
        return key


def _show(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
