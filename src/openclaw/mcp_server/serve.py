"""The whole life of `openclaw mcp-server`: from taking over standard input and output to the last line and the end of the process.

It ends when the client closes our input or stops reading our output, or a signal comes, and within two seconds, whatever hangs
(`control/stdio_ending.py`). Imports little: a client waits for the answer to `initialize`. The agent is loaded with the first order.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from openclaw.config.plain_paths import home
from openclaw.control.standard_streams import Line, LogLines, Reader, Writer, take_over
from openclaw.control.stdio_ending import Ending
from openclaw.mcp_server.orders import Orders
from openclaw.mcp_server.server import Journal, OrderServer

# Seconds from the end of input, or a signal, to the end of the process: orders get a second of it, the host what `orders.py` says,
WITHIN = 1.9
# and the client this much to read the last answers, and to read the log.
_LAST_LINES = 0.2
_LAST_LOG = 1.0

# Nothing folds these lines: each fits a narrow terminal.
_AT_A_TERMINAL = (
    "openclaw mcp-server waits for MCP messages on its input.\n"
    "A client usually starts it. Ctrl-D ends it.\n"
    "To configure one:\n"
    "  openclaw mcp-server --print-config claude-code\n"
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
    ending = Ending(WITHIN)
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
    writer = Writer(writing, ending.leave)
    server = OrderServer(writer.write, orders.carry_out, _journal(options, log))

    def receive(lines: list[Line], more: Callable[[], None]) -> None:
        lines.reverse()
        while lines:
            server.receive(lines.pop())
        writer.when_room(more)

    Reader(reading, asyncio.get_running_loop(), receive, ending.leave)
    code = 0
    try:
        code = await ending.wait()
    finally:
        ending.begin(code)
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
