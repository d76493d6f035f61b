"""What gateways on one PostgreSQL share besides conversations: tables that are made once, leases with fences, and notices."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import asyncpg
import pytest
from msgspec import structs

from openclaw.config.servers import ServerSpec
from openclaw.errors import ConnectError, StoreError
from openclaw.fleet.database import Address, Connection, Database, Line
from openclaw.fleet.faults import LostTurnError, UnreachableError
from openclaw.fleet.fleet import Fleet
from openclaw.fleet.health import health_of
from openclaw.fleet.leases import Lease
from openclaw.fleet.members import members_of
from openclaw.fleet.migrations.steps import NEWEST, migrate
from openclaw.fleet.notices import Notices
from openclaw.fleet.presence import Presence, Times, Who
from openclaw.run_state import RunState
from parts.chaos_proxy import Chaos, ChaosProxy
from parts.postgres import PostgresServer, database_at, fleet_at
from parts.processes import HANG_GUARD

pytestmark = pytest.mark.real


@pytest.fixture
async def two(postgres: PostgresServer) -> AsyncIterator[tuple[Fleet, Fleet]]:
    url = await postgres.new_database()
    fleets = fleet_at(url, name="one"), fleet_at(url, name="two")
    yield fleets
    for fleet in fleets:
        await fleet.close()


# Tables


async def test_of_many_that_make_the_tables_at_once_one_does(postgres: PostgresServer) -> None:
    url = await postgres.new_database(tables=False)

    async def make() -> tuple[int, int]:
        connection = await asyncpg.connect(url)
        try:
            return await migrate(connection, "here")
        finally:
            await connection.close()

    assert sorted(await asyncio.gather(*(make() for _ in range(5)))) == [(0, NEWEST), *[(NEWEST, NEWEST)] * 4]


async def test_a_database_without_tables_is_refused_with_the_command_that_makes_them(postgres: PostgresServer) -> None:
    database = database_at(await postgres.new_database(tables=False))
    with pytest.raises(StoreError, match=r"has no tables of OpenClaw yet\. Run: openclaw store init"):
        await database.value("SELECT 1")
    await database.close()


async def test_a_database_one_step_ahead_is_worked_with_and_one_two_steps_ahead_is_refused(
    postgres: PostgresServer,
) -> None:
    url = await postgres.new_database()
    connection = await asyncpg.connect(url)
    await connection.execute("UPDATE openclaw.version SET number = number + 1")
    database = database_at(url)
    assert await database.value("SELECT 1") == 1
    await database.close()
    with pytest.raises(StoreError, match="belongs to a later OpenClaw"):
        await migrate(connection, "here")

    await connection.execute("UPDATE openclaw.version SET number = number + 1")
    database = database_at(url)
    with pytest.raises(
        StoreError, match=rf"belongs to a later OpenClaw \(step {NEWEST + 2}; this one knows {NEWEST}\)"
    ):
        await database.value("SELECT 1")
    await database.close()
    await connection.close()


async def test_text_that_is_not_kept_as_utf_8_is_refused(postgres: PostgresServer) -> None:
    connection = await asyncpg.connect(postgres.url())
    await connection.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    await connection.close()
    inside = await asyncpg.connect(postgres.url("latin"))
    with pytest.raises(StoreError, match="keeps text as LATIN1"):
        await migrate(inside, "here")
    await inside.close()


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("postgres://127.0.0.1:1/x", "cannot be reached: "),
        ("postgres://nobody@{at}/postgres", r"it does not let us in|role|cannot be used"),
        ("postgres://{at}/nowhere?user={user}", "there is no such database"),
        ("postgres://{user}@{at}/postgres?sslmode=sideways", "Correct session.postgres in the config"),
    ],
)
async def test_every_wrong_address_gets_one_sentence(postgres: PostgresServer, url: str, sentence: str) -> None:
    at = f"127.0.0.1:{postgres.port}"
    database = database_at(url.format(at=at, user=postgres.user), patience=0.0)
    with pytest.raises(StoreError, match=sentence):
        await database.value("SELECT 1")
    await database.close()


# Leases


async def test_a_lease_is_one_gateways_at_a_time_and_its_fence_grows(two: tuple[Fleet, Fleet]) -> None:
    one, other = two
    async with one.leases.hold("token:a") as first:
        assert await other.leases.take("token:a") is None
        assert await one.leases.take("token:a") == first
        with pytest.raises(StoreError, match="The lease 'token:a' is held for longer"):
            async with other.leases.hold("token:a", patience=0.0):
                pass
    async with other.leases.hold("token:a") as second:
        pass
    assert (first.fence, second.fence) == (1, 2)


async def test_whoever_waits_for_a_lease_has_it_when_it_is_given_back(two: tuple[Fleet, Fleet]) -> None:
    one, other = two
    await other.begin()
    async with one.leases.hold("server:x"):

        async def wait() -> Lease:
            async with other.leases.hold("server:x") as lease:
                return lease

        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
    assert (await waiting).fence == 2


async def test_tasks_of_one_gateway_hold_a_lease_one_after_another(two: tuple[Fleet, Fleet]) -> None:
    one, _ = two
    held: list[int] = []

    async def hold(number: int) -> None:
        async with one.leases.hold("x"):
            held.append(number)
            await asyncio.sleep(0)
            assert held[-1] == number

    await asyncio.gather(*(hold(number) for number in range(5)))
    assert held == [0, 1, 2, 3, 4]


async def test_a_lease_and_a_run_that_were_over_while_the_database_was_away_are_over_when_it_is_back(
    postgres: PostgresServer,
) -> None:
    """Their gateway lives on: nobody else could have the lease, and the run would be shown as going on for good."""
    url = await postgres.new_database()
    other = fleet_at(url, name="two")
    async with ChaosProxy(postgres.port) as proxy:
        fleet = fleet_at(url.replace(f":{postgres.port}/", f":{proxy.port}/"), name="one")
        run = RunState("r", "main", "agent:main:k", "running", "", 0, 0.0)
        assert await fleet.runs.claim(run) is None
        async with fleet.leases.hold("server:x"):
            proxy.plan = Chaos(refuse=True)
            proxy.cut()
        fleet.runs.over(structs.replace(run, state="over", reason="stop"))
        assert await other.leases.take("server:x") is None
        proxy.plan = Chaos()
        async with asyncio.timeout(HANG_GUARD), other.leases.hold("server:x"):
            pass
        async with asyncio.timeout(HANG_GUARD):
            while (found := await other.runs.find("r")) is None or found.state != "over":
                await asyncio.sleep(0.05)
        assert found.reason == "stop"
        await fleet.close()
    await other.close()


async def test_a_lease_that_was_taken_without_ever_hearing_of_it_is_given_back(postgres: PostgresServer) -> None:
    url = await postgres.new_database()
    quiet = Times(beat=3600.0, ttl=3600.0, fence=3600.0)
    other = fleet_at(url, name="two")
    async with ChaosProxy(postgres.port) as proxy:
        address = url.replace(f":{postgres.port}/", f":{proxy.port}/")
        fleet = fleet_at(address, name="one", times=quiet, patience=0.0)
        await fleet.presence.begin()
        async with fleet.leases.hold("before"):
            pass
        proxy.allow(down=1)
        with pytest.raises(UnreachableError):
            await fleet.leases.take("server:x")
        assert proxy.was_cut
        async with other.leases.hold("server:x", patience=HANG_GUARD / 2):
            pass
        assert await fleet.leases.take("server:x") is not None
        await fleet.close()
    await other.close()


async def test_a_lease_is_not_taken_again_before_it_was_given_back_also_when_somebody_gave_that_up(
    postgres: PostgresServer,
) -> None:
    """Whoever takes a lease again has the fence of before: given back late, it would be gone in the middle of its use."""
    url = await postgres.new_database()
    other = fleet_at(url, name="two")
    async with ChaosProxy(postgres.port) as proxy:
        fleet = fleet_at(url.replace(f":{postgres.port}/", f":{proxy.port}/"), name="one")
        async with fleet.leases.hold("server:x"):
            proxy.plan = Chaos(refuse=True)
            proxy.cut()
        giving = [task for task in asyncio.all_tasks() if task.get_name().startswith("fleet-settling")]
        taking = asyncio.create_task(fleet.leases.take("server:x"))
        await asyncio.sleep(0)
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking
        proxy.plan = Chaos()
        assert await fleet.leases.take("server:x") is not None
        await asyncio.wait(giving)
        assert await other.leases.take("server:x") is None
        await fleet.close()
    await other.close()


async def test_whoever_is_cancelled_while_taking_a_lease_leaves_it_to_others(postgres: PostgresServer) -> None:
    url = await postgres.new_database()
    one, other = fleet_at(url, name="one"), fleet_at(url, name="two")
    lease = await one.leases.take("x")
    assert lease is not None
    await one.leases.give(lease)
    # Somebody else has its row for a moment, so that it is cancelled in the middle of taking it.
    watcher = await asyncpg.connect(url)
    async with watcher.transaction():
        await watcher.execute("SELECT 1 FROM openclaw.lease WHERE name = 'x' FOR UPDATE")
        taking = asyncio.create_task(one.leases.take("x"))
        async with asyncio.timeout(HANG_GUARD):
            while not await watcher.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                await asyncio.sleep(0.01)
        taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    assert await other.leases.take("x") is not None
    await watcher.close()
    for fleet in (one, other):
        await fleet.close()


async def test_a_server_that_the_fleet_has_once_is_not_run_twice_by_two_entries_of_one_gateway(
    two: tuple[Fleet, Fleet],
) -> None:
    async def key(reference: str) -> str:
        return "correct horse battery staple"

    placement = two[0].placement("secret://env/KEY", key)
    spec = ServerSpec("notes", command="notes-server", placement="one")
    async with placement.place(spec) as placed:
        assert placed.elsewhere is None
        with pytest.raises(
            ConnectError, match="It runs here already, by another entry named notes with other settings"
        ):
            async with placement.place(structs.replace(spec, connect_timeout=5.0)):
                pass
    async with placement.place(structs.replace(spec, connect_timeout=5.0)) as placed:
        assert placed.elsewhere is None


async def test_a_holder_that_was_replaced_writes_nothing_under_its_lease(postgres: PostgresServer) -> None:
    url = await postgres.new_database()
    zombie, other = fleet_at(url, times=Times(beat=3600.0, ttl=0.2, fence=0.1)), fleet_at(url)
    old = await zombie.leases.take("token:a")
    assert old is not None
    async with asyncio.timeout(HANG_GUARD):
        while (new := await other.leases.take("token:a")) is None:
            await asyncio.sleep(0)
    assert new.fence == old.fence + 1

    async def write(fleet: Fleet, lease: Lease) -> None:
        await fleet.database.value("SELECT openclaw.check_lease($1, $2, $3)", lease.name, lease.holder, lease.fence)

    await write(other, new)
    with pytest.raises(LostTurnError):
        await write(zombie, old)
    for fleet in (zombie, other):
        await fleet.close()


class LateAnswer(Database):
    """What is done first is heard of only when the gateway that it made has so many seconds left to live."""

    def __init__(self, url: str, left: float) -> None:
        async def address() -> Address:
            return Address(url)

        super().__init__(address)
        self._left: float | None = left

    async def run(self, work: Callable[[Connection], Awaitable[Any]], *, patience: float | None = None) -> Any:
        left, self._left = self._left, None
        if left is not None:
            await super().run(work)
            await super().value(
                "UPDATE openclaw.gateway SET alive_until = clock_timestamp() + make_interval(secs => $1) RETURNING 1",
                left,
            )
        return await super().run(work, patience=patience)


@pytest.mark.parametrize("left", [0.0, 1.0])
async def test_a_gateway_that_hears_late_that_it_is_there_has_its_whole_time_from_then_on(
    postgres: PostgresServer, left: float
) -> None:
    """It would take itself for alive, and start calls, when others may already have taken over."""
    database = LateAnswer(await postgres.new_database(), left)
    times = Times()
    presence = Presence(database, Notices(database).line, Who("late", "test"), times)
    me = await presence.begin()
    alive = await database.value(
        "SELECT alive_until > clock_timestamp() + make_interval(secs => $2) FROM openclaw.gateway WHERE id = $1",
        *(me, times.fence),
    )
    assert (alive, presence.may_act()) == (True, True)
    await presence.close()
    await database.close()


async def test_what_is_told_of_a_gateway_while_it_joins_is_known_of_it_when_it_has(postgres: PostgresServer) -> None:
    url = await postgres.new_database()
    async with ChaosProxy(postgres.port, Chaos(refuse=True)) as proxy:
        fleet = fleet_at(url.replace(f":{postgres.port}/", f":{proxy.port}/"))
        joining = asyncio.create_task(fleet.presence.begin())
        async with asyncio.timeout(HANG_GUARD):
            while not proxy.connections:
                await asyncio.sleep(0)
        await fleet.presence.reached_at("http://127.0.0.1:1")
        await fleet.presence.configured("abc")
        proxy.plan = Chaos()
        await joining
        assert [(one.url, one.config) for one in await members_of(fleet.database)] == [("http://127.0.0.1:1", "abc")]
        await fleet.close()


async def test_whoever_leaves_while_a_dead_link_is_asked_has_left(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library waits for the end of what it asked, and says that this took too long: nobody would ever end who tries again then."""
    url = await postgres.new_database()
    async with ChaosProxy(postgres.port) as proxy:
        database = database_at(url.replace(f":{postgres.port}/", f":{proxy.port}/"))
        await database.value("SELECT 1")
        proxy.freeze()
        monkeypatch.setattr("openclaw.fleet.database.CONNECT_SECONDS", 0.5)
        asking = asyncio.create_task(database.value("SELECT 1"))
        # Its first steps need no answer: it has the connection, and asked.
        for _ in range(10):
            await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await database.close()


