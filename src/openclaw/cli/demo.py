"""`openclaw demo`: the two-minute tour, on this terminal.

Owns the beginning and the end of it, the pauses, and what a person has to type to run this program. The steps are `demo/tour.py`.
"""

import asyncio
import os
import shutil
import sys

from openclaw.cli.loop import on_signal, when_typed
from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.demo.screen import Screen
from openclaw.demo.stage import stage
from openclaw.demo.tour import Tour, places, take

# Long enough to read a step. With nobody at the keyboard the whole tour still takes less than a minute and a half.
PAUSE_SECONDS = 15.0
_PROMPT = "Press Enter to go on, or just wait."
_ERASE = "\x1b[A\x1b[2K"


async def run(context: Context, parsed: Parsed) -> int:
    console, program = context.console, _program(sys.argv[0])
    task = asyncio.current_task()
    assert task is not None
    # A terminal that is closed must leave as little behind as one that says Ctrl-C.
    on_signal("SIGHUP", task.cancel)
    try:
        async with stage(context.env) as made:
            screen = Screen(console, program, places(made))
            screen.say(
                "A tour of OpenClaw. All of it is real and happens now, on this machine alone, in a temporary folder: nothing of yours is "
                "read or changed, and nothing is left behind. Lines with a $ are commands that are run."
            )
            screen.gap()
            await take(Tour(made, screen), lambda: _pause(console))
    except asyncio.CancelledError:
        console.note("Stopped. Nothing is left behind.")
        raise
    screen.say(
        f"That was all, and it is gone. `{program} -h` lists the commands; docs/start/first-server.md goes on from here."
    )
    return 0


def _program(started_as: str) -> str:
    """What to type for this program: its name where the shell finds it by that, else the path it was started by."""
    found = shutil.which("openclaw")
    is_found = found is not None and os.path.realpath(found) == os.path.realpath(started_as)
    return started_as if os.path.basename(started_as) == "openclaw" and not is_found else "openclaw"


async def _pause(console: Console) -> None:
    """Until Enter, or for a while. Only where somebody reads along."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    console.out(console.dim(_PROMPT))
    pressed = asyncio.Event()
    # No thread that reads: it could not be interrupted, and would keep Ctrl-C waiting for Enter.
    try:
        with when_typed(sys.stdin.fileno(), pressed.set):
            async with asyncio.timeout(PAUSE_SECONDS):
                await pressed.wait()
        os.read(sys.stdin.fileno(), 4096)
    except TimeoutError:
        console.line()
    except asyncio.CancelledError:
        console.line()
        raise
    if console.colour:
        console.out(_ERASE)
