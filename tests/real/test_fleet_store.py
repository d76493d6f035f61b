"""Conversations in PostgreSQL among gateways that die, freeze and lose the database, and a database that is killed."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import asyncpg
import pytest

from openclaw.content import AssistantMessage, Message, Text, ToolCall, ToolMessage, UserMessage
from openclaw.errors import SessionBusyError, StoreError
from openclaw.fleet.cut_turn import CUT, CUT_WORDS, LOST, UNKNOWN_END
from openclaw.fleet.database import STATEMENT_SECONDS, Address, Database, Record
from openclaw.fleet.faults import GoneError, LostTurnError, UnreachableError
from openclaw.fleet.fleet import Fleet
from openclaw.fleet.notices import Notices
from openclaw.fleet.presence import Presence, Times, Who
from openclaw.fleet.sessions import PostgresStore
from openclaw.fleet.settling import Settling
from openclaw.sessions.event import Custom, Said
from openclaw.sessions.retention import Keep
from parts.chaos_proxy import Chaos, ChaosProxy
from parts.postgres import PostgresServer, fleet_at
from parts.processes import HANG_GUARD
from parts.session_kills import kill_writers, lost_or_doubled, start_writer, stored_turns

pytestmark = pytest.mark.real

# Never says that it is alive, so it is dead a moment after it began: what a gateway that was frozen, or cut off, is to the others.
DYING = Times(beat=3600.0, ttl=0.2, fence=0.1)

# Seconds for which a database that is away is waited for, where a test is about what comes after.
SHORT_PATIENCE = 0.5


def user(text: str) -> UserMessage:
    return UserMessage((Text(text),))


@pytest.fixture
async def url(postgres: PostgresServer) -> str:
    return await postgres.new_database()


@pytest.fixture
async def new_fleet(url: str) -> AsyncIterator[Callable[..., Fleet]]:
    made: list[Fleet] = []

    def make(**options: object) -> Fleet:
        made.append(fleet_at(url, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for fleet in made:
        await fleet.close()


async def said(fleet: Fleet, key: str = "k") -> list[object]:
    return [entry.event for entry in (await fleet.sessions.show(key)).entries]


async def until_dead(fleet: Fleet) -> None:
    """Until the database takes this gateway for dead."""
    id = fleet.presence.id
    while await fleet.database.value("SELECT openclaw.alive($1)", id):
        await asyncio.sleep(0)


async def test_a_gateway_that_was_silent_for_too_long_stores_nothing_more_and_goes_on_under_another_id(
    new_fleet: Callable[..., Fleet],
) -> None:
    zombie, other = new_fleet(times=DYING), new_fleet()
    with pytest.raises(LostTurnError, match="Another gateway has taken this conversation over"):
        async with zombie.sessions.turn("k", "main") as turn:
            first = zombie.presence.id
            turn.append(user("kept"))
            await turn.commit()
            await until_dead(zombie)
            async with other.sessions.turn("k", "main") as taken:
                taken.append(user("other"))
            turn.append(user("too late"))

    assert [event for event in await said(other) if isinstance(event, Said)] == [
        Said(user("kept")),
        Said(user("other")),
    ]
    async with zombie.sessions.turn("k", "main") as turn:
        turn.append(user("back"))
    assert zombie.presence.id != first
    assert (await said(other))[-1] == Said(user("back"))


async def test_a_dead_gateway_stores_nothing_even_while_nobody_has_taken_over(new_fleet: Callable[..., Fleet]) -> None:
    zombie = new_fleet(times=DYING)
    with pytest.raises(GoneError, match="lost touch with the database for too long"):
        async with zombie.sessions.turn("k", "main") as turn:
            turn.append(user("a"))
            await until_dead(zombie)
    assert await zombie.sessions.list() == ()


async def test_a_frozen_process_that_wakes_after_its_time_finds_its_turn_gone(
    url: str, new_fleet: Callable[..., Fleet]
) -> None:
    """It is stopped wherever it is; whatever it had not acknowledged by then is stored whole or not at all, and nothing interleaves."""
    writer = await start_writer(url, "shared", "frozen")
    assert writer.stdout
    acknowledged = [int(await writer.stdout.readline()) for _ in range(3)]
    os.kill(writer.pid, signal.SIGSTOP)
    other = await start_writer(url, "shared", "other", turns=3)
    told, _ = await other.communicate()
    os.kill(writer.pid, signal.SIGCONT)
    acknowledged += [int(await writer.stdout.readline()) for _ in range(3)]
    writer.kill()
    rest, _ = await writer.communicate()
    acknowledged += [int(line) for line in rest.split()]

    assert told.split() == [b"0", b"1", b"2"]
    stored = await stored_turns(url, "shared")
    assert stored["other"] == [0, 1, 2]
    assert stored["frozen"] in (acknowledged, [*acknowledged, len(acknowledged)])
    assert acknowledged == list(range(len(acknowledged)))


async def test_a_turn_whose_gateway_died_is_closed_by_the_next_one(new_fleet: Callable[..., Fleet]) -> None:
    zombie, other = new_fleet(times=DYING), new_fleet()
    calls = AssistantMessage((ToolCall("1", "send", {}), ToolCall("2", "pay", {"sum": 1})))
    answered = ToolMessage("1", "send", (Text("sent"),))
    async with asyncio.timeout(HANG_GUARD):
        with pytest.raises(LostTurnError):
            async with zombie.sessions.turn("k", "main") as turn:
                turn.append(user("do it"), calls, answered)
                await turn.commit()
                await until_dead(zombie)
                async with other.sessions.turn("k", "main") as next_turn:
                    seen = next_turn.history()
                turn.append(ToolMessage("2", "pay", (Text("paid"),)))

    unknown = ToolMessage("2", "pay", (Text(UNKNOWN_END),), is_error=True)
    expected: list[Message] = [user("do it"), calls, answered, unknown]
    assert seen == expected
    assert await said(other) == [*map(Said, expected), Custom(CUT, CUT_WORDS)]


async def test_a_turn_that_had_come_to_its_end_is_not_closed_again(new_fleet: Callable[..., Fleet]) -> None:
    zombie, other = new_fleet(times=DYING), new_fleet()
    with pytest.raises(LostTurnError):
        async with zombie.sessions.turn("k", "main") as turn:
            turn.append(user("hi"), AssistantMessage((Text("hello"),)))
            await turn.commit()
            await until_dead(zombie)
            async with other.sessions.turn("k", "main"):
                pass
            turn.note("late")
    assert await said(other) == [Said(user("hi")), Said(AssistantMessage((Text("hello"),)))]


async def test_a_turn_whose_gateway_found_that_it_is_dead_is_closed_although_nobody_took_it_over(
    new_fleet: Callable[..., Fleet],
) -> None:
    """It can still reach the database, and gives nothing back there: who held the turn last has to be known."""
    zombie, other = new_fleet(times=DYING), new_fleet()
    with pytest.raises(GoneError):
        async with zombie.sessions.turn("k", "main") as turn:
            turn.append(user("do it"), AssistantMessage((ToolCall("1", "pay", {}),)))
            await turn.commit()
            await until_dead(zombie)
            turn.append(ToolMessage("1", "pay", (Text("paid"),)))
    async with other.sessions.turn("k", "main", patience=0.0) as next_turn:
        seen = next_turn.history()
    assert seen[-1] == ToolMessage("1", "pay", (Text(UNKNOWN_END),), is_error=True)
    assert (await said(other))[-1] == Custom(CUT, CUT_WORDS)


async def test_a_turn_whose_gateway_died_is_closed_although_the_answer_to_its_taker_was_lost(
    url: str, postgres: PostgresServer, new_fleet: Callable[..., Fleet]
) -> None:
    """The database has given it to the next one then, and says no more from whom."""
    quiet = Times(beat=3600.0, ttl=3600.0, fence=3600.0)
    zombie = new_fleet(times=DYING)
    async with ChaosProxy(postgres.port) as proxy:
        fleet = fleet_at(url.replace(f":{postgres.port}/", f":{proxy.port}/"), times=quiet)
        # It listens to nothing, and has taken a turn before: so the next answer is that of the database which gives it this one.
        await fleet.presence.begin()
        async with fleet.sessions.turn("before", "main"):
            pass
        with pytest.raises(LostTurnError):
            async with zombie.sessions.turn("k", "main") as turn:
                turn.append(user("do it"), AssistantMessage((ToolCall("1", "pay", {}),)))
                await turn.commit()
                await until_dead(zombie)
                assert (await fleet.sessions.show("k")).info.messages == 2
                proxy.allow(down=1)
                async with fleet.sessions.turn("k", "main") as next_turn:
                    seen = next_turn.history()
                assert proxy.was_cut
                turn.note("late")
        assert seen[-1] == ToolMessage("1", "pay", (Text(UNKNOWN_END),), is_error=True)
        assert (await said(fleet))[-1] == Custom(CUT, CUT_WORDS)
        await fleet.close()


async def test_a_gateway_that_leaves_in_order_frees_what_it_held_at_once(new_fleet: Callable[..., Fleet]) -> None:
    leaving, staying = new_fleet(), new_fleet()
    holding = leaving.sessions.turn("k", "main")
    await holding.__aenter__()
    with pytest.raises(SessionBusyError):
        async with staying.sessions.turn("k", "main", patience=0.0):
            pass
    await leaving.presence.close()
    async with staying.sessions.turn("k", "main", patience=HANG_GUARD) as turn:
        turn.append(user("mine"))
    await holding.__aexit__(None, None, None)
    assert await said(staying) == [Said(user("mine"))]


async def test_a_gateway_that_comes_back_after_a_crash_need_not_wait_for_what_it_held_before(
    new_fleet: Callable[..., Fleet],
) -> None:
    crashed = new_fleet(name="one")
    holding = crashed.sessions.turn("k", "main")
    await holding.__aenter__()

    back = new_fleet(name="one", replaces=True)
    async with back.sessions.turn("k", "main", patience=0.0) as turn:
        turn.append(user("again"))
    await holding.__aexit__(None, None, None)
    assert await said(back) == [Said(user("again"))]


async def test_a_turn_is_ended_when_its_gateway_has_lost_touch(new_fleet: Callable[..., Fleet]) -> None:
    """The row of the gateway is taken away: the next beat says that it is no more."""
    fleet = new_fleet(times=Times(beat=0.05, ttl=15.0, fence=10.0))
    with pytest.raises(GoneError):
        async with fleet.sessions.turn("k", "main") as turn:
            first = fleet.presence.id
            turn.append(user("never stored"))
            await fleet.database.value(
                "WITH gone AS (DELETE FROM openclaw.gateway RETURNING 1) SELECT count(*) FROM gone"
            )
            await asyncio.Event().wait()
    assert await fleet.sessions.list() == ()
    async with asyncio.timeout(HANG_GUARD):
        while fleet.presence.id in (None, first):
            await asyncio.sleep(0)
    assert fleet.may_act()


async def test_nothing_may_be_started_when_the_last_sign_of_life_is_too_old(new_fleet: Callable[..., Fleet]) -> None:
    fleet = new_fleet(times=DYING)
    assert fleet.may_act()
    await fleet.begin()
    async with asyncio.timeout(HANG_GUARD):
        while fleet.may_act():
            await asyncio.sleep(0)


async def test_a_write_whose_answer_was_lost_is_stored_once(url: str, postgres: PostgresServer) -> None:
    """The link is cut just when the database has answered that it stored the events."""
    async with ChaosProxy(postgres.port) as proxy:
        fleet = fleet_at(url.replace(f":{postgres.port}/", f":{proxy.port}/"))
        async with fleet.sessions.turn("k", "main") as turn:
            turn.append(user("1"))
            await turn.commit()
            # The answer to the next statement of any connection gets as far as its first byte.
            proxy.allow(down=1)
            turn.append(user("2"), user("3"))
            await turn.commit()
            turn.append(user("4"))
        assert await said(fleet) == [Said(user(text)) for text in "1234"]
        await fleet.close()


async def test_a_turn_that_could_not_be_given_back_at_once_is_given_back_when_the_database_answers_again(
    url: str, postgres: PostgresServer, new_fleet: Callable[..., Fleet]
) -> None:
    """Its gateway lives on, so nobody else could ever have this conversation otherwise."""
    other = new_fleet()
    async with ChaosProxy(postgres.port) as proxy:
        fleet = fleet_at(url.replace(f":{postgres.port}/", f":{proxy.port}/"))
        async with fleet.sessions.turn("k", "main") as turn:
            turn.append(user("mine"))
            await turn.commit()
            # Whatever it asks from here on gets no answer.
            proxy.plan = Chaos(refuse=True)
            proxy.cut()
        with pytest.raises(SessionBusyError):
            async with other.sessions.turn("k", "main", patience=0.0):
                pass
        proxy.plan = Chaos()
        async with other.sessions.turn("k", "main", patience=HANG_GUARD) as turn:
            turn.append(user("theirs"))
        assert await other.database.value("SELECT count(*) FROM openclaw.gateway WHERE alive_until > now()") == 2
        await fleet.close()
    assert await said(other) == [Said(user("mine")), Said(user("theirs"))]


async def test_a_turn_that_was_taken_without_ever_hearing_of_it_is_given_back(
    url: str, postgres: PostgresServer, new_fleet: Callable[..., Fleet]
) -> None:
    """Its gateway lives on and believes that it has nothing: nobody else could ever have this conversation otherwise."""
    quiet = Times(beat=3600.0, ttl=3600.0, fence=3600.0)
    other = new_fleet()
    async with ChaosProxy(postgres.port) as proxy:
        fleet = fleet_at(url.replace(f":{postgres.port}/", f":{proxy.port}/"), times=quiet, patience=0.0)
        await fleet.presence.begin()
        async with fleet.sessions.turn("before", "main"):
            pass
        proxy.allow(down=1)
        with pytest.raises(UnreachableError):
            async with fleet.sessions.turn("k", "main"):
                pass
        assert proxy.was_cut
        async with other.sessions.turn("k", "main", patience=HANG_GUARD / 2) as turn:
            turn.append(user("theirs"))
        assert await said(fleet) == [Said(user("theirs"))]
        await fleet.close()


async def test_a_conversation_that_goes_while_it_is_begun_is_begun_anew(new_fleet: Callable[..., Fleet]) -> None:
    """Whoever had it said nothing in it, or forgot it, at this very moment."""
    fleet = new_fleet()
    for statement in (
        "CREATE SEQUENCE meanwhile",
        "CREATE FUNCTION go() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " IF nextval('meanwhile') = 1 THEN DELETE FROM openclaw.session; END IF; RETURN NULL; END $$",
        "CREATE TRIGGER go AFTER INSERT ON openclaw.session FOR EACH STATEMENT EXECUTE FUNCTION go()",
    ):
        await fleet.database.value(statement)
    async with fleet.sessions.turn("k", "main") as turn:
        turn.append(user("said"))
    assert await said(fleet) == [Said(user("said"))]


class Meanwhile(Database):
    """Something happens while the events of a conversation are read."""

    def __init__(self, url: str) -> None:
        async def address() -> Address:
            return Address(url)

        super().__init__(address)
        self.happens: Callable[[], Awaitable[object]] | None = None

    async def rows(self, statement: str, *values: object) -> Sequence[Record]:
        if "FROM openclaw.event" in statement and self.happens is not None:
            await self.happens()
        return await super().rows(statement, *values)


async def test_a_turn_that_is_lost_before_it_began_is_not_begun(url: str, new_fleet: Callable[..., Fleet]) -> None:
    async with new_fleet().sessions.turn("k", "main") as turn:
        turn.append(user("said"))
    database = Meanwhile(url)
    notices = Notices(database)
    presence = Presence(database, notices.line, Who("here", "test"))
    store = PostgresStore(database, presence, notices, Settling(database, presence))

    async def lose() -> None:
        id = presence.id
        assert id is not None
        await presence.gone(id)

    database.happens = lose
    with pytest.raises(GoneError):
        async with store.turn("k", "main"):
            raise AssertionError("it may be another gateway's by now")
    assert presence.may_act()
    await presence.close()
    await notices.close()
    await database.close()


async def test_waiting_for_a_turn_of_another_gateway_ends_when_that_turn_does(new_fleet: Callable[..., Fleet]) -> None:
    one, two = new_fleet(), new_fleet()
    await one.begin()
    await two.begin()

    async def wait() -> None:
        async with two.sessions.turn("k", "main") as turn:
            turn.append(user("second"))

    async with one.sessions.turn("k", "main") as turn:
        waiting = asyncio.create_task(wait())
        while not await one.database.value("SELECT waiting IS NOT NULL FROM openclaw.session"):
            await asyncio.sleep(0)
        turn.append(user("first"))
    await waiting
    assert await said(one) == [Said(user("first")), Said(user("second"))]


async def test_a_cancelled_wait_and_a_turn_without_a_word_leave_nothing(new_fleet: Callable[..., Fleet]) -> None:
    one, two = new_fleet(), new_fleet()

    async def wait() -> None:
        async with two.sessions.turn("k", "main"):
            raise AssertionError("the first turn still runs")

    async with one.sessions.turn("k", "main"):
        waiting = asyncio.create_task(wait())
        while not await one.database.value("SELECT waiting IS NOT NULL FROM openclaw.session"):
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    async with one.sessions.turn("other", "main"):
        pass
    assert await one.sessions.list() == ()
    assert await one.database.value("SELECT count(*) FROM openclaw.session WHERE key = 'other'") == 0
    async with one.sessions.turn("said", "main") as turn:
        turn.append(user("hello"))
    # For as long as somebody may still wait for it, the first is there.
    await one.database.value("UPDATE openclaw.session SET waiting = clock_timestamp() WHERE key = 'k' RETURNING 1")
    await two.sessions.prune(Keep(unnamed_days=None))
    assert [bytes(row["key"]) for row in await one.database.rows("SELECT key FROM openclaw.session")] == [b"said"]


async def test_what_a_standby_had_not_yet_is_told_once_and_noted(url: str, new_fleet: Callable[..., Fleet]) -> None:
    fleet = new_fleet()
    async with fleet.sessions.turn("k", "main") as turn:
        turn.append(user("1"), user("2"), user("3"))
    # As a standby that was behind by two events would have it.
    await fleet.database.value(
        "WITH gone AS (DELETE FROM openclaw.event WHERE seq > 1), back AS (UPDATE openclaw.session SET events = 1) SELECT 1"
    )
    with pytest.raises(StoreError, match="no longer has the last 2 entries of this conversation"):
        async with fleet.sessions.turn("k", "main"):
            pass
    async with fleet.sessions.turn("k", "main") as turn:
        turn.append(user("again"))
    assert await said(fleet) == [Said(user("1")), Custom(LOST, 2), Said(user("again"))]


async def test_times_are_the_databases_whatever_the_clock_here_says(
    new_fleet: Callable[..., Fleet], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 86_400)
    fast = new_fleet()
    async with fast.sessions.turn("k", "main") as turn:
        turn.append(user("from tomorrow"))
    monkeypatch.setattr(time, "time", lambda: real() - 86_400)
    slow = new_fleet()
    async with slow.sessions.turn("k", "main") as turn:
        turn.append(user("from yesterday"))
    monkeypatch.setattr(time, "time", real)

    transcript = await slow.sessions.show("k")
    now = await slow.database.value("SELECT openclaw.now_ms()") / 1000
    assert [now - 3_600 < entry.at <= now for entry in transcript.entries] == [True, True]
    assert [info.key for info in await slow.sessions.list(active_within=3_600)] == ["k"]


async def test_another_database_behind_the_same_address_is_refused(postgres: PostgresServer, url: str) -> None:
    async with ChaosProxy(postgres.port) as proxy:
        fleet = fleet_at(url.replace(f":{postgres.port}/", f":{proxy.port}/"), pool_size=1)
        await fleet.sessions.list()
        connection = await asyncpg.connect(url)
        await connection.execute("UPDATE openclaw.version SET identity = gen_random_uuid()")
        await connection.close()
        proxy.allow(down=1)
        with pytest.raises(StoreError, match="is another one than before"):
            await fleet.sessions.list()
        await fleet.close()


# Processes


async def test_killed_writers_lose_no_acknowledged_turn(url: str) -> None:
    outcome = await kill_writers(url, kills=4, seed=1)

    assert lost_or_doubled(outcome) == {}
    assert all(outcome.acknowledged.values())


async def test_four_processes_in_one_session_lose_and_interleave_nothing(url: str) -> None:
    names = [f"writer-{n}" for n in range(4)]
    writers = [await start_writer(url, "shared", name, turns=6) for name in names]
    await asyncio.gather(*(writer.communicate() for writer in writers))

    assert [writer.returncode for writer in writers] == [0] * 4
    assert await stored_turns(url, "shared") == {name: list(range(6)) for name in names}


async def test_a_database_that_is_killed_while_it_commits_loses_no_acknowledged_turn_and_doubles_none() -> None:
    with PostgresServer() as server:
        url = await server.new_database()
        writers = {key: await start_writer(url, key, key) for key in ("one", "two")}
        acknowledged: dict[str, list[int]] = {key: [] for key in writers}
        for round in range(3):
            for key, writer in writers.items():
                assert writer.stdout
                acknowledged[key] += [int(await writer.stdout.readline()) for _ in range(2 + round)]
            server.kill()
            server.start()
        for key, writer in writers.items():
            assert writer.stdout
            # They have got over the last one, too.
            acknowledged[key] += [int(await writer.stdout.readline()) for _ in range(3)]
            writer.kill()
            rest, _ = await writer.communicate()
            acknowledged[key] += [int(line) for line in rest.split()]
        for key, told in acknowledged.items():
            stored = (await stored_turns(url, key))[key]
            assert told == list(range(len(told)))
            assert stored in (told, [*told, len(told)])


async def test_while_the_database_is_away_turns_wait_and_then_are_refused_in_one_sentence() -> None:
    with PostgresServer() as server:
        url = await server.new_database()
        patient, hasty = fleet_at(url), fleet_at(url, patience=0.0)
        for fleet in (patient, hasty):
            async with fleet.sessions.turn("k", "main") as turn:
                turn.append(user("before"))
        server.stop()
        with pytest.raises(UnreachableError, match=r"The database postgres://127.0.0.1:\d+/test_1 cannot be reached: "):
            async with hasty.sessions.turn("k", "main"):
                pass
        with pytest.raises(UnreachableError):
            await hasty.sessions.list()

        async def wait() -> None:
            async with patient.sessions.turn("k", "main") as turn:
                turn.append(user("after"))

        waiting = asyncio.create_task(wait())
        server.start()
        await waiting
        assert (await said(hasty))[-1] == Said(user("after"))
        await patient.close()
        await hasty.close()


async def test_a_turn_in_flight_when_the_database_goes_away_for_long_ends_in_a_sentence_and_its_conversation_goes_on() -> (
    None
):
    with PostgresServer() as server:
        fleet = fleet_at(
            await server.new_database(), times=Times(beat=0.1, ttl=1.0, fence=0.5), patience=SHORT_PATIENCE
        )
        await fleet.begin()
        with pytest.raises((UnreachableError, GoneError), match=r"cannot be reached|lost touch") as ended:
            async with fleet.sessions.turn("k", "main") as turn:
                turn.append(user("acknowledged"))
                await turn.commit()
                server.stop()
                turn.append(user("never acknowledged"))
                await turn.commit()
        assert ended.value.hint
        # For longer than its gateway is taken for alive.
        async with asyncio.timeout(HANG_GUARD):
            while fleet.presence.id is not None:
                await asyncio.sleep(0.01)
        assert not fleet.may_act()
        with pytest.raises(UnreachableError):
            async with fleet.sessions.turn("k", "main"):
                pass
        server.start()
        async with asyncio.timeout(HANG_GUARD):
            while not fleet.may_act():
                await asyncio.sleep(0.01)
        async with fleet.sessions.turn("k", "main") as turn:
            turn.append(user("after"))
        assert await said(fleet) == [Said(user("acknowledged")), Custom(CUT, CUT_WORDS), Said(user("after"))]
        await fleet.close()


async def test_a_database_that_says_nothing_fences_a_gateway_and_lets_it_go_on_when_it_is_back() -> None:
    with PostgresServer() as server:
        times = Times(beat=0.1, ttl=1.0, fence=0.5)
        fleet = fleet_at(await server.new_database(), times=times)
        await fleet.begin()
        first = fleet.presence.id
        server.pause()
        async with asyncio.timeout(HANG_GUARD):
            while fleet.presence.id is not None:
                await asyncio.sleep(0.01)
        assert not fleet.may_act()
        server.resume()
        async with asyncio.timeout(HANG_GUARD):
            while not fleet.may_act():
                await asyncio.sleep(0.01)
        assert fleet.presence.id != first
        await fleet.close()


async def test_links_that_died_without_a_word_are_found_out_once_and_not_by_everybody(
    url: str, postgres: PostgresServer
) -> None:
    """As when a firewall forgot them, or the machine of the database is gone: whoever looks for it anew finds it."""
    async with ChaosProxy(postgres.port) as proxy:
        # It stays the same gateway, also where a new link takes its time.
        times = Times(beat=0.1, ttl=20.0, fence=1.0)
        fleet = fleet_at(url.replace(f":{postgres.port}/", f":{proxy.port}/"), times=times)
        await fleet.begin()
        # Several links of the pool, all open.
        await asyncio.gather(*(fleet.database.value("SELECT pg_sleep(0.1)") for _ in range(4)))
        proxy.freeze()
        # Over one of the old links a statement would be given up only after its full time.
        async with asyncio.timeout(STATEMENT_SECONDS):
            while fleet.may_act():
                await asyncio.sleep(0.01)
            while not fleet.may_act():
                await asyncio.sleep(0.01)
            async with fleet.sessions.turn("k", "main") as turn:
                turn.append(user("found"))
        assert await said(fleet) == [Said(user("found"))]
        await fleet.close()


async def test_no_beat_is_waited_for_beyond_the_time_after_which_others_take_over(
    url: str, postgres: PostgresServer
) -> None:
    async with ChaosProxy(postgres.port) as proxy:
        times = Times(beat=0.05, ttl=0.5, fence=3600.0)
        fleet = fleet_at(url.replace(f":{postgres.port}/", f":{proxy.port}/"), times=times)
        await fleet.begin()
        lost = asyncio.Event()
        fleet.presence.on_lost(lost.set)
        proxy.freeze()
        async with asyncio.timeout(STATEMENT_SECONDS):
            await lost.wait()
        await fleet.close()


async def test_a_gateway_that_starts_before_its_database_is_there_when_that_is() -> None:
    with PostgresServer() as server:
        url = await server.new_database()
        server.stop()
        fleet = fleet_at(url, times=Times(beat=0.1), patience=0.0)
        await fleet.begin()
        assert not fleet.may_act()
        server.start()
        async with asyncio.timeout(HANG_GUARD):
            while not fleet.may_act():
                await asyncio.sleep(0.01)
        async with fleet.sessions.turn("k", "main") as turn:
            turn.append(user("up"))
        await fleet.close()
