"""Waiting for servers to come up: for all that are starting, or for as long as a turn should.

Owns how long a turn waits for servers whose tools are not known yet. One that hangs must not hold up the others, and nothing tells it from
one that is slow but time: so once any server is up, the turn waits only while others follow it. Starts nothing; manager.py says
who is waited for.
"""

import asyncio
import logging
from collections.abc import Callable, Collection

from openclaw.mcp.supervisor import Supervisor

_log = logging.getLogger(__name__)

# A person who waits this long wants to know for whom.
SAY_AFTER = 1.0


class Arrivals:
    """`grace` is how many seconds after the last arrival a turn still waits for another one."""

    def __init__(self, grace: float) -> None:
        self.grace = grace
        self._changed = asyncio.Event()

    def noted(self) -> None:
        """Something happened to a server."""
        self._changed.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            self._changed.clear()
            await self._changed.wait()

    async def settle(self, supervisors: Collection[Supervisor], patience: float) -> None:
        """Wait until the tools of all these are known, will not be soon, or `patience` seconds have passed.

        Ends sooner when a server is up and none has followed for `grace` seconds. Who was waited for in vain is not waited for
        again before its tools were listed once; a call still is.
        """
        now = asyncio.get_running_loop().time
        awaited = [one for one in supervisors if one.is_settling and not one.catalog.was_outwaited]
        starting = {one for one in supervisors if one.is_starting}
        began = arrived_at = now()
        said = False
        while any(one.is_settling for one in awaited):
            is_any_up = any(one.status.state == "ready" for one in supervisors)
            due = min(began + patience, arrived_at + self.grace if is_any_up else float("inf"))
            if now() >= due:
                break
            await self._change(due if said else min(due, began + SAY_AFTER))
            left = {one for one in starting if one.is_starting}
            if len(left) < len(starting):
                starting, arrived_at = left, now()
            if not said and now() >= began + SAY_AFTER:
                said = True
                self._say("Waiting for MCP servers whose tools are not known yet", awaited)
        self._say("Going on without MCP servers that are still connecting", awaited)
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

    @staticmethod
    def _say(what: str, awaited: Collection[Supervisor]) -> None:
        if names := ", ".join(one.spec.name for one in awaited if one.is_settling):
            _log.warning("%s: %s", what, names)
