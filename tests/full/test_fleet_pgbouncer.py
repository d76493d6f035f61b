"""Conversations in PostgreSQL behind PgBouncer in transaction mode, which hands out another connection for every transaction."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from openclaw.content import Text, UserMessage
from openclaw.errors import StoreError
from openclaw.fleet.fleet import Fleet
from openclaw.sessions.event import Said
from parts.gateways import Running, home, running
from parts.placed_server import entry, lines_of, starts
from parts.postgres import PostgresServer, fleet_at, pgbouncer
from parts.processes import HANG_GUARD, handle_of, wait_until_gone
from parts.talking_model import TalkingModel

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


async def say(gateway: Running, text: str) -> None:
    headers = {**gateway.headers, "x-openclaw-session-key": "walker"}
    body = {"model": "openclaw/main", "input": text}
    async with gateway.client.post(f"{gateway.url}/v1/responses", json=body, headers=headers) as response:
        assert response.status == 200, await response.text()


async def called(gateway: Running, tool: str) -> str:
    status, told = await gateway.post("/v1/tools/invoke", {"tool": tool, "arguments": {}, "framed": False})
    assert (status, told["isError"]) == (200, False), told
    return str(told["content"][0]["text"])


async def test_placed_servers_and_those_of_conversations_work_behind_pgbouncer_where_no_notice_arrives(
    postgres: PostgresServer, url: str, tmp_path: Path
) -> None:
    database = url.rpartition("/")[2]
    journals = tmp_path / "one" / "journal", tmp_path / "own" / "journal"
    for journal in journals:
        journal.parent.mkdir()
    async with AsyncExitStack() as stack:
        bouncer = stack.enter_context(pgbouncer(postgres))
        model = await stack.enter_async_context(TalkingModel())
        gateways = []
        for name in ("first", "second"):
            env = {"DATABASE": f"{bouncer}/{database}", "TOKEN_KEY": "correct horse battery staple"}
            (tmp_path / name).mkdir()
            place = stack.enter_context(home(tmp_path / name, env=env))
            place.save(
                {
                    "session": {
                        "store": "postgres",
                        "postgres": {"url": "${DATABASE}", "statementCache": False, "poolSize": 4},
                    },
                    "tokenStore": {"key": "secret://env/TOKEN_KEY"},
                    "mcp": {
                        "servers": {
                            "memo": entry(journals[0], placement="one"),
                            "diary": entry(journals[1], isolation="session", approval="allow"),
                        }
                    },
                    **model.config,
                }
            )
            gateways.append(await stack.enter_async_context(running(place)))
        for gateway in gateways:
            await gateway.ready("memo", "diary")
        first, second = gateways
        (pid,) = starts(journals[0])
        assert [await called(gateway, "memo__who") for gateway in gateways] == [str(pid)] * 2
        listing = set(starts(journals[1]))
        for number, gateway in enumerate((first, second, first)):
            own = [one for one in starts(journals[1]) if one not in listing]
            before = [handle_of(one) for one in own[-1:]]
            await say(gateway, f'call diary__note {{"words": "{number}"}}')
            wait_until_gone(*before)
        own = [one for one in starts(journals[1]) if one not in listing]
        assert len(own) == 3
        assert [line for line in lines_of(journals[1]) if line.startswith("note")] == ["note 0", "note 1", "note 2"]
