"""A server as a child process: one JSON-RPC message a line, in on its standard input and out on its standard output.

Owns the process from spawn to the last descendant, what happens to calls when it dies (those it never read are surely not
processed), and its standard error, line by line. A line too long to keep fails its own caller and nobody else. Starting and ending
processes is `process/`'s business; starting again is mcp/server/server.py's.
"""

import asyncio
import logging
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from openclaw.errors import LinkLostError, ProtocolError
from openclaw.log import one_line
from openclaw.net.share import SHARE
from openclaw.process.find_program import NOT_FOUND
from openclaw.process.pipes import PipeReader, PipeWriter
from openclaw.process.spawn import EXIT_GRACE, spawn
from openclaw.protocol.framing import LineFramer, Oversized
from openclaw.protocol.jsonrpc import Malformed, decode, recover_id
from openclaw.protocol.transports import STDIO, TransportFacts
from openclaw.redact import redact
from openclaw.transport.base import LARGE, PAUSE, Link, Outgoing, Receiver

_log = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = 64 << 20
# A line of a log is read by a person.
MAX_STDERR_LINE = 8192
# Lines of standard error passed on: this many at once, then this many a second. A server may talk; it may not flood.
STDERR_BURST = 200
STDERR_PER_SECOND = 50.0
# What a pipe can hold: a request further back than this was read.
_PIPE_BYTES = 65536
# Requests that are remembered before those which were surely read are sorted out: all at once, since each look costs a call.
_MOST_RECENT = 1_024
# The first request since the server was last heard, or since others were written together, is written at once, those after it together
# with all others of their iteration of the event loop: so many, or so many bytes, at a time. Each write may wake the server, which costs
# us more than the request; too many in one would leave it idle while we prepare them. Who calls one by one needs no end of an iteration,
# which is one more look of the loop at its descriptors.
GATHER_REQUESTS = 32
GATHER_BYTES = 16 << 10
# When standard output ends, the exit code follows at once, if there is to be one: on a machine that is very busy a little later.
_EXIT_CODE_PATIENCE = 0.25


def _log_stderr(line: str) -> None:
    _log.warning("stderr: %s", line)


def _log_dropped(reason: str) -> None:
    _log.warning("Dropped from a server's standard output: %s", reason)


class StdioTransport:
    """Starts one server. `env` is all the child gets (`process/environment.py`); `on_stderr` gets clean, redacted lines.

    `fetch_seconds`: a server that has said nothing yet is still being fetched, and may go on for so long, with or without us.
    `not_found` is what to do where there is no such program.
    """

    facts: TransportFacts = STDIO

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | Path | None = None,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
        on_stderr: Callable[[str], None] = _log_stderr,
        report: Callable[[str], None] = _log_dropped,
        fetch_seconds: float = 0.0,
        not_found: str = NOT_FOUND,
    ) -> None:
        self._fetch_seconds = fetch_seconds
        self._not_found = not_found
        self._argv = tuple(argv)
        self._env = env
        self._cwd = cwd
        self._max_message_bytes = max_message_bytes
        self._on_stderr = on_stderr
        self._report = report

    @asynccontextmanager
    async def open(self, receiver: Receiver) -> AsyncIterator[Link]:
        """Starts the process. Leaving ends it and all its descendants, within 7 s at the very worst."""
        began = asyncio.get_running_loop().time()
        process = spawn(self._argv, env=self._env, cwd=self._cwd, not_found=self._not_found)
        assert process.stdin is not None  # pipes unless asked otherwise
        assert process.stdout is not None
        assert process.stderr is not None
        link = StdioLink(process.pid, PipeWriter(process.stdin), receiver, self._max_message_bytes, self._report)
        stdout = PipeReader(process.stdout, link.data, link.output_ended)
        link.reader = stdout
        words = _StderrLines(self._on_stderr)
        stderr = PipeReader(process.stderr, words.data, words.end)

        def exited(code: int) -> None:
            # What it said before it went still counts.
            stdout.drain()
            link.lost(LinkLostError(_how_it_ended(code)))

        process.on_exit(exited)
        try:
            yield link
        finally:
            link.close()
            left = self._fetch_seconds - (asyncio.get_running_loop().time() - began)
            try:
                # What it is fetching is needed the next time.
                if left <= 0 or link.was_heard or not process.leave(left):
                    # One that never said a word has nothing to finish, and would only keep whoever leaves.
                    await process.end(grace=EXIT_GRACE if link.was_heard else 0.0)
            finally:
                stderr.drain()
                stdout.close()
                stderr.close()


