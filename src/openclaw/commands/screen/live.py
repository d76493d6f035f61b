"""The last lines of a terminal, which are drawn again as things go on: the end of an answer that still comes, and what is waited for.

Owns those lines: everything else that is printed goes above them. A wait is shown when nothing was printed for a moment, with its seconds
and how to stop it; what is typed meanwhile is not shown, for it would move what stands there, and is kept for who reads next. Draws
nothing in a pipe, and behind half a line of others; a terminal that cannot draw a line again is told of a wait now and then. The words are
the caller's, and clean.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from time import monotonic

import msgspec

from openclaw.commands.console import Console, Doing, Read, Write
from openclaw.commands.screen.columns import cells, cut, in_ascii
from openclaw.conversation import Answer, Asker, Question, QuestionKind

# Seconds that nobody takes for a standstill.
PATIENCE = 0.3
# Between two pictures of what turns.
_TICK = 0.1
# Between two lines on a terminal that keeps each of them.
_NOW_AND_THEN = 10.0
_TURNING, _TURNING_ASCII = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\"
STOP = "Ctrl-C stops"
# Lines of an answer that are drawn again at most: more might not stand on the screen any more.
_MOST_ROWS = 10


def status_line(doing: Doing, now: float, width: int, *, utf8: bool = True) -> str:
    """What is waited for, in one line that fits: `⠋ Waiting for files · 3 s · Ctrl-C stops`. How long and how to stop are never cut."""
    seconds = max(now - doing.since, 0.0)
    turning = _TURNING if utf8 else _TURNING_ASCII
    sign = turning[int(seconds / _TICK) % len(turning)]
    text, rest = doing.text, f" · {seconds:.0f} s · {doing.keys or STOP}"
    if not utf8:
        text, rest = in_ascii(text), in_ascii(rest)
    # The last column stays free: some terminals go on to the next line when it is written.
    return f"{sign} {cut(text, max(width - cells(rest) - 3, 8), utf8=utf8)}{rest}"


class LiveLines:
    """Made for one command at one terminal; `console` is what it prints with from then on."""

    def __init__(self, console: Console) -> None:
        self._out = console.out
        self._err = console.err
        self._is_screen = console.screen
        self._is_told = console.interactive
        self._can_draw = console.cursor and (console.screen or console.interactive)
        self._utf8 = console.utf8
        self._dim = console.dim
        self._width = console.columns
        self._tail: Sequence[str] = ()
        self._waits: list[Callable[[], Doing]] = []
        # What stands there now, and on how wide a screen.
        self._drawn: list[str] = []
        self._drawn_width = 0
        self._paused = 0
        self._paused_since = self._hidden_for = 0.0
        # Whether the cursor is at the start of a line, and whether anything was printed where we cannot know.
        self._is_at_start = True
        self._is_blind = False
        self._last_printed = 0.0
        self._last_told = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._keys = console.unseen
        # Held while something is drawn that keys would move.
        self._unseen = ExitStack()
        self._is_unseen = False
        self.console = msgspec.structs.replace(
            console,
            out=self._printer(console.out, is_seen=console.screen),
            err=self._printer(console.err, is_seen=console.interactive),
            asker=_Quiet(console.asker, self.hidden),
            read=self._quiet_read(console.read),
            live=self,
        )

    # What a command uses

    @contextmanager
    def waiting(self, doing: str | Callable[[], Doing]) -> Iterator[None]:
        """Show, while this is held, what is waited for; the latest of several."""
        now = monotonic()
        ours: Callable[[], Doing] = (lambda: Doing(doing, now)) if isinstance(doing, str) else doing
        self._waits.append(ours)
        self._last_printed = max(self._last_printed, now)
        self._tick()
        try:
            yield
        finally:
            self._waits.remove(ours)
            if not self._waits and self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._draw()
            if not self._waits:
                self._show_keys()

    def tail(self, rows: Sequence[str]) -> None:
        """The end of an answer as it stands; it may be another one in a moment. Each row fits the screen."""
        tail = tuple(rows[-_MOST_ROWS:])
        if tail != self._tail:
            # What comes and is not shown yet is waited for all the same.
            self._tail, self._last_printed = tail, monotonic()
        self._draw()

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """While somebody else uses the terminal."""
        self._paused += 1
        if self._paused == 1:
            self._paused_since = monotonic()
        self._erase()
        self._show_keys()
        try:
            yield
        finally:
            self._paused -= 1
            self._last_printed = monotonic()
            if not self._paused:
                self._hidden_for += self._last_printed - self._paused_since
            # Whoever used it left the cursor at the start of a line.
            self._is_at_start = True

    @property
    def hidden_for(self) -> float:
        return self._hidden_for

    # Drawing

    def _printer(self, write: Write, *, is_seen: bool) -> Write:
        def print_above(text: str) -> None:
            if not text:
                return
            self._erase()
            write(text if self._utf8 else in_ascii(text))
            self._last_printed = monotonic()
            if is_seen:
                self._is_at_start = text.endswith("\n")
            elif write is self._out:
                # It may be shown on the same screen by another program, whenever that likes.
                self._is_blind = True

        return print_above

    def _quiet_read(self, read: Read) -> Read:
        async def quietly() -> str:
            with self.hidden():
                return await read()

        return quietly

    def _tick(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waits and self._is_told and not self._is_blind:
            self._timer = asyncio.get_running_loop().call_later(_TICK, self._tick)
            if self._can_draw:
                self._draw()
            else:
                self._tell()

    def _tell(self) -> None:
        """On a terminal whose lines stay."""
        doing, now = self._waits[-1](), monotonic()
        since = max(doing.since, self._last_printed)
        pause = PATIENCE if self._last_told < doing.since else _NOW_AND_THEN
        if self._paused or not self._is_at_start or now - max(since, self._last_told) < pause:
            return
        self._last_told = now
        line = f"{doing.text} ({doing.keys or STOP})\n"
        self._err(line if self._utf8 else in_ascii(line))

    def _draw(self) -> None:
        if not self._can_draw or self._paused or self._is_blind or not self._is_at_start:
            return
        lines, width = list(self._tail) if self._is_screen else [], self._width()
        now = monotonic()
        if self._waits and self._is_told and now - self._last_printed >= PATIENCE:
            line = status_line(self._waits[-1](), now, width or 80, utf8=self._utf8)
            lines.append(self._dim(line))
        if lines == self._drawn and width == self._drawn_width:
            return
        if lines and self._waits and not self._is_unseen:
            self._unseen.enter_context(self._keys())
            self._is_unseen = True
        text = self._erasing() + "\n".join(lines)
        self._drawn, self._drawn_width = lines, width
        if text:
            self._write(text if self._utf8 else in_ascii(text))

    def _show_keys(self) -> None:
        self._unseen.close()
        self._is_unseen = False

    def _erase(self) -> None:
        text, self._drawn = self._erasing(), []
        if text:
            self._write(text)

    def _erasing(self) -> str:
        if not self._drawn:
            return ""
        width = self._width() or 80
        # A terminal that became narrower has folded what stood there.
        is_narrower = width < self._drawn_width
        rows = sum(max(-(-cells(line) // width), 1) if is_narrower else 1 for line in self._drawn)
        up = f"\x1b[{rows - 1}A" if rows > 1 else ""
        return f"\r{up}\x1b[J"

    @property
    def _write(self) -> Write:
        return self._out if self._is_screen else self._err


class _Quiet:
    """An asker at a terminal on which nothing is drawn while it asks."""

    def __init__(self, asker: Asker, hidden: Callable[[], AbstractContextManager[None]]) -> None:
        self._asker = asker
        self._hidden = hidden

    def can(self, kind: QuestionKind) -> bool:
        return self._asker.can(kind)

    async def ask(self, question: Question) -> Answer:
        with self._hidden():
            return await self._asker.ask(question)


def alive(console: Console) -> Console:
    """The same console, with last lines that are drawn again where a person watches."""
    return LiveLines(console).console
