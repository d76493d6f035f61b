"""Tool calls over a connection that is kept, byte for byte: what programs do that call a tool again and again."""

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


async def test_requests_that_come_at_once_are_answered_in_their_order(gateway: Running) -> None:
    async with caller(gateway) as one:
        one.ask("part__slow", seconds=0.1)
        one.ask("part__nothing")
        one.ask("part__echo", text="last")
        answers = [await one.answer() for _ in range(3)]
    assert [status for status, _, _ in answers] == [200, 404, 200]
    assert "last" in str(answers[2][2])


async def test_every_answer_says_that_it_is_not_to_be_kept(gateway: Running) -> None:
    async with caller(gateway) as one:
        for tool in ("part__echo", "part__nothing"):
            one.ask(tool, text="hi")
            _, fields, _ = await one.answer()
            fields.pop("Content-Length")
            assert fields == {
                "Content-Type": "application/json",
                "Server": "openclaw",
                "Cache-Control": "no-store",
                "X-Content-Type-Options": "nosniff",
            }


@pytest.mark.parametrize(
    "more",
    [
        "Content-Length: 2",
        "Transfer-Encoding: chunked",
        "Host: evil.example",
        "Authorization: Bearer other",
        "Accept : a",
        "Accept: a\x00b",
        "Accept: a\rb",
        "no field",
    ],
)
async def test_a_request_that_could_be_read_in_two_ways_is_refused(gateway: Running, more: str) -> None:
    async with caller(gateway) as one:
        one.ask("part__echo", more, text="hi")
        head = (await one.reader.readuntil(b"\r\n\r\n")).decode()
    assert head.split()[1] in ("400", "401", "403")


async def test_a_caller_who_leaves_ends_the_call(gateway: Running) -> None:
    async with caller(gateway) as one:
        one.ask("part__hang")
        while not gateway.gateway.http.busy:
            await asyncio.sleep(0)
    async with asyncio.timeout(HANG_GUARD):
        while gateway.gateway.http.busy:
            await asyncio.sleep(0)


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


async def test_calls_are_counted(gateway: Running) -> None:
    async with caller(gateway) as one:
        for _ in range(2):
            one.ask("part__echo", text="hi")
            await one.answer()
    _, metrics = await gateway.get("/metrics")
    assert 'openclaw_http_requests_total{route="/v1/tools/invoke",status="200"} 2' in metrics


async def test_a_gateway_that_stops_lets_a_call_finish_and_closes_the_connection(gateway: Running) -> None:
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


async def test_a_token_that_is_no_longer_good_cuts_a_call_off(tmp_path: Path) -> None:
    config = {"mcp": {"servers": {"part": stdio_server()}}}
    with home(tmp_path, {**config, "gateway": {"port": 0, "auth": {"token": "first-token-of-all"}}}) as place:
        async with running(place) as gateway, caller(gateway) as one:
            one.ask("part__hang", token="first-token-of-all")
            while not gateway.gateway.http.busy:
                await asyncio.sleep(0)
            place.save({**config, "gateway": {"port": 0, "auth": {"token": "second-token-of-all"}}})
            assert await one.reader.read() == b""
