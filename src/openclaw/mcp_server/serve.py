"""The whole life of `openclaw mcp-server`: from taking over standard input and output to the last line and the end of the process.

Owns when it ends (the client closes our input or stops reading our output, or a signal comes) and that it does so within two seconds,
whatever hangs. Imports little: a client waits for the answer to `initialize`. The agent is loaded with the first order.
"""

import asyncio
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from openclaw.config.plain_paths import home
from openclaw.control.standard_streams import Line, LogLines, Reader, Writer, take_over
from openclaw.mcp_server.orders import Orders
from openclaw.mcp_server.server import Journal, OrderServer

# Seconds from the end of input, or a signal, to the end of the process: orders get a second of it, the host what `orders.py` says,
WITHIN = 1.9
# and the client this much to read the last answers, and to read the log.
_LAST_LINES = 0.2
_LAST_LOG = 1.0

_AT_A_TERMINAL = (
    "openclaw mcp-server waits for MCP messages on standard input; a client usually starts it. Ctrl-D ends it.\n"
    "To configure a client: openclaw mcp-server --print-config claude-code\n"
)


class Options(msgspec.Struct, frozen=True):
    """What the command line says. Empty means the default agent, config file and log level."""

    agent: str = ""
    config: str = ""
    local: bool = False
    verbose: bool = False
    log_level: str = ""
    log_json: bool = False


def main(options: Options) -> int:
    """Serve until the client leaves. The exit code is 0 then, and what shells use for a signal when one came."""
    try:
        # Before there is a loop: its descriptors would take the place of missing ones.
        descriptors = take_over()
    except OSError:
        sys.stderr.write("openclaw mcp-server: standard input or output is closed. Start it from an MCP client.\n")
        return 1
    if os.isatty(descriptors[0]):
        sys.stderr.write(_AT_A_TERMINAL)
    try:
        return asyncio.run(serve(options, descriptors))
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


async def serve(options: Options, descriptors: tuple[int, int]) -> int:
    """The same in a loop that runs already. `descriptors` are what `take_over` gave."""
    reading, writing = descriptors
    loop = asyncio.get_running_loop()
    end: asyncio.Future[int] = loop.create_future()
    deadline = _Deadline(WITHIN)

    def finish(code: int) -> None:
        if not end.done():
            end.set_result(code)

    def leave(code: int = 0) -> None:
        """From any thread: the loop may be stuck, in a line that a library writes to a stderr nobody reads for one."""
        deadline.begin(code)
        # There may be no loop any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(finish, code)

    for number in (signal.SIGTERM, signal.SIGINT):
        # Windows has no signals that a loop could wait for.
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, leave, 128 + number)
    log = LogLines()
    orders = Orders(
        dict(os.environ),
        _working_directory(),
        agent=options.agent,
        config=options.config,
        local=options.local,
        before_loading=lambda: None if options.verbose else _configure_log(options, log),
        log_as=lambda section: _configure_log(options, log, section.level or "", json_lines=section.json),
    )
    writer = Writer(writing, leave)
    server = OrderServer(writer.write, orders.carry_out, _journal(options, log))

    def receive(lines: list[Line], more: Callable[[], None]) -> None:
        lines.reverse()
        while lines:
            server.receive(lines.pop())
        writer.when_room(more)

    Reader(reading, loop, receive, leave)
    code = 0
    try:
        code = await end
    finally:
        deadline.begin(code)
        await server.stop()
        await orders.close()
        writer.close(_LAST_LINES)
        log.flush(_LAST_LOG)
    return code


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except OSError:
        # It was removed since the client started.
        return Path(home(os.environ) or os.sep)


class _Deadline:
    """Ends the process by force so many seconds after `begin`, when a thread, a server or the loop itself does not let it end."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._codes: queue.SimpleQueue[int] = queue.SimpleQueue()
        threading.Thread(target=self._enforce, name="end", daemon=True).start()

    def begin(self, code: int) -> None:
        """From any thread. `code` is that of the process; only the first call counts."""
        self._codes.put(code)

    def _enforce(self) -> None:
        code = self._codes.get()
        time.sleep(self._seconds)
        os._exit(code)


def _journal(options: Options, log: LogLines) -> Journal | None:
    if not options.verbose:
        return None
    _configure_log(options, log)
    from openclaw.mcp_server.journal import LogJournal

    return LogJournal()


def _configure_log(options: Options, log: LogLines, level: str = "", *, json_lines: bool = False) -> None:
    """`level` and `json_lines` are what the config says; the command line goes before it."""
    chosen = options.log_level or ("debug" if options.verbose else level or "warning")
    from openclaw.log import configure

    configure(level=chosen, json_lines=options.log_json or json_lines, stream=log)
