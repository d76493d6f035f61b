"""Conversations in PostgreSQL: the store that all gateways of a fleet share.

Any gateway may have any turn, one at a time: a turn is held in the row of its conversation, with a fence that grows with every turn, for
as long as its gateway is alive (presence.py). Every write carries holder, fence and position; so a gateway that was replaced writes
nothing, and a write whose answer was lost is found, not repeated. A turn that its gateway did not end is closed by whoever has the
conversation next (cut_turn.py). Times are the database's.
"""

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import timedelta
from functools import partial
from itertools import count
from uuid import UUID

import msgspec

from openclaw.errors import SessionBusyError, StoreError
from openclaw.fleet.cut_turn import LOST, closing
from openclaw.fleet.database import Connection, Database, Record
from openclaw.fleet.faults import GoneError, LostTurnError, UnreachableError
from openclaw.fleet.leases import Pauses
from openclaw.fleet.notices import Notices
from openclaw.fleet.presence import Presence
from openclaw.fleet.settling import Settling
from openclaw.sessions.event import Custom, Packed, Said, SessionEvent, is_start, pack, unpack
from openclaw.sessions.key import check_key
from openclaw.sessions.lock import FOREVER, KeyLocks
from openclaw.sessions.retention import INTERVAL, Keep, Pruned, Stored, outlived
from openclaw.sessions.store import (
    Found,
    SessionInfo,
    Transcript,
    entry,
    entry_number,
    new_session_id,
    unknown_session,
    wrong_agent,
)
from openclaw.sessions.title import opening_of
from openclaw.sessions.turn import Turn
from openclaw.sessions.view import Known, View, Views, size_of
from openclaw.to_the_end import ended, to_the_end

_log = logging.getLogger(__name__)

# Seconds for which whoever waits for a turn is remembered in its row, so that its end is told.
_REMEMBERED = timedelta(seconds=10)
# Conversations of which it is known how much was stored: more than one process has at a time.
_KNOWN = 10_000
# More than any session has.
_ALL_EVENTS = 2**31 - 1
# The name of the chore.
_PRUNE = "prune"

# Last used first. `used` is the hour: it has an index, which need not be changed with every event.
_NEWEST = " ORDER BY used DESC, updated_ms DESC, number DESC"
_SOUGHT = "(convert_to(coalesce(nullif(name_folded, ''), opening_folded), 'UTF8') || '\\x0a'::bytea || key_folded)"
_INFO = "key, id, agent, created_ms, updated_ms, messages, name, opening"


