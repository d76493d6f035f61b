"""Which servers run: one for each spec that agents share, and those that serve one conversation alone (`isolation: session`).

Owns their tasks from start to end, and who gives up its slot when as many run as may: the one that was idle longest. Knows no agent and no
tool (manager.py), and not when a server is up (server/server.py).
"""

import asyncio
import logging
from collections.abc import Collection, Iterable, Sequence
from contextvars import Context

from msgspec import structs

from openclaw.config.servers import ServerSpec
from openclaw.mcp.reconcile import reconcile
from openclaw.mcp.server.server import LiveServer, ServerDependencies

_log = logging.getLogger(__name__)


class ServerPool:
    """`shared` maps each spec that agents share to its server, in the order of the config.

    `idle_ttl` is how many seconds a conversation keeps servers of its own that it does not use; None for ever.
    """

    def __init__(self, dependencies: ServerDependencies, idle_ttl: float | None) -> None:
        self.shared: dict[ServerSpec, LiveServer] = {}
        self._dependencies = dependencies
        self._private: dict[tuple[ServerSpec, str], LiveServer] = {}
        self._tasks: dict[LiveServer, asyncio.Task[None]] = {}
        # Names of servers that are being ended, and what ends them.
        self._ending: set[tuple[str, asyncio.Task[None]]] = set()
        # By conversation: what ends servers of it alone.
        self._leaving: dict[str, set[asyncio.Task[None]]] = {}
        self._idle_ttl = idle_ttl
        self._ttl_changed = asyncio.Event()
        self._sweeper = asyncio.create_task(self._sweep())
        self._homes = dependencies.connect.homes
        if self._homes is not None:
            self._homes.on_wanted(self._end_elsewhere)

    def apply(self, desired: Iterable[ServerSpec]) -> tuple[list[LiveServer], list[LiveServer]]:
        """Make what runs fit the specs. Those that are new, and those that the caller is to `end`.

        One that replaces another of its name begins when that one has ended: they may want the same port or file, and the same slot.
        """
        plan = reconcile(desired, self.shared)
        stopped = set(plan.stop)
        ended = [self.shared.pop(spec) for spec in plan.stop]
        ended += [self._private.pop(key) for key in [key for key in self._private if key[0] in stopped]]
        leaving = [*self._ending, *((server.spec.name, self._tasks[server]) for server in ended)]
        started = [
            self._run(LiveServer(spec, self._dependencies, after=[task for name, task in leaving if name == spec.name]))
            for spec in plan.start
        ]
        self.shared.update((server.spec, server) for server in started)
        return started, ended

    async def end(self, servers: Sequence[LiveServer]) -> None:
        """End them all at the same time, and return when they have ended."""
        for server in servers:
            server.close()
        tasks = [self._leave(server) for server in servers]
        if tasks:
            # A caller that no longer waits for them cuts none of them short.
            await asyncio.wait(tasks)

    def _leave(self, server: LiveServer) -> "asyncio.Task[None]":
        """Remember one that is being ended until it has."""
        name, task = server.spec.name, self._tasks.pop(server)
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
        servers = self.all()
        self.shared.clear()
        self._private.clear()
        await self.end(servers)
        if leaving := set().union(*self._leaving.values()):
            await asyncio.wait(leaving)

    def share_slots(self) -> None:
        """Where there are fewer slots than servers: those that were idle longest give theirs to those that have to be listed or called."""
        everyone = self.all()
        waiting = [one for one in everyone if one.needs_slot]
        giving = sum(one.is_giving_up_slot for one in everyone)
        idle = sorted((one for one in everyone if one.may_give_up_slot), key=lambda one: one.last_call)
        for one in idle[: max(0, len(waiting) - giving)]:
            one.give_up_slot()
            giving += 1
        for one in waiting:
            one.promise_slot(is_promised=giving > 0)

    def all(self) -> list[LiveServer]:
        return [*self.shared.values(), *self._private.values()]

    def by(self, specs: Collection[ServerSpec]) -> list[LiveServer]:
        """The servers of these shared specs, also those of one conversation alone."""
        private = (server for (spec, _), server in self._private.items() if spec in specs)
        return [*(server for spec, server in self.shared.items() if spec in specs), *private]

    # For one conversation alone

    async def private(self, shared: LiveServer, session: str) -> LiveServer:
        """What runs a server for one conversation. Waits for another to end when there is no room for both, for those of this
        conversation that are being ended, and for the one that another gateway ran for it. Raises StoreError when that does not end."""
        key = (shared.spec, session)
        if key not in self._private and not self._dependencies.limiters.servers.has_free:
            await self._make_room()
        while key not in self._private:
            if leaving := self._leaving.get(session):
                # It may want the same port or file.
                await asyncio.wait(tuple(leaving))
                continue
            if self._homes is not None:
                # Right before it begins: what is ours here may be asked for elsewhere a moment later.
                await self._homes.enter(session)
                if key in self._private or session in self._leaving:
                    continue
            # Its comings and goings are the conversation's own business, and the shared one tells of the tools.
            quiet = structs.replace(self._dependencies, emit=lambda event: None)
            self._private[key] = self._run(shared.for_one_session(quiet))
        return self._private[key]

    async def end_session(self, session: str) -> None:
        await self._end_private([key for key in self._private if key[1] == session])

    async def _make_room(self) -> None:
        idle = [key for key, server in self._private.items() if not server.is_busy]
        if idle:
            await self._end_private([min(idle, key=lambda key: self._private[key].last_call)])

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
                idle = [k for k, s in self._private.items() if not s.is_busy and ttl and now() - s.last_call > ttl]
                await self._end_private(idle)

    async def _end_private(self, keys: Sequence[tuple[ServerSpec, str]]) -> None:
        tasks = [
            self._end_of(session, [key for key in keys if key[1] == session])
            for session in dict.fromkeys(session for _, session in keys)
        ]
        if tasks:
            await asyncio.wait(tasks)

    async def _end_elsewhere(self, session: str, must: bool) -> None:
        """A conversation goes on at another gateway, or this one may run nothing any more."""
        keys = [key for key in self._private if key[1] == session]
        if must or not any(self._private[key].is_busy for key in keys):
            await asyncio.wait({self._end_of(session, keys)})

    def _end_of(self, session: str, keys: Sequence[tuple[ServerSpec, str]]) -> "asyncio.Task[None]":
        """End servers of a conversation, also when whoever asked for it no longer waits; none of it begins before that is over."""
        servers = [self._private.pop(key) for key in keys]
        leaving = self._leaving.setdefault(session, set())
        ending = self._end_and_leave(session, servers, tuple(leaving))
        task = asyncio.create_task(ending, name="mcp-leaving", context=Context())
        leaving.add(task)
        task.add_done_callback(lambda task: self._left(session, task))
        return task

    async def _end_and_leave(
        self, session: str, servers: Sequence[LiveServer], before: Collection["asyncio.Task[None]"]
    ) -> None:
        await self.end(servers)
        if before:
            await asyncio.wait(before)
        if self._homes is not None:
            await self._homes.leave(session, lambda: self._is_used(session))

    def _left(self, session: str, task: "asyncio.Task[None]") -> None:
        self._leaving[session].discard(task)
        if not self._leaving[session]:
            del self._leaving[session]

    def _is_used(self, session: str) -> bool:
        """Whether servers of a conversation run, or others of it are still being ended: the last of them leaves."""
        return len(self._leaving[session]) > 1 or any(of == session for _, of in self._private)

    def _run(self, server: LiveServer) -> LiveServer:
        self._tasks[server] = asyncio.create_task(
            server.run(),
            name=f"mcp-server-{server.spec.name}",
            # It outlives whoever needs it first, and is no part of their trace.
            context=Context(),
        )
        return server
