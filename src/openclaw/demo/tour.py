"""The tour itself: what a step is, what it works with, and how one follows the other. The steps are in steps.py.

A command that is shown is a command that is run: by the same code as when a person types it, on the stage of stage.py. A step that does
not come out as it should ends the tour with one sentence.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from openclaw.commands.dispatch import handler
from openclaw.commands.options import SHARED
from openclaw.commands.parse import parse
from openclaw.demo.command_text import below_home
from openclaw.demo.screen import MOST_LINES, Screen
from openclaw.demo.stage import Stage
from openclaw.errors import OpenClawError
from openclaw.mcp.manager import Manager

# A step takes a second or two, and the reader is waited for a few times within it; one that takes this long will not end.
STEP_SECONDS = 120.0
AGENT = "main"
# A command's output that was cut ends with a line that says so.
_CUT_LINES = 1


class TourError(OpenClawError):
    """A step did not come out as it should."""


class Step(msgspec.Struct, frozen=True):
    """`yourself`: commands as a shell takes them, each with what it does. In them `{openclaw}` and `{python}` stand for this program and
    its interpreter; what the person has to fill in looks like `<THIS>`, which no shell runs."""

    title: str
    about: str
    run: Callable[["Tour"], Awaitable[None]]
    yourself: tuple[tuple[str, str], ...]


class Tour:
    """What a step works with. `program` and `python` are what a person types for them."""

    def __init__(self, stage: Stage, screen: Screen, program: str = "openclaw", python: str = sys.executable) -> None:
        self.stage = stage
        self.screen = screen
        self._typed = {"openclaw": program, "python": python}
        self._offers: list[tuple[str, str]] = []

    async def run(self, *words: str, most: int = MOST_LINES, ahead: int = 0) -> str:
        """Show a command, run it, and give back all it printed. Raises TourError or what the command raises.

        `most` counts lines as they are printed; `ahead` is how many more there are on the screen, because of folding or because the next
        ones are to be read together with these.
        """
        await self.screen.command(words, ahead=most + _CUT_LINES + ahead)
        output = self.screen.output(most)
        context = self.stage.context(output.console())
        parsed = parse(context.root, words, SHARED)
        try:
            code = await handler(parsed)(context, parsed)
        finally:
            output.end()
        if code:
            raise TourError(f"`openclaw {' '.join(words[:2])}` ended with {code}.")
        return output.text

    async def run_showing(self, wanted: str, *words: str, most: int = MOST_LINES, ahead: int = 0) -> str:
        """The same, for a command whose output must say this."""
        text = await self.run(*words, most=most, ahead=ahead)
        if wanted not in text:
            raise TourError(f"`openclaw {' '.join(words[:2])}` did not say {wanted!r}.")
        return text

    async def connect(self, name: str, module: str, *arguments: str) -> None:
        """Add a program of ours as a server."""
        program = (sys.executable, "-m", f"openclaw.demo.{module}", *arguments)
        await self.run_showing("Running", "mcp", "connect", "--name", name, "--yes", *program, most=3)

    async def manager(self) -> Manager:
        return await self.stage.app.engine.manager()

    async def pid_of(self, name: str) -> int:
        pid = next(one.pid for one in (await self.manager()).status(AGENT) if one.name == name)
        if pid is None:
            raise TourError(f"The server {name} has no process.")
        return pid

    def offer(self, command: str, what: str) -> None:
        """One more thing to type after this step, for what is not at hand everywhere."""
        self._offers.append((command, what))

    def offers(self, step: Step) -> list[tuple[str, str]]:
        """What to type after a step, as it is typed here."""
        commands, self._offers = [*self._offers, *step.yourself], []
        return [(command.format_map(self._typed), what) for command, what in commands]


async def take(tour: Tour, steps: Sequence[Step]) -> None:
    """All steps, one after the other, with a pause between them. Raises TourError."""
    for number, step in enumerate(steps, 1):
        if number > 1:
            await tour.screen.pause()
        await tour.screen.heading(f"{number} of {len(steps)}  {step.title}", step.about)
        try:
            async with asyncio.timeout(STEP_SECONDS):
                await step.run(tour)
        except TimeoutError:
            raise TourError(f"Step {number} did not end within {STEP_SECONDS:g} s.") from None
        except BrokenPipeError:
            # Nobody looks any more.
            raise
        except OpenClawError as error:
            raise TourError(f"Step {number} failed: {error}") from None
        except OSError as error:
            raise TourError(f"Step {number} failed: {error.strerror or error}.") from None
        await tour.screen.yourself(tour.offers(step))


def places(stage: Stage, env: Mapping[str, str]) -> list[tuple[str, str]]:
    """How places are shown: the stage's home is `~` for everything that runs in it, as the person's is for the interpreter."""
    return [(str(stage.home), "~"), (sys.executable, below_home(sys.executable, env))]
