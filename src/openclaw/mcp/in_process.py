"""A server that is an object of this program, over memory: one made with FastMCP 2 to 4, or with the official SDK, 1 or 2.

Owns what such an object is known by, and carrying messages between its streams and our transport. The library that the server was made
with is there already, and is asked for by name: nothing of it is needed otherwise. Starts no task that outlives its connection.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from importlib import import_module
from typing import Any

from msgspec import structs

from openclaw.config.servers import ServerSpec
from openclaw.errors import TransportError, UsageError
from openclaw.mcp.embedding import Server, kind_of
from openclaw.protocol.transports import MEMORY
from openclaw.transport.base import Link, Outgoing, Transport
from openclaw.transport.memory import MemoryTransport, Serve

# `ctx.elicit` of both libraries needs the revisions before 2026-07-28, in which a server may send requests of its own. What they have for
# the newest one works in those too, and nothing else of that one matters within a process.
_ASKING = structs.replace(MEMORY, is_legacy=True)
# Where both libraries keep the server that speaks the protocol.
_INNER = ("_mcp_server", "_lowlevel_server")


class InProcess:
    """The servers of a manager that are objects of this program, by their names."""

    def __init__(self) -> None:
        self._transports: dict[str, tuple[object, MemoryTransport]] = {}

    def take(self, servers: Iterable[Server | ServerSpec]) -> None:
        """Have these from now on. Raises UsageError for what is no server, or when one name means two of them."""
        taken: dict[str, tuple[object, MemoryTransport]] = {}
        for one in servers:
            if not isinstance(one, Server) or one.in_process is None:
                continue
            known = taken.get(one.name)
            if known is not None and known[0] is not one.in_process:
                raise UsageError(f"Two objects are named '{one.name}'.", hint="Give each server a name of its own.")
            taken[one.name] = (one.in_process, in_process_transport(one.name, one.in_process))
        self._transports = taken

    def transport(self, spec: ServerSpec) -> Transport | None:
        """The way to one of these; None for any other server."""
        known = self._transports.get(spec.name) if spec.facts is MEMORY else None
        return None if known is None else known[1]


def in_process_transport(name: str, server: object) -> MemoryTransport:
    """The way to a server in this program; every connection is a new run of it. Raises UsageError when it is none."""
    lowest = next((inner for key in _INNER if (inner := getattr(server, key, None)) is not None), server)
    if hasattr(lowest, "run") and hasattr(lowest, "create_initialization_options"):
        return MemoryTransport(_serve(server, lowest), _ASKING)
    if isinstance(server, MemoryTransport):
        return server
    raise UsageError(
        f"Server '{name}': in_process must be a server object, not {kind_of(server)}.",
        hint="Give one made with FastMCP or with the official SDK, or a MemoryTransport.",
    )


def _serve(server: Any, lowest: Any) -> Serve:
    memory, message = import_module("mcp.shared.memory"), import_module("mcp.shared.message")
    read = _reader(import_module("mcp.types"))

    async def serve(far: Transport) -> None:
        inbox = _Inbox()
        async with AsyncExitStack() as stack:
            link = await stack.enter_async_context(far.open(inbox))
            ours, its = await stack.enter_async_context(memory.create_client_server_memory_streams())
            # FastMCP starts what belongs to the server as a whole here; the SDK does so in `run`.
            if (lifespan := getattr(server, "_lifespan_manager", None)) is not None:
                await stack.enter_async_context(lifespan())
            pumps = [
                asyncio.create_task(_to_server(inbox, ours[1], lambda data: message.SessionMessage(read(data)))),
                asyncio.create_task(_from_server(ours[0], link)),
            ]
            try:
                await lowest.run(its[0], its[1], lowest.create_initialization_options())
            finally:
                for pump in pumps:
                    pump.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)

    return serve


def _reader(types: Any) -> Callable[[bytes], Any]:
    """How the installed SDK reads a message: version 2 has an adapter for it, version 1 a model."""
    adapter = getattr(types, "jsonrpc_message_adapter", None)
    read: Callable[[bytes], Any] = (
        types.JSONRPCMessage.model_validate_json if adapter is None else adapter.validate_json
    )
    return read


async def _to_server(inbox: "_Inbox", stream: Any, read: Callable[[bytes], Any]) -> None:
    while (data := await inbox.next()) is not None:
        try:
            message = read(data)
        except ValueError as error:
            # As its own transports do: it answers that it cannot read the message.
            message = error
        await stream.send(message)
    # The server ends when there is nothing more to read.
    await stream.aclose()


async def _from_server(stream: Any, link: Link) -> None:
    async for message in stream:
        if not isinstance(message, Exception):
            link.post(Outgoing(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode()))


class _Inbox:
    """What arrives for the server (transport.base.Receiver)."""

    def __init__(self) -> None:
        self._arrived: asyncio.Queue[bytes | None] = asyncio.Queue()

    def next(self) -> Awaitable[bytes | None]:
        """One message; None when no more will come."""
        return self._arrived.get()

    def received(self, data: bytes, origin: int | None) -> None:
        self._arrived.put_nowait(data)

    def awaits(self, request_id: int) -> bool:
        return False

    def failed(self, request_id: int, error: Exception) -> None:
        return None

    def closed(self, error: TransportError | None) -> None:
        self._arrived.put_nowait(None)
