"""The whole life of `openclaw acp`: from standard input and output to the last line and the end of the process.

It ends when the client closes our input or stops reading our output, or a signal comes: all turns are cancelled, their last words sent,
servers ended, and that within seconds, whatever hangs (`control/stdio_ending.py`). The agent is loaded with the first session.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from openclaw.acp import wire
from openclaw.acp.agent import AcpAgent
from openclaw.acp.connection import LINE_BYTES, Connection
from openclaw.config.plain_paths import home, running_socket
from openclaw.control.standard_streams import Line, LogLines, Reader, Writer
from openclaw.control.stdio_ending import Ending
from openclaw.errors import OpenClawError

if TYPE_CHECKING:
    from openclaw.acp.forward import Forwarded
    from openclaw.acp.sessions import Sessions
    from openclaw.app import App
    from openclaw.config.sections import LoggingSection
    from openclaw.control.app_host import AppHost

_log = logging.getLogger(__name__)

# Seconds from the end of input, or a signal, to the end of the process: what hangs is left to the guardian then.
WITHIN = 4.5
# Of them turns get what `connection.py` and `session.py` say, the App this much to end its servers,
_CLOSING = 1.5
# and the client this much to read the last answers, and to read the log.
_LAST_LINES = 0.2
_LAST_LOG = 0.5
# Seconds in which sessions may end by themselves.
_SETTLING = 1.5
# Bytes that the client leaves unread before nothing more is read from it. Turns make no more long before that (`Writer.caught_up`), so that
# a cancel is heard from a client that reads nothing.
_MOST_UNREAD = 2 * LINE_BYTES


class ServeOptions(msgspec.Struct, frozen=True):
    """What the command line says. Empty means the default agent, config file and log level; of a conversation, a new one."""

    agent: str = ""
    config: str = ""
    local: bool = False
    verbose: bool = False
    log_level: str = ""
    log_json: bool = False
    session: str = ""
    reset_session: bool = False
    require_existing: bool = False
    allow_client_servers: bool = False


def main(options: ServeOptions, descriptors: tuple[int, int], greeted: bytes = b"", rest: bytes = b"") -> int:
    """Serve until the client leaves. `greeted` is the `initialize` that was answered already, `rest` what was read behind it."""
    return asyncio.run(serve(options, descriptors, greeted, rest))


async def serve(options: ServeOptions, descriptors: tuple[int, int], greeted: bytes = b"", rest: bytes = b"") -> int:
    reading, writing = descriptors
    ending = Ending(WITHIN)
    log = LogLines()
    _configure_log(options, log)
    writer = Writer(writing, ending.leave)
    local = _Local(options, writer, lambda section: _configure_log(options, log, section))
    there = None if options.local else await _forwarded(options, writer, local, greeted)
    if there is None:
        local.begin(greeted)

    def receive(lines: list[Line], more: Callable[[], None]) -> None:
        lines.reverse()
        while lines:
            line = lines.pop()
            if there is None or local.has_begun or not isinstance(line, bytes):
                # Also what is too long for anybody: it is refused here.
                local.receive(line)
            else:
                local.note_greeting(line)
                there.receive(line)
        writer.when_room(more, _MOST_UNREAD)

    Reader(reading, asyncio.get_running_loop(), receive, ending.leave, limit=LINE_BYTES, first=rest)
    code = 0
    try:
        code = await ending.wait()
    finally:
        ending.begin(code)
        if there is not None:
            await _ended(there.close(_SETTLING), 2 * _SETTLING)
        await local.close()
        writer.close(_LAST_LINES)
        log.flush(_LAST_LOG)
    return code


async def _forwarded(options: ServeOptions, writer: Writer, local: "_Local", greeted: bytes) -> "Forwarded | None":
    """The gateway of the same config, if one runs and takes us in."""
    if not _is_there(running_socket(os.environ, options.config)):
        return None
    from openclaw.acp.forward import forward

    there = await forward(
        [*_host_words(options), *(["--greeted"] if greeted else [])],
        os.environ,
        _working_directory(),
        options.config,
        write=writer.write,
        caught_up=writer.caught_up,
        on_lost=local.begin_again,
        limit=LINE_BYTES,
    )
    if there is not None and greeted:
        local.note_greeting(greeted)
        there.receive(greeted)
        there.forget_greeting()
    return there


def _is_there(place: str) -> bool:
    return os.path.lexists(place)


def _host_words(options: ServeOptions) -> list[str]:
    words = ["acp", "host"]
    words += [
        word for name in ("agent", "session") if (value := getattr(options, name)) for word in (f"--{name}", value)
    ]
    flags = ("reset_session", "require_existing", "allow_client_servers")
    return words + [f"--{name.replace('_', '-')}" for name in flags if getattr(options, name)]


class _Local:
    """The agent in this process: from the beginning, or once the gateway that had it is gone."""

    def __init__(self, options: ServeOptions, writer: Writer, log_as: "Callable[[LoggingSection], None]") -> None:
        self._connection = Connection(writer.write, writer)
        self._host = _Host(options, self._connection, log_as)
        self._agent: AcpAgent | None = None
        self._greeting = b""

    @property
    def has_begun(self) -> bool:
        return self._agent is not None

    def note_greeting(self, line: bytes) -> None:
        """The `initialize` that somebody else answers: whoever goes on here needs to know it."""
        if not self._greeting and b'"initialize"' in line:
            self._greeting = line

    def begin(self, greeted: bytes) -> None:
        client = None
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            client = msgspec.json.decode(greeted, type=_Greeted).params if greeted else None
        self._agent = AcpAgent(self._host.sessions, self._host.has_model, client)
        self._connection.serve(self._agent)

    def begin_again(self) -> None:
        _log.warning("The gateway has ended; the agent goes on in this process.")
        self.begin(self._greeting)

    def receive(self, line: Line) -> None:
        self._connection.receive(line)

    async def close(self) -> None:
        self._connection.lose()
        if self._agent is not None:
            await _ended(self._agent.close(), _SETTLING)
        await _ended(self._connection.stop(), _SETTLING)
        await _ended(self._host.close(), _CLOSING)


class _Greeted(msgspec.Struct, frozen=True):
    params: wire.Initialize


class _Host:
    """The App behind the sessions, loaded in a thread with the first of them."""

    def __init__(
        self, options: ServeOptions, connection: Connection, log_as: "Callable[[LoggingSection], None]"
    ) -> None:
        self._options = options
        self._connection = connection
        self._log_as = log_as
        self._host: AppHost | None = None

    async def has_model(self) -> bool:
        make, host = await self._made()
        try:
            return not await make.missing_model(await host.app(), self._options.agent, self._options.session)
        except (OpenClawError, OSError) as error:
            # Whoever opens a session is told more.
            _log.warning("It is not known whether there is a model: %s", error)
            return False

    async def sessions(self, client: wire.Initialize) -> "Sessions":
        make, host = await self._made()
        options = self._options
        chosen = make.options(
            agent=options.agent,
            session=options.session,
            reset_session=options.reset_session,
            require_existing=options.require_existing,
            allow_client_servers=options.allow_client_servers,
        )
        return make.sessions(host.app, host.paths(), self._connection, client, chosen)

    async def _made(self) -> "tuple[_Loaded, AppHost]":
        make = await asyncio.to_thread(_loaded)
        if self._host is None:
            self._host = make.host(self._options.config, dict(os.environ), _working_directory(), self._log_as)
        return make, self._host

    async def close(self) -> None:
        if self._host is not None:
            await self._host.close()


class _Loaded(msgspec.Struct, frozen=True):
    host: "type[AppHost]"
    sessions: "type[Sessions]"
    options: type
    missing_model: "Callable[[App, str, str], Awaitable[str]]"


def _loaded() -> _Loaded:
    """Everything an agent needs, which takes a while."""
    from openclaw.acp.model import missing_model
    from openclaw.acp.sessions import Options, Sessions
    from openclaw.control.app_host import AppHost

    return _Loaded(AppHost, Sessions, Options, missing_model)


async def _ended(work: Awaitable[None], seconds: float) -> None:
    with suppress(Exception):
        async with asyncio.timeout(seconds):
            await work


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except OSError:
        # It was removed since the client started.
        return Path(home(os.environ) or os.sep)


def _configure_log(options: ServeOptions, log: LogLines, section: "LoggingSection | None" = None) -> None:
    """The command line goes before the config."""
    from openclaw.log import configure

    configured = (section.level or "") if section is not None else ""
    level = options.log_level or ("debug" if options.verbose else configured or "warning")
    configure(level=level, json_lines=options.log_json or (section is not None and section.json), stream=log)
