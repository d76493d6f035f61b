"""Where an order is carried out: by the gateway of the same config when one runs, so that its servers are shared, else in this process.

Owns that choice, made anew for each order, and the order of calls within one conversation. Imports nothing heavy: the agent host is loaded
with the first order that needs it, in a thread, while pings are answered.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from openclaw.config.plain_paths import running_socket
from openclaw.errors import OpenClawError, SessionBusyError
from openclaw.mcp_server.dialogue import failure
from openclaw.mcp_server.order import Order
from openclaw.mcp_server.server import OrderListener
from openclaw.sessions.lock import KeyLocks

if TYPE_CHECKING:
    from openclaw.mcp_server.host import AgentHost

# Seconds the host gets to end its servers when the process leaves; what is left of them then is the guardian's.
CLOSING = 0.6


class Orders:
    """`local` forbids the gateway. `before_loading` is called once, before the agent host is loaded; `log_as` with the
    config's `logging` section, once it is known and when it changes."""

    def __init__(
        self,
        env: Mapping[str, str],
        cwd: Path,
        *,
        agent: str = "",
        config: str = "",
        local: bool = False,
        before_loading: Callable[[], None] = lambda: None,
        log_as: Callable[[Any], None] = lambda section: None,
    ) -> None:
        self._env = env
        self._cwd = cwd
        self._agent = agent
        self._config = config
        self._local = local
        self._before_loading = before_loading
        self._log_as = log_as
        self._locks = KeyLocks()
        self._loading: asyncio.Task[AgentHost] | None = None

    async def carry_out(self, order: Order, version: str, listener: OrderListener) -> dict[str, Any]:
        """The result of one call. Calls that name the same conversation wait for each other, in the order they came."""
        async with AsyncExitStack() as stack:
            if order.session_key:
                try:
                    waited = await stack.enter_async_context(self._turn(order.session_key, listener))
                except SessionBusyError as error:
                    return failure(str(error))
                order = msgspec.structs.replace(order, waited=waited)
            listener.tell("Starting")
            answer = None if self._local else await self._forwarded(order, version, listener)
            if answer is not None:
                return answer
            if self._loading is None:
                self._loading = asyncio.get_running_loop().create_task(self._load())
            # A cancelled order must not cancel what others wait for.
            host = await asyncio.shield(self._loading)
            return await host.carry_out(order, version, listener)

    @asynccontextmanager
    async def _turn(self, key: str, listener: OrderListener) -> AsyncIterator[float]:
        """An order's turn in its conversation, and how many seconds it waited for that.

        Raises SessionBusyError when the turn comes later than its agent may take in all.
        """
        began = time.monotonic()
        is_held = self._locks.is_held(key)
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(None) as limit, AsyncExitStack() as waiting:
                    if is_held:
                        listener.tell("Waiting for an earlier order of this conversation")
                        # Beside the waiting: orders get their turns as they came.
                        bounding = asyncio.get_running_loop().create_task(self._bound(limit))
                        waiting.callback(bounding.cancel)
                    await stack.enter_async_context(self._locks.hold(key))
            except TimeoutError:
                raise SessionBusyError(round(time.monotonic() - began)) from None
            yield time.monotonic() - began if is_held else 0.0

    async def _bound(self, limit: asyncio.Timeout) -> None:
        """Wait no longer than the agent may take for an order."""
        began = asyncio.get_running_loop().time()
        limit.reschedule(began + await asyncio.to_thread(agent_time, self._env, self._config, self._cwd, self._agent))

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
        from openclaw.mcp_server.forward import Sender, forward

        sender = Sender(self._env, self._cwd, self._agent, self._config)
        return await forward(order, version, listener, gateway=place, sender=sender)

    def _gateway(self) -> Path | None:
        place = running_socket(self._env, self._config, str(self._cwd))
        return Path(place) if os.path.lexists(place) else None

    async def _load(self) -> "AgentHost":
        self._before_loading()
        made = await asyncio.to_thread(_host_type)
        return made(self._agent, self._config, self._env, self._cwd, self._log_as)


def _host_type() -> "type[AgentHost]":
    """Loads the agent host, which takes a while."""
    from openclaw.mcp_server.host import AgentHost

    return AgentHost


def agent_time(env: Mapping[str, str], config: str, cwd: Path, agent: str) -> float:
    """Seconds that the config gives an agent for a turn. With a config that cannot be used, what it has without one."""
    from openclaw.config.agents import DEFAULT_TIMEOUT
    from openclaw.config.agents import agent as agent_of
    from openclaw.config.load import load_config
    from openclaw.config.paths import Paths

    try:
        paths = Paths.from_env(env, config=config, cwd=str(cwd))
        return agent_of(load_config(paths, env), agent).timeout
    except OpenClawError:
        # The order itself will tell.
        return DEFAULT_TIMEOUT