class StdioLink:
    facts: TransportFacts = STDIO
    mcp_session_id: str | None = None
    session_is_doubtful = False

    def __init__(
        self, pid: int, writer: PipeWriter, receiver: Receiver, max_message_bytes: int, report: Callable[[str], None]
    ) -> None:
        self.pid: int | None = pid
        self._writer = writer
        self._receiver = receiver
        self._report = report
        self._framer = LineFramer(max_message_bytes)
        # Where the lines come from, and those that wait because their share of the loop was used up.
        self.reader: PipeReader | None = None
        self._lines: deque[bytes | Oversized] = deque()
        # What is left to do when they have been read.
        self._then: deque[Callable[[], None]] = deque()
        self._max_message_bytes = max_message_bytes
        self._loop = asyncio.get_running_loop()
        self._lost = False
        # Whether the server ever said anything.
        self.was_heard = False
        # Requests that may still lie in the pipe or are held: where each one ends in the stream of bytes, and its id.
        self._recent: deque[tuple[int, int]] = deque()
        # What waits to be written together with more of this iteration of the event loop, and its length.
        self._held: list[bytes] = []
        self._held_bytes = 0
        # Whether a request was written since the server was last heard, and whether what is held is about to be.
        self._has_written = False
        self._is_due = False

    def post(self, message: Outgoing) -> bool:
        writer = self._writer
        if writer.is_full:
            return False
        if not self._has_written:
            self._has_written = True
            self._write(message)
            return True
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._end_iteration)
        self._held.append(message.data)
        self._held_bytes += len(message.data) + 1
        if message.id is not None:
            self._recent.append((writer.offered + self._held_bytes, message.id))
        if len(self._held) >= GATHER_REQUESTS or self._held_bytes >= GATHER_BYTES:
            self._let_go()
        return True

    async def send(self, message: Outgoing) -> None:
        if self._writer.is_full:
            await self._writer.room()
        self._write(message)

    def _write(self, message: Outgoing) -> None:
        if self._held:
            self._let_go()
        writer = self._writer
        try:
            writer.write(message.data + b"\n")
        except OSError:
            raise self._deaf() from None
        if message.id is not None:
            self._recent.append((writer.offered, message.id))
            if len(self._recent) > _MOST_RECENT:
                self._forget_read()

    def _forget_read(self) -> None:
        """Of requests that are further back than a pipe can hold."""
        recent, read = self._recent, self._writer.written - _PIPE_BYTES
        while recent and recent[0][0] < read:
            recent.popleft()

    def _let_go(self) -> None:
        """Write what is held. Nobody waits for this call, so each request learns for itself when that fails."""
        if not self._held:
            return
        # Each with its newline.
        data = b"\n".join([*self._held, b""])
        self._held, self._held_bytes = [], 0
        before = self._writer.offered
        try:
            self._writer.write(data)
        except OSError:
            failed = [id for end, id in self._recent if end > before]
            self._recent = deque(one for one in self._recent if one[0] <= before)
            for id in failed:
                self._receiver.failed(id, self._deaf())

    def _end_iteration(self) -> None:
        self._is_due = self._has_written = False
        self._let_go()

    def _deaf(self) -> LinkLostError:
        """The server no longer reads its input."""
        if not self._lost:
            # Mostly it is dying, and its exit code will say more; one that only stopped reading is lost as well. Who says so first counts.
            self._loop.call_later(_EXIT_CODE_PATIENCE, self.lost, LinkLostError("The server closed its input."))
        return LinkLostError("The server no longer reads its input.", maybe_sent=False)

    def cancel(self, request_id: int) -> bool:
        return False

    def established(self, version: str) -> None:
        return None

    def reset(self) -> None:
        return None

    def data(self, data: bytes) -> None:
        self.was_heard = True
        self._has_written = False
        if not self._lines and self._framer.is_line(data):
            self._receiver.received(data, None)
            return
        lines, is_behind = self._framer.feed(data), bool(self._lines)
        if len(lines) == 1 and not is_behind and isinstance(lines[0], bytes):
            if len(lines[0]) < LARGE:
                self._receiver.received(lines[0], None)
                return
            # To put a large one together took a while, and so will reading it: others run in between.
            self._lines.extend(lines)
            self._loop.call_later(PAUSE, self._read_lines)
            return
        self._lines.extend(lines)
        if not is_behind and lines:
            self._read_lines()

    def _read_lines(self) -> None:
        """Hand over what the server wrote, for as long as our share of the loop lasts. The rest waits for the next iteration, and so does
        the server: it may write faster than we read."""
        ends = time.perf_counter() + SHARE
        lines = self._lines
        while lines:
            line = lines.popleft()
            if isinstance(line, Oversized):
                self._oversized(line)
            else:
                self._receiver.received(line, None)
            if lines and time.perf_counter() >= ends:
                if self.reader is not None:
                    self.reader.pause()
                self._loop.call_soon(self._read_lines)
                return
        if self.reader is not None:
            self.reader.resume()
        while self._then:
            self._then.popleft()()

    def _after_lines(self, act: Callable[[], None]) -> bool:
        """Do something when all that the server wrote has been read; False when there is nothing left to read."""
        if self._lines:
            self._then.append(act)
        return bool(self._lines)

    def output_ended(self) -> None:
        if self._after_lines(self.output_ended):
            return
        for line in self._framer.finish():
            # Half an answer is none: its caller learns how the server ended.
            if isinstance(line, bytes) and not all(isinstance(message, Malformed) for message in decode(line)):
                self._receiver.received(line, None)
            else:
                self._report("a message cut off by the end of its output")
        error = LinkLostError("The server closed its output.")
        self._loop.call_later(_EXIT_CODE_PATIENCE, self.lost, error)

    def lost(self, error: LinkLostError | None) -> None:
        """The end of the link, said once. Requests that the server never read are told apart from those it may have seen."""
        # What it said before it went still counts. When we leave, nobody waits for it any more.
        if self._lost or (error is not None and self._after_lines(partial(self.lost, error))):
            return
        self._lost = True
        self._lines.clear()
        if error is None:
            # When we leave, what is on its way to the server should still reach it.
            self._let_go()
        unread = None if error is None else self._writer.unread()
        self._writer.close()
        if error is not None:
            # Where the pipe cannot be looked into, what was never written is still known not to have been read.
            consumed = self._writer.offered if unread is None else self._writer.written - unread
            for end, id in self._recent:
                # The newline may be missing: a reader can take a last line without it.
                if consumed < end - 1:
                    self._receiver.failed(id, LinkLostError(error.message, hint=error.hint, maybe_sent=False))
        self._recent.clear()
        self._held.clear()
        self._receiver.closed(error)

    def close(self) -> None:
        """We leave: the server sees the end of its input."""
        self.lost(None)

    def _oversized(self, line: Oversized) -> None:
        id, asks = recover_id(line.head, line.tail)
        reason = f"a message of {line.size} bytes, more than the {self._max_message_bytes} allowed"
        if isinstance(id, int) and not asks:
            hint = "Raise `maxMessageBytes` for this server."
            self._receiver.failed(id, ProtocolError(f"The server answered with {reason}.", hint=hint))
        else:
            self._report(reason)


