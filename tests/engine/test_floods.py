"""A server that sends without end, or in slivers, takes no more than its share: everybody else has a turn in between."""

import asyncio
import sys
import tracemalloc
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from openclaw.net.client import ClientOptions
from openclaw.net.http1 import ResponseParser
from openclaw.protocol.framing import LineFramer
from openclaw.protocol.jsonrpc import Malformed, decode
from openclaw.protocol.sse import SseParser
from openclaw.security.egress import OPERATOR
from openclaw.transport.base import LARGE, Transport
from openclaw.transport.connection import Connection
from openclaw.transport.endpoint import Destination
from openclaw.transport.http import HttpTransport
from openclaw.transport.legacy_sse import LegacySseTransport
from openclaw.transport.stdio import StdioTransport
from parts.chaos_proxy import ACCEPT_ROUNDS

MESSAGES = 60_000
# What is handed over in a few milliseconds; one read of the smallest messages without a pause brings twice as many and more.
IN_ONE_TURN = 10_000
SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
MIB = 1 << 20
# Of a message in slivers: enough to see what each of them costs.
AMOUNT = 32 * 1024


class Turns:
    """Counts the turns of the event loop, and what happens in each."""

    def __init__(self) -> None:
        self.in_turn: Counter[int] = Counter()
        self.done = asyncio.Event()
        self._turn = 0
        self._loop = asyncio.get_running_loop()
        self._next()

    def _next(self) -> None:
        self._turn += 1
        self._handle = self._loop.call_soon(self._next)

    def note(self, *_: Any) -> None:
        self.in_turn[self._turn] += 1
        if self.in_turn.total() >= MESSAGES:
            self.done.set()
            self._handle.cancel()


@asynccontextmanager
async def raw_server(answer: Callable[[bytes], bytes]) -> AsyncIterator[int]:
    """A server that writes these bytes when a request has come, and then says nothing more; its port."""
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        writer.write(answer(await reader.readuntil(b"\r\n\r\n")))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        # Connections that were taken but not yet handed over come in the next rounds of the loop.
        for _ in range(ACCEPT_ROUNDS):
            await asyncio.sleep(0)
        for writer in writers:
            writer.transport.abort()
        await server.wait_closed()


async def worst_turn(transport: Transport, begin: Callable[[Connection], Any]) -> int:
    turns = Turns()
    async with Connection(transport, on_notification=turns.note, report=turns.note) as connection:
        task = asyncio.ensure_future(begin(connection))
        await turns.done.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return max(turns.in_turn.values())


async def nothing(connection: Connection) -> None:
    return None


@pytest.mark.parametrize("line", ["{}", '{"method":"n"}'])
async def test_a_flood_on_standard_output_is_read_in_turn_with_others(line: str) -> None:
    program = (
        f"import sys; sys.stdout.write(({line!r} + chr(10)) * {MESSAGES}); sys.stdout.flush(); sys.stdin.readline()"
    )
    transport = StdioTransport([sys.executable, "-S", "-c", program], env={})
    assert await worst_turn(transport, nothing) < IN_ONE_TURN


async def test_a_flood_of_events_in_an_answer_is_read_in_turn_with_others() -> None:
    async with raw_server(lambda _: SSE + b"data: {}\n\n" * MESSAGES) as port:
        transport = HttpTransport(Destination(f"http://127.0.0.1:{port}/", ClientOptions(rules=OPERATOR)))
        assert await worst_turn(transport, lambda connection: connection.request("ping", timeout=60)) < IN_ONE_TURN


async def test_a_flood_of_events_on_the_old_stream_is_read_in_turn_with_others() -> None:
    endpoint = b"event: endpoint\ndata: /messages\n\n"
    async with raw_server(lambda _: SSE + endpoint + b'data: {"method":"n"}\n\n' * MESSAGES) as port:
        transport = LegacySseTransport(Destination(f"http://127.0.0.1:{port}/", ClientOptions(rules=OPERATOR)))
        assert await worst_turn(transport, nothing) < IN_ONE_TURN


async def test_between_reading_a_large_answer_and_using_it_others_have_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """To read it and to use it take tens of milliseconds each: whoever got ready in the meantime comes first."""
    loop, turn, read_in = asyncio.get_running_loop(), 0, 0
    handle: asyncio.Handle
    received = Connection.received

    def count() -> None:
        nonlocal turn, handle
        turn += 1
        handle = loop.call_soon(count)

    def noted(connection: Connection, data: bytes, origin: int | None) -> None:
        nonlocal read_in
        received(connection, data, origin)
        read_in = turn

    monkeypatch.setattr(Connection, "received", noted)
    body = b'{"jsonrpc":"2.0","id":1,"result":{"text":"' + b"x" * LARGE + b'"}}'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with raw_server(lambda _: head + body) as port:
        transport = HttpTransport(Destination(f"http://127.0.0.1:{port}/", ClientOptions(rules=OPERATOR)))
        async with Connection(transport) as connection:
            handle = loop.call_soon(count)
            await connection.request("ping", timeout=60)
            handle.cancel()
    # Without a pause whoever waits for it goes on in the very next turn.
    assert turn - read_in > 1


def test_a_batch_of_very_many_messages_is_refused_whole() -> None:
    for batch in (b"[" + b"{}," * 2_000 + b"{}]", b"[" + b"1," * MIB + b"1]"):
        (message,) = decode(batch)
        assert isinstance(message, Malformed)
        assert "more than" in message.reason


def peak_of(feed: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        feed()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def slivers(whole: bytes) -> Iterator[bytes]:
    """One after the other, each an object of its own as those from a socket are."""
    return (whole[start : start + 2] for start in range(0, len(whole), 2))


@pytest.mark.parametrize("kind", ["line", "event", "data-lines"])
def test_a_message_in_slivers_costs_memory_for_its_bytes_alone(kind: str) -> None:
    def feed() -> None:
        if kind == "line":
            framer = LineFramer(64 * MIB)
            for sliver in slivers(b"x" * AMOUNT):
                framer.feed(sliver)
            assert framer.feed(b"\n") == [b"x" * AMOUNT]
            return
        parser = SseParser()
        parser.feed(b"data: ")
        for sliver in slivers(b"x" * AMOUNT) if kind == "event" else [b"x\ndata: "] * (AMOUNT // 2):
            parser.feed(sliver)
        (event,) = parser.feed(b"\n\n")
        assert len(event.data) == AMOUNT

    assert peak_of(feed) < 12 * AMOUNT


def test_a_body_in_slivers_is_given_in_as_many_pieces_as_it_came_in() -> None:
    parser = ResponseParser("GET")
    parser.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(4):
        parser.feed(b"2\r\nxx\r\n" * 10_000)
    parser.feed(b"0\r\n\r\n")
    assert (parser.finished, [len(piece) for piece in parser.pieces]) == (True, [20_000] * 4)
