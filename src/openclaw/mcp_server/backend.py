"""Where an order is carried out: by the gateway of the same config when one runs, so that its servers are shared, else in this process.

Owns that choice, made anew for each order, and the order of calls within one conversation. Imports nothing heavy: the agent host is loaded
with the first order that needs it, in a thread, while pings are answered.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from openclaw.config.places import running_socket
from openclaw.mcp_server.arguments import Order
from openclaw.mcp_server.server import OrderListener
from openclaw.sessions.lock import KeyLocks

# Seconds the host gets to end its servers when the process leaves; what is left of them then is the guardian's.
CLOSING = 0.6


class ChosenBackend:
    """`local` forbids the gateway. `before_loading` is called once, before the agent host is loaded."""

    def __init__(
        self,
        env: Mapping[str, str],
        cwd: Path,
        *,
        agent: str = "",
        config: str = "",
        local: bool = False,
        before_loading: Callable[[], None] = lambda: None,
    ) -> None:
        self._env = env
        self._cwd = cwd
        self._agent = agent
        self._config = config
        self._local = local
        self._before_loading = before_loading
        self._locks = KeyLocks()
        self._loading: asyncio.Task[Any] | None = None

    async def carry_out(self, order: Order, version: str, listener: OrderListener) -> dict[str, Any]:
        """The result of one call. Calls that name the same conversation wait for each other, in the order they came."""
        async with AsyncExitStack() as stack:
            if order.session_key:
                if self._locks.is_held(order.session_key):
                    listener.tell("Waiting for an earlier order of this conversation")
                await stack.enter_async_context(self._locks.hold(order.session_key))
            listener.tell("Starting")
            answer = None if self._local else await self._forwarded(order, version, listener)
            if answer is None:
                if self._loading is None:
                    self._loading = asyncio.get_running_loop().create_task(self._load())
                # A cancelled order must not cancel what others wait for.
                orders = await asyncio.shield(self._loading)
                answer = await orders.carry_out(order, version, listener)
            return answer

    async def close(self) -> None:
        """End what was started here, as far as that is possible at once."""
        if self._loading is not None:
            with suppress(Exception):
                async with asyncio.timeout(CLOSING):
                    await (await asyncio.shield(self._loading)).close()

    async def _forwarded(self, order: Order, version: str, listener: OrderListener) -> dict[str, Any] | None:
        place = self._gateway()
        if place is None:
            return None
        forward = import_module("openclaw.mcp_server.forward")
        forwarder = forward.Forwarder(place, self._env, self._cwd, self._agent, self._config)
        answer: dict[str, Any] | None = await forwarder.carry_out(order, version, listener)
        return answer

    def _gateway(self) -> Path | None:
        place = running_socket(self._env, self._config, str(self._cwd))
        return Path(place) if os.path.lexists(place) else None

    async def _load(self) -> Any:
        self._before_loading()
        module = await asyncio.to_thread(import_module, "openclaw.mcp_server.orders")
        return module.Orders(self._agent, self._config, self._env, self._cwd)
