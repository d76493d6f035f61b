"""Where a command prints: stdout, stderr, JSON or text, with or without colour, in this process or at a gateway's far end.

Owns the few terminal habits we have (bold, dim, a table, one question). Every line passes `security/external.py` here, whoever chose its
words: a server, a file, a folder. What is written with `out` and `err` themselves its writer has to clean.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, Protocol

import msgspec

from openclaw.commands.screen.columns import fold, in_ascii, table_rows
from openclaw.content import to_json
from openclaw.conversation import Asker, Nobody, Question
from openclaw.security.external import clean_terminal, escape_json

# What prose is set to where nothing says how wide the paper is.
USUAL_WIDTH = 80
# The styles below, and how each ends: nothing else drives a screen.
_STYLE = re.compile("(\x1b\\[(?:0|1|2|31|32)m)")

Write = Callable[[str], None]
Read = Callable[[], Awaitable[str]]
Piped = Callable[[int], Awaitable[bytes]]
Pieces = Callable[[], AsyncIterator[bytes]]
Flush = Callable[[], Awaitable[None]]
Browse = Callable[[str], Awaitable[bool]]
Interruptible = Callable[[Callable[[], object]], AbstractContextManager[None]]
Unseen = Callable[[], AbstractContextManager[None]]
Enter = Callable[[], Awaitable[None]]
# How a terminal is sent a picture; empty where it shows none.
Pictures = Literal["", "kitty", "iterm2", "sixel"]


class Doing(msgspec.Struct, frozen=True):
    """What is done now, for a person who waits: in a few clean words, since when (monotonic), and which keys do what about it."""

    text: str
    since: float
    keys: str = ""


class Live(Protocol):
    """The last lines of a terminal, which are drawn again (screen/live.py)."""

    def waiting(self, doing: str | Callable[[], Doing]) -> AbstractContextManager[None]: ...

    def tail(self, rows: Sequence[str]) -> None: ...

    def hidden(self) -> AbstractContextManager[None]:
        """While somebody else uses the terminal."""
        ...

    @property
    def hidden_for(self) -> float:
        """How many seconds that was until now."""
        ...


class _NoLines:
    """Where nothing is drawn again."""

    def waiting(self, doing: str | Callable[[], Doing]) -> AbstractContextManager[None]:
        return nullcontext()

    def tail(self, rows: Sequence[str]) -> None:
        return

    def hidden(self) -> AbstractContextManager[None]:
        return nullcontext()

    @property
    def hidden_for(self) -> float:
        return 0.0


async def _nothing() -> str:
    return ""


async def _nothing_piped(most: int) -> bytes:
    return b""


async def never() -> None:
    await asyncio.Event().wait()


async def _at_once() -> None:
    return None


def _never_behind() -> bool:
    return False


async def without_screen(address: str) -> bool:
    """A `browse` that opens nothing, as where nobody would see it."""
    return False


async def _no_pieces() -> AsyncIterator[bytes]:
    nothing: tuple[bytes, ...] = ()
    for piece in nothing:
        yield piece


def _uninterrupted(act: Callable[[], object]) -> AbstractContextManager[None]:
    return nullcontext()


class Console(msgspec.Struct, frozen=True):
    """`asker` is the person at the terminal, whom commands ask for a yes (`agreed`) and turns for more; `read` gives all of standard
    input, `pieces` the same as it comes, where it comes from afar. `piped` gives what came through a pipe beside the words, and one byte
    more than asked for when there is more; nothing where a person sits, or where nothing comes for a while: a pipe that nobody writes to
    would be waited for without end.

    `flush` waits until the other end has taken most of what was printed; who prints much without it fills our memory. `is_behind` says
    that it would wait. `browse` opens an address in a browser where the person sits and says whether that went; without an address,
    whether there is a screen for it. While `interruptible` is held, Ctrl-C does what it was given, and does not end the command. While
    `unseen` is held, what is typed is not shown where the cursor stands, and stays for whoever reads next. `enter` returns when the person
    presses Enter, which they may do at any time; never where they cannot.
    """

    out: Write
    err: Write
    # Columns of the screen; 0 where there is none, as in a pipe.
    width: int = USUAL_WIDTH
    # stdout is a screen, with or without colours: what people read there may be laid out for them.
    screen: bool = False
    colour: bool = False
    # stderr is a terminal that a person watches: progress may be shown there.
    interactive: bool = False
    # A line that stands there can be drawn again.
    cursor: bool = False
    # It shows more than ASCII.
    utf8: bool = True
    pictures: Pictures = ""
    # Columns as they are now, where somebody may draw the edge of the window.
    width_now: Callable[[], int] | None = None
    live: Live = msgspec.field(default_factory=_NoLines)
    asker: Asker = msgspec.field(default_factory=Nobody)
    read: Read = _nothing
    piped: Piped = _nothing_piped
    pieces: Pieces = _no_pieces
    flush: Flush = _at_once
    is_behind: Callable[[], bool] = _never_behind
    browse: Browse = without_screen
    interruptible: Interruptible = _uninterrupted
    unseen: Unseen = nullcontext
    enter: Enter = never

    @property
    def has_keys(self) -> bool:
        """Whether the person can press Enter."""
        return self.enter is not never

    def columns(self) -> int:
        """Columns of the screen at this moment; 0 where there is none."""
        return self.width_now() if self.width_now is not None else self.width

    @property
    def prose_width(self) -> int:
        return self.width or USUAL_WIDTH

    async def agreed(self, question: str) -> bool | None:
        """Whether the person said yes; None when nobody answered. What was typed before the question was shown does not count."""
        answer = await self.asker.ask(Question("approval", question))
        return None if answer.action == "cancel" else answer.is_yes

    def line(self, text: str = "") -> None:
        """Words of ours: on a screen they are folded to fit it."""
        self.out(self._laid_out(text, is_screen=self.screen) + "\n")

    def note(self, text: str) -> None:
        """Something for the person, not for a pipe."""
        self.err(self._laid_out(text, is_screen=self.interactive) + "\n")

    def verbatim(self, text: str) -> None:
        """What others wrote, as they folded it."""
        self.out(self._clean(text) + "\n")

    def _laid_out(self, text: str, *, is_screen: bool) -> str:
        width = self.columns() if is_screen else 0
        return fold(self._clean(text), width) if width else self._clean(text)

    def data(self, value: Any) -> None:
        self.out(readable_json(value) + "\n")

    def bold(self, text: str) -> str:
        return self._style("1", text)

    def dim(self, text: str) -> str:
        return self._style("2", text)

    def good(self, text: str) -> str:
        return self._style("32", text)

    def bad(self, text: str) -> str:
        return self._style("31", text)

    def _clean(self, text: str) -> str:
        if not self.utf8:
            # Before it is laid out: some of our signs are wider then.
            text = in_ascii(text)
        if not self.colour or "\x1b" not in text:
            return clean_terminal(text)
        return "".join(piece if _STYLE.fullmatch(piece) else clean_terminal(piece) for piece in _STYLE.split(text))

    def _style(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Columns that fit the screen, their cells folded and the last one cut after a few rows. In a pipe nothing is folded or cut."""
        if not rows:
            return
        plain = [[self._clean(str(cell)) for cell in row] for row in (head, *rows)]
        width = self.columns() if self.screen else self.width
        for number, text in enumerate(table_rows(plain, width)):
            self.out((self.dim(text) if number == 0 and text.startswith(plain[0][0]) else text) + "\n")


# From two of a unit on it is easier to read than many of a smaller one; what is as good as two counts as two.
_FEW = 1.99
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def duration(seconds: float) -> str:
    """How long, in one number that says enough: `90 s`, `5 min`, `3 h`, `4 d`."""
    unit, size = next(((unit, size) for unit, size in _UNITS if seconds >= _FEW * size), _UNITS[-1])
    return f"{seconds / size:.0f} {unit}"


def clock_time(moment: float) -> str:
    """When something happened, in seconds since 1970, as the clock of this machine had it."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))


def tool_count(count: int) -> str:
    return f"{count} tool{'' if count == 1 else 's'}"


def readable_json(value: Any) -> str:
    """Indented JSON of structs and plain data. Characters that drive a terminal are escaped, which leaves the values as they are."""
    return escape_json(msgspec.json.format(to_json(value), indent=2).decode())
