"""The order of calls within one conversation, where this process carries them out."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from openclaw.mcp_server.order import Order
from openclaw.mcp_server.orders import Orders
from openclaw.mcp_server.server import OrderListener


async def test_an_order_that_gets_its_turn_before_the_config_is_read_leaves_no_error_behind(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    tasks: list[asyncio.Task[Any]] = []

    def remember(loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> asyncio.Task[Any]:
        tasks.append(asyncio.Task(coro, loop=loop, **options))
        return tasks[-1]

    loop.set_task_factory(remember)
    # One thread, held up: neither the agent host nor the config can be read before the gate is open.
    loop.set_default_executor(ThreadPoolExecutor(1))
    gate = threading.Event()
    held_up = asyncio.create_task(asyncio.to_thread(gate.wait))
    env = {"OPENCLAW_STATE_DIR": str(tmp_path)}
    backend = Orders(env, tmp_path, local=True)
    told: asyncio.Queue[str] = asyncio.Queue()
    listener = OrderListener(told.put_nowait, lambda session: None)

    async def carry_out() -> None:
        await backend.carry_out(Order("hello", session_key="same"), "2025-11-25", listener)

    first = asyncio.create_task(carry_out())
    assert await told.get() == "Starting"
    second = asyncio.create_task(carry_out())
    assert await told.get() == "Waiting for an earlier order of this conversation"
    first.cancel()
    assert await told.get() == "Starting"
    gate.set()
    await held_up
    # Behind everything that waited for the thread.
    await asyncio.to_thread(lambda: None)
    second.cancel()
    with suppress(asyncio.CancelledError):
        await second
    await backend.close()
    ended = [task for task in tasks if task.done() and not task.cancelled()]
    assert [task.exception() for task in ended if task.exception()] == []
