"""Two ends in one process: for embedding a server, and for tests that need no process and no socket.

`pair()` gives two transports that are each other's other side; either end may be run by a `Connection`. `MemoryTransport(serve)`
starts `serve` anew with its own end each time it is opened, as a stdio transport starts a process. Messages are delivered in
order, in the next iteration of the event loop. Nothing is encoded or checked here.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from openclaw.errors import ConnectError, LinkLostError, TransportError
from openclaw.protocol.transports import MEMORY, TransportFacts
from openclaw.transport.base import Link, Outgoing, Receiver, Transport


class _End:
    """One end: a Transport that can be opened once, and the Link it yields."""

    pid: int | None = None
    mcp_session_id: str | None = None
    session_is_doubtful = False

    def __init__(self, facts: TransportFacts) -> None:
        self.facts = facts
        self.other: _End
        self._receiver: Receiver | None = None
        # What arrived before this end was opened.
        self._early: list[bytes] = []
        self._gone = False

    @asynccontextmanager
    async def open(self, receiver: Receiver) -> AsyncIterator[Link]:
        if self._gone or self._receiver is not None:
            raise ConnectError("The other end of the in-process connection is gone.")
        self._loop = asyncio.get_running_loop()
        self._receiver = receiver
        for data in self._early:
            self._loop.call_soon(self._deliver, data)
        self._early.clear()
        try:
            yield self
        finally:
            self.hang_up(None)

    def post(self, message: Outgoing) -> bool:
        if self._gone:
            raise LinkLostError("The other end of the in-process connection is gone.", maybe_sent=False)
        self.other.take(message.data)
        return True

    async def send(self, message: Outgoing) -> None:
        self.post(message)

    def cancel(self, request_id: int) -> bool:
        return False

    def established(self, version: str) -> None:
        return None

    def reset(self) -> None:
        return None

    def take(self, data: bytes) -> None:
        if self._receiver is None:
            self._early.append(data)
        else:
            self._loop.call_soon(self._deliver, data)

    def hang_up(self, error: TransportError | None) -> None:
        """Both ends are told, after what was already on its way."""
        self.end(error)
        self.other.end(error)

    def end(self, error: TransportError | None) -> None:
        if not self._gone:
            self._gone = True
            if self._receiver is not None:
                self._loop.call_soon(self._receiver.closed, error)

    def _deliver(self, data: bytes) -> None:
        if self._receiver is not None:
            self._receiver.received(data, None)


def pair() -> tuple[Transport, Transport]:
    """Two transports joined back to back. Each can be opened once."""
    return _joined()


def _joined(facts: TransportFacts = MEMORY) -> tuple[_End, _End]:
    one, two = _End(facts), _End(facts)
    one.other, two.other = two, one
    return one, two


Serve = Callable[[Transport], Awaitable[None]]


class MemoryTransport:
    """Opens to a fresh run of `serve`, which gets the far end; when `serve` returns or fails, the link is lost."""

    def __init__(self, serve: Serve, facts: TransportFacts = MEMORY) -> None:
        self._serve = serve
        self.facts = facts

    def open(self, receiver: Receiver) -> AbstractAsyncContextManager[Link]:
        return self._open(receiver)

    @asynccontextmanager
    async def _open(self, receiver: Receiver) -> AsyncIterator[Link]:
        near, far = _joined(self.facts)
        task = asyncio.ensure_future(self._run(far))
        try:
            async with near.open(receiver) as link:
                yield link
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self, far: _End) -> None:
        error: TransportError | None = None
        try:
            await self._serve(far)
        except Exception as fault:
            error = LinkLostError(f"The in-process server failed: {fault}")
            raise
        finally:
            far.hang_up(error)
