"""Which requests go the short way, and what becomes of a connection that brings others."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.gateway.lane import Lane, Plain, read_plain
from parts.loops import both_loops
from parts.processes import HANG_GUARD

HEAD = b"POST /v1/tools/invoke HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer t\r\n"


def plain(body: bytes = b"{}", more: bytes = b"") -> bytes:
    return HEAD + more + b"Content-Length: %d\r\n\r\n" % len(body) + body


@pytest.mark.parametrize(
    "more",
    [b"", b"Accept: */*\r\nUser-Agent: x/1\r\n", b"connection: Keep-Alive\r\n", b"Content-Type:application/json \r\n"],
)
def test_a_plain_request_is_read(more: bytes) -> None:
    assert read_plain(plain(b'{"tool": "x"}', more)) == Plain("localhost", "Bearer t", b'{"tool": "x"}')


@pytest.mark.parametrize(
    "data",
    [
        b"",
        plain()[:-1],
        plain() + b" ",
        plain()[:40],
        plain().replace(b"POST", b"GET"),
        plain().replace(b"invoke", b"invoke?x=1"),
        plain().replace(b"HTTP/1.1", b"HTTP/1.0"),
        plain().replace(b"\r\n", b"\n"),
        plain(more=b"Transfer-Encoding: chunked\r\n"),
        plain(more=b"Expect: 100-continue\r\n"),
        plain(more=b"Upgrade: websocket\r\n"),
        plain(more=b"Connection: close\r\n"),
        plain(more=b"Content-Encoding: gzip\r\n"),
        plain(more=b"Origin: https://app.example\r\n"),
        plain(more=b"Host: evil.example\r\n"),
        plain(more=b"Authorization: Bearer u\r\n"),
        plain(more=b"Content-Length: 2\r\n"),
        plain(more=b"Accept: a\r\n b\r\n"),
        plain(more=b"Accept : a\r\n"),
        plain(more=b"Accept: a\x00b\r\n"),
        plain(more=b"Accept: a\rb\r\n"),
        plain(more="Accept: ü\r\n".encode()),
        plain(more=b"no field\r\n"),
        plain(more=b"X-Other: 1\r\n"),
        plain().replace(b"Length: 2", b"Length: +2"),
        plain().replace(b"Length: 2", b"Length: 2_0"),
        plain().replace(b"Length: 2", b"Length: 0000000002"),
        plain().replace(b"Length: 2", "Length: ２".encode()),
        plain().replace(b"Host: localhost\r\n", b""),
        plain().replace(b"Authorization: Bearer t\r\n", b""),
    ],
)
def test_anything_else_is_not_plain(data: bytes) -> None:
    assert read_plain(data) is None


@given(st.binary(max_size=60), st.integers(0, 120), st.integers(0, 20))
@settings(max_examples=200, deadline=None)
def test_whatever_is_put_into_a_request_its_body_is_what_its_length_says(junk: bytes, at: int, gone: int) -> None:
    whole = plain()
    data = whole[:at] + junk + whole[at + gone :]
    read = read_plain(data)
    # Blanks and tabs around a value are no part of it.
    assert read is None or re.search(rb"(?i)\r\ncontent-length:[ \t]*%d[ \t]*\r\n" % len(read.body), data)


class House:
    """Answers with the body it was given, once it may."""

    def __init__(self) -> None:
        self.lanes: set[Lane] = set()
        self.asked: list[bytes] = []
        self.first_asked = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.may = asyncio.Event()
        self.may.set()
        self.is_open = True
        self.more = b""

    def welcomes(self, request: Plain, arrived_at: str) -> str:
        return "t" if self.is_open and arrived_at == "127.0.0.1" else ""

    async def answer(self, token: str, body: bytes) -> tuple[int, bytes]:
        self.asked.append(body)
        self.first_asked.set()
        try:
            await self.may.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return (404, b"none") if body == b"no" else (200, body + self.more)

    def opened(self, lane: Lane) -> None:
        self.lanes.add(lane)

    def closed(self, lane: Lane) -> None:
        self.lanes.discard(lane)


class Other(asyncio.Protocol):
    """Takes over what is not plain: says what it got, and closes."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(b"other: " + data)  # type: ignore[attr-defined]
        self.transport.close()


