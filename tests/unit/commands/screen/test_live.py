"""The last lines of a terminal: what is waited for, drawn again, and out of the way of everything else."""

import asyncio

import msgspec
import pyte
import pytest

from openclaw.commands.console import Console, Doing
from openclaw.commands.screen.live import alive, status_line
from openclaw.conversation import Answer, Question, QuestionKind


class Screen:
    """A terminal with a person at it, and the console that prints there."""

    def __init__(self, columns: int = 60, **settings: object) -> None:
        self._drawn = pyte.Screen(columns, 10)
        self._stream = pyte.Stream(self._drawn)
        self._changed = asyncio.Event()
        self.written: list[str] = []
        plain = Console(
            out=self._write, err=self._write, width=columns, screen=True, interactive=True, cursor=True, asker=self
        )
        self.console = alive(msgspec.structs.replace(plain, **settings))
        self.when_asked: list[str] = []

    def _write(self, text: str) -> None:
        self.written.append(text)
        self._changed.set()
        self._stream.feed(text.replace("\n", "\r\n"))

    @property
    def rows(self) -> list[str]:
        return [row.rstrip() for row in self._drawn.display if row.strip()]

    async def until(self, text: str) -> None:
        while not any(text in row for row in self.rows):
            self._changed.clear()
            await self._changed.wait()

    def can(self, kind: QuestionKind) -> bool:
        return True

    async def ask(self, question: Question) -> Answer:
        self.when_asked = self.rows
        return Answer("accept")


async def test_a_wait_is_shown_with_its_seconds_and_how_to_stop_and_goes_away() -> None:
    screen = Screen()
    with screen.console.live.waiting("Waiting for files"):
        await screen.until("Waiting for files")
        assert screen.rows[-1].endswith(" Waiting for files · 0 s · Ctrl-C stops")
    assert screen.rows == []


async def test_what_is_printed_stands_above_what_is_waited_for() -> None:
    screen = Screen()
    with screen.console.live.waiting("Waiting for files"):
        await screen.until("Waiting for files")
        screen.console.line("first")
        screen.console.note("second")
        assert screen.rows == ["first", "second"]
        await screen.until("Waiting for files")
        assert screen.rows[:2] == ["first", "second"]
    assert screen.rows == ["first", "second"]


async def test_the_end_of_an_answer_is_drawn_again() -> None:
    screen = Screen()
    screen.console.live.tail(["one", "two"])
    screen.console.live.tail(["one", "two three"])
    assert screen.rows == ["one", "two three"]
    screen.console.out("one\n")
    screen.console.live.tail(["two three four"])
    assert screen.rows == ["one", "two three four"]
    screen.console.live.tail(())
    assert screen.rows == ["one"]


async def test_words_that_come_and_cannot_be_shown_yet_are_waited_for_all_the_same() -> None:
    screen, loop = Screen(), asyncio.get_running_loop()
    begun = loop.time()

    def again() -> None:
        screen.console.live.tail(["one"])
        if loop.time() - begun < 60:
            loop.call_later(0.02, again)

    with screen.console.live.waiting("Waiting for the model"):
        again()
        await screen.until("Waiting for the model")
        assert screen.rows[0] == "one"


async def test_nothing_is_drawn_behind_half_a_line() -> None:
    screen = Screen()
    screen.console.out("half a li")
    screen.console.live.tail(["drawn"])
    assert screen.rows == ["half a li"]


async def test_a_question_has_the_terminal_for_itself() -> None:
    screen = Screen()
    with screen.console.live.waiting("Waiting for files"):
        await screen.until("Waiting for files")
        assert await screen.console.agreed("Go on? ")
        assert screen.when_asked == []


async def test_a_terminal_that_cannot_draw_is_told_in_a_line_of_its_own() -> None:
    screen = Screen(cursor=False)
    with screen.console.live.waiting("Waiting for files"):
        await screen.until("Waiting for files")
    assert screen.written == ["Waiting for files (Ctrl-C stops)\n"]


async def test_a_pipe_gets_nothing() -> None:
    screen = Screen(screen=False, interactive=False)
    with screen.console.live.waiting("Waiting for files"):
        await asyncio.to_thread(lambda: None)
    screen.console.live.tail(["drawn"])
    assert screen.written == []


@pytest.mark.parametrize("width", [60, 100, 200])
def test_the_line_of_a_wait_fits_and_keeps_its_end(width: int) -> None:
    line = status_line(Doing(f"Waiting for {'many servers, ' * 20}", 10.0), 73.4, width)
    assert len(line) < width
    assert line.endswith("… · 63 s · Ctrl-C stops")


def test_without_utf_8_the_line_is_ascii() -> None:
    assert status_line(Doing("Waiting for x", 0.0), 2.0, 60, utf8=False) == "| Waiting for x - 2 s - Ctrl-C stops"
    # What is left out of it is three signs there.
    line = status_line(Doing("Waiting for one, two, three and…", 0.0), 2.0, 40, utf8=False)
    assert line == "| Waiting for o... - 2 s - Ctrl-C stops"
