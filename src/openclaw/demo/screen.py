"""How the tour looks: headings, prose, commands and what came of them, within the terminal.

Owns indents, folding and cutting, and waits for the reader before something is shown that would push out what they have not read. What
comes from servers has been cleaned by whoever printed it; colours are the console's business.
"""

from collections.abc import Awaitable, Callable, Sequence
from textwrap import wrap

import msgspec

from openclaw.commands.console import Console, without_screen
from openclaw.demo.command_text import folded, quoted
from openclaw.log import ESCAPE_SEQUENCE

# Longer lines are hard to read, however wide the screen is.
MOST_COLUMNS = 88
# On a narrower screen lines may run over.
LEAST_COLUMNS = 40
# Of a command's output, unless a step says otherwise.
MOST_LINES = 8
_MORE = "…"
# A command stands behind a `$`, what it prints below its first letter.
_COMMAND = "  "
_OUTPUT = "    "
# A screen has one line for the prompt of whoever waits.
_PROMPT_LINES = 1

Pause = Callable[[], Awaitable[None]]


async def _at_once() -> None:
    return None


class Screen:
    """`program` is what a reader has to type for `openclaw`; `names` are places, each with the name it is shown under.

    `rows` is the height of the terminal, 0 where nobody reads along; `pause` waits for the reader.
    """

    def __init__(
        self,
        console: Console,
        program: str = "openclaw",
        names: Sequence[tuple[str, str]] = (),
        *,
        rows: int = 0,
        pause: Pause = _at_once,
    ) -> None:
        self.console = console
        self._program = program
        self._names = names
        self._rows = rows
        self._pause = pause
        self._unread = 0
        self._columns = max(min(console.prose_width, MOST_COLUMNS), LEAST_COLUMNS)

    async def pause(self) -> None:
        if self._rows:
            await self._pause()
        self._unread = 0

    async def heading(self, text: str, about: str) -> None:
        rule = "─" * (self._columns - len(text) - 4)
        head = f"{self.console.dim('──')} {self.console.bold(text)} {self.console.dim(rule)}"
        await self._show([head, *self._fold(about), ""])

    async def say(self, text: str, *, ahead: int = 0) -> None:
        """`ahead`: how many lines come next that are to be read together with it."""
        await self._show(self._fold(text), ahead)

    async def typed(self, words: Sequence[str], *, ahead: int = 0) -> None:
        """A command that is run now; a long one goes on after a backslash, as a shell takes it. Of a word that is longer than a line
        the beginning is shown: nobody types an address with a code in it."""
        text = " ".join(quoted(self._named(word)) for word in words)
        await self._typed(text, ahead)

    async def command(self, words: Sequence[str], *, ahead: int = 0) -> None:
        """The same for a command of ours, without its first word."""
        text = " ".join([self._program, *(quoted(self._named(word)) for word in words)])
        await self._typed(text, ahead)

    async def yourself(self, commands: Sequence[tuple[str, str]]) -> None:
        """What to type, whole, and what that does."""
        blocks = [["", "Do it yourself:"]]
        for command, what in commands:
            lines = [
                (_OUTPUT if number else _COMMAND) + self.console.good(line)
                for number, line in enumerate(folded(command, self._columns - len(_OUTPUT)))
            ]
            blocks.append([*lines, *(self.console.dim(line) for line in self._fold(what, _OUTPUT))])
        blocks.append([""])
        whole = [line for block in blocks for line in block]
        if sum(map(self._rows_of, whole)) <= self._rows - _PROMPT_LINES:
            blocks = [whole]
        # What is more than a screen is read command by command.
        for block in blocks:
            await self._show(block)

    async def show(self, text: str, *, ahead: int = 0) -> None:
        """Text as a program printed it."""
        await self._show(self.output_lines(text), ahead)

    def output(self, most: int = MOST_LINES) -> "Output":
        """Where a command prints; of many lines the first ones are shown."""
        return Output(self, most)

    def output_lines(self, text: str) -> list[str]:
        """Long lines folded, and those cut that cannot be."""
        lines: list[str] = []
        for line in self._named(text).split("\n"):
            lines += self._fold(line, _OUTPUT) or [""]
        return lines

    def put(self, line: str) -> None:
        """One line, for which room was made before."""
        self._unread += self._rows_of(line)
        self.console.line(line)

    async def _typed(self, text: str, ahead: int) -> None:
        room = self._columns - len(_OUTPUT)
        lines = [self.console.bold(_cut(line, room)) for line in folded(text, room)]
        head = f"{_COMMAND}{self.console.dim('$')} {lines[0]}"
        await self._show([head, *(_OUTPUT + line for line in lines[1:])], ahead)

    async def _show(self, lines: Sequence[str], ahead: int = 0) -> None:
        """Once there is room for these lines and those ahead, or nothing unread is left that they could push out."""
        if self._unread and self._unread + sum(map(self._rows_of, lines)) + ahead > self._rows - _PROMPT_LINES:
            await self.pause()
        for line in lines:
            self.put(line)

    def _rows_of(self, line: str) -> int:
        """A word that cannot be folded, the way to a program for one, runs over to the next row of the terminal."""
        return max(-(-len(ESCAPE_SEQUENCE.sub("", line)) // self.console.prose_width), 1)

    def _fold(self, text: str, indent: str = "") -> list[str]:
        room = self._columns - len(indent)
        own = " " * (len(text) - len(text.lstrip()))
        pieces = wrap(text, room, break_long_words=False, break_on_hyphens=False, subsequent_indent=own)
        return [indent + _cut(piece, room) for piece in pieces]

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
        """Both streams in one, without colours: their codes would count as columns. No browser: the tour signs in by itself."""
        return msgspec.structs.replace(
            self._screen.console,
            out=self._write,
            err=self._write,
            colour=False,
            interactive=False,
            browse=without_screen,
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
            for piece in self._screen.output_lines(line):
                self._screen.put(piece)
        elif self._shown == self._most + 1:
            self._screen.put(_OUTPUT + _MORE)


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + _MORE