# Notices


async def test_a_line_that_was_left_while_it_was_opened_is_opened_anew(postgres: PostgresServer) -> None:
    """Else it would be a line on which nobody listens."""
    database = database_at(await postgres.new_database())
    opened = asyncio.Semaphore(0)

    async def open(connection: Connection) -> None:
        opened.release()
        if left.done():
            return
        await asyncio.Event().wait()

    line = Line(database, open)
    work = partial(line.run, lambda connection: connection.fetchval("SELECT 1"), timeout=HANG_GUARD)
    left = asyncio.create_task(work())
    await opened.acquire()
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left
    assert await work() == 1
    assert not opened.locked()
    line.drop()
    await database.close()


async def test_a_notice_of_one_gateway_is_heard_by_the_others_and_told_once(two: tuple[Fleet, Fleet]) -> None:
    one, other = two
    heard: list[str] = []
    came = asyncio.Event()

    def hear(id: str) -> None:
        if id:
            heard.append(id)
        if id == "last":
            came.set()

    for fleet in two:
        await fleet.begin()
    assert await other.notices.tried()
    with other.notices.watch("approval", hear):
        for _ in range(20):
            one.notices.send("approval", "a")
        one.notices.send("approval", "last")
        async with asyncio.timeout(HANG_GUARD):
            await came.wait()
    assert heard == ["a", "last"]


