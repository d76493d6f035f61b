"""What a person is told while a command waits for servers, and the key with which they go on without them.

On a terminal: for whom it waits, now and then, until Enter is pressed. In a pipe nothing of it: only whom a turn goes on without.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openclaw.commands.console import Console
from openclaw.mcp.manager import Manager
from openclaw.mcp.status import Awaited, EngineEvent, LeftOut
from openclaw.security.external import clean_label


@asynccontextmanager
async def told_of_waiting(console: Console, manager: Manager, agent: str) -> AsyncIterator[None]:
    """Meanwhile, of servers of this agent. In a gateway others wait too, for theirs."""
    pressed: asyncio.Task[None] | None = None

    async def skip() -> None:
        while True:
            await console.enter()
            manager.arrivals.go_on(agent)

    def tell(event: EngineEvent) -> None:
        nonlocal pressed
        if isinstance(event, LeftOut) and event.agent == agent:
            console.note(console.dim(f"Without {clean_label(event.server, 100)}: {event.reason}."))
        elif isinstance(event, Awaited) and event.agent == agent and not event.servers:
            # What is typed from now on is not for us.
            if pressed is not None:
                pressed.cancel()
                pressed = None
        elif isinstance(event, Awaited) and event.agent == agent and console.interactive:
            names = ", ".join(clean_label(name, 100) for name in event.servers)
            key = " (Enter goes on without)" if console.has_keys else ""
            console.note(console.dim(f"Waiting for {names}{key}"))
            if pressed is None:
                pressed = asyncio.create_task(skip())

    unsubscribe = manager.events.subscribe(tell)
    try:
        yield
    finally:
        unsubscribe()
        if pressed is not None:
            pressed.cancel()
            await asyncio.gather(pressed, return_exceptions=True)
