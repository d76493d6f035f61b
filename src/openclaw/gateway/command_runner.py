"""Runs commands for terminals: decides whether a command is run in the gateway, and runs it with the App that is already up.

Refuses what belongs to the terminal's own process: commands marked so, another version's stub, another config, `--local`, and options
about logging, which mean the lines of the process that runs the command.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from openclaw.app import App
from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context, Surface, dispatch
from openclaw.commands.notices import ShownNotices
from openclaw.commands.options import SHARED
from openclaw.commands.parse import Command, parse
from openclaw.config.paths import Paths
from openclaw.engine import Engine
from openclaw.errors import OpenClawError
from openclaw.gateway.request import CommandRequest
from openclaw.security.external import clean_terminal
from openclaw.version import __version__

# Options that speak about the process that runs the command.
_OF_THE_PROCESS = ("local", "log-level", "log-json")
# Commands that begin a turn or a call.
_BEGIN_WORK = (("agent",), ("line",), ("order",), ("acp", "host"), ("mcp", "call"), ("mcp", "read"), ("mcp", "prompt"))
# Commands whose outcome hangs on the config, and that do not say by themselves what is wrong with it.
_GO_BY_CONFIG = ("agent", "approvals", "mcp", "tools")

Status = Callable[[], Awaitable[Mapping[str, Any]]]
CatchUp = Callable[[], Awaitable[str]]
# Seconds at most, and those in which what comes is still taken.
Drain = Callable[[float, float], None]


class Page(Protocol):
    """What a terminal may have of the gateway's page."""

    async def __call__(self, *, revoke: bool) -> Mapping[str, Any]: ...


class CommandRunner:
    """`status`, `stop`, `drain` and `page` are the gateway's own; `root` has the commands it may run. `catch_up` takes over a config that
    was just saved, and says why not when that cannot be done."""

    def __init__(
        self,
        app: App,
        root: Command,
        *,
        status: Status,
        stop: Callable[[], None],
        drain: Drain,
        catch_up: CatchUp,
        page: Page,
    ) -> None:
        self._app = app
        self._root = root
        self._status = status
        self._catch_up = catch_up
        self.stop = stop
        self.drain = drain
        self.page = page
        self.is_stopping = False
        self._begins_nothing = False
        self._told = ShownNotices()

    def take_no_more(self) -> None:
        """The gateway stops: from now on terminals run their commands themselves."""
        self.is_stopping = True

    def begin_no_more(self) -> None:
        """The gateway drains: the same for commands that begin a turn or a call; others look at what still runs, or answer it."""
        self._begins_nothing = True

    async def status(self) -> Mapping[str, Any]:
        return await self._status()

    def refusal(self, request: CommandRequest) -> str | None:
        if request.version != __version__:
            return f"note: the gateway is version {__version__}; `openclaw gateway restart` makes it this one."
        if self.is_stopping or not self._is_same_config(request):
            return ""
        try:
            parsed = parse(self._root, request.words, SHARED)
            named = Paths.from_env(self._app.engine.env, config=parsed.text("config"), cwd=str(request.cwd))
        except OpenClawError:
            # The command itself tells what is wrong with it, and does nothing.
            return None
        is_theirs = parsed.command.local or any(parsed.values.get(name) for name in _OF_THE_PROCESS)
        is_theirs = is_theirs or (self._begins_nothing and parsed.trail in _BEGIN_WORK)
        is_another = bool(parsed.text("config")) and not _same(named.config_file, self._app.paths.config_file)
        return "" if is_theirs or is_another else None

    def _is_same_config(self, request: CommandRequest) -> bool:
        paths = self._app.paths
        return _same(Path(request.state_dir), paths.state_dir) and _same(Path(request.config_file), paths.config_file)

    async def run(self, request: CommandRequest, console: Console) -> int:
        if "--no-color" in request.words:
            console = msgspec.structs.replace(console, colour=False)
        # What was written a moment ago holds for this command, and what it writes for whoever comes next, by whatever way.
        if (problem := await self._catch_up()) and next(iter(request.words), "") in _GO_BY_CONFIG:
            first = clean_terminal(problem.splitlines()[0])
            console.note(f"note: the config is not in use as saved, but as it was before: {first}")
        try:
            return await dispatch(request.words, self.context(console, "control", request.cwd))
        finally:
            await self._catch_up()

    def context(self, console: Console, surface: Surface, cwd: Path) -> Context:
        """What a command gets that runs in this process."""
        engine = self._app.engine
        return Context(
            console=console,
            paths=engine.paths,
            env=engine.env,
            cwd=cwd,
            open_app=self._open_app,
            open_engine=self._open_engine,
            surface=surface,
            root=self._root,
            told=self._told.of,
        )

    @asynccontextmanager
    async def _open_app(self) -> AsyncIterator[App]:
        yield self._app

    @asynccontextmanager
    async def _open_engine(self) -> AsyncIterator[Engine]:
        yield self._app.engine


def _same(one: Path, other: Path) -> bool:
    """Whether two paths name one file, links followed; they need not exist."""
    return one.resolve() == other.resolve()
