"""The server between a client's lines and an agent: orders under way (`calls.py`), each with who ordered it to tell and to ask.

Owns what whoever carries out an order knows of its client.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from openclaw.conversation import Asker, Nobody
from openclaw.mcp_server import calls
from openclaw.mcp_server.order import Order
from openclaw.mcp_server.order_tool import ORDERS
from openclaw.mcp_server.under_way import UnderWay
from openclaw.protocol.framing import Oversized
from openclaw.protocol.jsonrpc import RequestId


class OrderListener(msgspec.Struct, frozen=True):
    """Who hears of an order while it runs: `tell` shows a sentence to the client, `joined` learns which conversation it is part of, by
    the short hash that logs and audit records know it by. `asker` is who ordered, as whoever carries the order out may ask them."""

    tell: Callable[[str], None]
    joined: Callable[[str], None]
    asker: Asker = msgspec.field(default_factory=Nobody)


# Carries out an order: the result of the tool call, as the MCP revision that is named knows it. Raises nothing but CancelledError: what
# went wrong is in the result.
CarryOut = Callable[[Order, str, OrderListener], Awaitable[dict[str, Any]]]


class Journal(calls.Journal, Protocol):
    """Hears of orders too."""

    def ordered(self, id: RequestId, order: Order) -> None: ...

    def joined(self, id: RequestId, session: str) -> None: ...


class OrderServer:
    """`write` takes one line without its newline and never waits."""

    def __init__(self, write: Callable[[bytes], None], carry_out: CarryOut, journal: Journal | None = None) -> None:
        self._carry_out = carry_out
        self._journal = journal
        self._calls = calls.CallServer(write, ORDERS, self._run, journal)

    def receive(self, line: bytes | Oversized) -> None:
        """Take a line: answer it, or start what it asks for. Never raises and never waits."""
        self._calls.receive(line)

    async def stop(self) -> None:
        """Answer and cancel every order, and wait for them, a second at most."""
        await self._calls.stop()

    async def _run(self, order: Order, call: UnderWay) -> dict[str, Any]:
        if call.caller:
            order = msgspec.structs.replace(order, caller=call.caller)
        id, journal = call.id, self._journal
        if journal is None or id is None:
            return await self._carry_out(order, call.version, OrderListener(call.tell, _say_nothing, _asker(call)))
        journal.ordered(id, order)
        listener = OrderListener(call.tell, lambda session: journal.joined(id, session), _asker(call))
        return await self._carry_out(order, call.version, listener)


def _asker(call: UnderWay) -> Asker:
    if not call.declared & {"form", "url"}:
        return Nobody()
    # Most clients cannot be asked.
    from openclaw.mcp_server.client_asker import ClientAsker

    return ClientAsker(call)


def _say_nothing(text: str) -> None:
    return None
