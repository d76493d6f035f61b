"""How requests of one iteration of the event loop reach a server's standard input: in order, in few writes, each with its own end."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextvars import Context
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.errors import LinkLostError, TransportError
from openclaw.process.pipes import HIGH_WATER, PipeReader, PipeWriter
from openclaw.transport.base import Outgoing
from openclaw.transport.stdio import GATHER_BYTES, GATHER_REQUESTS, StdioLink
from parts.loops import both_loops

pytestmark = pytest.mark.posix_only("pipes that do not block")

LONG = 60.0


class Ends:
    """A receiver that keeps how requests ended."""

    def __init__(self) -> None:
        self.failures: dict[int, bool] = {}
        self.ends: list[TransportError | None] = []
        self.lines: list[bytes] = []

    def received(self, data: bytes, origin: int | None) -> None:
        self.lines.append(data)

    def awaits(self, request_id: int) -> bool:
        return True

    def failed(self, request_id: int, error: Exception) -> None:
        assert isinstance(error, LinkLostError)
        self.failures[request_id] = error.maybe_sent

    def closed(self, error: TransportError | None) -> None:
        self.ends.append(error)


class Server:
    """The other end of a link's standard input: nothing reads it but the test."""

    def __init__(self) -> None:
        self.input, ours = os.pipe()
        os.set_blocking(self.input, False)
        self.ends = Ends()
        self.link = StdioLink(0, PipeWriter(ours), self.ends, 1 << 20, self._report)

    def _report(self, reason: str) -> None:
        raise AssertionError(reason)

    def request(self, id: int, size: int = 0) -> bytes:
        data = b"%d " % id + b"x" * size
        assert self.link.post(Outgoing(data, "tools/call", id))
        return data + b"\n"

    def read(self) -> bytes:
        data = b""
        try:
            while piece := os.read(self.input, 1 << 20):
                data += piece
        except BlockingIOError:
            pass
        return data

    def stop_reading(self) -> None:
        os.close(self.input)
        self.input = -1

    def close(self) -> None:
        self.link.close()
        if self.input >= 0:
            os.close(self.input)


