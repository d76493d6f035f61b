"""Conversations in PostgreSQL behind PgBouncer in transaction mode, which hands out another connection for every transaction."""

import asyncio

import pytest

from openclaw.content import Text, UserMessage
from openclaw.errors import StoreError
from openclaw.fleet.fleet import Fleet
from openclaw.sessions.event import Said
from parts.postgres import PostgresServer, fleet_at, pgbouncer
from parts.processes import HANG_GUARD

pytestmark = pytest.mark.full


@pytest.fixture
async def url(postgres: PostgresServer) -> str:
    return await postgres.new_database()


def user(text: str) -> UserMessage:
    return UserMessage((Text(text),))


async def said(fleet: Fleet) -> list[object]:
    return [entry.event for entry in (await fleet.sessions.show("k")).entries]


async def test_through_pgbouncer_in_transaction_mode_all_of_it_works_and_is_looked_for_where_notices_do_not_arrive(
    postgres: PostgresServer, url: str
) -> None:
    database = url.rpartition("/")[2]
    with pgbouncer(postgres) as bouncer:
        fleets = [fleet_at(f"{bouncer}/{database}", statement_cache=False, pool_size=4) for _ in range(2)]
        for fleet in fleets:
            await fleet.begin()

        async def add(number: int) -> None:
            async with fleets[number % 2].sessions.turn("k", "main") as turn:
                turn.append(user(f"{len(turn.history())}"))

        await asyncio.gather(*(add(number) for number in range(12)))
        assert await said(fleets[0]) == [Said(user(f"{number}")) for number in range(12)]
        assert [await fleet.notices.tried() for fleet in fleets] == [False, False]
        direct = fleet_at(f"{bouncer}/{database}", statement_cache=False, listen_url=url)
        assert await direct.notices.tried()
        async with fleets[0].leases.hold("token:x") as lease:
            assert await fleets[1].leases.take("token:x") is None
        assert (await fleets[1].leases.take("token:x")) is not None
        assert lease.fence == 1
        for fleet in (*fleets, direct):
            await fleet.close()


async def test_with_prepared_statements_behind_pgbouncer_the_sentence_says_what_to_set(
    postgres: PostgresServer, url: str
) -> None:
    database = url.rpartition("/")[2]
    with pgbouncer(postgres) as bouncer:
        fleet = fleet_at(f"{bouncer}/{database}", pool_size=4)
        with pytest.raises(StoreError, match="statementCache to false"):
            async with asyncio.timeout(HANG_GUARD):
                while True:
                    await asyncio.gather(*(fleet.sessions.list() for _ in range(8)))
        await fleet.close()