@asynccontextmanager
async def connected(
    house: House, patience: float = HANG_GUARD
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    server = await asyncio.get_running_loop().create_server(lambda: Lane(house, Other, patience), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        async with asyncio.timeout(HANG_GUARD):
            yield reader, writer
    finally:
        writer.close()
        server.close()
        async with asyncio.timeout(HANG_GUARD):
            while house.lanes:
                await asyncio.sleep(0.001)


async def answered(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The status line and the body of one answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
    assert (fields[b"Content-Type"], fields[b"Cache-Control"]) == (b"application/json", b"no-store")
    return head.split(b"\r\n")[0], await reader.readexactly(int(fields[b"Content-Length"]))


@both_loops
async def test_requests_on_one_connection_are_answered_one_after_the_other() -> None:
    house = House()
    async with connected(house) as (reader, writer):
        for body in (b"1", b"no"):
            writer.write(plain(body))
            expected = (b"HTTP/1.1 404 Not Found", b"none") if body == b"no" else (b"HTTP/1.1 200 OK", body)
            assert await answered(reader) == expected


@both_loops
async def test_what_comes_during_an_answer_waits_for_it() -> None:
    house = House()
    house.may.clear()
    async with connected(house) as (reader, writer):
        writer.write(plain(b"1"))
        await house.first_asked.wait()
        writer.write(plain(b"2"))
        for _ in range(20):
            await asyncio.sleep(0)
        assert house.asked == [b"1"]
        house.may.set()
        assert [await answered(reader), await answered(reader)] == [
            (b"HTTP/1.1 200 OK", b"1"),
            (b"HTTP/1.1 200 OK", b"2"),
        ]


@both_loops
async def test_a_connection_that_brings_something_else_is_handed_over_with_it() -> None:
    house = House()
    async with connected(house) as (reader, writer):
        writer.write(plain(b"1"))
        await answered(reader)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert await reader.read() == b"other: GET / HTTP/1.1\r\n\r\n"
        assert not house.lanes


@both_loops
async def test_an_unwelcome_request_is_handed_over() -> None:
    house = House()
    house.is_open = False
    async with connected(house) as (reader, writer):
        writer.write(plain(b"1"))
        assert await reader.read() == b"other: " + plain(b"1")
    assert house.asked == []


@both_loops
async def test_a_caller_who_leaves_ends_the_call() -> None:
    house = House()
    house.may.clear()
    async with connected(house) as (_, writer):
        writer.write(plain(b"1"))
        await house.first_asked.wait()
        writer.close()
        await house.cancelled.wait()


@both_loops
async def test_who_does_not_take_an_answer_is_given_no_other() -> None:
    house = House()
    # More than the sockets between us hold.
    house.more = b"x" * (16 << 20)
    async with connected(house) as (reader, writer):
        writer.write(plain(b"1"))
        await reader.readexactly(1)
        writer.write(plain(b"2"))
        for _ in range(50):
            await asyncio.sleep(0.001)
        assert house.asked == [b"1"]
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(1 + len(house.more)) == b"1" + house.more
        assert (await answered(reader))[1] == b"2" + house.more


@both_loops
async def test_a_connection_on_which_nothing_happens_is_closed() -> None:
    house = House()
    async with connected(house, patience=0.05) as (reader, writer):
        writer.write(plain(b"1"))
        await answered(reader)
        assert await reader.read() == b""


def test_the_token_of_a_request_is_not_shown_with_it() -> None:
    assert "horse" not in repr(Plain("localhost", "Bearer correct-horse", b""))
