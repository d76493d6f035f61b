"""What one server says beside its answers: log messages, and the progress of calls.

`ServerLog` writes both to our log, never to a model, and bounds how much: a server may flood us, and the log must stay readable. Text is
cleaned and masked by the log itself. A program that asked for log messages or progress gets every one. What a server's program writes to
standard error is stderr_log.py's.
"""

import logging
import time
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw

from openclaw.content import to_json
from openclaw.errors import ProtocolError
from openclaw.mcp.handlers import LogMessage, OnLog
from openclaw.protocol.jsonrpc import parse
from openclaw.redact import redact
from openclaw.security.external import clean_label, clean_text
from openclaw.transport.connection import OnProgress

_log = logging.getLogger(__name__)

# Enough to follow an honest server; a flood is counted instead of written, and so is a line that is said again and again.
MAX_MESSAGES = 50
PERIOD = 10.0
MAX_TEXT = 2_000

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.ERROR,
    "alert": logging.ERROR,
    "emergency": logging.ERROR,
}


class _Message(msgspec.Struct):
    level: str = "info"
    logger: str | None = None
    data: Any = ""


class ServerLog:
    """The log messages and progress of one server, as lines of our log."""

    def __init__(self, server: str, *, hear: OnLog | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._server = server
        self._hear = hear
        self._clock = clock
        self._period_ends = 0.0
        self._written = 0
        self._left_out = 0
        # The last line that was written, and how often it was said again since.
        self._last: tuple[int, str] | None = None
        self._repeated = 0

    def log_message(self, params: Raw) -> None:
        """One `notifications/message`."""
        try:
            message = parse(params, _Message)
        except ProtocolError as error:
            self.note(logging.DEBUG, f"a log message that cannot be read: {error}")
            return
        data = message.data if isinstance(message.data, str) else to_json(message.data).decode()
        if self._hear is not None:
            text = clean_text(redact(data), MAX_TEXT)
            logger = clean_label(message.logger or "", MAX_TEXT)
            try:
                self._hear(LogMessage(self._server, message.level, logger, text, message.data))
            except Exception:
                _log.exception("What hears the log messages of MCP servers failed.")
        origin = f"{message.logger}: " if message.logger else ""
        self.note(_LEVELS.get(message.level, logging.INFO), f"{origin}{data}")

    def note(self, level: int, text: str) -> None:
        """Write one line about the server, unless it is the last one again or too many were written lately."""
        now = self._clock()
        if now >= self._period_ends:
            self.flush()
            self._period_ends, self._written = now + PERIOD, 0
        elif (level, text) == self._last:
            self._repeated += 1
            return
        else:
            self._tell_repeated()
        if self._written >= MAX_MESSAGES:
            self._left_out += 1
            return
        self._last = (level, text)
        self._write(level, text[:MAX_TEXT])

    def flush(self) -> None:
        """Say how much was not written: after a while, and when the connection ends."""
        self._tell_repeated()
        if self._left_out:
            _log.warning("MCP server '%s': %d more messages were not written.", self._server, self._left_out)
        self._left_out, self._last = 0, None

    def _tell_repeated(self) -> None:
        repeated, self._repeated = self._repeated, 0
        if repeated and self._last is not None:
            if self._written < MAX_MESSAGES:
                self._write(self._last[0], f"… {repeated} more like it")
            else:
                self._left_out += repeated

    def _write(self, level: int, text: str) -> None:
        self._written += 1
        _log.log(level, "MCP server '%s': %s", self._server, text)


class Progress(msgspec.Struct, eq=False):
    """The progress of one call: to the log, in clean words to whoever waits, and as numbers to a program that asked for them. `seen` tells
    whether there was any."""

    log: ServerLog
    tool: str
    show: Callable[[str], None] | None
    hear: OnProgress | None = None
    seen: bool = False

    def __call__(self, progress: float, total: float | None, message: str) -> None:
        self.seen = True
        amount = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
        words = clean_label(f"{message} ({amount})" if message else amount, MAX_TEXT)
        self.log.note(logging.DEBUG, f"{self.tool}: {words}")
        if self.show is not None:
            self.show(words)
        if self.hear is not None:
            self.hear(progress, total, clean_label(message, MAX_TEXT))
