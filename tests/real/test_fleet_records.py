"""What gateways on one PostgreSQL share: sign-ins, grants, pins, pages, questions and the audit trail, as people and servers meet it."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
import pytest
from msgspec import Raw

from openclaw.asking.answers import Given
from openclaw.asking.open_question import QuestionChanged, ShownQuestion
from openclaw.asking.questions import AlreadyEndedError, Limits, Questions, WrongDigestError
from openclaw.auth.credentials import Credentials
from openclaw.config.servers import ServerSpec
from openclaw.content import Text, UserMessage
from openclaw.conversation import Answer, AskedCall, Conversation, Nobody, Offer, Question
from openclaw.errors import AuthError, StoreError
from openclaw.event_hub import EventHub
from openclaw.fleet.database import Address, Connection, Database, Record
from openclaw.fleet.faults import UnreachableError
from openclaw.fleet.fleet import Fleet
from openclaw.fleet.grants import FleetGrants
from openclaw.fleet.pins import FleetPins
from openclaw.fleet.presence import Times
from openclaw.fleet.revisions import GOOD_FOR, Revisions
from openclaw.fleet.tokens import SharedKey, TokenRecords
from openclaw.grant import Grant
from openclaw.mcp.cache import identity
from openclaw.mcp.pin_store import Pins
from openclaw.mcp.tools.pins import Pin
from openclaw.run_state import RunState
from openclaw.secrets.store.encrypted import EncryptedStore
from openclaw.security.audit_file import AuditFile
from parts.auth_program import Clock, Program, called_by_processes
from parts.auth_server import AuthServer
from parts.chaos_proxy import ChaosProxy
from parts.postgres import PostgresServer, fleet_at, free_port
from parts.processes import HANG_GUARD

pytestmark = pytest.mark.real

KEY = "correct horse battery staple"
REFERENCE = "secret://env/OPENCLAW_TEST_KEY"


async def resolve(text: str) -> str:
    return KEY


@pytest.fixture
async def url(postgres: PostgresServer) -> str:
    return await postgres.new_database()


@pytest.fixture
async def two(url: str) -> AsyncIterator[tuple[Fleet, Fleet]]:
    fleets = fleet_at(url, name="one"), fleet_at(url, name="two")
    for fleet in fleets:
        await fleet.begin()
    yield fleets
    for fleet in fleets:
        await fleet.close()


@pytest.fixture
async def server() -> AsyncIterator[AuthServer]:
    async with AuthServer() as server:
        yield server


def program_of(server: AuthServer, fleet: Fleet, folder: Path) -> Program:
    """A gateway's use of one protected server, whose tokens are in the fleet's database."""
    program = Program(server, folder, clock=Clock(time.time))
    program.credentials = Credentials(fleet.token_store(REFERENCE, resolve), resolve=resolve, clock=program.clock)
    return program


# Sign-ins


@pytest.mark.requirement("000-9.4-rotation")
async def test_ten_gateways_with_an_expired_token_redeem_the_refresh_token_once(
    server: AuthServer, two: tuple[Fleet, Fleet], url: str, tmp_path: Path
) -> None:
    """With rotation, a second request would end the sign-in for all of them."""
    program = program_of(server, two[0], tmp_path)
    await program.sign_in()
    server.expire()
    server.seen.clear()
    assert await called_by_processes(program, 10, tokens=url, key=KEY) == [b"200\n"] * 10
    assert server.paths().count("/token") == 1


async def test_a_sign_in_begun_at_one_gateway_is_finished_at_another(
    server: AuthServer, two: tuple[Fleet, Fleet], tmp_path: Path
) -> None:
    one, other = (program_of(server, fleet, tmp_path) for fleet in two)
    started = await one.credentials.start(one.spec)
    callback = await server.browse(started.authorization_url)
    await other.credentials.finish(other.spec, callback)
    assert [await program.call() for program in (one, other)] == [200, 200]
    # Of several who finish it, one does.
    with pytest.raises(AuthError, match="no sign-in under way"):
        await one.credentials.finish(one.spec, callback)


async def test_a_sign_out_at_one_gateway_ends_the_use_of_the_token_at_another_by_its_notice(
    server: AuthServer, two: tuple[Fleet, Fleet], tmp_path: Path
) -> None:
    one, other = (program_of(server, fleet, tmp_path) for fleet in two)
    await one.sign_in()
    authorizer = other.credentials.authorizer(other.spec)
    assert authorizer is not None
    assert "Authorization" in await authorizer.headers()
    await one.credentials.logout(one.spec)
    while "Authorization" in await authorizer.headers():
        await asyncio.sleep(0)


async def test_no_token_is_used_of_which_nobody_knows_whether_it_was_revoked(
    server: AuthServer, url: str, tmp_path: Path
) -> None:
    """The database is away for longer than a check is good."""
    now = [0.0]
    fleet = fleet_at(url, patience=0.0)
    revisions = Revisions(fleet.database, fleet.notices, clock=lambda: now[0])
    records = TokenRecords(fleet.database, fleet.leases, revisions)
    store = EncryptedStore(records, SharedKey(fleet.database, REFERENCE, resolve))
    await revisions.look()
    program = Program(server, tmp_path, clock=Clock(time.time))
    program.credentials = Credentials(store, resolve=resolve, clock=program.clock)
    await program.sign_in()
    authorizer = program.credentials.authorizer(program.spec)
    assert authorizer is not None
    assert "Authorization" in await authorizer.headers()
    await fleet.database.close()
    now[0] += GOOD_FOR - 0.1
    assert "Authorization" in await authorizer.headers()
    now[0] += 0.2
    with pytest.raises(AuthError, match="closed"):
        await authorizer.headers()
    await fleet.close()


async def test_a_renewal_that_others_overtook_changes_nothing_and_uses_what_they_kept(
    server: AuthServer, two: tuple[Fleet, Fleet], tmp_path: Path
) -> None:
    """A gateway that stood still while it renewed, and was taken for dead, must not put its tokens in the place of newer ones."""
    one, other = (program_of(server, fleet, tmp_path) for fleet in two)
    await one.sign_in()
    store = two[0].token_store(REFERENCE, resolve)
    records = [
        row["name"].hex() for row in await two[0].database.rows("SELECT name FROM openclaw.record WHERE kind = 'Grant'")
    ]
    (name,) = records
    before = await store.records.read(name)
    assert before is not None
    other.clock.ahead = 3600
    assert await other.call() == 200
    assert not await store.records.write(name, "Grant", b"of the one who stood still", after=before.revision)
    assert await one.call() == 200


async def test_the_database_never_holds_a_key_or_a_token(
    server: AuthServer, two: tuple[Fleet, Fleet], url: str, tmp_path: Path
) -> None:
    program = program_of(server, two[0], tmp_path)
    await program.sign_in()
    await program.call()
    connection = await asyncpg.connect(url)
    rows = await connection.fetch("SELECT name, kind, sealed FROM openclaw.record")
    await connection.close()
    everything = b"\n".join(row["name"] + row["kind"].encode() + row["sealed"] for row in rows)
    assert len(rows) >= 3
    assert not [secret for secret in (*server.secrets, KEY) if secret.encode() in everything]


@pytest.mark.parametrize("key", ["", "plain text"])
async def test_a_key_that_only_this_machine_has_is_refused_with_the_reason(two: tuple[Fleet, Fleet], key: str) -> None:
    with pytest.raises(StoreError, match=r"opens them nowhere else: `tokenStore\.key` has to be a secret:// reference"):
        await SharedKey(two[0].database, key, resolve).get()


async def test_gateways_with_another_key_are_told_so(two: tuple[Fleet, Fleet]) -> None:
    async def other(text: str) -> str:
        return "another passphrase"

    first = await SharedKey(two[0].database, REFERENCE, resolve).get()
    assert await SharedKey(two[1].database, REFERENCE, resolve).get() == first
    with pytest.raises(StoreError, match=r"encrypted with another key than `tokenStore\.key` of this gateway"):
        await SharedKey(two[1].database, REFERENCE, other).get()


# Grants and pins

GRANT = Grant("g_1", "echo", "server", "digest", created="2026-01-01")


async def test_what_is_allowed_or_revoked_at_one_gateway_is_known_at_the_other(two: tuple[Fleet, Fleet]) -> None:
    one, other = two
    before = other.grants.revision
    await one.grants.add(GRANT)
    while other.grants.all() != (GRANT,):
        await asyncio.sleep(0)
    assert other.grants.revision != before
    assert await other.grants.revoke("g_1")
    while one.grants.all():
        await asyncio.sleep(0)


async def test_what_only_a_later_version_can_read_keeps_nothing_else_from_being_known(
    two: tuple[Fleet, Fleet],
) -> None:
    """Gateways of a fleet are updated one after another."""
    one, other = two
    await one.database.value(
        "WITH new AS (INSERT INTO openclaw.approval_grant (id, body)"
        """ VALUES ('g_0', '{"id": "g_0", "scope": "of tomorrow"}') RETURNING 1),"""
        " watcher AS (INSERT INTO openclaw.watcher SELECT id, '[7]' FROM openclaw.gateway WHERE name = 'one' RETURNING 1),"
        " pin AS (INSERT INTO openclaw.pin VALUES ($1, 'echo', '7') RETURNING 1)"
        " SELECT count(*) FROM new, watcher, pin",
        identity(SPEC),
    )
    await one.grants.add(GRANT)
    while other.grants.all() != (GRANT,):
        await asyncio.sleep(0)
    await other.board.look()
    assert not other.board.is_watched("approval", "agent:main:one")
    with pytest.raises(StoreError, match=r"What is pinned of .* cannot be read\. It may be of a later OpenClaw"):
        await other.pins.read(SPEC)


async def test_without_a_single_notice_it_is_known_by_looking(url: str) -> None:
    """Behind a pooler that carries none."""
    one, other = fleet_at(url, name="one"), fleet_at(url, name="two")
    # Neither listens: only the look every few seconds is left.
    await one.open()
    await other.open()
    await one.grants.add(GRANT)
    while other.grants.all() != (GRANT,):
        await asyncio.sleep(0.01)
    await one.close()
    await other.close()


async def test_grants_that_nobody_could_check_are_not_in_force(url: str) -> None:
    now = [0.0]
    fleet = fleet_at(url)
    revisions = Revisions(fleet.database, fleet.notices, clock=lambda: now[0])
    grants = FleetGrants(fleet.database, revisions)
    now[0] += 1
    await grants.add(GRANT)
    known = grants.revision
    assert grants.all() == (GRANT,)
    now[0] += GOOD_FOR
    assert (grants.all(), grants.has(["g_1"]), grants.revision == known) == ((), False, False)
    await fleet.close()


SPEC = ServerSpec("shop", command="shop")


def pins(**words: str) -> Pins:
    return Pins({name: Pin(text, Raw(b'{"type":"object"}')) for name, text in words.items()})


async def test_whichever_gateway_sees_a_tool_first_decides_what_it_looks_like(two: tuple[Fleet, Fleet]) -> None:
    one, other = two
    nothing = await other.pins.read(SPEC)
    await one.pins.add(SPEC, Pins(), pins(echo="Harmless."))
    held = await other.pins.add(SPEC, nothing, pins(echo="Do as I say.", count="Counts."))
    assert held == await one.pins.read(SPEC) == pins(echo="Harmless.", count="Counts.")


async def test_what_is_accepted_at_one_gateway_is_told_to_the_other_and_what_it_adds_itself_is_not(
    two: tuple[Fleet, Fleet],
) -> None:
    one, other = two
    heard: list[set[str]] = []
    other.pins.on_changed(lambda servers: heard.append(set(servers)))
    await other.pins.add(SPEC, await other.pins.read(SPEC), pins(echo="Harmless."))
    await other.revisions.look()
    assert heard == []
    await one.pins.accept(SPEC, pins(echo="Another form."))
    while not heard:
        await asyncio.sleep(0)
    assert await other.pins.read(SPEC) == pins(echo="Another form.")


class LateAnswers(Database):
    """What is written is answered after something was read."""

    def __init__(self, url: str) -> None:
        async def address() -> Address:
            return Address(url)

        super().__init__(address)
        self.written = asyncio.Event()
        self._read = asyncio.Event()

    async def settled(self, work: Callable[[Connection], Awaitable[Any]]) -> Any:
        done = await super().settled(work)
        self.written.set()
        await self._read.wait()
        return done

    async def rows(self, statement: str, *values: object) -> Sequence[Record]:
        rows = await super().rows(statement, *values)
        if self.written.is_set():
            self._read.set()
        return rows


async def test_what_a_gateway_adds_is_not_told_to_it_when_the_notice_is_faster_than_the_answer(
    two: tuple[Fleet, Fleet], url: str
) -> None:
    database = LateAnswers(url)
    revisions = Revisions(two[0].database, two[0].notices)
    shared = FleetPins(database, revisions)
    heard: list[set[str]] = []
    shared.on_changed(lambda servers: heard.append(set(servers)))
    adding = asyncio.create_task(shared.add(SPEC, await shared.read(SPEC), pins(echo="Harmless.")))
    await database.written.wait()
    await revisions.look()
    assert (await adding, heard) == (pins(echo="Harmless."), [])
    await two[1].pins.accept(SPEC, pins(echo="Another form."))
    await revisions.look()
    assert heard == [{identity(SPEC)}]
    await database.close()


class FailingOnce(Database):
    """One reading of this number fails."""

    def __init__(self, url: str) -> None:
        async def address() -> Address:
            return Address(url)

        super().__init__(address)
        self.fails_at = 0

    async def rows(self, statement: str, *values: object) -> Sequence[Record]:
        self.fails_at -= 1
        if self.fails_at == 0:
            raise StoreError("The database is away.")
        return await super().rows(statement, *values)


async def test_what_another_gateway_pinned_is_told_although_the_database_fails_in_the_middle(
    two: tuple[Fleet, Fleet], url: str
) -> None:
    specs = [SPEC, ServerSpec("other", command="other")]
    database = FailingOnce(url)
    revisions = Revisions(two[0].database, two[0].notices)
    shared = FleetPins(database, revisions)
    heard: list[str] = []
    shared.on_changed(heard.extend)
    for spec in specs:
        await shared.read(spec)
        await two[1].pins.accept(spec, pins(echo="Another form."))
    # One of the two was looked at by itself then.
    database.fails_at = 3
    with pytest.raises(StoreError, match="away"):
        await revisions.look()
    assert len(heard) == 1
    await revisions.look()
    assert sorted(heard) == sorted(map(identity, specs))
    await database.close()


# Pages


async def test_a_page_that_signed_in_at_one_gateway_uses_the_other_until_all_are_signed_out(
    two: tuple[Fleet, Fleet],
) -> None:
    one, other = two
    cut: list[None] = []
    one.pages.on_revoked(lambda: cut.append(None))
    token = await other.pages.trade(await one.pages.ticket())
    assert token is not None
    assert await one.pages.admits(token)
    assert await other.pages.revoke() == 1
    while not cut:
        await asyncio.sleep(0)
    assert not await one.pages.admits(token)


async def test_a_ticket_is_traded_once_by_all_gateways_together(two: tuple[Fleet, Fleet]) -> None:
    ticket = await two[0].pages.ticket()
    traded = await asyncio.gather(*(fleet.pages.trade(ticket) for fleet in (*two, *two)))
    assert len([token for token in traded if token is not None]) == 1


# Questions

OFFERS = (Offer("once", "o", "this call", "once"), Offer("always", "a", "always", "always"))
MAY_IT = Question(
    "approval",
    options=("once", "always"),
    approval=AskedCall("shop__buy", "Buy", "shop", {"what": "Bücher"}, offers=OFFERS),
)


class Trail:
    def noted(self, event: str, facts: dict[str, Any]) -> None:
        pass


class Gateway:
    """The questions of one gateway, with nobody at its surface."""

    def __init__(self, fleet: Fleet) -> None:
        self.events = EventHub()
        self.told: list[QuestionChanged] = []
        self.events.subscribe(lambda event: self.told.append(event.value), QuestionChanged)
        self.questions = Questions(
            events=self.events,
            audit=Trail,
            limits=lambda agent: Limits(600.0, 600.0),
            grace=0.0,
            board=fleet.board,
        )

    def ask(self) -> "asyncio.Task[Answer]":
        asker = self.questions.asker(Conversation("main", "agent:main:one", asker=Nobody(), surface="http"))
        return asyncio.create_task(asker.ask(MAY_IT))

    async def sees(self) -> ShownQuestion:
        while not (pending := self.questions.pending()):
            await asyncio.sleep(0)
        return pending[0]

    async def is_watched(self) -> None:
        while not self.questions.is_watched("approval", "agent:main:one"):
            await asyncio.sleep(0)


async def test_a_question_of_one_gateway_is_seen_and_answered_at_another(two: tuple[Fleet, Fleet]) -> None:
    one, other = (Gateway(fleet) for fleet in two)
    with other.questions.watch(["approval"]):
        # Nobody is at the gateway that asks: who watches at the other counts.
        await one.is_watched()
        answer = one.ask()
        shown = await other.sees()
        assert shown.question.approval == MAY_IT.approval
        with pytest.raises(WrongDigestError):
            await other.questions.answer(shown.id, "0" * 64, Given("once"), by="http")
        ended = await other.questions.answer(shown.id, shown.digest, Given("always"), by="http")
        assert (ended.state, ended.option, ended.by) == ("accepted", "always", "http")
        assert await answer == Answer("accept", {"option": "always"}, by="http")
        while [changed.state for changed in other.told] != ["pending", "accepted"]:
            await asyncio.sleep(0)
        assert [changed.id for changed in await other.questions.recent()] == [shown.id]
        with pytest.raises(AlreadyEndedError):
            await other.questions.answer(shown.id, shown.digest, Given("deny"), by="http")


async def test_questions_and_those_who_watch_are_known_again_when_a_gateway_goes_on_under_another_id(
    two: tuple[Fleet, Fleet],
) -> None:
    """As after it was frozen, or cut off from the database, for too long."""
    one, other = (Gateway(fleet) for fleet in two)
    database = two[0].database
    with other.questions.watch(["approval"]):
        await one.is_watched()
        answer = one.ask()
        shown = await other.sees()
        before = [fleet.presence.id for fleet in two]
        for fleet in two:
            assert fleet.presence.id is not None
            await fleet.presence.gone(fleet.presence.id)
            await fleet.board.look()
        told = (
            "SELECT (SELECT gateway FROM openclaw.watcher WHERE gateway <> $1), (SELECT gateway FROM openclaw.approval)"
        )
        while tuple(await database.row(told, before[1]) or ()) != (two[1].presence.id, two[0].presence.id):
            await asyncio.sleep(0)
        await database.value(
            "UPDATE openclaw.gateway SET alive_until = clock_timestamp() WHERE id = ANY($1::uuid[])", before
        )
        for fleet in two:
            await fleet.board.look()
        assert one.questions.is_watched("approval", "agent:main:one")
        ended = await other.questions.answer(shown.id, shown.digest, Given("once"), by="http")
        assert (ended.state, (await answer).action) == ("accepted", "accept")


async def test_of_answers_at_several_gateways_the_first_counts(two: tuple[Fleet, Fleet]) -> None:
    one, other = (Gateway(fleet) for fleet in two)
    with other.questions.watch(["approval"]), one.questions.watch(["approval"]):
        answer = one.ask()
        shown = await other.sees()

        async def give(gateway: Gateway, choice: str) -> str:
            try:
                return (await gateway.questions.answer(shown.id, shown.digest, Given(choice), by="http")).option
            except AlreadyEndedError:
                return "late"

        given = await asyncio.gather(give(other, "always"), give(one, "once"), give(other, "once"))
        counted = (await answer).content["option"]
    assert sorted(given) == sorted([str(counted), "late", "late"])


async def test_a_question_of_a_gateway_that_died_is_asked_by_nobody(url: str) -> None:
    dying, other = fleet_at(url, name="dying"), fleet_at(url, name="other")
    await dying.begin()
    await other.begin()
    one, there = Gateway(dying), Gateway(other)
    with there.questions.watch(["approval"]):
        await one.is_watched()
        answer = one.ask()
        shown = await there.sees()
        # As when nothing was heard of it for a while after kill -9.
        await other.database.value("UPDATE openclaw.gateway SET alive_until = clock_timestamp() WHERE name = 'dying'")
        with pytest.raises(AlreadyEndedError) as ended:
            await there.questions.answer(shown.id, shown.digest, Given("once"), by="http")
        assert ended.value.ended.state == "withdrawn"
        await there.questions.look()
        assert there.questions.pending() == ()
    answer.cancel()
    await asyncio.gather(answer, return_exceptions=True)
    await other.close()
    await dying.close()


# The audit trail


async def test_lines_of_all_gateways_are_read_at_any_in_the_order_in_which_they_came(
    two: tuple[Fleet, Fleet], tmp_path: Path
) -> None:
    trails = [fleet.audit_trail(AuditFile(tmp_path / "calls.jsonl")) for fleet in two]
    for trail in trails:
        trail.start()
    for number in range(50):
        trails[number % 2].append([f'{{"call":"{number}"}}\n'])
        # The other gateway's line is there before the next is written.
        assert (await trails[number % 2].last(1)) == [{"call": str(number)}]
    assert [one["call"] for one in await trails[0].last(99)] == [str(number) for number in range(50)]
    chains = await two[0].database.rows(
        "SELECT chain, array_agg(n ORDER BY n) AS numbers FROM openclaw.audit GROUP BY chain"
    )
    assert [row["numbers"] for row in chains] == [list(range(1, 26))] * 2
    for trail in trails:
        await trail.end()


async def test_lines_that_the_database_does_not_take_are_in_the_file_of_the_machine(tmp_path: Path) -> None:
    fleet = fleet_at(f"postgres://nobody@127.0.0.1:{free_port()}/nothing", patience=0.0)
    file = AuditFile(tmp_path / "calls.jsonl")
    trail = fleet.audit_trail(file)
    trail.start()
    trail.append(['{"call":"1"}\n'])
    await trail.end()
    await fleet.close()
    assert await file.last(5) == [{"call": "1"}]


# Runs


def run_state(id: str) -> RunState:
    return RunState(id, "main", "agent:main:x", "running", "", 0, 0.0)


@pytest.fixture
async def mute(url: str) -> AsyncIterator[tuple[Fleet, Fleet]]:
    """Two that never find out by themselves that they count as dead."""
    times = Times(beat=3600.0, ttl=3600.0, fence=3600.0)
    fleets = fleet_at(url, name="one", times=times), fleet_at(url, name="two", times=times)
    for fleet in fleets:
        await fleet.begin()
    yield fleets
    for fleet in fleets:
        await fleet.close()


async def count_as_dead(fleet: Fleet) -> UUID:
    """As one that is frozen, or cut off: it does not know it yet."""
    me = fleet.presence.id
    assert me is not None
    await fleet.database.value(
        "UPDATE openclaw.gateway SET alive_until = clock_timestamp() WHERE id = $1 RETURNING 1", me
    )
    return me


async def test_a_run_is_claimed_by_one_gateway_ended_from_another_and_lost_with_its_own(
    mute: tuple[Fleet, Fleet],
) -> None:
    one, other = mute
    cancelled: list[str] = []
    one.runs.on_cancel(cancelled.append)
    assert await one.runs.claim(run_state("r")) is None
    before = await other.runs.claim(run_state("r"))
    assert before is not None
    assert (before.run, before.state, await other.runs.others("agent:main:x")) == ("r", "running", [before])
    assert await one.runs.others() == []
    await other.runs.cancel("r")
    while not cancelled:
        await asyncio.sleep(0)
    one.runs.over(msgspec.structs.replace(run_state("r"), state="over", reason="cancelled"))
    while (found := await other.runs.find("r")) is None or found.state == "running":
        await asyncio.sleep(0)
    assert found.reason == "cancelled"
    assert await one.runs.claim(run_state("s")) is None
    await count_as_dead(one)
    lost = await other.runs.claim(run_state("s"))
    assert lost is not None
    assert (lost.state, lost.reason) == ("over", "lost")


async def test_runs_go_on_when_their_gateway_does_under_another_id_unless_somebody_was_told_that_they_are_lost(
    mute: tuple[Fleet, Fleet],
) -> None:
    """One that waited for its turn would be carried out after its caller, told that it is lost, had said the same again elsewhere."""
    one, other = mute
    cancelled: asyncio.Queue[str] = asyncio.Queue()
    one.runs.on_cancel(cancelled.put_nowait)
    for id in ("kept", "told"):
        assert await one.runs.claim(run_state(id)) is None
    before = await count_as_dead(one)
    told = await other.runs.find("told")
    assert told is not None
    assert (told.state, told.reason) == ("over", "lost")

    await one.presence.gone(before)
    assert await cancelled.get() == "told"
    now = [await other.runs.find(id) for id in ("kept", "told")]
    assert [(state.state, state.reason) for state in now if state] == [("running", ""), ("over", "lost")]
    assert await one.runs.others() == [told]
    await other.runs.cancel("kept")
    assert await cancelled.get() == "kept"


async def test_a_run_that_begins_when_its_gateway_counts_as_dead_is_entered_under_the_next_id(
    mute: tuple[Fleet, Fleet],
) -> None:
    one, other = mute
    before = await count_as_dead(one)
    assert await one.runs.claim(run_state("r")) is None
    assert one.presence.id != before
    found = await other.runs.find("r")
    assert found is not None
    assert (found.state, found.reason) == ("running", "")


async def test_a_run_that_was_refused_because_the_database_fell_silent_is_entered_nowhere(
    two: tuple[Fleet, Fleet], url: str, postgres: PostgresServer
) -> None:
    """The link is cut at every place of the database's answers, so also when it has entered the run: nobody would ever end that one."""
    refused: list[str] = []
    async with ChaosProxy(postgres.port) as proxy:
        fleet = fleet_at(url.replace(f":{postgres.port}/", f":{proxy.port}/"), listen_url=url, patience=0.0)
        await fleet.runs.claim(run_state("r-0"))
        for size in count(1, 4):
            proxy.allow(down=size)
            try:
                await fleet.runs.claim(run_state(f"r-{size}"))
                break
            except UnreachableError:
                refused.append(f"r-{size}")
        assert refused
        async with asyncio.timeout(HANG_GUARD):
            while any([await two[0].runs.find(id) for id in refused]):
                await asyncio.sleep(0.01)
        await fleet.close()


