"""One HTTP/1.1 connection: a protocol that carries one exchange at a time, with back-pressure and no task of its own.

An exchange is waited for (`start`, `head`, `piece`), or what comes of it is handed to a callback (`ask`): that is for small answers, and
what else comes is waited for after all. Owns waking the one waiter, pausing the peer while nobody reads, and turning a
broken link into one typed error. Knows nothing of URLs, redirects or pools. `dial.py` makes connections; `client.py` uses them.
"""

import asyncio
import select
import socket
import sys
from collections.abc import Callable
from typing import Final, Protocol, cast

from openclaw.errors import LinkLostError, OpenClawError, ProtocolError
from openclaw.net.http1 import Head, ResponseParser, read_whole

# Body bytes that may wait unread before the peer is paused, and how far they must fall before it goes on.
HIGH_WATER: Final = 1024 * 1024
LOW_WATER: Final = 256 * 1024
# Pieces in which a large request body is written: the next one only when the peer has taken the one before.
SEND_BYTES: Final = 256 * 1024
# More of an answer than this is not read by a callback, which holds up everybody meanwhile.
SMALL_BYTES: Final = 16 * 1024
# What an answer may still bring while it is only awaited for its end.
MAX_LINGER_BYTES: Final = 64 * 1024

NOTHING: Final = memoryview(b"")


class Exchange(Protocol):
    """Who hears of the answer to a POST as it comes. Called by the event loop: none of these may block or raise."""

    def answered(self, head: Head, body: bytes) -> bool:
        """The answer came whole and in plain, at once. Whether that was all; the connection may then carry another exchange."""
        ...

    def came(self, parser: ResponseParser) -> bool:
        """Some more of the answer came, into `parser`. False when it takes more than a callback. Who has all that it wants of the answer
        leaves the connection to the pool (`HttpClient.leave`)."""
        ...

    def unanswered(self, parser: ResponseParser) -> None:
        """The last call: `came` said no, it is too much, or the link broke. `head(parser)` and `piece(parser)` go on with it."""
        ...


def by_select(sock: socket.socket) -> Callable[[int], object]:
    """Whether something waits at a socket, where there is no poll: on Windows select has no bound on the number of one."""
    return lambda milliseconds: select.select((sock,), (), (), milliseconds / 1000)[0]


def asker(sock: socket.socket) -> Callable[[int], object]:
    """Asks the kernel, not the event loop, within so many milliseconds; poll takes half a microsecond."""
    if sys.platform == "win32":
        return by_select(sock)
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return poll.poll


