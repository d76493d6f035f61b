"""How the tour looks and how it ends when a step does not work out."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from openclaw.commands.console import Console
from openclaw.demo.screen import MOST_COLUMNS, Screen
from openclaw.demo.stage import stage
from openclaw.demo.tour import Step, Tour, TourError, take

PROSE = "a word and another one " * 20


class Paper:
    """A console that is read afterwards."""

    def __init__(self, width: int = 80) -> None:
        self.text = ""
        self.console = Console(self._write, self._write, width=width)

    def _write(self, text: str) -> None:
        self.text += text

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


@pytest.mark.parametrize("width", [40, 79, 80, 88, 300])
def test_nothing_is_wider_than_the_screen_or_than_the_eye(width: int) -> None:
    paper = Paper(width)
    screen = Screen(paper.console)
    screen.heading("1 of 1  A step")
    screen.say(PROSE)
    screen.command(["mcp", "call", "one__tool", *(f"name{number}=value" for number in range(30))])
    screen.show("http://127.0.0.1/" + "x" * 500)
    screen.yourself([("mcp connect " + "word " * 30, PROSE)])
    assert max(map(len, paper.lines)) <= min(width, MOST_COLUMNS)


def test_a_long_command_goes_on_as_a_shell_takes_it() -> None:
    paper = Paper(40)
    Screen(paper.console).command(["agent", "-m", "what files are here?", "--json"])
    assert paper.text == "  $ openclaw agent -m 'what files are \\\n    here?' --json\n"


def test_places_are_shown_by_their_names_and_long_output_is_cut() -> None:
    paper = Paper()
    output = Screen(paper.console, names=[("/tmp/x", "~")]).output(2)
    output.console().line("in /tmp/x/notes")
    output.console().note("two")
    output.console().out("three\nfour")
    output.end()
    assert paper.text == "    in ~/notes\n    two\n    …\n"
    assert output.text == "in /tmp/x/notes\ntwo\nthree\nfour"


async def taken(paper: Paper, run: Callable[[Tour], Awaitable[None]]) -> None:
    async with stage({"PATH": "/usr/bin:/bin"}) as made:
        tour = Tour(made, Screen(paper.console))
        await take(tour, lambda: asyncio.sleep(0), [Step("A step", "About it.", run, (("chat", "talk"),))])


async def test_a_step_that_works_ends_with_what_to_type() -> None:
    paper = Paper(width=200)

    async def run(tour: Tour) -> None:
        await tour.run_showing("openclaw.json", "config", "path")

    await taken(paper, run)
    assert paper.text.endswith("/.openclaw/openclaw.json\n\nDo it yourself:\n  openclaw chat\n    talk\n\n")


async def fails(tour: Tour) -> None:
    await tour.run("mcp", "call", "nobody__knows_this")


async def disappoints(tour: Tour) -> None:
    await tour.run_showing("something else", "config", "path")


async def answers_no(tour: Tour) -> None:
    await tour.run("tools", "explain", "exec")


async def meets_the_system(tour: Tour) -> None:
    raise ProcessLookupError(3, "No such process")


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        (fails, "Step 1 failed: There is no MCP tool nobody__knows_this."),
        (disappoints, "Step 1 failed: `openclaw config path` did not say 'something else'."),
        (answers_no, "Step 1 failed: `openclaw tools explain` ended with 1."),
        (meets_the_system, "Step 1 failed: No such process."),
    ],
)
async def test_a_step_that_fails_is_one_sentence(run: Callable[[Tour], Awaitable[None]], sentence: str) -> None:
    with pytest.raises(TourError) as error:
        await taken(Paper(), run)
    assert str(error.value).startswith(sentence)
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 1


async def test_the_stage_is_gone_afterwards_whatever_happened() -> None:
    seen: list[Path] = []

    async def run(tour: Tour) -> None:
        seen.append(tour.stage.home)
        assert (tour.stage.notes / "trip.md").exists()
        raise TourError("enough")

    with pytest.raises(TourError):
        await taken(Paper(), run)
    assert [place.exists() for place in seen] == [False]
