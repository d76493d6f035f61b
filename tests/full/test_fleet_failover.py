"""The database of a fleet goes over to its standby: gateways find it by themselves, and nothing that was acknowledged is lost."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from openclaw.content import UserMessage, text_of
from openclaw.conversation import Conversation
from openclaw.fleet.health import health_of
from openclaw.sessions.event import Said
from parts.fleet_chaos import cluster
from parts.gateways import Home, Running, home, running
from parts.postgres import PostgresServer, fleet_at

pytestmark = pytest.mark.full
KEY = "agent:main:shared"
TURNS = 12


@contextmanager
def place_at(folder: Path, url: str) -> Iterator[Home]:
    folder.mkdir()
    with home(folder, env={"TOKEN_KEY": "correct horse battery staple"}) as made:
        made.save(
            {"session": {"store": "postgres", "postgres": {"url": url}}},
            tokenStore={"key": "secret://env/TOKEN_KEY"},
            **made.script(*({"text": f"answer {number}"} for number in range(4 * TURNS))),
        )
        yield made


async def test_gateways_find_the_promoted_standby_by_themselves_and_no_acknowledged_turn_is_lost(
    tmp_path: Path,
) -> None:
    async with cluster() as database:
        with place_at(tmp_path / "one", database.url()) as one, place_at(tmp_path / "two", database.url()) as two:
            async with running(one) as first, running(two) as second:
                acknowledged: list[str] = []

                async def talk(gateway: Running, name: str) -> None:
                    for number in range(TURNS):
                        reply = await gateway.gateway.app.reply(f"{name} {number}", Conversation("main", KEY))
                        assert reply.reason == "done", reply.error
                        acknowledged.append(f"{name} {number}")

                talking = [asyncio.create_task(talk(first, "first")), asyncio.create_task(talk(second, "second"))]
                for _ in range(2):
                    await database.fail_over()
                await asyncio.gather(*talking)
                # Whoever had not yet met the new one does so now.
                await talk(first, "again")
                shown = await second.gateway.app.store.show(KEY)
    messages = [entry.event.message for entry in shown.entries if isinstance(entry.event, Said)]
    asked = [text_of(message.content) for message in messages if isinstance(message, UserMessage)]
    assert asked == acknowledged
    assert len(messages) == 2 * len(acknowledged)


async def test_a_standby_that_nobody_waits_for_is_a_concern_and_one_that_is_waited_for_is_none() -> None:
    with PostgresServer() as primary:
        fleet = fleet_at(await primary.new_database())
        with PostgresServer(copy_of=primary):
            while not await fleet.database.value("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"):
                await asyncio.sleep(0.05)
            before = await health_of(fleet)
            await primary.wait_for_standby()
            after = await health_of(fleet)
            await fleet.close()
    assert [concern.fix for concern in before.concerns] == ["Name one in synchronous_standby_names."]
    assert after.concerns == ()
