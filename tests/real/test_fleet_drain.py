"""One of two gateways on a PostgreSQL is drained while clients talk to both: nobody is failed, and nothing is said twice."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from parts.gateways import GatewayProcess, Home, gateway_process, home
from parts.model_servers import Answer, Reply
from parts.postgres import PostgresServer, fleet_at
from parts.processes import HANG_GUARD
from parts.talking_model import TalkingModel, asked_last

pytestmark = pytest.mark.real

# Who talks, and how often each has said something before one gateway is drained, and after it has gone.
CLIENTS = 6
TURNS = 3


class PatientModel(TalkingModel):
    """It repeats what it hears; about `wait` it thinks until `go_on` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = asyncio.Event()
        self.thinks = asyncio.Event()

    def reply_to(self, asked: dict[str, Any]) -> Reply:
        if asked_last(asked) != "wait":
            return super().reply_to(asked)
        self.thinks.set()
        return Answer(["Well,", self.go_on, " yes."])


@contextmanager
def place_at(folder: Path, url: str, model: TalkingModel) -> Iterator[Home]:
    folder.mkdir()
    with home(folder, env={"DATABASE": url, "TOKEN_KEY": "correct horse battery staple"}) as made:
        database = {"session": {"store": "postgres", "postgres": {"url": "${DATABASE}"}}}
        made.save({**database, "tokenStore": {"key": "secret://env/TOKEN_KEY"}, **model.config})
        yield made


class Client:
    """Says something to whichever gateway is ready, as behind a balancer: one that is not, or does not take it, is passed by."""

    def __init__(self, name: str, gateways: list[GatewayProcess], http: aiohttp.ClientSession) -> None:
        self.name = name
        self._gateways = gateways
        self._http = http
        self.said = 0

    async def say(self, text: str) -> str:
        """The answer. Fails when a gateway that took it does not give one."""
        async with asyncio.timeout(HANG_GUARD):
            while True:
                for gateway in self._gateways:
                    if (answer := await self._tried(gateway, text)) is not None:
                        self.said += 1
                        return answer
                await asyncio.sleep(0)

    async def _tried(self, gateway: GatewayProcess, text: str) -> str | None:
        url = f"http://127.0.0.1:{gateway.port}"
        headers = {"Authorization": f"Bearer {gateway.home.token}", "x-openclaw-session-key": self.name}
        try:
            async with self._http.get(url + "/ready") as ready:
                if ready.status != 200:
                    return None
        except aiohttp.ClientConnectorError:
            return None
        body = {"model": "openclaw/main", "input": text}
        async with self._http.post(url + "/v1/responses", json=body, headers=headers) as response:
            told = await response.json()
            if response.status == 503 and told["error"]["code"] == "draining":
                return None
            assert response.status == 200, told
            return str(told["output"][0]["content"][0]["text"])


async def test_a_gateway_is_drained_in_the_middle_of_turns_and_no_call_fails(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = await postgres.new_database()
    async with PatientModel() as model, aiohttp.ClientSession() as http:
        with place_at(tmp_path / "one", url, model) as first, place_at(tmp_path / "two", url, model) as second:
            with gateway_process(first) as one, gateway_process(second) as two:
                held = Client("held", [one], http)
                waiting = asyncio.create_task(held.say("wait"))
                await model.thinks.wait()
                clients = [
                    Client(f"client-{number}", [one, two] if number % 2 else [two, one], http)
                    for number in range(CLIENTS)
                ]
                gone = asyncio.Event()

                async def talk(client: Client) -> None:
                    while not gone.is_set() or client.said < TURNS:
                        words = f"{client.name} {client.said}"
                        assert await client.say(words) == f"You said: {words}"
                    last = client.said
                    while client.said < last + TURNS:
                        words = f"{client.name} {client.said}"
                        assert await client.say(words) == f"You said: {words}"

                talking = [asyncio.create_task(talk(client)) for client in clients]
                while min(client.said for client in clients) < TURNS:
                    await asyncio.sleep(0)
                stopping = asyncio.create_task(
                    asyncio.to_thread(first.run, "gateway", "stop", "--drain", "--grace", "0.5")
                )
                await asyncio.to_thread(one.wait_until, "The gateway drains")
                # Nobody else finishes it: it is in the middle of that turn.
                assert not waiting.done()
                model.go_on.set()
                assert await waiting == "Well, yes."
                stopped = await stopping
                assert stopped.returncode == 0, stopped.stderr
                assert await asyncio.to_thread(one.process.wait, HANG_GUARD) == 0
                gone.set()
                await asyncio.gather(*talking)

            fleet = fleet_at(url)
            try:
                kept = {info.key: info.messages for info in await fleet.sessions.list()}
            finally:
                await fleet.close()
    assert kept == {f"agent:main:{client.name}": 2 * client.said for client in (held, *clients)}
