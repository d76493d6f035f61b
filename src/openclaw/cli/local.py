"""Run a command in this process: event loop, logging, signals and the terminal.

Owns what belongs to a process and not to a command. Ctrl-C and SIGTERM cancel the command and let it clean up; a closed pipe on
stdout ends it quietly.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, nullcontext
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

from openclaw.commands.console import Console, Live, Unseen, never
from openclaw.commands.dispatch import Context, dispatch
from openclaw.commands.options import SHARED
from openclaw.commands.parse import Command, parse
from openclaw.commands.screen.live import alive
from openclaw.config.load import Config, load_config
from openclaw.config.paths import Paths
from openclaw.config.sections import LoggingSection
from openclaw.control.event_loop import during, new_loop, on_signal
from openclaw.control.marks import marks, pictures_of
from openclaw.control.remote import has_piped, width
from openclaw.control.wire import INTERRUPTED
from openclaw.conversation import Asker, Nobody
from openclaw.daemon_thread import in_daemon_thread
from openclaw.errors import StoreError, UsageError
from openclaw.files import reason
from openclaw.log import configure

if TYPE_CHECKING:
    from openclaw.app import App
    from openclaw.control.dialogue_steps import Screen
    from openclaw.engine import Engine

T = TypeVar("T")

# What a command leaves running gets this long to clean up.
_LAST_SECONDS = 2.0
# The answer is there, and what ran for it is ended.
_ENDING = "Ending what ran for this"


def run(words: Sequence[str], root: Command) -> int:
    """The exit code of one command line; `root` is the tree of all commands."""
    _open_missing_streams()
    env = dict(os.environ)
    shared = _shared_options(words, root)
    _log_as(shared, LoggingSection())
    paths = Paths.from_env(env, config=str(shared.get("config") or ""))
    console = terminal(env, no_color=bool(shared.get("no-color")))
    context = Context(
        console=console,
        paths=paths,
        env=env,
        cwd=Path.cwd(),
        open_app=lambda: _own_app(paths, env, shared, console.live),
        open_engine=lambda: _own_engine(paths, env, shared, console.live),
        root=root,
    )
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with _loop() as runner:
            return runner.run(_until_signalled(words, context))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`openclaw tools | head`); keep the interpreter from complaining about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _open_missing_streams() -> None:
    """Open the null device for a standard stream that is closed (`openclaw status <&-`): the next file opened would get its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The lowest free number is the missing one.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


@contextmanager
def _loop() -> Iterator[asyncio.Runner]:
    runner = asyncio.Runner(loop_factory=new_loop)
    try:
        yield runner
    finally:
        # A loop in which something refuses to end would wait for it without end; this process ends, and all of it with it.
        if runner.run(_has_ended()):
            runner.close()