class PostgresStore:
    """A Store. `clock` is for tests: without one, the database's counts. Serves one event loop."""

    def __init__(
        self,
        database: Database,
        presence: Presence,
        notices: Notices,
        settling: Settling,
        *,
        clock: Callable[[], float] | None = None,
        new_id: Callable[[], str] = new_session_id,
    ) -> None:
        self._database = database
        self._presence = presence
        self._notices = notices
        self._clock = clock
        self._new_id = new_id
        # Tasks of one process wait for each other here: to the database they are one holder.
        self._here = KeyLocks()
        self._known: OrderedDict[tuple[int, str], int] = OrderedDict()
        self._views = Views()
        self._pruning: asyncio.Task[None] | None = None
        self._settling = settling

    @property
    def place(self) -> str:
        return self._database.place

    @property
    def software(self) -> str:
        return self._database.software

    @asynccontextmanager
    async def turn(self, key: str, agent: str, *, patience: float = FOREVER) -> AsyncIterator[Turn]:
        async with self._held(key, agent, patience) as held:
            assert held is not None  # it is begun where there is none
            known = await self._view(key, held)
            writer = _Writer(self._database, held, self._now_ms, self._stored)
            if self._has_lost(held):
                await self._tell_lost(held, writer)
            # Sought in every taken turn that somebody else may have held: an end that was only not heard of has nothing open.
            if held.was_cut and (ends := closing(known.view.messages)):
                closed = [pack(event) for event in ends]
                await writer.write(closed)
                known.view.take_in(closed)
            async with self._ended_when_lost(held.me):
                async with Turn(key, agent, known.view, writer.write).taken() as turn:
                    yield turn
            self._views.keep(key, known)

    async def list(self, *, agent: str | None = None, active_within: float | None = None) -> tuple[SessionInfo, ...]:
        rows = await self._database.rows(
            f"SELECT {_INFO} FROM openclaw.session WHERE events > 0 AND ($1::text IS NULL OR agent = $1)"
            " AND ($2::bigint IS NULL OR updated_ms >= coalesce($3::bigint, openclaw.now_ms()) - $2)"
            f"{_NEWEST}",
            agent,
            None if active_within is None else round(active_within * 1000),
            self._now_ms(),
        )
        return tuple(map(_info, rows))

    async def find(
        self,
        words: Sequence[str] = (),
        *,
        agent: str | None = None,
        active_within: float | None = None,
        skip: int = 0,
        limit: int,
    ) -> Found:
        """A page costs the same however many there are, but for their number, which is counted: milliseconds for a hundred thousand."""
        # Only what is asked for stands in it, so that an index is found for it.
        where = "FROM openclaw.session WHERE events > 0"
        values: tuple[object, ...] = ()
        if agent is not None:
            values = (*values, agent)
            where += f" AND agent = ${len(values)}"
        if active_within is not None:
            values = (*values, round(active_within * 1000), self._now_ms())
            where += (
                f" AND updated_ms >= coalesce(${len(values)}::bigint, openclaw.now_ms()) - ${len(values) - 1}::bigint"
            )
        for word in words:
            values = (*values, _folded(word))
            where += f" AND position(${len(values)}::bytea IN {_SOUGHT}) > 0"

        async def look(connection: Connection) -> tuple[Sequence[Record], int]:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                total = await connection.fetchval(f"SELECT count(*) {where}", *values)
                page = f" LIMIT ${len(values) + 1} OFFSET ${len(values) + 2}"
                return await connection.fetch(f"SELECT {_INFO} {where}{_NEWEST}{page}", *values, limit, skip), total

        rows, total = await self._database.run(look)
        return Found(tuple(map(_info, rows)), total)

    async def show(self, key: str) -> Transcript:
        return await self._transcript(key, None, None)

    async def last(self, key: str, count: int, *, before: str = "") -> Transcript:
        return await self._transcript(key, count, entry_number(before) if before else None)

    async def key_of(self, id: str) -> str | None:
        if "\0" in id:
            return None
        key = await self._database.value("SELECT key FROM openclaw.session WHERE id = $1 AND events > 0 LIMIT 1", id)
        return None if key is None else bytes(key).decode()

    async def rename(self, key: str, title: str) -> bool:
        name = _text(title)
        return bool(
            await self._database.value(
                "WITH done AS (UPDATE openclaw.session SET name = $2, name_folded = $3 WHERE digest = $1 AND events > 0"
                " RETURNING 1) SELECT count(*) > 0 FROM done",
                *(_digest(key), name, name.casefold()),
            )
        )

    async def note_behind(self, key: str, last: Custom, note: Custom, *, patience: float = FOREVER) -> bool:
        check_key(key)
        body = pack(last).body
        # Looked at first without the turn: where more was said nobody has to wait for it.
        if not await self._ends_with(key, body):
            return False
        async with self._held(key, None, patience) as held:
            if held is None or not await self._ends_with(key, body):
                return False
            await _Writer(self._database, held, self._now_ms, self._stored).write([pack(note)])
            return True

    async def delete(self, key: str, *, patience: float = FOREVER) -> bool:
        async with self._held(key, None, patience) as held:
            if held is None:
                return False
            await self._database.settled(
                lambda connection: connection.fetchval(
                    "SELECT openclaw.forget($1, $2, $3)", held.number, held.fence, held.me
                )
            )
            return held.events > 0

    async def prune(self, keep: Keep, *, dry_run: bool = False) -> Pruned:
        rows = await self._database.rows(
            "SELECT number, key, updated_ms, size, coalesce($1, openclaw.now_ms()) AS now FROM openclaw.session WHERE events > 0",
            self._now_ms(),
        )
        if not rows:
            return Pruned()
        numbers = {bytes(row["key"]).decode(): row["number"] for row in rows}
        stored = [Stored(bytes(row["key"]).decode(), row["updated_ms"] / 1000, row["size"]) for row in rows]
        going = outlived(stored, keep, rows[0]["now"] / 1000)
        if dry_run:
            return Pruned(tuple(going), (), sum(one.size for one in going))
        removed: list[Stored] = []
        busy: list[str] = []
        # One at a time: nobody waits long for a lock.
        for one in going:
            if self._here.is_held(one.key):
                busy.append(one.key)
                continue
            gone = await self._database.value(
                "WITH gone AS (DELETE FROM openclaw.session WHERE number = $1 AND updated_ms <= $2"
                " AND (holder IS NULL OR NOT openclaw.alive(holder)) RETURNING 1)"
                " SELECT CASE WHEN EXISTS (SELECT 1 FROM gone) THEN 'removed'"
                " WHEN EXISTS (SELECT 1 FROM openclaw.session WHERE number = $1 AND updated_ms <= $2) THEN 'busy' ELSE '' END",
                *(numbers[one.key], round(one.updated * 1000)),
            )
            if gone == "removed":
                removed.append(one)
            elif gone == "busy":
                busy.append(one.key)
        # Begun by a gateway that died before it said anything, or given back for somebody who did not wait that long.
        await self._database.value(
            "WITH gone AS (DELETE FROM openclaw.session WHERE events = 0 AND (holder IS NULL OR NOT openclaw.alive(holder))"
            " AND (waiting IS NULL OR waiting < clock_timestamp()) RETURNING 1) SELECT count(*) FROM gone"
        )
        return Pruned(tuple(removed), tuple(busy), sum(one.size for one in removed))

    def prune_beside(self, keep: Keep) -> None:
        """Once a day for the whole fleet, beside whatever is going on."""
        if self._pruning is None:
            self._pruning = asyncio.create_task(self._prune_quietly(keep), name="sessions-prune")

    async def close(self) -> None:
        pruning, self._pruning = self._pruning, None
        if pruning is not None:
            pruning.cancel()
            with suppress(asyncio.CancelledError):
                await pruning

    async def _prune_quietly(self, keep: Keep) -> None:
        try:
            if await self._database.value("SELECT openclaw.begin_chore($1, $2)", _PRUNE, timedelta(seconds=INTERVAL)):
                await self.prune(keep)
        except StoreError as error:
            _log.warning("%s", error)

    def _now_ms(self) -> int | None:
        return None if self._clock is None else round(self._clock() * 1000)

    @asynccontextmanager
    async def _held(self, key: str, agent: str | None, patience: float) -> AsyncIterator["_Held | None"]:
        """A turn of a conversation, given back at the end. Without an agent None is given where there is no conversation."""
        check_key(key)
        give_up = time.monotonic() + patience
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._here.hold(key, patience))
            held = await self._taken(key, agent, patience, give_up)
            if held is None:
                yield None
                return
            try:
                if agent is not None and held.agent != agent:
                    raise wrong_agent(held.agent, agent)
                yield held
            finally:
                await self._give(held)

    async def _taken(self, key: str, agent: str | None, patience: float, give_up: float) -> "_Held | None":
        me = await self._presence.begin()
        # The same for every attempt, so that one whose answer was lost is found again.
        new_id = None if agent is None else self._new_id()
        wanted = (_digest(key), key.encode(), _folded(key), agent, new_id)
        pauses = Pauses()
        while True:
            row, me, is_first = await self._take(key, wanted, me)
            if row is None:
                if agent is None:
                    return None
                # Whoever had it said nothing in it, or forgot it, at this moment.
                continue
            held = _Held(
                row["o_number"], row["o_fence"], me, row["o_events"], row["o_base"], row["o_opening"], row["o_agent"],
                row["o_id"], row["o_cut"] or not is_first,
            )  # fmt: skip
            if row["o_got"]:
                return held
            if agent is not None and held.events and held.agent != agent:
                raise wrong_agent(held.agent, agent)
            left = give_up - time.monotonic()
            if left <= 0:
                raise SessionBusyError(patience)
            with self._notices.wake("turn", str(held.number)) as free:
                await pauses.wait(free, left)

    async def _take(self, key: str, wanted: tuple[object, ...], me: UUID) -> tuple[Record | None, UUID, bool]:
        """Whether it is the answer to the first time it was asked for, too: after one that was lost it is ours already, and from whom we
        had it is not known. A turn that nobody waits for any more, or that may be ours without our knowing, is given back."""
        while True:
            values = (*wanted, me, self._now_ms(), _REMEMBERED)
            done = asyncio.ensure_future(self._database.run(partial(_taken, count(), values)))
            try:
                row, asked_before = await asyncio.shield(done)
                return row, me, not asked_before
            except asyncio.CancelledError:
                await ended(done)
                problem = done.exception()
                row = None if problem else done.result()[0]
                if row is not None and row["o_got"]:
                    await to_the_end(self._give_row(row["o_number"], row["o_fence"], me))
                elif isinstance(problem, UnreachableError):
                    self._give_unheard(key, me)
                raise
            except UnreachableError:
                self._give_unheard(key, me)
                raise
            except GoneError:
                me = await self._presence.gone(me)

    async def _give(self, held: "_Held") -> None:
        """Nobody waits for the database here for long: what could not be given back at once is given back beside all else."""
        await to_the_end(self._give_row(held.number, held.fence, held.me))

    async def _give_row(self, number: int, fence: int, me: UUID) -> None:
        try:
            await self._database.run(partial(_give_back, number, fence, me), patience=0)
        except UnreachableError:
            # Whoever holds a turn and lives has it for good: no other gateway could go on with this conversation.
            self._settling.later("a turn", partial(_give_back, number, fence, me), me)
        except StoreError as error:
            _log.debug("a turn was not given back: %s", error)

    def _give_unheard(self, key: str, me: UUID) -> None:
        """The database may have given us a turn and could not say so. Who has it here by then waits for this, or takes it anew."""
        give = partial(_give_whatever, _digest(key), me)
        self._settling.later("a turn", give, me, alone=partial(self._here.hold, key))

    async def _view(self, key: str, held: "_Held") -> Known:
        """What a model's history is made of. Of what was known before only what was added since is read: events are never changed."""
        before = self._views.take(key)
        known = Known(held.id, held.base, View())
        if before is not None and (before.id, before.base) == (held.id, held.base) and before.last <= held.events:
            known = before
        if known.last < held.events:
            for one in await self._events(held.number, known.last + 1, held.events + 1):
                known.view.add(one.event, one.size)
        return known

    async def _events(self, session: int, first: int, end: int) -> Sequence["_Stored"]:
        """The events from the number `first` on, to before `end`."""
        rows = await self._database.rows(
            "SELECT e.seq, e.at_ms, e.body, (SELECT array_agg(m.body ORDER BY m.position) FROM openclaw.media m"
            " WHERE m.session = e.session AND m.seq = e.seq) AS media FROM openclaw.event e"
            " WHERE e.session = $1 AND e.seq >= $2 AND e.seq < $3 ORDER BY e.seq",
            *(session, max(first, 0), min(end, _ALL_EVENTS)),
        )
        return [
            _Stored(row["seq"], row["at_ms"], unpack(row["body"], media), size_of(row["body"], media))
            for row in rows
            for media in [row["media"] or ()]
        ]

    async def _transcript(self, key: str, count: int | None, before: int | None) -> Transcript:
        check_key(key)
        row = await self._database.row(
            f"SELECT number, events, {_INFO} FROM openclaw.session WHERE digest = $1 AND events > 0", _digest(key)
        )
        if row is None:
            raise unknown_session(key)
        end = row["events"] + 1 if before is None else min(before, row["events"] + 1)
        events = await self._events(row["number"], 0 if count is None else end - count, end)
        return Transcript(_info(row), tuple(entry(one.seq, one.at_ms / 1000, one.event) for one in events))

    async def _ends_with(self, key: str, body: bytes) -> bool:
        return bool(
            await self._database.value(
                "SELECT EXISTS (SELECT 1 FROM openclaw.session s JOIN openclaw.event e ON e.session = s.number AND e.seq = s.events"
                " WHERE s.digest = $1 AND e.body = $2)",
                *(_digest(key), body),
            )
        )

    def _stored(self, held: "_Held", events: int) -> None:
        """Somebody was told that so many events are stored."""
        name = (held.number, held.id)
        self._known[name] = events
        self._known.move_to_end(name)
        if len(self._known) > _KNOWN:
            self._known.popitem(last=False)

    def _has_lost(self, held: "_Held") -> bool:
        return held.events < self._known.get((held.number, held.id), 0)

    async def _tell_lost(self, held: "_Held", writer: "_Writer") -> None:
        """A standby that had not everything has become the database. Noted in the conversation, and said once."""
        missing = self._known.pop((held.number, held.id)) - held.events
        await writer.write([pack(Custom(LOST, missing))])
        raise StoreError(
            f"The database no longer has the last {missing} entries of this conversation: it went over to a standby that was behind.",
            hint="Say it again to go on from what is left; `openclaw doctor` says how to prevent it.",
        )

    @asynccontextmanager
    async def _ended_when_lost(self, me: UUID) -> AsyncIterator[None]:
        """What runs in the block is cancelled when its turn may be another gateway's. Raises GoneError then."""
        if self._presence.id != me:
            # Already: while it was found out what was said so far.
            raise GoneError
        limit = asyncio.timeout(None)

        def end() -> None:
            if not limit.expired():
                limit.reschedule(0)

        stop = self._presence.on_lost(end)
        try:
            async with limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            raise GoneError from None
        finally:
            stop()