async def test_who_watches_is_told_to_look_after_the_connection_was_lost(two: tuple[Fleet, Fleet]) -> None:
    _, other = two
    looked = asyncio.Event()
    await other.begin()
    assert await other.notices.tried()
    with other.notices.watch("revision", lambda id: looked.set() if not id else None):
        looked.clear()
        await other.database.value(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            " AND datname = current_database()"
        )
        async with asyncio.timeout(HANG_GUARD):
            await looked.wait()


async def test_a_changed_kind_has_a_new_revision_and_everybody_hears_of_it(two: tuple[Fleet, Fleet]) -> None:
    one, other = two
    heard = asyncio.Event()
    await other.begin()
    assert await other.notices.tried()
    with other.notices.watch("revision", lambda id: heard.set() if id == "pins" else None):
        assert [await one.database.value("SELECT openclaw.bump('pins')") for _ in range(2)] == [1, 2]
        async with asyncio.timeout(HANG_GUARD):
            await heard.wait()


async def test_a_chore_is_begun_by_one_of_all(two: tuple[Fleet, Fleet]) -> None:
    begun = await asyncio.gather(
        *(fleet.database.value("SELECT openclaw.begin_chore('prune', interval '1 day')") for fleet in two * 4)
    )
    assert sorted(begun) == [False] * 7 + [True]


async def test_the_health_of_a_database_names_who_is_there(two: tuple[Fleet, Fleet]) -> None:
    for fleet in two:
        await fleet.begin()
    health = await health_of(two[0])
    assert (health.step, health.sessions, health.gateways, health.notices_arrive, health.concerns) == (
        *(NEWEST, 0, 2, True),
        (),
    )
