"""From words to a finished command: parse, load the handler, run it, turn every failure into one sentence and an exit code.

The same function serves a terminal, a gateway that runs a command for a terminal, and `/…` in chat. Exit codes: 0 done, 1 the work
failed, 2 usage or config.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from openclaw.commands.console import Console
from openclaw.commands.options import SHARED
from openclaw.commands.parse import Command, Option, Parsed, help_text, parse
from openclaw.config.paths import Paths
from openclaw.content import to_json
from openclaw.errors import ConfigError, OpenClawError
from openclaw.libraries import missing
from openclaw.security.external import escape_json
from openclaw.version import __version__

Surface = Literal["terminal", "control", "chat", "http"]

_log = logging.getLogger(__name__)


if TYPE_CHECKING:
    from openclaw.app import App
    from openclaw.engine import Engine


class Context(msgspec.Struct, frozen=True):
    """What a command may use. Opening gives the running App or Engine of a gateway, or makes one for this command alone.

    A command that needs no agent opens the engine: it is half the size.
    """

    console: Console
    paths: Paths
    env: Mapping[str, str]
    cwd: Path
    open_app: "Callable[[], AbstractAsyncContextManager[App]]"
    open_engine: "Callable[[], AbstractAsyncContextManager[Engine]]"
    # All commands there are: program.py has the whole tree.
    root: Command
    surface: Surface = "terminal"
    # What each terminal has been told (notices.py), by the name it gave itself.
    told: "Callable[[str], set[str]]" = lambda terminal: set()


Handler = Callable[[Context, Parsed], Awaitable[int]]


async def dispatch(words: Sequence[str], context: Context, shared: Sequence[Option] = SHARED) -> int:
    """Run one command line of the tree under `context.root`, and tell what went wrong. Raises nothing but CancelledError."""
    console = context.console
    try:
        return await run_command(words, context, shared)
    except OpenClawError as error:
        from openclaw.commands.failure import error_json, sentence, wants_json

        if wants_json(words, context.root, shared):
            # In one line: what came before may be lines of JSON too.
            console.out(escape_json(to_json(error_json(error)).decode()) + "\n")
        elif isinstance(error, ConfigError):
            for problem in error.problems:
                console.note(f"{console.bad('config:')} {sentence(problem)}")
        else:
            console.note(f"{console.bad('error:')} {sentence(error)}")
        return error.exit_code


async def run_command(words: Sequence[str], context: Context, shared: Sequence[Option] = SHARED) -> int:
    """The same for a surface that tells it in its own way. Raises OpenClawError whatever goes wrong."""
    console, root = context.console, context.root
    try:
        parsed = parse(root, words, shared)
        if parsed.flag("version"):
            console.line(f"openclaw {__version__}")
            return 0
        if parsed.flag("help") and parsed.many("about"):
            return await loaded(parsed.command.help_handler)(context, parsed)
        if parsed.flag("help") or parsed.command.children:
            console.line(help_text(root, parsed, shared, console.prose_width))
            return 0
        if parsed.command.stays or parsed.flag("follow"):
            return await handler(parsed)(context, parsed)
        with console.live.waiting("Working"):
            # Beside the loop, which shows meanwhile that something is done: loading takes a moment, and more on a busy machine.
            run = await asyncio.to_thread(handler, parsed) if console.cursor else handler(parsed)
            return await run(context, parsed)
    except (OpenClawError, asyncio.CancelledError, BrokenPipeError):
        raise
    except Exception as error:
        if told := missing(error):
            raise told from error
        # A fault of ours: the traceback is for the log, one sentence for the person.
        _log.debug("command failed", exc_info=error)
        said = f"{type(error).__name__}: {error} (run with --log-level debug for details)"
        raise OpenClawError(said) from error


def handler(parsed: Parsed) -> Handler:
    return loaded(parsed.command.handler)


def loaded(place: str) -> Handler:
    """The function that `module:function` names."""
    module, _, name = place.partition(":")
    found: Handler = getattr(import_module(module), name)
    return found