class _Held(msgspec.Struct, frozen=True):
    """A turn that this gateway has. `was_cut`: whoever had it before is dead, or that is not known."""

    number: int
    fence: int
    me: UUID
    events: int
    base: int
    opening: str
    agent: str
    id: str
    was_cut: bool


class _Stored(msgspec.Struct, frozen=True, gc=False):
    """One event, its number and time, and the bytes that it takes."""

    seq: int
    at_ms: int
    event: SessionEvent
    size: int


class _Writer:
    """Stores what is said in one turn, behind what is there."""

    def __init__(
        self, database: Database, held: _Held, now_ms: Callable[[], int | None], stored: Callable[[_Held, int], None]
    ) -> None:
        self._database = database
        self._held = held
        self._now_ms = now_ms
        self._stored = stored
        self._at = held.events
        self._opening = held.opening

    async def write(self, events: Sequence[Packed]) -> None:
        """Raises StoreError. What was stored by an attempt that nobody heard the end of is stored once."""
        rest = events
        now_ms = self._now_ms()
        while rest:
            opening = opening_of((packed.event for packed in rest), self._opening)
            batch, at = rest, self._at
            row = await self._database.settled(lambda connection: self._append(connection, at, batch, opening, now_ms))  # noqa: B023 (awaited here)
            if row["o_done"]:
                rest = ()
            else:
                # So many of them were stored by an attempt whose answer was lost: nobody else may write here.
                had = row["o_events"] - at
                if not 0 < had <= len(rest):
                    raise LostTurnError
                opening = opening_of((packed.event for packed in rest[:had]), self._opening)
                rest = rest[had:]
            self._at, self._opening = row["o_events"], opening
            self._stored(self._held, self._at)

    async def _append(
        self, connection: Connection, at: int, events: Sequence[Packed], opening: str, now_ms: int | None
    ) -> Record:
        held = self._held
        media = [(seq, position, data) for seq, one in enumerate(events, 1) for position, data in enumerate(one.media)]
        row = await connection.fetchrow(
            "SELECT * FROM openclaw.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
            *(held.number, held.fence, held.me, at, now_ms),
            [one.body for one in events],
            sum(isinstance(one.event, Said) for one in events),
            max((place for place, one in enumerate(events, 1) if is_start(one.event)), default=0),
            sum(len(one.body) + sum(map(len, one.media)) for one in events),
            *(_text(opening), _text(opening).casefold()),
            *([seq for seq, _, _ in media], [position for _, position, _ in media], [data for _, _, data in media]),
        )
        assert row is not None  # it returns one or raises
        return row


