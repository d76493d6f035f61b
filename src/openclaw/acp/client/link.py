"""An ACP agent as a child process, seen from its client.

Owns the process for as long as it is spoken to. Which answer belongs to which request is `connection.py`'s, as it is for our own agent;
starting and ending the process, its lines and its standard error are `transport/stdio.py`'s. Who is told, and who answers, is the
`Listener`. What cannot be read is told of and passed over: this is a client to find faults with.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, Protocol

from openclaw.acp import wire
from openclaw.acp.connection import Connection, RequestError, params_of
from openclaw.errors import TransportError
from openclaw.protocol.jsonrpc import METHOD_NOT_FOUND, Malformed, Notification, Request, RequestId, decode
from openclaw.transport.base import Link, Outgoing, Transport


class Listener(Protocol):
    """What an agent's words come to. Only those that are awaited may raise, and they RequestError alone."""

    def told(self, notification: wire.SessionNotification) -> None: ...

    async def permission(self, request: wire.PermissionRequest) -> wire.PermissionAnswer: ...

    async def elicitation(self, request: wire.ElicitationRequest) -> wire.ElicitationAnswer: ...

    def passed(self, direction: str, line: bytes) -> None:
        """A line went out (`→`) or came in (`←`)."""
        ...

    def fault(self, sentence: str) -> None:
        """The agent said something that it should not have."""
        ...


@asynccontextmanager
async def running_agent(transport: Transport, listener: Listener) -> AsyncIterator["RunningAgent"]:
    """Leaving ends the agent, and all that came of it. Raises ProcessError when it cannot be started."""
    agent = RunningAgent(listener)
    async with transport.open(agent) as link:
        agent.connected(link)
        try:
            yield agent
        finally:
            agent.connection.lose()
            await agent.connection.stop()


class RunningAgent:
    """The process at the other end: what it says goes to `connection`, by which it is asked, and to the listener."""

    def __init__(self, listener: Listener) -> None:
        self.connection = Connection(self._write)
        self.connection.serve(_Asked(listener))
        # Why it is gone, when it is.
        self.lost = ""
        self._listener = listener
        self._link: Link | None = None
        self._sending: set[asyncio.Task[None]] = set()

    def connected(self, link: Link) -> None:
        self._link = link

    def _write(self, line: bytes) -> None:
        assert self._link is not None  # nobody asks before it runs
        self._listener.passed("→", line)
        message = Outgoing(line)
        try:
            if self._link.post(message):
                return
        except TransportError:
            # It no longer reads: that it is gone is told in a moment.
            return
        task = asyncio.ensure_future(self._link.send(message))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    # What the transport calls

    def received(self, data: bytes, origin: int | None) -> None:
        self._listener.passed("←", data.rstrip())
        for message in decode(data):
            if isinstance(message, Malformed):
                self._listener.fault(f"The agent sent {message.reason}.")
                return
        self.connection.receive(data)

    def awaits(self, request_id: int) -> bool:
        return False

    def failed(self, request_id: int, error: Exception) -> None:
        self._listener.fault(f"An answer of the agent is lost: {error}")

    def closed(self, error: TransportError | None) -> None:
        self.lost = str(error or "It closed its output.")
        self.connection.lose()


class _Asked:
    """What the agent wants, as the connection hands it over."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def requested(self, request: Request) -> Awaitable[Any]:
        if request.method == wire.REQUEST_PERMISSION:
            return self._listener.permission(params_of(request, wire.PermissionRequest))
        if request.method == wire.ELICIT:
            return self._listener.elicitation(params_of(request, wire.ElicitationRequest))
        raise RequestError(METHOD_NOT_FOUND, f"This client has no {request.method}.")

    def notified(self, notification: Notification) -> None:
        if notification.method != wire.UPDATE:
            return
        try:
            self._listener.told(params_of(notification, wire.SessionNotification))
        except RequestError as error:
            self._listener.fault(error.message)

    def taken_back(self, id: RequestId) -> bool:
        return False
