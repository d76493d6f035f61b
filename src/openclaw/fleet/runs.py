"""Which gateway carries out which run: no two begin the one that a caller made up an id for, and each can be ended from any.

What a run says stays with its gateway, and in its conversation. A run whose gateway died is over: it was lost, and nobody begins it again.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Final
from uuid import uuid4

from openclaw.errors import StoreError
from openclaw.fleet.database import Connection, Database, Record
from openclaw.fleet.faults import UnreachableError
from openclaw.fleet.notices import Notices
from openclaw.fleet.presence import Presence
from openclaw.fleet.settling import Settling
from openclaw.run_state import RunState

_log = logging.getLogger(__name__)

RUN: Final = "run"
LOST: Final = "lost"

# Those that ended a while ago are forgotten, as a gateway forgets its own.
_CLEAR = (
    "DELETE FROM openclaw.run WHERE ended < clock_timestamp() - interval '10 minutes'"
    " OR (began < clock_timestamp() - interval '1 day' AND NOT openclaw.alive(gateway))"
)
# Asked for again when the answer was lost: the mark tells that it was us.
_CLAIM = (
    "INSERT INTO openclaw.run AS r (id, gateway, mark, agent, session) VALUES ($1, $2, $3, $4, $5)"
    " ON CONFLICT (id) DO UPDATE SET mark = r.mark WHERE r.mark = excluded.mark RETURNING id"
)
# Entered perhaps, and nobody carries it out.
_WITHDRAW = "DELETE FROM openclaw.run WHERE id = $1 AND mark = $2"
_READ = (
    "SELECT id, agent, session, extract(epoch FROM began)::float8 AS began, ended IS NOT NULL AS is_over, reason,"
    " openclaw.alive(gateway) AS alive FROM openclaw.run"
)


class FleetRuns:
    """A `RunDirectory` (gateway/run_directory.py)."""

    def __init__(self, database: Database, presence: Presence, notices: Notices, settling: Settling) -> None:
        self._database = database
        self._settling = settling
        self._presence = presence
        self._notices = notices
        self._cancel: Callable[[str], None] = lambda id: None
        self._wake = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._telling: set[asyncio.Task[None]] = set()
        self._exit = ExitStack()

    def start(self) -> None:
        """Hear from now on which runs of ours others end."""
        if self._looking is None:
            self._exit.enter_context(self._notices.watch(RUN, lambda id: self._wake.set()))
            self._looking = asyncio.create_task(self._keep_looking(), name="fleet-runs")

    async def close(self) -> None:
        self._exit.close()
        looking, self._looking = self._looking, None
        if looking is not None:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking
        if self._telling:
            await asyncio.wait(self._telling)

    def on_cancel(self, cancel: Callable[[str], None]) -> None:
        self._cancel = cancel

    async def claim(self, state: RunState) -> RunState | None:
        me, mark = await self._presence.begin(), uuid4()

        async def enter(connection: Connection) -> bool:
            await connection.execute(_CLEAR)
            values = (state.run, me, mark, state.agent, state.session_key.encode())
            return await connection.fetchval(_CLAIM, *values) is not None

        try:
            entered = await self._database.run(enter)
        except UnreachableError:
            self._settling.later("a run", lambda connection: connection.execute(_WITHDRAW, state.run, mark), me)
            raise
        return None if entered else await self.find(state.run)

    def over(self, state: RunState) -> None:
        task = asyncio.get_running_loop().create_task(self._over(state), name="fleet-run-over")
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def find(self, id: str) -> RunState | None:
        row = await self._database.row(f"{_READ} WHERE id = $1", id)
        return None if row is None else _state(row)

    async def others(self, session: str = "") -> list[RunState]:
        rows = await self._database.rows(
            f"{_READ} WHERE gateway IS DISTINCT FROM $1::uuid AND (session = $2 OR $2 = '') ORDER BY began DESC",
            *(self._presence.id, session.encode()),
        )
        return [_state(row) for row in rows]

    async def cancel(self, id: str) -> None:
        await self._database.value("UPDATE openclaw.run SET is_cancelled = true WHERE id = $1 AND ended IS NULL", id)
        self._notices.send(RUN, id)

    async def _over(self, state: RunState) -> None:
        end = partial(_end, state)
        try:
            await self._database.run(end, patience=0)
        except UnreachableError:
            if (me := self._presence.id) is not None:
                self._settling.later("a run", end, me)
        except StoreError as error:
            _log.warning("Other gateways do not know that a run is over: %s", error)

    async def _keep_looking(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                rows = await self._database.rows(
                    "SELECT id FROM openclaw.run WHERE gateway = $1 AND is_cancelled AND ended IS NULL",
                    self._presence.id,
                )
            except StoreError as error:
                _log.debug("%s", error)
                continue
            for row in rows:
                self._cancel(row["id"])


async def _end(state: RunState, connection: Connection) -> None:
    await connection.execute(
        "UPDATE openclaw.run SET ended = clock_timestamp(), reason = $2 WHERE id = $1 AND ended IS NULL",
        *(state.run, state.reason),
    )


def _state(row: Record) -> RunState:
    is_lost = not row["is_over"] and not row["alive"]
    return RunState(
        run=row["id"],
        agent=row["agent"],
        session_key=row["session"].decode(),
        state="over" if row["is_over"] or is_lost else "running",
        reason=LOST if is_lost else row["reason"],
        last_event=0,
        began_at=round(row["began"], 3),
    )
