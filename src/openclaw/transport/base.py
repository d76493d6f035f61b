"""The one contract of all transports: an async context manager with two ends.

A `Transport` knows how to reach one server; `open(receiver)` starts the process or the HTTP session, yields a live `Link`, and on exit ends
all of it within bounded time. The owner's end is the `Link` (send, cancel); the other end is the `Receiver`, which is called synchronously
in the event loop, with no queue and no task between the bytes and the caller that waits for them. What is true of a transport (can it be
lost, has it sessions) is in its `facts`.

Owns no JSON-RPC correlation (connection.py does) and no lifecycle (mcp/server/server.py does).
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from openclaw.errors import TransportError
from openclaw.protocol.transports import TransportFacts

# A message of so many bytes takes long enough to be put together, read and used that others would notice if it were done in one go.
LARGE = 8 << 20
# Seconds between those steps, in which everybody who is ready runs.
PAUSE = 0.001


class Outgoing(msgspec.Struct, frozen=True):
    """One encoded JSON-RPC message and what a transport must know about it without decoding it.

    `id` is set for requests only. `name` is the tool, prompt or resource the request is about (Mcp-Name). `headers` are
    the per-request headers of the 2026-07-28 revision (Mcp-Param-*, trace context); stdio ignores them.
    """

    data: bytes
    method: str = ""
    id: int | None = None
    name: str = ""
    headers: Mapping[str, str] = {}

    @property
    def once(self) -> int | None:
        """The id of a request that must never be sent twice (`tools/call`: a tool may change something); None for any other message."""
        return self.id if self.method == "tools/call" else None


class Receiver(Protocol):
    """Where a link delivers. None of these may raise or block."""

    def received(self, data: bytes, origin: int | None) -> None:
        """One message, undecoded; a newline may end it. `origin` is the id of the request whose own stream carried it; None on a shared
        stream."""
        ...

    def awaits(self, request_id: int) -> bool:
        """Whether this request still lacks its answer. A stream that ended without it is resumed, or the request fails."""
        ...

    def failed(self, request_id: int, error: Exception) -> None:
        """This request will get no answer. All others go on."""
        ...

    def closed(self, error: TransportError | None) -> None:
        """The whole link is gone (process exit, end of input). Called once; never for one dropped HTTP connection."""
        ...


class Link(Protocol):
    facts: TransportFacts
    # The process id of a stdio server.
    pid: int | None
    # The MCP session id of a legacy HTTP server: a secret, never logged whole.
    mcp_session_id: str | None
    # The server spoke of the MCP session as if it did not know it, though it answered: begin a new one before the next request.
    session_is_doubtful: bool

    def post(self, message: Outgoing) -> bool:
        """Hand over one message if that takes no waiting; False when it does, and `send` is to be awaited. Raises what `send` raises.

        HTTP: True once a request is written; what comes of it is given to the receiver. Who no longer waits for it says so by `cancel`.
        """
        ...

    async def send(self, message: Outgoing) -> None:
        """Hand over one message.

        stdio and memory: returns once it is written or buffered (waits under back-pressure).
        HTTP: what `post` did not take runs in the caller's own task and returns when its stream has ended; by then everything it
        brought, or its failure, has been given to the receiver. Raises OpenClawError for notifications and responses that
        could not be sent: a TransportError, or why they have no credentials. Failure of a request goes to `receiver.failed` only.
        Cancelling the caller closes that exchange alone.
        """
        ...

    def cancel(self, request_id: int) -> bool:
        """Nobody waits for this request any more. True when the transport itself told the server (by closing the
        response stream); False asks the connection to send `notifications/cancelled`."""
        ...

    def established(self, version: str) -> None:
        """Negotiation is over: `version` goes into MCP-Protocol-Version from here on. Where the revision has a stream for messages the
        server sends unasked, it is opened once `notifications/initialized` was taken."""
        ...

    def reset(self) -> None:
        """Forget the MCP session id, to initialise again on the same link after a 404."""
        ...


class Transport(Protocol):
    facts: TransportFacts

    def open(self, receiver: Receiver) -> AbstractAsyncContextManager[Link]:
        """Raises ConnectError (nothing was sent) or ProcessError when it cannot start."""
        ...