async def _taken(times: Iterator[int], values: Sequence[object], connection: Connection) -> tuple[Record | None, int]:
    """What the database says, and how often it was asked before."""
    asked_before = next(times)
    return await connection.fetchrow(
        "SELECT * FROM openclaw.take($1, $2, $3, $4, $5, $6, $7, $8)", *values
    ), asked_before


async def _give_back(number: int, fence: int, me: UUID, connection: Connection) -> None:
    # One that is dead gives nothing back: whoever is next has to see that this turn was cut.
    await connection.execute("SELECT openclaw.give($1, $2, $3) WHERE openclaw.alive($3)", number, fence, me)


async def _give_whatever(digest: bytes, me: UUID, connection: Connection) -> None:
    await connection.execute(
        "SELECT openclaw.give(number, fence, holder) FROM openclaw.session WHERE digest = $1 AND holder = $2"
        " AND openclaw.alive($2)",
        *(digest, me),
    )


def _digest(key: str) -> bytes:
    return hashlib.sha256(check_key(key).encode()).digest()


def _folded(text: str) -> bytes:
    return text.casefold().encode("utf-8", "replace")


def _text(words: str) -> str:
    """Words that a column of type text holds: no zero, no half of a character."""
    return words.replace("\0", "").encode("utf-8", "replace").decode()


def _info(row: Record) -> SessionInfo:
    return SessionInfo(
        bytes(row["key"]).decode(),
        row["id"],
        row["agent"],
        row["created_ms"] / 1000,
        row["updated_ms"] / 1000,
        row["messages"],
        row["name"] or row["opening"],
    )