async def _has_ended() -> bool:
    """End what still runs (a plugin may have begun it), and say whether that went."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    return not rest or not (await asyncio.wait(rest, timeout=_LAST_SECONDS))[1]


def _log_as(shared: Mapping[str, object], section: LoggingSection) -> None:
    """The command line goes before the config file. Without a level from either, only errors are shown, as plain sentences."""
    level = str(shared.get("log-level") or section.level or "")
    json_lines = bool(shared.get("log-json")) or section.json
    configure(level=level or "error", json_lines=json_lines, plain=not level)


def _shared_options(words: Sequence[str], root: Command) -> Mapping[str, object]:
    """The options that matter before a command runs; a wrong line is reported by dispatch, once."""
    try:
        return parse(root, words, SHARED).values
    except UsageError:
        return {}


async def _until_signalled(words: Sequence[str], context: Context) -> int:
    task = asyncio.current_task()
    assert task is not None
    on_signal("SIGTERM", task.cancel)
    try:
        return await dispatch(words, context)
    except asyncio.CancelledError:
        return INTERRUPTED


@asynccontextmanager
async def _own_app(
    paths: Paths, env: Mapping[str, str], shared: Mapping[str, object], live: Live
) -> "AsyncIterator[App]":
    """An App for this command alone. `shared` are the options of every command."""
    config = _loaded(paths, env, shared)
    app_class = await _loaded_class(_app_class)
    with ExitStack() as ending:
        async with app_class(config, paths=paths, env=env, workspace=Path.cwd()) as app:
            try:
                yield app
            finally:
                ending.enter_context(live.waiting(_ENDING))


async def _loaded_class(load: "Callable[[], type[T]]") -> "type[T]":
    """What takes a moment to load, beside the loop where somebody is shown that something is done."""
    return await asyncio.to_thread(load) if sys.stderr.isatty() else load()


def _app_class() -> "type[App]":
    from openclaw.app import App

    return App


def _engine_class() -> "type[Engine]":
    from openclaw.engine import Engine

    return Engine


@asynccontextmanager
async def _own_engine(
    paths: Paths, env: Mapping[str, str], shared: Mapping[str, object], live: Live
) -> "AsyncIterator[Engine]":
    config = _loaded(paths, env, shared)
    engine_class = await _loaded_class(_engine_class)
    with ExitStack() as ending:
        async with engine_class(config, paths=paths, env=env) as engine:
            try:
                yield engine
            finally:
                ending.enter_context(live.waiting(_ENDING))


def _loaded(paths: Paths, env: Mapping[str, str], shared: Mapping[str, object]) -> Config:
    config = load_config(paths, env)
    _log_as(shared, config.root.logging)
    if config.missing and shared.get("config"):
        # A mistyped name must not mean that no rule holds.
        raise UsageError(f"--config {paths.config_file}: there is no such file.")
    return config


def terminal(env: Mapping[str, str], *, no_color: bool) -> Console:
    """The terminal (or pipe) this process was started on."""
    browse = partial(_browse, env)
    asker: Asker = Nobody()
    make_room, printed, enter = _nothing, _untold, never
    unseen: Unseen = nullcontext
    if sys.stdin.isatty() and sys.stderr.isatty():
        from openclaw.cli.keyboard import Keyboard
        from openclaw.cli.terminal_asker import TerminalAsker
        from openclaw.control.terminal_modes import typing_unseen

        keyboard = Keyboard()
        asker = person = TerminalAsker(browse, keyboard, partial(_screen, env, no_color=no_color))
        make_room, printed = person.make_room, person.printed
        enter = keyboard.enter if _is_ours() else never
        unseen = partial(typing_unseen, sys.stdin.fileno())
    known = marks(env, screen=sys.stdout.isatty(), interactive=sys.stderr.isatty(), no_color=no_color)
    # Python may know better than the environment, such as where it was told what to write.
    utf8 = "a" not in known and "utf" in (sys.stdout.encoding or "utf-8").lower()
    console = Console(
        out=_writer(sys.stdout, make_room, printed),
        err=_writer(sys.stderr, make_room, printed),
        width=width(),
        screen="s" in known,
        colour="c" in known,
        interactive="i" in known,
        cursor="m" in known,
        utf8=utf8,
        pictures=pictures_of(known),
        width_now=width,
        asker=asker,
        read=_read,
        piped=_piped,
        browse=browse,
        interruptible=partial(during, "SIGINT"),
        enter=enter,
        unseen=unseen,
    )
    return alive(console)


def _writer(stream: TextIO, make_room: Callable[[], None], printed: Callable[[str], None]) -> Callable[[str], None]:
    if isinstance(stream, TextIOWrapper):
        # Where a character cannot be shown its code is, as it is on stderr and by a gateway: no reason to end a command.
        stream.reconfigure(errors="backslashreplace")

    def write(text: str) -> None:
        try:
            make_room()
            stream.write(text)
            stream.flush()
            printed(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise StoreError(f"The output cannot be written: {reason(error)}.") from None

    return write


def _screen(env: Mapping[str, str], *, no_color: bool) -> "Screen":
    # Loaded with the first question.
    from openclaw.control.question_screen import question_screen

    return question_screen(env, no_color=no_color)


async def _browse(env: Mapping[str, str], address: str) -> bool:
    from openclaw.auth.browser import has_screen, open_browser

    return await open_browser(address, env) if address else has_screen(env)


async def _read() -> str:
    # Whoever interrupts it does not wait for the end of what they might have typed.
    return await in_daemon_thread(sys.stdin.read)


async def _piped(most: int) -> bytes:
    # In threads that nobody waits for when the person interrupts.
    if not await in_daemon_thread(has_piped):
        return b""
    return await in_daemon_thread(lambda: sys.stdin.buffer.read(most + 1))


def _nothing() -> None:
    """No question stands on a screen that nobody sits at."""


def _untold(text: str) -> None:
    """And so nobody wants to know what was printed."""


def _is_ours() -> bool:
    """Whether what is typed at the terminal is for us."""
    if sys.platform == "win32":
        # There is no background for a program that has a console.
        return True
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:
        # A terminal, but not the one that this process is controlled from.
        return False
