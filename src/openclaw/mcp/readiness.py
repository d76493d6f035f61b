"""Waiting for servers to come up: all that a turn or a list is about, or one.

Owns for whom somebody waits, and saying so. A server whose tools are not known yet is waited for until it is up, has failed, or has used up
its connect timeout, which counts from its start (server/connection.py). A turn does not wait again for one that used it up before, and
names it at every turn until it came up or its entry changed. Nothing is guessed from what a process does. Starts nothing.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from openclaw.mcp.events import Awaited, LeftOut
from openclaw.mcp.server.server import LiveServer

# A person who waits this long wants to know for whom, and again whenever as much time has passed as SAY_AGAIN.
SAY_AFTER = 1.0
SAY_AGAIN = 10.0
_NEVER = float("inf")

# Of an agent, or what a session of it has besides.
ServersOf = Callable[[str, str], Mapping[str, LiveServer]]
IsAwaited = Callable[[LiveServer], bool]


class Readiness:
    """`tell` hears of waiting, and of going on without a server.

    `servers_of` gives the servers of an agent that are to run; with a session, those that it alone has.
    """

    def __init__(self, tell: Callable[[Awaited | LeftOut], None], servers_of: ServersOf) -> None:
        self._tell = tell
        self._servers_of = servers_of
        self._changed = asyncio.Event()
        # How often somebody asked, for an agent, to wait no longer.
        self._went_on: Counter[str] = Counter()

    def changed(self) -> None:
        """Something happened to a server: whoever waits looks again."""
        self._changed.set()

    def go_on(self, agent: str) -> None:
        """Whoever waits for servers of this agent now goes on without them."""
        self._went_on[agent] += 1
        self.changed()

    async def until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            self._changed.clear()
            await self._changed.wait()

    async def settle(self, agent: str, patience: float, *, session: str = "") -> None:
        """What a turn waits for: the tools of the agent's servers, at most `patience` seconds; with a session, of those it alone has."""
        servers = self._servers_of(agent, session).values()
        await self._wait(agent, [one for one in servers if not one.is_overdue], _is_settling, patience)

    def tell_left_out(self, agent: str, session: str = "") -> None:
        """A turn goes on now, with the tools that are known: say without which servers, of the agent and of the session."""
        own = self._servers_of(agent, session).values() if session else ()
        for one in (*self._servers_of(agent, "").values(), *own):
            if (left_out := one.left_out(agent)) is not None:
                self._tell(left_out)

    async def listed(self, agent: str, *, text: str | None = None) -> None:
        """What a list of tools waits for: also one that was late before. With `text`, the servers it names alone."""
        servers = self._servers_of(agent, "")
        names = servers if text is None else named_in(text, servers)
        await self._wait(agent, [servers[name] for name in names], _is_settling)

    async def started(self, agent: str, name: str | None = None) -> None:
        """Wait until no server of an agent is starting: each is up, or is known not to be. With `name`, that one alone."""
        servers = self._servers_of(agent, "")
        awaited = list(servers.values()) if name is None else [servers[name]] if name in servers else []
        await self._wait(agent, awaited, lambda one: one.is_coming)

    async def attempted(self, agent: str, attempts: "Mapping[LiveServer, asyncio.Task[Any]]") -> None:
        """Wait for attempts to reach servers that somebody makes, or until a person goes on without the rest."""
        for attempt in attempts.values():
            attempt.add_done_callback(lambda _: self.changed())
        await self._wait(agent, attempts, lambda one: not attempts[one].done())

    async def _wait(
        self, agent: str, servers: Collection[LiveServer], is_awaited: IsAwaited, patience: float = _NEVER
    ) -> None:
        now, went_on = asyncio.get_running_loop().time, self._went_on[agent]
        ends, say_at, was_said = now() + patience, now() + SAY_AFTER, False
        try:
            while awaited := [one for one in servers if is_awaited(one)]:
                # Before anything is told: who hears of it may go on at once.
                self._changed.clear()
                if now() >= ends or self._went_on[agent] != went_on:
                    return
                if now() >= say_at:
                    say_at, was_said = now() + SAY_AGAIN, True
                    self._tell(Awaited(agent, tuple(one.spec.name for one in awaited)))
                await self._change(min(ends, say_at))
        finally:
            if was_said:
                self._tell(Awaited(agent, ()))

    async def _change(self, due: float) -> None:
        try:
            async with asyncio.timeout_at(due):
                await self._changed.wait()
        except TimeoutError:
            return


def _is_settling(server: LiveServer) -> bool:
    return server.is_settling


def named_in(text: str, names: Iterable[str]) -> set[str]:
    """Which of these servers a text names: as a word of its own, or within the name of a tool."""
    return {name for name in names if re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text, re.IGNORECASE)}
