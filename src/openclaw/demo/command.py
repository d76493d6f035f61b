"""`openclaw demo`: the two-minute tour, on this terminal.

Owns the beginning and the end of it, and the pauses. The steps are `demo/steps.py`.
"""

import asyncio
import os
import sys

from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.control.event_loop import on_signal, when_typed
from openclaw.demo.command_text import interpreter, program
from openclaw.demo.screen import Screen
from openclaw.demo.stage import stage
from openclaw.demo.steps import steps
from openclaw.demo.tour import Tour, places, take
from openclaw.tools.confine import FILES_WORK

# Long enough to read what fits a small terminal. With nobody at the keyboard the whole tour still takes about two minutes.
PAUSE_SECONDS = 12.0
_PROMPT = "Press Enter to go on, or just wait."
_ERASE = "\x1b[A\x1b[2K"


async def run(context: Context, parsed: Parsed) -> int:
    console, own = context.console, program(sys.argv[0], context.env)
    task = asyncio.current_task()
    assert task is not None
    # A terminal that is closed must leave as little behind as one that says Ctrl-C.
    on_signal("SIGHUP", task.cancel)
    try:
        async with stage(context.env) as made:
            screen = Screen(console, own, places(made, context.env), rows=_rows(), pause=lambda: _pause(console))
            await screen.say(
                "A tour of OpenClaw. All of it is real and happens now, on this machine alone, in a temporary folder: nothing of yours is "
                "read or changed, and nothing is left behind. Lines with a $ are commands that are run."
            )
            screen.put("")
            await take(Tour(made, screen, own, interpreter(context.env)), steps(files_work=FILES_WORK))
    except asyncio.CancelledError:
        console.note("Stopped. Nothing is left behind.")
        raise
    await screen.say(
        f"That was all, and it is gone. `{own} -h` lists the commands; README goes on with a server of your own."
    )
    return 0


def _rows() -> int:
    """Of the terminal where somebody reads along; else 0."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return 0
    return os.get_terminal_size(sys.stdout.fileno()).lines


async def _pause(console: Console) -> None:
    """Until Enter, or for a while."""
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
