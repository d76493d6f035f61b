"""Which supervisors run: one for each link that agents share, and those that serve one conversation alone (`isolation: session`).

Owns their tasks from start to end, and the room conversations take: one that wants a server of its own when as many run as may gets the
place of the one that was idle longest. Knows no agent and no tool (manager.py), and not when a server is up (supervisor.py).
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence

from msgspec import structs

from openclaw.config.servers import ServerSpec
from openclaw.mcp.reconcile import reconcile
from openclaw.mcp.server.server import Supervisor, Workshop

_log = logging.getLogger(__name__)


class Roster:
    """`shared` maps each link to what runs it, in the order of the config. `idle_ttl`: how long a conversation keeps its own servers."""

    def __init__(self, workshop: Workshop, idle_ttl: float | None) -> None:
        self.shared: dict[ServerSpec, Supervisor] = {}
        self._workshop = workshop
        self._private: dict[tuple[ServerSpec, str], Supervisor] = {}
        self._tasks: dict[Supervisor, asyncio.Task[None]] = {}
        # Names of servers that are being ended, and what ends them.
        self._ending: set[tuple[str, asyncio.Task[None]]] = set()
        self._idle_ttl = idle_ttl
        self._ttl_changed = asyncio.Event()
        self._sweeper = asyncio.create_task(self._sweep())

    def apply(self, desired: Iterable[ServerSpec]) -> tuple[list[Supervisor], list[Supervisor]]:
        """Make what runs fit the specs. Those that are new, and those that the caller is to `end`.

        One that replaces another of its name begins when that one has ended: they may want the same port or file, and the same place.
        """
        plan = reconcile(desired, self.shared)
        stopped = set(plan.stop)
        ended = [self.shared.pop(link) for link in plan.stop]
        ended += [self._private.pop(key) for key in [key for key in self._private if key[0] in stopped]]
        leaving = [*self._ending, *((supervisor.spec.name, self._tasks[supervisor]) for supervisor in ended)]
        started = [
            self._run(Supervisor(link, self._workshop, after=[task for name, task in leaving if name == link.name]))
            for link in plan.start
        ]
        self.shared.update((supervisor.spec, supervisor) for supervisor in started)
        return started, ended

    async def end(self, supervisors: Sequence[Supervisor]) -> None:
        """End them all at the same time, and return when they have ended."""
        for supervisor in supervisors:
            supervisor.close()
        tasks = [self._leave(supervisor) for supervisor in supervisors]
        if tasks:
            # Who no longer waits for them cuts none of them short.
            await asyncio.wait(tasks)

    def _leave(self, supervisor: Supervisor) -> "asyncio.Task[None]":
        """Remember one that is being ended until it has."""
        name, task = supervisor.spec.name, self._tasks.pop(supervisor)
        self._ending.add((name, task))

        def ended(task: "asyncio.Task[None]") -> None:
            self._ending.discard((name, task))
            if not task.cancelled() and (error := task.exception()) is not None:
                _log.warning("Error shutting down MCP server '%s': %s", name, error)

        task.add_done_callback(ended)
        return task

    async def close(self) -> None:
        self._sweeper.cancel()
        await asyncio.gather(self._sweeper, return_exceptions=True)
        supervisors = [*self.shared.values(), *self._private.values()]
        self.shared.clear()
        self._private.clear()
        await self.end(supervisors)

    def take_turns(self) -> None:
        """Where there are fewer places than servers: who was idle longest makes room for who needs to be listed or called."""
        everyone = [*self.shared.values(), *self._private.values()]
        waiting = [one for one in everyone if one.needs_place]
        giving = sum(one.is_giving_way for one in everyone)
        idle = sorted((one for one in everyone if one.may_give_way), key=lambda one: one.workload.last_call)
        for one in idle[: max(0, len(waiting) - giving)]:
            one.give_way()
            giving += 1
        for one in waiting:
            one.standing.is_promised_place = giving > 0

    # For one conversation alone

    async def private(self, shared: Supervisor, session: str) -> Supervisor:
        """What runs a server for one conversation. Waits only for another to end, when there is no room for both."""
        key = (shared.spec, session)
        if key not in self._private and not self._workshop.places.servers.has_room:
            await self._make_room()
        if key not in self._private:
            # Its comings and goings are the conversation's own business, and the shared one tells of the tools.
            quiet = structs.replace(self._workshop, emit=lambda event: None)
            self._private[key] = self._run(Supervisor(shared.spec, quiet, catalog=shared.catalog))
        return self._private[key]

    async def end_session(self, session: str) -> None:
        await self._end_private([key for key in self._private if key[1] == session])

    async def _make_room(self) -> None:
        idle = [key for key, supervisor in self._private.items() if not supervisor.workload.is_busy]
        if idle:
            await self._end_private([min(idle, key=lambda key: self._private[key].workload.last_call)])

    def keep_for(self, idle_ttl: float | None) -> None:
        """Another time for which a conversation keeps its own servers; None for ever."""
        if idle_ttl != self._idle_ttl:
            self._idle_ttl = idle_ttl
            self._ttl_changed.set()

    async def _sweep(self) -> None:
        """Close connections of conversations in which nothing was called for a while."""
        now = asyncio.get_running_loop().time
        while True:
            ttl = self._idle_ttl
            self._ttl_changed.clear()
            try:
                async with asyncio.timeout(ttl / 2 if ttl else None):
                    await self._ttl_changed.wait()
            except TimeoutError:
                idle = [
                    k
                    for k, s in self._private.items()
                    if not s.workload.is_busy and ttl and now() - s.workload.last_call > ttl
                ]
                await self._end_private(idle)

    async def _end_private(self, keys: Sequence[tuple[ServerSpec, str]]) -> None:
        await self.end([self._private.pop(key) for key in keys])

    def _run(self, supervisor: Supervisor) -> Supervisor:
        self._tasks[supervisor] = asyncio.create_task(supervisor.run(), name=f"mcp-supervisor-{supervisor.spec.name}")
        return supervisor
