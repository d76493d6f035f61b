"""Waiting for servers to come up: for all that are starting, for one, or for as long as a turn should.

Owns how long a turn waits for servers whose tools are not known yet. One that hangs must not hold up the others: so once any server is up,
the turn waits only for those that show signs of life (signs.py), unless a person named the one that is late. Starts nothing. One that
waits for a place among those that may run is not starting: nobody waits for it.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from openclaw.mcp.signs import FAR, LOOK_EVERY, Signs
from openclaw.mcp.status import Awaited
from openclaw.mcp.supervisor import Supervisor

# A person who waits this long wants to know for whom.
SAY_AFTER = 1.0
_NEVER = float("inf")

ServersOf = Callable[[str], Mapping[str, Supervisor]]


class Wait(msgspec.Struct, frozen=True):
    """For how long a turn waits: `patience` seconds since it `began`, and not longer than `grace` seconds after the last server
    `arrived` (both loop times)."""

    patience: float
    grace: float
    began: float
    arrived: float

    @property
    def unseen(self) -> float:
        """Until when one that cannot be looked at may still be coming: for as long again as the last one took."""
        return self.arrived + max(FAR, self.arrived - self.began)

    def ends(self, quiet: Sequence[float], *, is_any_up: bool, needs_one: bool = True) -> float:
        """When it is over, if nothing happens until then; `quiet` is when each that is awaited has been quiet for long enough.

        As long as no server is up, a turn has nothing to go on with (`needs_one`), and one that is slow is worth waiting for.
        """
        end = self.began + self.patience
        if is_any_up:
            return min(end, self.arrived + self.grace, max(quiet))
        return end if needs_one else min(end, max(quiet))


class Arrivals:
    """`grace` is how many seconds after the last arrival a turn still waits for another one, at most. `tell` hears of waiting.
    `servers_of` gives the servers of an agent that are to run."""

    def __init__(self, grace: float, tell: Callable[[Awaited], None], servers_of: ServersOf) -> None:
        self.grace = grace
        self._tell = tell
        self._servers_of = servers_of
        self._changed = asyncio.Event()

    def noted(self) -> None:
        """Something happened to a server."""
        self._changed.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            self._changed.clear()
            await self._changed.wait()

    async def met(self, agent: str, *, text: str | None = None) -> None:
        """Wait until the tools of an agent's servers are known or will not be soon. With `text`, of the servers it names alone.

        Each attempt ends with its connect timeout.
        """
        servers = self._servers_of(agent)
        names = servers if text is None else named_in(text, servers)
        await self._none(agent, [servers[name] for name in names], is_settling)

    async def started(self, agent: str, name: str | None = None) -> None:
        """Wait until no server of an agent is starting: each is up, or is known not to be. With `name`, that one alone."""
        servers = self._servers_of(agent)
        awaited = servers.values() if name is None else [servers[name]] if name in servers else []
        await self._none(agent, awaited, _is_starting)

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

    async def settle(self, agent: str, patience: float) -> None:
        """Wait until the tools of an agent's servers are known, will not be soon, or `patience` seconds have passed.

        It ends sooner when a server is up, and all that are still awaited have been quiet for a while, or none has come up for `grace`
        seconds. Who was waited for in vain is not waited for again before its tools were listed once; a call still is.
        """
        awaited = [
            one for one in self._servers_of(agent).values() if is_settling(one) and not one.catalog.was_outwaited
        ]
        late = await self._watch(agent, awaited, is_settling, patience, needs_one=True)
        self._say(agent, late, given_up=True)
        for one in late:
            one.catalog.outwait()

    async def seen(self, agent: str) -> None:
        """Wait for servers that are starting for as long as they show signs of life: to see how each stands, up or not."""
        await self._watch(agent, list(self._servers_of(agent).values()), _is_starting, _NEVER, needs_one=False)

    async def _watch(
        self,
        agent: str,
        awaited: Sequence[Supervisor],
        is_awaited: Callable[[Supervisor], bool],
        patience: float,
        *,
        needs_one: bool,
    ) -> list[Supervisor]:
        """Wait for servers while they show signs of life. Those that are late all the same."""
        now = asyncio.get_running_loop().time
        supervisors = self._servers_of(agent).values()
        signs = {one: Signs(one.spec) for one in awaited}
        starting = {one for one in supervisors if one.is_starting}
        wait = Wait(patience, self.grace, began=now(), arrived=now())
        # Since when each is quiet enough, as of the last look.
        quiet = dict.fromkeys(awaited, _NEVER)
        look_at, say_at = now(), now() + SAY_AFTER
        while late := [one for one in awaited if is_awaited(one)]:
            if now() >= look_at:
                look_at = now() + LOOK_EVERY
                for one in late:
                    quiet[one] = signs[one].quiet_at(one.standing.attempt, now(), unseen=wait.unseen)
            is_any_up = any(one.standing.status.state == "ready" for one in supervisors)
            due = wait.ends([quiet[one] for one in late], is_any_up=is_any_up, needs_one=needs_one)
            if now() >= due:
                break
            if now() >= say_at:
                say_at = _NEVER
                self._say(agent, late, given_up=False)
            await self._change(min(due, look_at))
            left = {one for one in starting if one.is_starting}
            if len(left) < len(starting):
                starting, wait = left, replace(wait, arrived=now())
        return late

    async def _change(self, due: float) -> None:
        self._changed.clear()
        try:
            async with asyncio.timeout_at(due):
                await self._changed.wait()
        except TimeoutError:
            return

    def _say(self, agent: str, awaited: Iterable[Supervisor], *, given_up: bool) -> None:
        if names := tuple(one.spec.name for one in awaited):
            self._tell(Awaited(agent, names, given_up))


def is_settling(one: Supervisor) -> bool:
    """Whether the first list of a server's tools, or what it puts into the context, may still come soon."""
    lacks_context = one.injection.is_wanted and not one.injection.was_read
    lacks = lacks_context or not one.catalog.is_known
    return lacks and one.is_starting


def _is_starting(one: Supervisor) -> bool:
    return one.is_starting


def named_in(text: str, names: Collection[str]) -> set[str]:
    """Which of these servers a text names: as a word of its own, or within the name of a tool."""
    return {name for name in names if re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text, re.IGNORECASE)}
