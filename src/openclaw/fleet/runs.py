"""Which gateway carries out which run: no two begin the one that a caller made up an id for, and each can be ended from any.

What a run says stays with its gateway, and in its conversation. A run whose gateway died is over: it was lost, and nobody begins it again.
A gateway that goes on under another id, as one that was frozen does, takes its runs along, but for those of which somebody was told
meanwhile that they are lost: these it ends.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from typing import Final
from uuid import UUID, uuid4

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
    "INSERT INTO openclaw.run AS r (id, gateway, mark, agent, session)"
    " SELECT $1::text, $2::uuid, $3::uuid, $4::text, $5::bytea WHERE openclaw.alive($2)"
    " ON CONFLICT (id) DO UPDATE SET mark = r.mark WHERE r.mark = excluded.mark RETURNING id"
)
# Entered perhaps, and nobody carries it out.
_WITHDRAW = "DELETE FROM openclaw.run WHERE id = $1 AND mark = $2"
# Whoever was told so has it for good.
_LOSE = (
    "UPDATE openclaw.run SET ended = clock_timestamp(), reason = $2"
    " WHERE id = $1 AND ended IS NULL AND NOT openclaw.alive(gateway)"
)
_TAKE_ALONG = (
    "UPDATE openclaw.run SET gateway = $1 WHERE id = ANY($2::text[]) AND gateway = ANY($3::uuid[]) AND ended IS NULL"
    " RETURNING id"
)
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
        # Runs that go on here, and under which id of ours the others know of each.
        self._ours: dict[str, UUID] = {}
        self._wake = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._telling: set[asyncio.Task[None]] = set()
        self._exit = ExitStack()

    def start(self) -> None:
        """Hear from now on which runs of ours others end."""
        if self._looking is None:
            self._exit.enter_context(self._notices.watch(RUN, lambda id: self._wake.set()))
            self._exit.callback(self._presence.on_lost(self._wake.set))
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
        while not await self._entered(state, me, mark):
            if (found := await self.find(state.run)) is not None:
                return found
            if not await self._database.value("SELECT openclaw.alive($1)", me):
                me = await self._presence.gone(me)
        self._ours[state.run] = me
        return None

    async def _entered(self, state: RunState, me: UUID, mark: UUID) -> bool:
        """Not when another has it, and not for a gateway that is no more."""

        async def enter(connection: Connection) -> bool:
            await connection.execute(_CLEAR)
            values = (state.run, me, mark, state.agent, state.session_key.encode())
            return await connection.fetchval(_CLAIM, *values) is not None

        try:
            return await self._database.run(enter)
        except UnreachableError:
            self._settling.later("a run", lambda connection: connection.execute(_WITHDRAW, state.run, mark), me)
            raise

    def over(self, state: RunState) -> None:
        self._ours.pop(state.run, None)
        task = asyncio.get_running_loop().create_task(self._over(state), name="fleet-run-over")
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def find(self, id: str) -> RunState | None:
        row = await self._database.row(f"{_READ} WHERE id = $1", id)
        if row is not None and _is_lost(row):
            await self._database.run(partial(_lose, id))
            # Its gateway may have taken it along at this moment.
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
                await self._look()
            except StoreError as error:
                _log.debug("%s", error)

    async def _look(self) -> None:
        if not self._ours:
            return
        me = await self._presence.begin()
        if former := {id: before for id, before in self._ours.items() if before != me}:
            await self._take_along(former, me)
        rows = await self._database.rows(
            "SELECT id FROM openclaw.run WHERE gateway = $1 AND is_cancelled AND ended IS NULL", me
        )
        for row in rows:
            self._cancel(row["id"])

    async def _take_along(self, former: Mapping[str, UUID], me: UUID) -> None:
        """We are known under another id, and to the others whoever we were is dead."""
        # Also those that stand under the new one already: the answer to this may have been lost on the way.
        known_as = [me, *dict.fromkeys(former.values())]
        kept = {row["id"] for row in await self._database.rows(_TAKE_ALONG, me, list(former), known_as)}
        for id in former:
            if id in kept and id in self._ours:
                self._ours[id] = me
            elif id not in kept and self._ours.pop(id, None) is not None:
                self._cancel(id)


async def _lose(id: str, connection: Connection) -> None:
    await connection.execute(_LOSE, id, LOST)


async def _end(state: RunState, connection: Connection) -> None:
    await connection.execute(
        "UPDATE openclaw.run SET ended = clock_timestamp(), reason = $2 WHERE id = $1 AND ended IS NULL",
        *(state.run, state.reason),
    )


def _is_lost(row: Record) -> bool:
    return not row["is_over"] and not row["alive"]


def _state(row: Record) -> RunState:
    is_lost = _is_lost(row)
    return RunState(
        run=row["id"],
        agent=row["agent"],
        session_key=row["session"].decode(),
        state="over" if row["is_over"] or is_lost else "running",
        reason=LOST if is_lost else row["reason"],
        last_event=0,
        began_at=round(row["began"], 3),
    )
