"""The person at the terminal of this process, as an Asker: one question at a time, the others wait.

Nobody is there when standard input or standard error is no terminal. A question whose asker is cancelled goes away, and what is typed
then is not lost on it. What is shown is control/question_dialogue.py's, as it is at the far end of a gateway; it is loaded with the first
question.
"""

import asyncio
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from openclaw.cli.keyboard import Keyboard
from openclaw.commands.console import Browse
from openclaw.control import wire
from openclaw.conversation import NO_ANSWER, Answer, Question, QuestionKind

if TYPE_CHECKING:
    from openclaw.control.question_dialogue import Finished

_KINDS = frozenset(wire.TERMINAL_KINDS.decode().split())


class TerminalAsker:
    """`browse` opens an address on this screen; `width` is that of the terminal, in columns."""

    def __init__(self, browse: Browse, keyboard: Keyboard, width: int) -> None:
        self._browse = browse
        self._keyboard = keyboard
        self._width = width
        self._shown = asyncio.Lock()
        self._open = 0

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
        from openclaw.control.terminal_questions import NO_BROWSER, forget_what_was_typed

        forget_what_was_typed()
        try:
            finished = await self._finished(question)
        except asyncio.CancelledError:
            # The cancellation counts, also when the terminal is gone by now.
            with suppress(OSError):
                _show(WITHDRAWN)
            raise
        if finished.said:
            _show(finished.said)
        if finished.address and not await self._browse(finished.address):
            _show(NO_BROWSER)
        return finished.answer

    async def _finished(self, question: Question) -> "Finished":
        from openclaw.control.question_dialogue import dialogue

        steps = dialogue(question, self._width)
        try:
            shown = next(steps)
            while True:
                _show(shown)
                shown = steps.send(await self._keyboard.line())
        except StopIteration as ended:
            finished: Finished = ended.value
            return finished


def _show(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
