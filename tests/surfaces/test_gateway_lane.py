"""Plain tool calls at a running gateway: the short way gives what the long way gives."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from parts.gateways import Running, home, running, stdio_server
from parts.processes import HANG_GUARD


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Running]:
    with home(tmp_path, {"mcp": {"servers": {"part": stdio_server()}}}) as place:
        async with running(place) as one:
            yield one


class Caller:
    """A connection that is kept, and requests byte for byte as given."""

    def __init__(self, gateway: Running, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.gateway, self.reader, self.writer = gateway, reader, writer

    def ask(self, tool: str, *more: str, token: str = "", **arguments: Any) -> None:
        body = json.dumps({"tool": tool, "arguments": arguments}).encode()
        lines = [
            "POST /v1/tools/invoke HTTP/1.1",
            f"Host: 127.0.0.1:{self.gateway.gateway.port}",
            f"Authorization: Bearer {token or self.gateway.home.token}",
            f"Content-Length: {len(body)}",
            *more,
        ]
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + body)

    async def answer(self) -> tuple[int, dict[str, str], Any]:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        status, *fields = head.strip().split("\r\n")
        named = {name: value for name, value in (field.split(": ", 1) for field in fields) if name != "Date"}
        body = await self.reader.readexactly(int(named["Content-Length"]))
        return int(status.split()[1]), named, json.loads(body)


@asynccontextmanager
async def caller(gateway: Running) -> AsyncIterator[Caller]:
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.gateway.port)
    try:
        async with asyncio.timeout(HANG_GUARD):
            yield Caller(gateway, reader, writer)
    finally:
        writer.close()


def without_ids(answer: tuple[int, dict[str, str], Any]) -> tuple[int, dict[str, str], str]:
    """An answer whose frames have no ids: each is new."""
    status, fields, body = answer
    return status, fields, json.dumps(body).split('id=\\"')[0]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("part__echo", {"text": "hi"}), ("part__echo", {"text": 1}), ("part__nothing", {}), ("part__fail", {})],
)
async def test_the_short_way_answers_as_the_long_way_does(
    gateway: Running, tool: str, arguments: dict[str, Any]
) -> None:
    await gateway.post("/v1/tools/invoke", {"tool": "part__echo", "arguments": {"text": "the server is up"}})
    async with caller(gateway) as one:
        one.ask(tool, **arguments)
        short = await one.answer()
        # A field nobody knows makes it a request for aiohttp.
        one.ask(tool, "X-Other: 1", **arguments)
        assert without_ids(short) == without_ids(await one.answer())


async def test_a_wrong_token_is_refused_on_the_same_connection(gateway: Running) -> None:
    async with caller(gateway) as one:
        one.ask("part__echo", text="hi")
        assert (await one.answer())[0] == 200
        one.ask("part__echo", token="wrong", text="hi")
        status, fields, answer = await one.answer()
        assert (status, fields["WWW-Authenticate"], answer["error"]["code"]) == (
            401,
            'Bearer realm="openclaw"',
            "unauthorized",
        )


async def test_plain_calls_are_counted_with_the_others(gateway: Running) -> None:
    async with caller(gateway) as one:
        for _ in range(2):
            one.ask("part__echo", text="hi")
            await one.answer()
    _, metrics = await gateway.get("/metrics")
    assert 'openclaw_http_requests_total{route="/v1/tools/invoke",status="200"} 2' in metrics


async def test_a_gateway_that_stops_lets_a_plain_call_finish_and_closes_the_connection(gateway: Running) -> None:
    async with caller(gateway) as busy, caller(gateway) as idle:
        idle.ask("part__echo", text="hi")
        await idle.answer()
        busy.ask("part__slow", seconds=0.3)
        while not gateway.gateway.http.busy:
            await asyncio.sleep(0)
        gateway.stop.set()
        status, _, answer = await busy.answer()
        assert (status, answer["ok"]) == (200, True)
        assert (await busy.reader.read(), await idle.reader.read()) == (b"", b"")


async def test_a_token_that_is_no_longer_good_cuts_a_plain_call_off(tmp_path: Path) -> None:
    config = {"mcp": {"servers": {"part": stdio_server()}}}
    with home(tmp_path, {**config, "gateway": {"port": 0, "auth": {"token": "first-token-of-all"}}}) as place:
        async with running(place) as gateway, caller(gateway) as one:
            one.ask("part__hang", token="first-token-of-all")
            while not gateway.gateway.http.busy:
                await asyncio.sleep(0)
            place.save({**config, "gateway": {"port": 0, "auth": {"token": "second-token-of-all"}}})
            assert await one.reader.read() == b""