async def test_a_gateway_works_whose_user_may_only_read_and_add_to_the_audit_trail(url: str, tmp_path: Path) -> None:
    owner = await asyncpg.connect(url)
    # A user belongs to the server, and other tests have other databases there.
    role = f"restricted_{tmp_path.name.replace('-', '_')[-20:]}"
    await owner.execute(
        f"CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA openclaw TO {role};"
        f" GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA openclaw TO {role};"
        f" REVOKE ALL ON openclaw.audit FROM {role}; GRANT SELECT, INSERT ON openclaw.audit TO {role};"
        f" REVOKE INSERT, UPDATE, DELETE ON openclaw.version FROM {role}"
    )
    before, _, rest = url.partition("//")
    restricted = fleet_at(f"{before}//{role}@{rest.partition('@')[2]}")
    try:
        await restricted.begin()
        async with restricted.sessions.turn("agent:main:x", "main") as turn:
            turn.append(UserMessage((Text("hello"),)))
        await restricted.grants.add(Grant("g_1", "echo", "server"))
        trail = restricted.audit_trail(AuditFile(tmp_path / "instead.jsonl"))
        trail.start()
        trail.append(['{"call":"one"}\n'])
        assert [record["call"] for record in await trail.last(5)] == ["one"]
        for statement in (
            "UPDATE openclaw.audit SET line = ''",
            "DELETE FROM openclaw.audit",
            "TRUNCATE openclaw.audit",
        ):
            with pytest.raises(StoreError, match="its user may not do this"):
                await restricted.database.value(statement)
        await trail.end()
        assert await owner.fetchval("SELECT count(*) FROM openclaw.audit") == 1
    finally:
        await restricted.close()
        await owner.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")
        await owner.close()
