"""The board of a fleet: questions of every gateway, seen and answered at any.

The gateway that asks stays the judge of its question. It posts what is asked, and says what came of it; another gateway hands in an answer,
of which the first is kept, and waits for that word. What only a person at another gateway could see is asked as well: each gateway says who
watches there. A gateway that is dead asks nothing any more. What a question asked is kept only while it is open.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import ExitStack, suppress
from secrets import token_hex
from typing import Final, TypeVar
from uuid import UUID

import msgspec

from openclaw.asking.answers import digest_of
from openclaw.asking.board import Handed, LocalQuestions, Watching
from openclaw.asking.open_question import OpenQuestion, QuestionChanged, ShownQuestion
from openclaw.content import to_json
from openclaw.conversation import WITHDRAWN, Question
from openclaw.errors import StoreError
from openclaw.fleet.database import Connection, Database, Record
from openclaw.fleet.leases import jittered, wait_for
from openclaw.fleet.notices import Notices
from openclaw.fleet.presence import Presence

_log = logging.getLogger(__name__)

QUESTION: Final = "question"
# Seconds within which the gateway that asks takes an answer, or is taken for dead.
TAKEN_WITHIN: Final = 20.0
# Seconds between two looks while we wait for that: at first, and at most.
_FIRST_LOOK: Final = 0.1
_LONGEST_LOOK: Final = 1.0
# How many that are over are shown.
_RECENT: Final = 200

_OPEN = (
    "SELECT id, digest, request, extract(epoch FROM asked)::float8 AS asked, extract(epoch FROM expires)::float8 AS expires"
    " FROM openclaw.approval WHERE outcome IS NULL AND gateway IS DISTINCT FROM $1::uuid AND openclaw.alive(gateway) ORDER BY asked, id"
)
_HANDED = "SELECT id, answer FROM openclaw.approval WHERE gateway = $1 AND outcome IS NULL AND answer IS NOT NULL"
_WATCHERS = "SELECT watching FROM openclaw.watcher WHERE gateway IS DISTINCT FROM $1::uuid AND openclaw.alive(gateway)"
_POST = (
    "INSERT INTO openclaw.approval AS a (id, digest, gateway, request, expires)"
    " VALUES ($1, $2, $3, $4, clock_timestamp() + make_interval(secs => $5))"
    " ON CONFLICT (id) DO UPDATE SET gateway = excluded.gateway, expires = excluded.expires WHERE a.outcome IS NULL"
)
_OVER = (
    "UPDATE openclaw.approval SET outcome = $2, ended = clock_timestamp(), request = '', answer = NULL"
    " WHERE id = $1 AND outcome IS NULL"
)
# Old ones, and those of gateways that are no more.
_CLEAR = (
    "DELETE FROM openclaw.approval WHERE asked < clock_timestamp() - interval '1 day' AND NOT openclaw.alive(gateway)"
)
_HAND_IN = (
    "UPDATE openclaw.approval SET answer = $2 WHERE id = $1 AND outcome IS NULL AND (answer IS NULL OR answer = $2)"
    " AND openclaw.alive(gateway) RETURNING id"
)
_STATE = "SELECT outcome, openclaw.alive(gateway) AS alive FROM openclaw.approval WHERE id = $1"
_ENDED = (
    "SELECT outcome, extract(epoch FROM asked)::float8 AS asked, extract(epoch FROM ended)::float8 AS ended"
    " FROM openclaw.approval WHERE outcome IS NOT NULL"
)


class _Outcome(msgspec.Struct):
    """What came of a question. `taken` is the id of the answer from elsewhere that counted, empty when it was none."""

    changed: QuestionChanged
    taken: str = ""


class _HandedIn(msgspec.Struct):
    """An answer from elsewhere. `mark` tells it from all others."""

    mark: str
    handed: Handed


_question = msgspec.json.Decoder(Question)
_outcome = msgspec.json.Decoder(_Outcome)
_handed_in = msgspec.json.Decoder(_HandedIn)
_watching = msgspec.json.Decoder(list[Watching])


T = TypeVar("T")

_Work = Callable[[], Awaitable[None]]


class FleetBoard:
    """A `Board` (asking/board.py). A process that never began to be there for others looks only when it is asked to."""

    def __init__(self, database: Database, presence: Presence, notices: Notices) -> None:
        self._database = database
        self._presence = presence
        self._notices = notices
        self._local: LocalQuestions | None = None
        # What others know of us, which a next life of this gateway has to tell them anew: under which id we told it last.
        self._open: dict[str, OpenQuestion] = {}
        self._watched: Collection[Watching] = ()
        self._told_as: UUID | None = None
        self._others: dict[str, ShownQuestion] = {}
        self._watchers: tuple[Watching, ...] = ()
        # Questions of ours that an answer from elsewhere ended, by id: which one.
        self._taken: dict[str, str] = {}
        # What is to be written, in its order.
        self._work: asyncio.Queue[_Work] = asyncio.Queue()
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._turn = asyncio.Lock()
        self._looked_at = -1.0
        self._exit = ExitStack()

    def start(self) -> None:
        """Look from now on, whenever there may be something to see."""
        if not self._tasks:
            self._exit.enter_context(self._notices.watch(QUESTION, lambda id: self._wake.set()))
            self._tasks = [
                asyncio.create_task(self._keep_looking(), name="fleet-questions"),
                asyncio.create_task(self._keep_writing(), name="fleet-questions-write"),
            ]

    async def close(self) -> None:
        """What is to be written is written first, if that can be done."""
        self._exit.close()
        if self._tasks:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LONGEST_LOOK):
                    await self._work.join()
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # asking.board.Board

    def attach(self, questions: LocalQuestions) -> None:
        self._local = questions

    def post(self, one: OpenQuestion) -> None:
        self._open[one.id] = one
        shown = one.shown
        left = max(0.0, shown.expires - shown.asked)
        self._write(lambda: self._posted(shown, left))

    def over(self, one: OpenQuestion, ended: QuestionChanged) -> None:
        self._open.pop(one.id, None)
        outcome = to_json(_Outcome(ended, self._taken.pop(one.id, "")))
        self._write(lambda: self._told(_OVER, one.id, outcome))

    def watch(self, watching: Collection[Watching]) -> None:
        self._watched = tuple(watching)
        body = to_json(sorted(set(watching), key=lambda one: (one.session, one.kinds)))
        self._write(lambda: self._watch(body))

    def is_watched(self, kind: str, session: str) -> bool:
        return any(watcher.sees(kind, session) for watcher in self._watchers)

    def others(self) -> tuple[ShownQuestion, ...]:
        return tuple(self._others.values())

    async def look(self) -> None:
        asked = time.monotonic()
        async with self._turn:
            # One look for all who asked before it began.
            if self._looked_at <= asked:
                began = time.monotonic()
                await self._read()
                self._looked_at = began

    async def answer(self, handed: Handed) -> tuple[QuestionChanged, bool]:
        mark = token_hex(8)
        body = to_json(_HandedIn(mark, handed))
        with self._notices.wake(QUESTION, handed.id) as changed:
            is_in = await self._database.value(_HAND_IN, handed.id, body) is not None
            if is_in:
                self._notices.send(QUESTION, handed.id)
            give_up, pause = time.monotonic() + TAKEN_WITHIN, _FIRST_LOOK
            while True:
                found = await self._database.row(_STATE, handed.id)
                if found is None or (found["outcome"] is None and not found["alive"]):
                    return self._withdrawn(handed.id), False
                if found["outcome"] is not None:
                    outcome = _decoded(_outcome, found["outcome"])
                    if outcome is None:
                        return self._withdrawn(handed.id), False
                    return outcome.changed, is_in and outcome.taken == mark
                if time.monotonic() >= give_up:
                    raise StoreError(
                        "The gateway that asks this has not taken the answer yet.", hint="Look at the question again."
                    )
                await wait_for(changed, jittered(pause))
                pause = min(2 * pause, _LONGEST_LOOK)

    async def recent(self) -> tuple[QuestionChanged, ...]:
        rows = await self._database.rows(
            f"{_ENDED} AND gateway IS DISTINCT FROM $1::uuid ORDER BY ended DESC LIMIT $2", self._presence.id, _RECENT
        )
        return tuple(changed for row in rows if (changed := _changed(row)) is not None)

    # Writing

    def _write(self, work: _Work) -> None:
        # Nobody else can answer what a process asks that is not there for others: and it is over when that one ends.
        if self._tasks:
            self._work.put_nowait(work)

    async def _keep_writing(self) -> None:
        while True:
            work = await self._work.get()
            try:
                await work()
            except StoreError as error:
                _log.warning("Other gateways do not see what is asked here: %s", error)
            finally:
                self._work.task_done()

    async def _posted(self, shown: ShownQuestion, left: float) -> None:
        me = await self._presence.begin()
        await self._told(_POST, shown.id, shown.digest, me, to_json(shown.question), left)

    async def _watch(self, body: bytes) -> None:
        me = await self._presence.begin()
        await self._told(
            "INSERT INTO openclaw.watcher (gateway, watching) VALUES ($1, $2)"
            " ON CONFLICT (gateway) DO UPDATE SET watching = excluded.watching",
            *(me, body),
        )
        await self._database.value("DELETE FROM openclaw.watcher WHERE NOT openclaw.alive(gateway)")
        await self._database.value(_CLEAR)

    def _tell_anew(self, me: UUID) -> None:
        """What was told under another id counts for nothing: to others that gateway is dead."""
        self._told_as = me
        for one in tuple(self._open.values()):
            self.post(one)
        if self._watched:
            self.watch(self._watched)

    async def _told(self, statement: str, *values: object) -> None:
        async def write(connection: Connection) -> None:
            await connection.execute(statement, *values)

        await self._database.run(write)
        self._notices.send(QUESTION, str(values[0]))

    # Looking

    async def _keep_looking(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self.look()
            except StoreError as error:
                _log.debug("%s", error)

    async def _read(self) -> None:
        me = self._presence.id
        if me is not None and me != self._told_as:
            self._tell_anew(me)
        rows = await self._database.rows(_OPEN, me)
        found = {shown.id: shown for row in rows if (shown := _shown(row)) is not None}
        gone = [one for id, one in self._others.items() if id not in found]
        new = [one for id, one in found.items() if id not in self._others]
        ended = await self._endings(gone)
        self._others = found
        for one in new:
            self._tell(one.changed(None, 0.0))
        for changed in ended:
            self._tell(changed)
        await self._take_watchers(me)
        if me is not None:
            await self._take_answers(me)

    async def _endings(self, gone: list[ShownQuestion]) -> list[QuestionChanged]:
        """What became of questions that are no longer open."""
        if not gone:
            return []
        rows = await self._database.rows(f"{_ENDED} AND id = ANY($1::text[])", [one.id for one in gone])
        told = {changed.id: changed for row in rows if (changed := _changed(row)) is not None}
        return [told.get(one.id) or one.changed(WITHDRAWN, time.time()) for one in gone]

    async def _take_watchers(self, me: UUID | None) -> None:
        rows = await self._database.rows(_WATCHERS, me)
        before = self._watchers
        self._watchers = tuple(one for row in rows for one in _decoded(_watching, row["watching"]) or ())
        if self._local is not None and set(before) - set(self._watchers):
            self._local.watchers_left()

    async def _take_answers(self, me: UUID) -> None:
        for row in await self._database.rows(_HANDED, me):
            handed_in = _decoded(_handed_in, row["answer"])
            if handed_in is None:
                continue
            # Known before it is over, which those here say at once.
            self._taken[row["id"]] = handed_in.mark
            if self._local is None or not self._local.take(handed_in.handed):
                self._taken.pop(row["id"], None)
                await self._told(
                    "UPDATE openclaw.approval SET answer = NULL WHERE id = $1 AND answer = $2", row["id"], row["answer"]
                )

    def _tell(self, changed: QuestionChanged) -> None:
        if self._local is not None:
            self._local.told(changed)

    def _withdrawn(self, id: str) -> QuestionChanged:
        one = self._others.get(id)
        if one is not None:
            return one.changed(WITHDRAWN, time.time())
        return QuestionChanged(id, "approval", "", "", "", "", "withdrawn", ended=time.time())


def _decoded(decoder: "msgspec.json.Decoder[T]", data: bytes) -> T | None:
    """None for what another version of this program wrote, and this one cannot read."""
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _shown(row: Record) -> ShownQuestion | None:
    question = _decoded(_question, row["request"])
    if question is None:
        # Whoever asks shows it.
        return None
    if digest_of(question) != row["digest"]:
        # Whoever answers would be shown something else than what is asked.
        return None
    return ShownQuestion(row["id"], question, row["digest"], row["asked"], row["expires"])


def _changed(row: Record) -> QuestionChanged | None:
    outcome = _decoded(_outcome, row["outcome"])
    return None if outcome is None else msgspec.structs.replace(outcome.changed, asked=row["asked"], ended=row["ended"])
