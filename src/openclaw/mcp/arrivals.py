"""Waiting for servers to come up: for all that are starting, or for as long as a turn should.

Owns how long a turn waits for servers whose tools are not known yet. One that hangs must not hold up the others, and nothing tells it from
one that is slow but time: so once any server is up, the turn waits only while others follow it, unless a person named the one that is
late. Starts nothing; manager.py says who is waited for.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Iterable

from openclaw.mcp.status import Awaited
from openclaw.mcp.supervisor import Supervisor

# A person who waits this long wants to know for whom.
SAY_AFTER = 1.0
# After the last arrival: enough for a server on another continent, which takes a handful of round trips.
SHORTEST_GRACE = 1.0


class Arrivals:
    """`grace` is how many seconds after the last arrival a turn still waits for another one, at most. `tell` hears of waiting."""

    def __init__(self, grace: float, tell: Callable[[Awaited], None]) -> None:
        self.grace = grace
        self._tell = tell
        self._changed = asyncio.Event()

    def noted(self) -> None:
        """Something happened to a server."""
        self._changed.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            self._changed.clear()
            await self._changed.wait()

    async def met(self, agent: str, supervisors: Collection[Supervisor]) -> None:
        """Wait until the tools of all these are known or will not be soon. Each attempt ends with its connect timeout."""
        await self._none(agent, supervisors, lambda one: one.is_settling)

    async def started(self, agent: str, supervisors: Collection[Supervisor]) -> None:
        """Wait until none of these is starting, in the same way."""
        await self._none(agent, supervisors, lambda one: one.is_starting)

    async def _none(
        self, agent: str, supervisors: Collection[Supervisor], is_awaited: Callable[[Supervisor], bool]
    ) -> None:
        def is_over() -> bool:
            return not any(map(is_awaited, supervisors))

        try:
            async with asyncio.timeout(SAY_AFTER):
                await self.until(is_over)
        except TimeoutError:
            self._say(agent, filter(is_awaited, supervisors), given_up=False)
            await self.until(is_over)

    async def settle(self, agent: str, supervisors: Collection[Supervisor], patience: float) -> None:
        """Wait until the tools of all these are known, will not be soon, or `patience` seconds have passed.

        With more patience than `grace` it ends sooner: when a server is up, and none has followed for as long again as the last one took.
        Who was waited for in vain is not waited for again before its tools were listed once; a call still is.
        """
        now = asyncio.get_running_loop().time
        awaited = [one for one in supervisors if one.is_settling and not one.catalog.was_outwaited]
        starting = {one for one in supervisors if one.is_starting}
        began = arrived_at = now()
        said = False
        while any(one.is_settling for one in awaited):
            due = began + patience
            if patience > self.grace and any(one.standing.status.state == "ready" for one in supervisors):
                due = min(due, arrived_at + min(self.grace, max(SHORTEST_GRACE, arrived_at - began)))
            if now() >= due:
                break
            await self._change(due if said else min(due, began + SAY_AFTER))
            left = {one for one in starting if one.is_starting}
            if len(left) < len(starting):
                starting, arrived_at = left, now()
            if not said and now() >= began + SAY_AFTER:
                said = True
                self._say(agent, (one for one in awaited if one.is_settling), given_up=False)
        self._say(agent, (one for one in awaited if one.is_settling), given_up=True)
        for one in awaited:
            if one.is_settling:
                one.catalog.outwait()

    async def _change(self, due: float) -> None:
        self._changed.clear()
        try:
            async with asyncio.timeout_at(None if due == float("inf") else due):
                await self._changed.wait()
        except TimeoutError:
            return

    def _say(self, agent: str, awaited: Iterable[Supervisor], *, given_up: bool) -> None:
        if names := tuple(one.spec.name for one in awaited):
            self._tell(Awaited(agent, names, given_up))


def named_in(text: str, names: Collection[str]) -> set[str]:
    """Which of these servers a text names: as a word of its own, or within the name of a tool."""
    return {name for name in names if re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text, re.IGNORECASE)}
