"""Logging for the whole process: one line an event, in words or as JSON, with no secret, no escape code and no forged line in it.

Owns where log lines go and what they look like; modules log through `logging.getLogger(__name__)` and pass data with `extra=`.
Every line is cleaned (escape sequences removed, control and invisible characters made visible) and then masked by `redact.py`.
Tracebacks appear at level debug only; above it an exception is one sentence. Nothing here raises into the caller.
"""

import hashlib
import json
import logging
import os
import re
import sys
import time
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TextIO

from openclaw.appending import open_to_append
from openclaw.errors import OpenClawError, UsageError
from openclaw.late_pattern import late_pattern
from openclaw.redact import redact

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
# The words that a config may use beside them. Nothing is logged above `fatal`.
_MORE_LEVELS = {
    "trace": logging.DEBUG,
    "warn": logging.WARNING,
    "fatal": logging.CRITICAL,
    "silent": logging.CRITICAL + 1,
}
# A log file that is longer is put aside, as FILE.1, and the oldest of those is dropped.
LARGEST_FILE = 10 * 1024 * 1024
OLD_FILES = 3

# Short enough to read, long enough that two sessions of one store do not share it (48 bits).
_HASH_CHARACTERS = 12
# A server chooses what it writes to stderr: one event must not fill a disk or a screen.
_LONGEST_TEXT = 16_384