class HttpConnection(asyncio.Protocol):
    """Between `start` and `end` it belongs to one exchange. `peer` is the address that was checked and dialled."""

    def __init__(self, label: str, peer: str, sock: socket.socket | None = None) -> None:
        # What errors call the other side: an origin, never a whole URL.
        self.label = label
        self.peer = peer
        self.used = False
        # When it became idle (loop time), for the pool.
        self.idle_since = 0.0
        self._loop = asyncio.get_running_loop()
        self._waits = None if sock is None else asker(sock)
        self._transport: asyncio.Transport | None = None
        self._parser: ResponseParser | None = None
        self._waiter: asyncio.Future[None] | None = None
        # Who hears of the answer to come, and what is done with the connection then.
        self._exchange: Exchange | None = None
        self._keep: Callable[[HttpConnection], None] | None = None
        self._error: OpenClawError | None = None
        self._closed = False
        self._paused = False
        self._waiting_bytes = 0
        # The rest of a large request, and whether the peer is behind with what was written.
        self._unsent = NOTHING
        self._behind = False
        # Set while the rest of an answer is awaited only to use the connection again.
        self._settled: Callable[[], None] | None = None
        self._patience: asyncio.TimerHandle | None = None

    def rest(self, now: float) -> None:
        """It is idle from now on."""
        self.idle_since = now

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclass of asyncio's, so this cannot be an isinstance check.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if (exchange := self._exchange) is not None:
            if self._parser is None:
                answer = read_whole(data)
                if answer is not None and exchange.answered(*answer):
                    keep, self._exchange, self._keep = self._keep, None, None
                    if keep is not None:
                        keep(self)
                    return
            self._tell(exchange, data)
            return
        parser = self._parser
        if parser is None:
            # Bytes nobody asked for: an old connection is out of step, a new one leads to something that is not HTTP.
            self.abort(None if self.used else ProtocolError(f"{self.label} speaks something else than HTTP."))
            return
        try:
            parser.feed(data)
        except OpenClawError as error:
            self.abort(error)
            return
        self._waiting_bytes += len(data)
        if self._settled is not None:
            self._linger_on(parser)
            return
        if self._waiting_bytes > HIGH_WATER and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        if self._parser is not None:
            self._parser.feed_eof()

    def pause_writing(self) -> None:
        self._behind = True

    def resume_writing(self) -> None:
        self._behind = False
        self._send_on()

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed = True
        self._unsent = NOTHING
        if self._exchange is not None:
            self._hand_over(self._exchange)
        if self._parser is not None and exc is None:
            self._parser.feed_eof()
        self._transport = None
        self._settle()
        self._wake()

    # For the client

    @property
    def alive(self) -> bool:
        transport = self._transport
        return not self._closed and transport is not None and not transport.is_closing()

    def is_good(self) -> bool:
        """Whether it may carry another exchange: it is alive, and the kernel holds nothing from the peer, no end of stream that the event
        loop has not seen yet."""
        transport = self._transport
        if self._closed or transport is None or transport.is_closing():
            return False
        return self._waits is None or not self._waits(0)

    def start(self, parser: ResponseParser, request: bytes, body: memoryview = NOTHING) -> "asyncio.Future[None]":
        """Write one request, and its large body as fast as the peer takes it; the answer goes into `parser` as it comes. The future is over
        when something came, mostly the head and all behind it, or when nothing will."""
        transport = self._transport
        if self._error is not None:
            raise self._error
        if transport is None or self._closed:
            raise LinkLostError(f"The connection to {self.label} was closed.", maybe_sent=False)
        self._parser = parser
        self._waiting_bytes = 0
        waiter = self._waiter = self._loop.create_future()
        transport.write(request)
        if body:
            self._unsent = body
            self._send_on()
        return waiter

    def ask(self, request: bytes, exchange: Exchange, keep: Callable[["HttpConnection"], None]) -> None:
        """Write one small POST over a connection that is alive; `exchange` hears of its answer. `keep` is given the connection when it may
        carry another one."""
        assert self._transport is not None
        self._exchange, self._keep = exchange, keep
        self._transport.write(request)

    def _tell(self, exchange: Exchange, data: bytes) -> None:
        parser = self._parser
        if parser is None:
            parser = self._parser = ResponseParser("POST")
            self._waiting_bytes = 0
        try:
            parser.feed(data)
        except OpenClawError as error:
            self._hand_over(exchange)
            self.abort(error)
            return
        self._waiting_bytes += len(data)
        if self._waiting_bytes > SMALL_BYTES or not exchange.came(parser):
            if self._exchange is exchange:
                self._hand_over(exchange)
        elif not parser.pieces:
            self._waiting_bytes = 0

    def _hand_over(self, exchange: Exchange) -> None:
        """From the callback to who waits: from here on it is as if the exchange had been begun by `start`."""
        self._exchange = self._keep = None
        if self._parser is None:
            self._parser = ResponseParser("POST")
            self._waiting_bytes = 0
        exchange.unanswered(self._parser)

    async def head(self, parser: ResponseParser) -> Head:
        """The head of the answer. Ends when it has come, or raises what broke the link."""
        while (head := parser.head) is None:
            if self._error is not None:
                raise self._error
            if self._closed:
                raise self._lost()
            self._waiter = self._loop.create_future()
            await self._waiter
        return head

    async def piece(self, parser: ResponseParser) -> bytes | None:
        """The next raw piece of the body; None at its end. Ends when there is one, or raises what broke the link."""
        while True:
            if parser.pieces:
                data = parser.pieces.popleft()
                # Framing is counted as it comes in but never taken out, so an empty queue means zero.
                self._waiting_bytes = self._waiting_bytes - len(data) if parser.pieces else 0
                if self._paused and self._waiting_bytes < LOW_WATER:
                    self._resume()
                return data
            if parser.finished:
                return None
            if self._error is not None:
                raise self._error
            if self._closed:
                raise self._lost()
            self._waiter = self._loop.create_future()
            await self._waiter

    def end(self) -> bool:
        """The exchange is over. True: the connection may carry another one; otherwise it has been closed."""
        parser, self._parser = self._parser, None
        self.used = True
        if self._paused:
            self._resume()
        # An answer may come before the request is sent; what is left of it would be taken for the next one.
        if parser is not None and parser.reusable and self.alive and not self._unsent:
            return True
        self.abort()
        return False

    def linger(self, patience: float, settled: Callable[[], None]) -> None:
        """Nobody reads any more, but the end of the answer is due: wait for it, close after `patience` seconds.

        `settled` is called once, when the answer has ended or the connection has.
        """
        parser = self._parser
        self._exchange = self._keep = None
        if parser is None or parser.finished or not self.alive:
            settled()
            return
        self._settled = settled
        self._patience = self._loop.call_later(patience, self.abort)
        self._waiting_bytes = 0
        if self._paused:
            self._resume()

    def abort(self, error: OpenClawError | None = None) -> None:
        """Close at once. Callers that wait get `error`, or hear that the link was lost; who asked by a callback hears no more."""
        self._exchange = self._keep = None
        if error is not None and self._error is None:
            self._error = error
        transport, self._transport = self._transport, None
        self._closed = True
        self._unsent = NOTHING
        if transport is not None:
            transport.abort()
        self._settle()
        self._wake()

    def _send_on(self) -> None:
        while self._unsent and not self._behind and self._transport is not None:
            piece, self._unsent = self._unsent[:SEND_BYTES], self._unsent[SEND_BYTES:]
            self._transport.write(piece)

    def _lost(self) -> LinkLostError:
        return LinkLostError(
            f"{self.label} closed the connection before its answer was complete.",
            hint="The request may have been processed.",
        )

    def _linger_on(self, parser: ResponseParser) -> None:
        parser.pieces.clear()
        if parser.finished:
            self._settle()
        elif self._waiting_bytes > MAX_LINGER_BYTES:
            self.abort()

    def _settle(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        settled, self._settled = self._settled, None
        if settled is not None:
            settled()

    def _resume(self) -> None:
        self._paused = False
        if self._transport is not None:
            self._transport.resume_reading()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
