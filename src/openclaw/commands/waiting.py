"""Waiting for servers: what the person at a terminal sees meanwhile, and the key with which they go on without them.

A terminal shows which servers are waited for, until Enter is pressed. A pipe shows only those that a turn went on without.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from time import monotonic

from openclaw.commands.console import Console, Doing
from openclaw.commands.dispatch import Surface
from openclaw.commands.notices import prefix_on, say
from openclaw.commands.screen.live import STOP
from openclaw.errors import OpenClawError
from openclaw.event_hub import Event
from openclaw.mcp.events import Awaited, LeftOut
from openclaw.mcp.manager import Manager
from openclaw.mcp.server.server import LiveServer
from openclaw.mcp.wording import STILL_STARTING, going_on_without
from openclaw.security.external import clean_label

# Said of a server that the person did not want to wait for.
UNFINISHED = f"{STILL_STARTING[:1].upper()}{STILL_STARTING[1:]}."


async def tried(manager: Manager, agent: str, servers: Iterable[LiveServer]) -> dict[str, str]:
    """Start servers that do not run, also those that a person stopped, and list what each offers, as many at a time as may run. Gives
    what went wrong, by server name.

    One that hangs takes up its whole connect timeout.
    """
    slots = asyncio.Semaphore(manager.max_servers)

    async def one(server: LiveServer) -> str:
        async with slots:
            try:
                await server.refresh()
            except OpenClawError as error:
                return str(error)
        return ""

    attempts = {server: asyncio.create_task(one(server)) for server in servers}
    try:
        await manager.readiness.attempted(agent, attempts)
    finally:
        for attempt in attempts.values():
            attempt.cancel()
        await asyncio.gather(*attempts.values(), return_exceptions=True)
    return {
        server.spec.name: UNFINISHED if attempt.cancelled() else attempt.result()
        for server, attempt in attempts.items()
    }


def _doing(manager: Manager, agent: str, began: float) -> Doing:
    """What whoever looks at servers waits for: those that are on their way."""
    found = manager.status(agent)
    coming = [clean_label(one.name, 60) for one in found if one.state == "starting"]
    if not coming:
        return Doing("Asking " + (clean_label(found[0].name, 60) if len(found) == 1 else "the servers"), began)
    return Doing(f"Waiting for {', '.join(coming)}", began)


def _awaited(manager: Manager, awaited: Awaited, began: float, keys: str) -> Doing:
    """The same where a person may go on without them: those that are not up by now."""
    up = {one.name for one in manager.status(awaited.agent) if one.state == "ready"}
    left = [name for name in awaited.servers if name not in up]
    return Doing(f"Waiting for {_named(left or awaited.servers)}", began, keys)


def _named(servers: Iterable[str]) -> str:
    return ", ".join(clean_label(name, 100) for name in servers)


@asynccontextmanager
async def told_of_waiting(
    console: Console, manager: Manager, agent: str, surface: Surface = "terminal"
) -> AsyncIterator[set[str]]:
    """Show, while this is held, which servers of this agent are waited for. Gives the names of those that a turn went on without."""
    named: set[str] = set()
    pressed: asyncio.Task[None] | None = None
    began = monotonic()
    shown = ExitStack()

    async def skip() -> None:
        while True:
            await console.enter()
            manager.readiness.go_on(agent)

    def tell_left_out(event: Event[LeftOut]) -> None:
        if event.value.agent == agent:
            server = event.value.server
            named.add(server)
            owner = next((one.owner for one in manager.status(agent) if one.name == server), "")
            say(console, going_on_without(event.value, owner, prefix_on(surface)))

    def tell_awaited(event: Event[Awaited]) -> None:
        nonlocal pressed
        if event.value.agent != agent:
            return
        shown.close()
        if not event.value.servers:
            # What is typed from now on is not for us.
            if pressed is not None:
                pressed.cancel()
                pressed = None
        elif console.interactive:
            if console.cursor:
                keys = f"Enter goes on without, {STOP}" if console.has_keys else ""
                shown.enter_context(console.live.waiting(partial(_awaited, manager, event.value, began, keys)))
            else:
                key = " (Enter goes on without)" if console.has_keys else ""
                console.note(console.dim(f"Waiting for {_named(event.value.servers)}{key}"))
            if pressed is None:
                pressed = asyncio.create_task(skip())

    subscribed = (manager.events.subscribe(tell_left_out, LeftOut), manager.events.subscribe(tell_awaited, Awaited))
    try:
        with console.live.waiting(partial(_doing, manager, agent, began)):
            yield named
    finally:
        shown.close()
        for unsubscribe in subscribed:
            unsubscribe()
        if pressed is not None:
            pressed.cancel()
            await asyncio.gather(pressed, return_exceptions=True)