# Whole escape sequences (ECMA-48: CSI, OSC, DCS and the short ones), 7-bit and 8-bit. A string sequence that is never
# closed loses its introducer only. Each alternative stops at the next introducer, which keeps this linear.
ESCAPE_SEQUENCE = late_pattern(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?"
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x90\x98\x9c-\x9f]*+(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x90\x98\x9c-\x9f]*+(?:\x1b\\|\x9c)"
    r"|\x1b[ -/]*+[0-~]?"
)
# Control characters, line and paragraph separators, bidi and zero-width controls, tag characters, lone surrogates.
_INVISIBLE = late_pattern(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

_installed: list[logging.Handler] = []


class LogStream(Protocol):
    """What takes log lines: standard error, or something that never waits for its reader."""

    def write(self, text: str, /) -> object: ...

    def flush(self) -> object: ...


def configure(
    *,
    level: str = "info",
    json_lines: bool = False,
    stream: LogStream | None = None,
    file: Path | None = None,
    own: Path | None = None,
    plain: bool = False,
) -> None:
    """Send log lines to `stream` (stderr unless given) and, when `file` is given, to that file too (mode 0600, appended).

    Replaces what an earlier call set up. Other packages' loggers are heard from warning up. A file that cannot be opened costs one
    warning, not the program. `own` is the file that standard output and standard error may have been sent to by who started us; then it
    turns over by size as `file` does. `plain` is for a command whose person asked for no log: errors are sentences, and what befell
    servers is left to the command, which tells it in words.
    """
    number = (LEVELS | _MORE_LEVELS).get(level.lower())
    if number is None:
        raise UsageError(f"There is no log level '{one_line(level)}'.", hint=f"Use one of {', '.join(LEVELS)}.")
    reset()
    shape = JsonLine if json_lines else PlainLine if plain else Line
    line = shape(tracebacks=number <= logging.DEBUG)
    _install(_Output(own) if own is not None and _is_stderr(own) else _Stream(stream or sys.stderr), line)
    if plain:
        _installed[-1].addFilter(_is_news)
    logging.getLogger("openclaw").setLevel(number)
    logging.getLogger().setLevel(max(number, logging.WARNING))
    if file is not None:
        try:
            _install(_File(file), line)
        except OSError as error:
            logging.getLogger(__name__).warning("No log file at %s: %s.", file, error.strerror)


def reset() -> None:
    """Take away what `configure` installed."""
    while _installed:
        handler = _installed.pop()
        logging.getLogger().removeHandler(handler)
        handler.close()


@lru_cache(maxsize=256)
def short_hash(session_key: str) -> str:
    """How a session key appears in logs and audit records: stable, and not the key."""
    return hashlib.sha256(session_key.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARACTERS]


def one_line(text: str, limit: int = _LONGEST_TEXT) -> str:
    """`text` as part of a line: escape sequences removed, control and invisible characters shown as escapes, bounded."""
    dropped = len(text) - limit
    if dropped > 0:
        text = text[:limit]
    if not (text.isascii() and text.isprintable()):
        text = _INVISIBLE.sub(_show, ESCAPE_SEQUENCE.sub("", text))
    return f"{text}… ({dropped} more characters)" if dropped > 0 else text


def _show(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


class Line(logging.Formatter):
    """`2026-01-31T12:00:00.123Z INFO openclaw.mcp.manager: message key=value`."""

    def __init__(self, *, tracebacks: bool) -> None:
        super().__init__()
        self._tracebacks = tracebacks

    def format(self, record: logging.LogRecord) -> str:
        text = f"{iso_time(record.created)} {record.levelname} {record.name}: {one_line(_message(record))}"
        data = "".join(f" {one_line(key)}={one_line(str(value))}" for key, value in _extra(record).items())
        fault = _fault(record)
        text = redact(f"{text}{data}" + (f": {one_line(fault)}" if fault else ""))
        return f"{text}\n{_traceback(self, record)}" if self._tracebacks and record.exc_info else text


class PlainLine(Line):
    """The message alone, of an error; of what somebody asked to be logged (`mcp.debug`) a whole line."""

    def format(self, record: logging.LogRecord) -> str:
        if record.levelno < logging.ERROR:
            return super().format(record)
        fault = _fault(record)
        return redact(one_line(_message(record)) + (f": {one_line(fault)}" if fault else ""))


def _is_news(record: logging.LogRecord) -> bool:
    """Whether no command tells of it: of servers every command does, unless their log was asked for."""
    about_servers = record.name.startswith("openclaw.mcp")
    return not about_servers or logging.getLogger(record.name).getEffectiveLevel() <= logging.DEBUG


class JsonLine(logging.Formatter):
    """The same as one JSON object: `time`, `level`, `logger`, `message`, then the event's own fields, `error` and `traceback`."""

    def __init__(self, *, tracebacks: bool) -> None:
        super().__init__()
        self._tracebacks = tracebacks

    def format(self, record: logging.LogRecord) -> str:
        event: dict[str, Any] = {
            "time": iso_time(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        event["message"] = redact(one_line(_message(record)))
        for key, value in _extra(record).items():
            plain = value is None or isinstance(value, bool | int | float)
            event.setdefault(redact(one_line(key)), value if plain else redact(one_line(str(value))))
        if fault := _fault(record):
            event["error"] = redact(one_line(fault))
        if self._tracebacks and record.exc_info:
            event["traceback"] = _traceback(self, record)
        return json.dumps(event)


class _Stream(logging.StreamHandler[Any]):
    """Writes lines, and keeps quiet when nobody can take them (a closed terminal, a full disk)."""

    def handleError(self, record: logging.LogRecord) -> None:
        return None


class _File(_Stream):
    """A file of ours that turns over by size."""

    def __init__(self, path: Path) -> None:
        super().__init__(open_log(path))
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        try:
            if os.fstat(self.stream.fileno()).st_size > LARGEST_FILE:
                self._begin_anew()
        except (OSError, ValueError, OpenClawError):
            # It cannot be put aside: it goes on growing, and is tried again with the next line.
            pass

    def _begin_anew(self) -> None:
        fresh = turned_over(self._path, self.stream.fileno())
        before, self.stream = self.stream, fresh
        before.close()

    def close(self) -> None:
        super().close()
        try:
            self.stream.close()
        except OSError:
            pass


class _Output(_File):
    """Standard error where it is such a file. What writes to the descriptors by itself goes to the new file too."""

    def __init__(self, path: Path) -> None:
        _Stream.__init__(self, sys.stderr)
        self._path = path

    def _begin_anew(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        # Somebody may have sent standard output elsewhere.
        ours = [one for one in (1, 2) if os.path.samestat(os.fstat(one), os.fstat(2))]
        with turned_over(self._path, 2) as fresh:
            for descriptor in ours:
                os.dup2(fresh.fileno(), descriptor)

    def close(self) -> None:
        _Stream.close(self)


def _install(handler: logging.Handler, line: logging.Formatter) -> None:
    handler.setFormatter(line)
    logging.getLogger().addHandler(handler)
    _installed.append(handler)


def _is_stderr(file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(2), file.stat())
    except OSError:
        return False


def turned_over(file: Path, written: int) -> TextIO:
    """The file anew, after what was `written` to (an open descriptor) is put aside. Of those put aside before the oldest is dropped.

    Raises OSError, StoreError.
    """
    # Another process may have put it aside since.
    if os.path.samestat(os.fstat(written), file.stat()):
        # First what Windows refuses while a program of somebody else reads it: those put aside before stay where they are then.
        file.replace(_old(file, 0))
        for number in range(OLD_FILES - 1, -1, -1):
            older = _old(file, number)
            if older.exists():
                older.replace(_old(file, number + 1))
    return open_log(file)


def _old(file: Path, number: int) -> Path:
    return file.with_name(f"{file.name}.{number}")


def open_log(file: Path) -> TextIO:
    """A log to append to, private to its owner. Raises OSError, StoreError."""
    return open(open_to_append(file), "a", encoding="utf-8", errors="backslashreplace")


def iso_time(moment: float) -> str:
    """A moment (seconds since 1970) as log lines, records and events show it."""
    return _millisecond(int(moment * 1000))


@lru_cache(maxsize=8)
def _millisecond(millisecond: int) -> str:
    """Records are made many at a time, and many of them are of the same moment."""
    second, rest = divmod(millisecond, 1000)
    return f"{_second(second)}.{rest:03d}Z"


@lru_cache(maxsize=1)
def _second(second: int) -> str:
    """Most are of the same second as the one before."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:
        # A wrong format string must not cost the event; an argument whose own __str__ fails is left out.
        return str(record.msg)


def _extra(record: logging.LogRecord) -> dict[str, object]:
    return {key: value for key, value in vars(record).items() if key not in _STANDARD}


def _fault(record: logging.LogRecord) -> str:
    if not record.exc_info or record.exc_info[1] is None:
        return ""
    error = record.exc_info[1]
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    """The traceback, each line indented so that no text inside it can pass for an event of its own."""
    assert record.exc_info
    lines = formatter.formatException(record.exc_info).splitlines()
    return redact("\n".join(f"  {one_line(line)}" for line in lines))
