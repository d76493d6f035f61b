"""What the database has still to be told although it did not answer: that a turn, a lease or a run is over.

Whoever holds something and lives has it for good, so it is tried until it is told, or until this gateway is known to be gone: then whatever
it held is free. Owns the tasks that do so, and ends them with the gateway.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from uuid import UUID

from openclaw.errors import StoreError
from openclaw.fleet.database import FIRST_PAUSE, LONGEST_PAUSE, Connection, Database
from openclaw.fleet.faults import UnreachableError
from openclaw.fleet.presence import Presence

_log = logging.getLogger(__name__)

Work = Callable[[Connection], Awaitable[object]]
# Held around every try.
Alone = Callable[[], AbstractAsyncContextManager[None]]


class Settling:
    def __init__(self, database: Database, presence: Presence) -> None:
        self._database = database
        self._presence = presence
        self._tasks: set[asyncio.Task[None]] = set()

    def later(self, what: str, work: Work, me: UUID, *, alone: Alone = nullcontext) -> asyncio.Task[None]:
        """Do it beside all else, or alone. `me` is the gateway that holds what is given back; `what` is for the log."""
        telling = self._until_told(what, work, me, alone)
        task = asyncio.get_running_loop().create_task(telling, name=f"fleet-settling-{what}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _until_told(self, what: str, work: Work, me: UUID, alone: Alone) -> None:
        pause = FIRST_PAUSE
        while self._presence.id == me:
            try:
                async with alone():
                    await self._database.run(work, patience=0)
                return
            except UnreachableError:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            except StoreError as error:
                _log.debug("%s was not given back: %s", what, error)
                return
