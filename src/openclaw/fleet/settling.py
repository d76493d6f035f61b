"""What the database has still to be told although it did not answer: that a turn, a lease or a run is over.

Whoever holds something and lives has it for good, so it is tried until it is told, or until this gateway is known to be gone: then whatever
it held is free. Owns the tasks that do so, and ends them with the gateway.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from uuid import UUID

from openclaw.errors import StoreError
from openclaw.fleet.database import Connection, Database
from openclaw.fleet.faults import UnreachableError
from openclaw.fleet.presence import Presence

_log = logging.getLogger(__name__)

# Seconds between two tries, each of which is patient itself.
_PAUSE = 1.0

Work = Callable[[Connection], Awaitable[object]]


class Settling:
    def __init__(self, database: Database, presence: Presence) -> None:
        self._database = database
        self._presence = presence
        self._tasks: set[asyncio.Task[None]] = set()

    def later(self, what: str, work: Work, me: UUID) -> asyncio.Task[None]:
        """Do it beside all else. `me` is the gateway that holds what is given back; `what` is for the log."""
        task = asyncio.get_running_loop().create_task(self._until_told(what, work, me), name=f"fleet-settling-{what}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _until_told(self, what: str, work: Work, me: UUID) -> None:
        while self._presence.id == me:
            try:
                await self._database.run(work)
                return
            except UnreachableError:
                await asyncio.sleep(_PAUSE)
            except StoreError as error:
                _log.debug("%s was not given back: %s", what, error)
                return