class _StderrLines:
    """Standard error in lines fit for a log, as many as a person would read."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._framer = LineFramer(MAX_STDERR_LINE)
        self._time = asyncio.get_running_loop().time
        self._allowance = float(STDERR_BURST)
        self._last = self._time()
        self._dropped = 0

    def data(self, data: bytes) -> None:
        now = self._time()
        self._allowance = min(self._allowance + (now - self._last) * STDERR_PER_SECOND, STDERR_BURST)
        self._last = now
        if self._allowance < 1:
            # Counting is far cheaper than cutting into lines, and this is where a flood spends its time.
            self._dropped += data.count(b"\n")
            if (last := data.rfind(b"\n")) >= 0:
                self._framer = LineFramer(MAX_STDERR_LINE)
                data = data[last + 1 :]
            self._framer.feed(data)
            return
        for line in self._framer.feed(data):
            if self._allowance < 1:
                self._dropped += 1
                continue
            self._allowance -= 1
            self._say_dropped()
            self._on_line(_text(line))

    def end(self) -> None:
        if rest := self._framer.finish():
            self._on_line(_text(rest[0]))
        self._say_dropped()

    def _say_dropped(self) -> None:
        if self._dropped:
            count, self._dropped = self._dropped, 0
            self._on_line(f"({count} more lines came too fast and were dropped)")


def _text(line: bytes | Oversized) -> str:
    data, more = (line.head, " …") if isinstance(line, Oversized) else (line, "")
    return redact(one_line(data.decode("utf-8", "replace").rstrip("\r"))) + more


def _how_it_ended(code: int) -> str:
    if code >= 0:
        return f"The server exited with code {code}."
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"The server was ended by {name}."
