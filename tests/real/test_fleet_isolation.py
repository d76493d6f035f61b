"""Servers that a conversation has for itself follow it from gateway to gateway: real gateways on a real PostgreSQL."""

import asyncio
import os
import select
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from parts.gateways import GatewayProcess, Home, gateway_process, home
from parts.placed_server import RELEASE, entry, lines_of, starts
from parts.postgres import PostgresServer, fleet_at
from parts.processes import HANG_GUARD
from parts.talking_model import TalkingModel

pytestmark = pytest.mark.real


@contextmanager
def place_at(folder: Path, url: str, model: TalkingModel, journal: Path) -> Iterator[Home]:
    folder.mkdir()
    with home(folder, env={"DATABASE": url, "TOKEN_KEY": "correct horse battery staple"}) as made:
        memo = entry(journal, isolation="session", approval="allow")
        made.save(
            {
                "session": {"store": "postgres", "postgres": {"url": "${DATABASE}"}},
                "tokenStore": {"key": "secret://env/TOKEN_KEY"},
                "mcp": {"servers": {"memo": memo}},
                **model.config,
            }
        )
        yield made


class Fleet:
    def __init__(self, gateways: list[GatewayProcess], http: aiohttp.ClientSession, journal: Path) -> None:
        self.gateways = gateways
        self.journal = journal
        # Those that list the tools, one at each gateway.
        self._listing = set(starts(journal))
        self._http = http

    async def say(self, gateway: GatewayProcess, text: str, session: str = "walker") -> str:
        async with self._http.post(
            f"http://127.0.0.1:{gateway.port}/v1/responses",
            json={"model": "openclaw/main", "input": text},
            headers={"Authorization": f"Bearer {gateway.home.token}", "x-openclaw-session-key": session},
        ) as response:
            told = await response.json()
            assert response.status == 200, told
            return str(told["output"][-1]["content"][0]["text"])

    def own(self) -> list[int]:
        """The processes that conversations had for themselves, in the order in which they began."""
        return [pid for pid in starts(self.journal) if pid not in self._listing]


@asynccontextmanager
async def fleet_of_two(postgres: PostgresServer, folder: Path) -> AsyncIterator[Fleet]:
    url, journal = await postgres.new_database(), folder / "journal"
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(TalkingModel())
        places = [stack.enter_context(place_at(folder / name, url, model, journal)) for name in ("one", "two")]
        gateways = [stack.enter_context(gateway_process(place)) for place in places]
        for gateway in gateways:
            await asyncio.to_thread(gateway.wait_until, "'memo' is ready")
        yield Fleet(gateways, await stack.enter_async_context(aiohttp.ClientSession()), journal)


def is_running(pid: int) -> bool:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        return not select.select([handle], [], [], 0)[0]
    finally:
        os.close(handle)


async def test_a_server_of_a_conversation_ends_where_it_was_and_begins_where_the_next_turn_is(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async with fleet_of_two(postgres, tmp_path) as fleet:
        one, two = fleet.gateways
        for number, gateway in enumerate((one, one, two, one, two)):
            await fleet.say(gateway, f'call memo__note {{"words": "{number}"}}')
            # Whoever runs it now is the only one: the one before had ended when this one began.
            *before, now = fleet.own()
            assert is_running(now)
            assert not any(is_running(pid) for pid in before)
        # Two turns at one gateway use one process, and each move begins another.
        assert len(fleet.own()) == 4
        assert [line for line in lines_of(fleet.journal) if line.startswith("note")] == [
            f"note {number}" for number in range(5)
        ]
        # Another conversation has its own, wherever it is.
        await fleet.say(one, 'call memo__note {"words": "other"}', "sitter")
        assert [is_running(pid) for pid in fleet.own()[-2:]] == [True, True]
        told = await asyncio.to_thread(one.home.run, "fleet")
        assert [line.split()[-2:] for line in told.stdout.splitlines()[1:]] == [["1", "conversation"]] * 2, told.stdout


async def test_when_its_gateway_is_killed_the_conversation_has_its_server_at_another_one(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async with fleet_of_two(postgres, tmp_path) as fleet:
        one, two = fleet.gateways
        await fleet.say(one, 'call memo__note {"words": "before"}')
        await asyncio.to_thread(one.end, signal.SIGKILL)
        await fleet.say(two, 'call memo__note {"words": "after"}')
        assert lines_of(fleet.journal)[-1] == "note after"
        first, second = fleet.own()
        assert (is_running(first), is_running(second)) == (False, True)


async def test_a_call_that_is_under_way_is_not_cut_off_when_the_conversation_is_wanted_elsewhere(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """A call outside of turns, which nothing keeps from running beside one."""
    async with fleet_of_two(postgres, tmp_path) as fleet:
        one, two = fleet.gateways

        async def invoke(words: str) -> dict[str, Any]:
            async with aiohttp.ClientSession() as http:
                async with http.post(
                    f"http://127.0.0.1:{one.port}/v1/tools/invoke",
                    json={"tool": "memo__wait", "arguments": {"words": words}, "sessionKey": "walker", "framed": False},
                    headers={"Authorization": f"Bearer {one.home.token}"},
                ) as response:
                    told: dict[str, Any] = await response.json()
                    return told

        under_way = asyncio.create_task(invoke("first"))
        async with asyncio.timeout(HANG_GUARD):
            while "wait first" not in lines_of(fleet.journal):
                await asyncio.sleep(0.01)
        turn = asyncio.create_task(fleet.say(two, 'call memo__note {"words": "second"}'))
        # It waits for the lease that the other gateway does not give while the call runs.
        url = one.home.env["DATABASE"]
        watcher = fleet_at(url, name="watcher")
        try:
            async with asyncio.timeout(HANG_GUARD):
                while not await watcher.database.value(
                    "SELECT count(*) FROM openclaw.session WHERE holder IS NOT NULL"
                ):
                    await asyncio.sleep(0.01)
        finally:
            await watcher.close()
        assert not under_way.done()
        (fleet.journal.parent / RELEASE).touch()
        told = await under_way
        assert (told["isError"], told["content"][0]["text"]) == (False, "waited first")
        await turn
        assert lines_of(fleet.journal)[-1] == "note second"