def turns_asked_for(link: StdioLink) -> list[object]:
    """Grows by one whenever the link asks the running loop for another turn."""
    loop, asked = asyncio.get_running_loop(), list[object]()
    call_soon = loop.call_soon

    def noted(callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:
        if getattr(callback, "__self__", None) is link:
            asked.append(callback)
        return call_soon(callback, *args, context=context)

    # Its own type says how many arguments the callback takes, which does not matter here.
    loop.call_soon = noted  # type: ignore[method-assign, assignment]
    return asked


async def until_asleep(asked: list[object]) -> None:
    """Until a turn has passed in which nobody asked for the next one."""
    async with asyncio.timeout(LONG):
        before = -1
        while before != len(asked):
            before = len(asked)
            await asyncio.sleep(0)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    yield made
    made.close()


@both_loops
async def test_the_first_request_of_a_turn_is_written_at_once_and_the_others_when_it_ends() -> None:
    server = Server()
    server.request(1)
    server.request(2)
    server.request(3)
    assert server.read() == b"1 \n"
    await asyncio.sleep(0)
    assert server.read() == b"2 \n3 \n"
    server.request(4)
    assert server.read() == b"4 \n"
    server.close()


async def test_a_full_load_goes_out_before_the_turn_ends(server: Server) -> None:
    sent = [server.request(number) for number in range(GATHER_REQUESTS + 2)]
    assert server.read() == b"".join(sent[:-1])
    await asyncio.sleep(0)
    assert server.read() == sent[-1]


async def test_a_long_request_takes_those_before_it_along_at_once(server: Server) -> None:
    sent = [server.request(1), server.request(2), server.request(3, GATHER_BYTES)]
    assert server.read() == b"".join(sent)


async def test_a_notice_does_not_overtake_requests(server: Server) -> None:
    sent = [server.request(1), server.request(2)]
    await server.link.send(Outgoing(b"notice"))
    assert server.read() == b"".join(sent) + b"notice\n"


async def test_a_pipe_that_takes_only_a_part_gets_the_rest_in_order(server: Server) -> None:
    # Five times what a pipe holds.
    sent = b"".join(server.request(number, 9_000) for number in range(36))
    read = b""
    async with asyncio.timeout(LONG):
        while len(read) < len(sent):
            await asyncio.sleep(0)
            read += server.read()
    assert read == sent


async def test_a_server_that_reads_nothing_makes_callers_wait(server: Server) -> None:
    number = 0
    while server.link.post(Outgoing(b"x" * 10_000, "tools/call", number)):
        number += 1
    assert number * 10_000 > HIGH_WATER
    waiting = asyncio.ensure_future(server.link.send(Outgoing(b"last")))
    read = b""
    async with asyncio.timeout(LONG):
        while not read.endswith(b"last\n"):
            await asyncio.sleep(0)
            read += server.read()
    await waiting
    assert read == (b"x" * 10_000 + b"\n") * number + b"last\n"


async def test_what_is_held_when_we_leave_still_reaches_the_server(server: Server) -> None:
    sent = [server.request(1), server.request(2), server.request(3)]
    server.link.close()
    assert server.read() == b"".join(sent)
    await asyncio.sleep(0)
    assert (server.ends.failures, server.ends.ends) == ({}, [None])


async def test_a_write_that_fails_fails_the_requests_in_it_and_no_others(server: Server) -> None:
    server.request(1)
    assert server.read() == b"1 \n"
    server.request(2)
    server.request(3)
    server.stop_reading()
    await asyncio.sleep(0)
    assert (server.ends.failures, server.ends.ends) == ({2: False, 3: False}, [])
    with pytest.raises(LinkLostError) as caught:
        server.request(4)
    assert not caught.value.maybe_sent
    async with asyncio.timeout(LONG):
        while not server.ends.ends:
            await asyncio.sleep(0.01)
    assert server.ends.failures == {2: False, 3: False}


async def test_requests_held_when_the_server_dies_were_surely_not_processed(server: Server) -> None:
    server.request(1)
    assert server.read() == b"1 \n"
    server.request(2)
    server.request(3)
    gone = LinkLostError("The server exited with code 1.")
    server.link.lost(gone)
    await asyncio.sleep(0)
    assert (server.ends.failures, server.ends.ends, server.read()) == ({2: False, 3: False}, [gone], b"")


@given(st.lists(st.sampled_from(["post", "long", "send", "turn"]), max_size=60))
@settings(max_examples=50, deadline=None)
def test_everything_arrives_once_and_in_order(acts: list[str]) -> None:
    async def play() -> None:
        server = Server()
        sent = b""
        for number, act in enumerate(acts):
            if act == "turn":
                await asyncio.sleep(0)
            elif act == "send":
                await server.link.send(Outgoing(b"notice %d" % number))
                sent += b"notice %d\n" % number
            else:
                sent += server.request(number, 700 if act == "long" else 0)
        server.link.close()
        assert server.read() == sent
        server.close()

    asyncio.run(play())


@both_loops
async def test_the_loop_sleeps_while_an_answer_is_awaited() -> None:
    server = Server()
    asked = turns_asked_for(server.link)
    server.request(1)
    await until_asleep(asked)
    # A request by itself needs none.
    assert len(asked) == 0
    server.request(2)
    server.request(3)
    await until_asleep(asked)
    # The one in which what was gathered is written.
    assert len(asked) == 1
    assert server.read() == b"1 \n2 \n3 \n"
    server.close()


@both_loops
async def test_every_answer_is_heard_whether_the_loop_turns_or_sleeps() -> None:
    server = Server()
    theirs, output = os.pipe()
    reader = PipeReader(theirs, server.link.data, lambda: None)
    for number in range(100):
        server.request(number)
        os.write(output, b"answer %d\n" % number)
        async with asyncio.timeout(LONG):
            while len(server.ends.lines) <= number:
                await asyncio.sleep(0.001 if number % 2 else 0)
    assert server.ends.lines == [b"answer %d" % number for number in range(100)]
    reader.close()
    os.close(output)
    server.close()
