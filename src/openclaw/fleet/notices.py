"""What gateways tell each other by way of the database: a hint to look, never the thing itself.

LISTEN and NOTIFY, one connection for each gateway (the Line of its beats). A notice is a kind and a short id (`turn 12`, `revision pins`,
`lease token:x`). Notices get lost when a connection breaks, and behind some poolers all of them do: so everybody who watches is told to
look every few seconds anyway, and once after every new connection. Whether notices arrive at all is tried out at the start. A commit that
notifies holds a lock of the whole database: notices are for what is rare, are folded, and never part of storing what was said.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from openclaw.errors import StoreError
from openclaw.fleet.database import Connection, Database, Line

_log = logging.getLogger(__name__)

# The same name as in migrations/0001.sql.
CHANNEL = "openclaw"
# Seconds between two looks where notices arrive, and where they do not.
LOOK = 5.0
LOOK_DEAF = 1.0
# Seconds within which the notice of the trial has to come.
TRIAL = 1.0
# Seconds for a statement on the line.
_PATIENCE = 10.0
# Seconds between two lots of our own notices: 50 a second at most, whatever happens here.
_LOT = 0.02

# Called with the id of a notice of its kind, and with "" when anything may have happened.
Heard = Callable[[str], None]


class Notices:
    """Works from `start` on; whoever watches before that is simply told nothing yet."""

    def __init__(self, database: Database, *, look: float = LOOK) -> None:
        self._database = database
        self._look = look
        self.line = Line(database, self._listen)
        self._watching: dict[str, list[Heard]] = {}
        # None: not tried yet.
        self.arrive: bool | None = None
        self._looking: asyncio.Task[None] | None = None
        self._outgoing: dict[tuple[str, str], None] = {}
        self._sending: asyncio.Task[None] | None = None

    @contextmanager
    def watch(self, kind: str, heard: Heard) -> Iterator[None]:
        """Meanwhile `heard` is called for everything of a kind."""
        watching = self._watching.setdefault(kind, [])
        watching.append(heard)
        try:
            yield
        finally:
            watching.remove(heard)
            if not watching:
                self._watching.pop(kind, None)

    @contextmanager
    def wake(self, kind: str, id: str) -> Iterator[asyncio.Event]:
        """An event that is set when there is something to look at. Whoever looks clears it first."""
        event = asyncio.Event()

        def heard(about: str) -> None:
            if about in ("", id):
                event.set()

        with self.watch(kind, heard):
            yield event

    def send(self, kind: str, id: str = "") -> None:
        """Tell all gateways, soon; the same twice is told once."""
        self._outgoing[kind, id] = None
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send(), name="fleet-send")

    def start(self) -> None:
        """Listen, and look, from now on."""
        if self._looking is None:
            self._looking = asyncio.create_task(self._keep_looking(), name="fleet-notices")

    async def tried(self) -> bool:
        """Whether a notice that is sent through the pool arrives on the line. Raises StoreError."""
        channel = f"openclaw_trial_{secrets.token_hex(8)}"
        came = asyncio.Event()

        def heard(*_: object) -> None:
            came.set()

        async def listen(connection: Connection) -> None:
            await connection.add_listener(channel, heard)

        async def unlisten(connection: Connection) -> None:
            await connection.remove_listener(channel, heard)

        await self.line.run(listen, timeout=_PATIENCE)
        try:
            await self._database.value("SELECT pg_notify($1, '')", channel)
            async with asyncio.timeout(TRIAL):
                await came.wait()
            return True
        except TimeoutError:
            return False
        finally:
            with suppress(StoreError):
                await self.line.run(unlisten, timeout=_PATIENCE)

    async def close(self) -> None:
        for task in (self._looking, self._sending):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        self._looking = self._sending = None
        self.line.drop()

    async def _listen(self, connection: Connection) -> None:
        await connection.add_listener(CHANNEL, self._heard)
        # What came while nobody listened.
        asyncio.get_running_loop().call_soon(self._tell_all)

    def _heard(self, connection: object, pid: int, channel: str, payload: object) -> None:
        kind, _, id = str(payload).partition(" ")
        for heard in tuple(self._watching.get(kind, ())):
            heard(id)

    def _tell_all(self) -> None:
        for watching in tuple(self._watching.values()):
            for heard in tuple(watching):
                heard("")

    async def _keep_looking(self) -> None:
        while True:
            if self.arrive is None:
                with suppress(StoreError):
                    self.arrive = await self.tried()
                if self.arrive is False:
                    _log.warning(
                        "Notices of the database do not arrive, so it is asked every %g s. Set session.postgres.listenUrl to an"
                        " address that leads to it without a pooler.",
                        LOOK_DEAF,
                    )
            await asyncio.sleep(self._look if self.arrive else min(self._look, LOOK_DEAF))
            self._tell_all()

    async def _send(self) -> None:
        while self._outgoing:
            lot, self._outgoing = list(self._outgoing), {}
            try:
                await self._database.value(
                    "SELECT count(pg_notify($1, notice)) FROM unnest($2::text[]) AS notice",
                    CHANNEL,
                    [f"{kind} {id}" for kind, id in lot],
                )
            except StoreError as error:
                # They look anyway, a little later.
                _log.debug("%s", error)
            await asyncio.sleep(_LOT)
