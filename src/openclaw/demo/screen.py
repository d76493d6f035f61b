"""How the tour looks: headings, prose, commands and what came of them, within the width of the terminal.

Owns indents, folding and cutting. What comes from servers has been cleaned by whoever printed it; colours are the console's business.
"""

import shlex
from collections.abc import Iterator, Sequence
from textwrap import wrap

import msgspec

from openclaw.commands.console import Console

# Longer lines are hard to read, however wide the screen is.
MOST_COLUMNS = 88
# On a narrower screen lines may run over.
LEAST_COLUMNS = 40
# Of a command's output, unless a step says otherwise.
MOST_LINES = 12
_MORE = "…"
# A command stands behind a `$`, what it prints below its first letter.
_COMMAND = "  "
_OUTPUT = "    "
_GOES_ON = " \\"


class Screen:
    """`program` is what a reader has to type for `openclaw`; `names` are places, each with the name it is shown under."""

    def __init__(self, console: Console, program: str = "openclaw", names: Sequence[tuple[str, str]] = ()) -> None:
        self.console = console
        self._program = program
        self._names = names
        self._columns = max(min(console.prose_width, MOST_COLUMNS), LEAST_COLUMNS)

    def heading(self, text: str) -> None:
        rule = "─" * (self._columns - len(text) - 4)
        self.console.line(f"{self.console.dim('──')} {self.console.bold(text)} {self.console.dim(rule)}")

    def say(self, text: str) -> None:
        for line in self._folded(text, ""):
            self.console.line(line)

    def gap(self) -> None:
        self.console.line()

    def typed(self, words: Sequence[str]) -> None:
        """A command that is run now; a long one goes on after a backslash, as a shell takes it."""
        for number, line in enumerate(self._command(self._named(shlex.join(words)))):
            start = _OUTPUT if number else f"{_COMMAND}{self.console.dim('$')} "
            self.console.line(start + self.console.bold(line))

    def command(self, words: Sequence[str]) -> None:
        self.typed([self._program, *words])

    def yourself(self, commands: Sequence[tuple[str, str]]) -> None:
        """What to type, and what that does."""
        self.console.line("Do it yourself:")
        for command, what in commands:
            for number, line in enumerate(self._command(f"{self._program} {command}")):
                self.console.line((_OUTPUT if number else _COMMAND) + self.console.good(line))
            for line in self._folded(what, _OUTPUT):
                self.console.line(self.console.dim(line))

    def show(self, text: str) -> None:
        """Text as a program printed it, long lines folded, those that cannot be cut."""
        for line in self._named(text).split("\n"):
            for piece in self._folded(line, _OUTPUT) if line.strip() else [""]:
                self.console.line(piece)

    def output(self, most: int = MOST_LINES) -> "Output":
        """Where a command prints; of many lines the first ones are shown."""
        return Output(self, most)

    def _command(self, text: str) -> list[str]:
        """The lines of a command, without their indent."""
        lines = [line.removeprefix(_OUTPUT) for line in self._folded(text, _OUTPUT, len(_GOES_ON))]
        return [f"{line}{_GOES_ON}" for line in lines[:-1]] + lines[-1:]

    def _folded(self, text: str, indent: str, spare: int = 0) -> Iterator[str]:
        room = self._columns - len(indent) - spare
        own = " " * (len(text) - len(text.lstrip()))
        for piece in wrap(text, room, break_long_words=False, break_on_hyphens=False, subsequent_indent=own):
            yield indent + (piece if len(piece) <= room else piece[: room - 1] + _MORE)

    def _named(self, text: str) -> str:
        for place, name in self._names:
            text = text.replace(place, name)
        return text


class Output:
    """Shows a command's output line by line as it comes, and keeps all of it in `text`."""

    def __init__(self, screen: Screen, most: int) -> None:
        self.text = ""
        self._screen = screen
        self._most = most
        self._line = ""
        self._shown = 0

    def console(self) -> Console:
        """Both streams in one, without colours: their codes would count as columns."""
        return msgspec.structs.replace(
            self._screen.console, out=self._write, err=self._write, colour=False, interactive=False
        )

    def end(self) -> None:
        if self._line:
            self._show(self._line)
            self._line = ""

    def _write(self, text: str) -> None:
        self.text += text
        *whole, self._line = (self._line + text).split("\n")
        for line in whole:
            self._show(line)

    def _show(self, line: str) -> None:
        self._shown += 1
        if self._shown <= self._most:
            self._screen.show(line)
        elif self._shown == self._most + 1:
            self._screen.show(_MORE)
