"""How often what all gateways share has changed, by its kind: what a gateway has read of it is good for as long as the number is the same.

Owns when to look: at once when a notice says so, and every few seconds whether one came or not. Whoever keeps a copy of something
(`follow`) has it read anew before a look is over. `is_checked` says whether the copies were true a moment ago: no credential is used
otherwise.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, suppress

from openclaw.errors import StoreError
from openclaw.fleet.database import Connection, Database, Record
from openclaw.fleet.notices import Notices

_log = logging.getLogger(__name__)

# Seconds for which a look is good. What was revoked is used nowhere after that.
GOOD_FOR = 5.0
# Seconds between two looks: the next is over before the last is no longer good, also when the database takes its time.
LOOK = 2.0

# Reads the copy of one kind anew. Raises StoreError.
Load = Callable[[], Awaitable[None]]


class Revisions:
    def __init__(
        self, database: Database, notices: Notices, *, look: float = LOOK, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._database = database
        self._notices = notices
        self._look = look
        self._clock = clock
        self._loads: dict[str, list[Load]] = {}
        # The numbers that the copies were read at.
        self._numbers: dict[str, int] = {}
        self._looked_at = -GOOD_FOR
        self._turn = asyncio.Lock()
        self._wake = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._exit = ExitStack()

    def follow(self, kind: str, load: Load) -> None:
        """`load` is called at the first look, and whenever something of the kind has changed."""
        self._loads.setdefault(kind, []).append(load)

    @property
    def is_checked(self) -> bool:
        return self._clock() < self.good_until

    @property
    def good_until(self) -> float:
        return self._looked_at + GOOD_FOR

    async def start(self) -> None:
        """Look now, and from now on. A database that is away is asked again until it is back."""
        if self._looking is not None:
            return
        self._exit.enter_context(self._notices.watch("revision", lambda kind: self._wake.set()))
        try:
            await self.look()
        except StoreError as error:
            # Whoever needs something that is not known says so.
            _log.debug("%s", error)
        self._looking = asyncio.create_task(self._keep_looking(), name="fleet-revisions")

    async def look(self) -> None:
        """Read what has changed. Raises StoreError; then nothing new is known."""
        asked = self._clock()
        async with self._turn:
            # One look for all who asked before it began.
            if self._looked_at <= asked:
                await self._read()

    async def check(self) -> None:
        """Be sure that what is known was true a moment ago. Raises StoreError."""
        if not self.is_checked:
            await self.look()

    async def close(self) -> None:
        self._exit.close()
        looking, self._looking = self._looking, None
        if looking is not None:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking

    async def _read(self) -> None:
        began = self._clock()
        rows = await self._database.run(_numbers, patience=0)
        numbers = {row["kind"]: row["number"] for row in rows}
        for kind, loads in self._loads.items():
            number = numbers.get(kind, 0)
            if self._numbers.get(kind) != number:
                for load in loads:
                    await load()
                # The number was read first: what changed meanwhile is read again.
                self._numbers[kind] = number
        self._looked_at = began

    async def _keep_looking(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._look):
                    await self._wake.wait()
            self._wake.clear()
            try:
                await self.look()
            except StoreError as error:
                _log.debug("%s", error)


async def _numbers(connection: Connection) -> Sequence[Record]:
    rows: list[Record] = await connection.fetch("SELECT kind, number FROM openclaw.revision")
    return rows
