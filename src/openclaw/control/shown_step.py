"""The step of a question that waits for its answer, at the foot of a screen on which other things are printed meanwhile.

Owns where the cursor is: what is printed gets a line of its own, and what is asked is shown again below it. The step is whatever a dialogue
shows; when to draw it again is the business of who knows that nothing more is printed at the moment.
"""

from collections.abc import Callable


class ShownStep:
    """`show` writes to the terminal."""

    def __init__(self, show: Callable[[str], object]) -> None:
        self._show = show
        # Empty when nothing is asked.
        self._text = ""
        # Whether the cursor stands behind what is asked; and else, whether at the start of a line.
        self._is_behind = False
        self._is_at_start = False

    def ask(self, text: str) -> None:
        self._text, self._is_behind = text, True
        self._show(text)

    def make_room(self) -> None:
        """Something else is about to be printed: it gets a line of its own."""
        if self._is_behind:
            self._is_behind = False
            self._show("\n")

    def printed(self, *, ends_a_line: bool) -> bool:
        """Something else was printed. Whether what is asked is to be shown again, once that was all."""
        self._is_at_start = ends_a_line
        return bool(self._text) and ends_a_line

    def again(self) -> None:
        """Show what is asked below what was printed; nothing when it still stands there, or behind half a line."""
        if self._text and not self._is_behind and self._is_at_start:
            self.ask(self._text)

    def end(self) -> None:
        """It is answered, or no longer asked."""
        self._text, self._is_behind = "", False
