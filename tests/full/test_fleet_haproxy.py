"""Two gateways behind a real HAProxy that asks `/ready`: one is killed and one is drained in traffic, and callers go on with the other."""

import asyncio
import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest

from parts.gateways import GatewayProcess, Home, gateway_process, home
from parts.haproxy import haproxy
from parts.postgres import PostgresServer, free_port
from parts.processes import HANG_GUARD
from parts.talking_model import TalkingModel

pytestmark = pytest.mark.full
TOKEN = "the-same-token-at-every-gateway"
CALLERS = 6
# Answers that are waited for between two events, so that every caller has had some from whoever is left.
SOME = 3 * CALLERS


@contextmanager
def place_at(folder: Path, url: str, model: TalkingModel, port: int) -> Iterator[Home]:
    folder.mkdir()
    with home(folder, env={"TOKEN_KEY": "correct horse battery staple"}) as made:
        made.save(
            {
                "gateway": {"port": port, "auth": {"token": TOKEN}},
                "session": {"store": "postgres", "postgres": {"url": url}},
                "tokenStore": {"key": "secret://env/TOKEN_KEY"},
                **model.config,
            }
        )
        yield made


class Traffic:
    """Callers that ask one thing after another, each in a conversation of its own. Nobody asks for the same thing twice."""

    def __init__(self, url: str, client: aiohttp.ClientSession) -> None:
        self._url = url
        self._client = client
        self.answered = 0
        # When a request that failed had begun, and what was said.
        self.failed: list[tuple[float, str]] = []
        self._changed = asyncio.Event()

    async def call(self, number: int) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}", "x-openclaw-session-key": f"caller-{number}"}
        body = {"model": "openclaw/main", "input": "long 8"}
        while True:
            began = time.monotonic()
            try:
                async with self._client.post(f"{self._url}/v1/responses", json=body, headers=headers) as answer:
                    said = await answer.text()
                    if answer.status == 200 and json.loads(said)["status"] == "completed":
                        self.answered += 1
                    else:
                        self.failed.append((began, said))
            except aiohttp.ClientError as error:
                self.failed.append((began, repr(error)))
            self._changed.set()

    async def more(self, count: int) -> None:
        wanted = self.answered + count
        async with asyncio.timeout(HANG_GUARD):
            while self.answered < wanted:
                self._changed.clear()
                await self._changed.wait()


async def test_a_killed_gateway_costs_its_own_turns_alone_and_a_drained_one_costs_nothing(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = await postgres.new_database()
    ports = {"one": free_port(), "two": free_port()}
    async with TalkingModel(0.02) as model, aiohttp.ClientSession() as client:
        with (
            place_at(tmp_path / "one", url, model, ports["one"]) as first,
            place_at(tmp_path / "two", url, model, ports["two"]) as second,
            gateway_process(first) as one,
            gateway_process(second),
            haproxy(ports) as balancer,
        ):
            traffic = Traffic(balancer, client)
            callers = [asyncio.create_task(traffic.call(number)) for number in range(CALLERS)]
            try:
                await traffic.more(SOME)
                assert traffic.failed == []

                await asyncio.to_thread(one.end, signal.SIGKILL)
                killed = time.monotonic()
                await traffic.more(SOME)
                assert len(traffic.failed) <= CALLERS
                assert [said for began, said in traffic.failed if began > killed] == []
                cut = len(traffic.failed)

                again = await asyncio.to_thread(_started, first)
                await traffic.more(SOME)
                await asyncio.to_thread(second.run, "gateway", "stop", "--drain")
                await traffic.more(SOME)
                assert traffic.failed[cut:] == []
            finally:
                for caller in callers:
                    caller.cancel()
                await asyncio.gather(*callers, return_exceptions=True)
            again.end()


def _started(place: Home) -> GatewayProcess:
    process = GatewayProcess(place)
    process.wait_until("The gateway is up: ")
    return process
