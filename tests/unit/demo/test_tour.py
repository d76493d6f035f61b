"""How the tour looks and how it ends when a step does not work out."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from openclaw.commands.console import Console
from openclaw.demo.screen import MOST_COLUMNS, Screen
from openclaw.demo.stage import stage
from openclaw.demo.steps import STEPS, steps
from openclaw.demo.tour import Step, Tour, TourError, take
from openclaw.typed_words import quote_word

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
async def test_nothing_is_wider_than_the_screen_or_than_the_eye(width: int) -> None:
    paper = Paper(width)
    screen = Screen(paper.console)
    await screen.heading("1 of 1  A step", PROSE)
    await screen.say(PROSE)
    await screen.command(["mcp", "call", "one__tool", *(f"name{number}=value" for number in range(30))])
    await screen.show("http://127.0.0.1/" + "x" * 500)
    await screen.yourself([("mcp connect " + "word " * 30, PROSE)])
    assert max(map(len, paper.lines)) <= min(width, MOST_COLUMNS)


async def test_a_long_command_goes_on_as_a_shell_takes_it() -> None:
    paper = Paper(40)
    await Screen(paper.console).command(["agent", "-m", "what files are here, and why?"])
    assert paper.text == f"  $ openclaw agent -m \\\n    {quote_word('what files are here, and why?')}\n"


async def test_what_a_reader_is_to_type_is_never_cut() -> None:
    paper, path = Paper(40), "/a" * 40
    await Screen(paper.console).yourself([(f"{path} -m module", "run it")])
    assert paper.text == f"\nDo it yourself:\n  {path} \\\n    -m module\n    run it\n\n"


async def test_the_reader_is_waited_for_before_something_unread_leaves_the_screen() -> None:
    paper, seen = Paper(), list[int]()

    async def pause() -> None:
        seen.append(len(paper.lines))

    screen = Screen(paper.console, rows=10, pause=pause)
    await screen.show("1\n2\n3\n4")
    await screen.show("5\n6", ahead=3)
    await screen.show("7")
    assert seen == []
    await screen.show("8\n9\n10")
    await screen.typed(["ls"], ahead=6)
    assert seen == [7, 10]


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
        tour = Tour(made, Screen(paper.console), "bin/openclaw", "~/bin/python")
        await take(tour, [Step("A step", "About it.", run, (("{openclaw} chat", "talk"),))])


@pytest.mark.posix_only("paths as POSIX writes them")
async def test_a_step_that_works_ends_with_what_to_type() -> None:
    paper = Paper(width=200)

    async def run(tour: Tour) -> None:
        await tour.run_showing("openclaw.json", "config", "path")
        tour.offer("{python} -m this", "")

    await taken(paper, run)
    end = "\n\nDo it yourself:\n  ~/bin/python -m this\n  bin/openclaw chat\n    talk\n\n"
    assert paper.text.endswith("/.openclaw/openclaw.json" + end)


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


def test_where_files_do_not_work_the_tour_begins_with_a_server() -> None:
    assert steps(files_work=True) == STEPS
    assert [step.title for step in steps(files_work=False)][:2] == ["An MCP server joins", "The server crashes"]
