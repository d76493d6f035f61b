"""Pipes that threads wait for, as on Windows: the same promises as those of a loop, kept against real pipes."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from openclaw.process.thread_pipes import HIGH_WATER, PipeReader, PipeWriter
from parts.processes import open_descriptors


class Heard:
    def __init__(self) -> None:
        self.data = bytearray()
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def end(self) -> None:
        self.ended.set_result(None)


@asynccontextmanager
async def reading() -> AsyncIterator[tuple[PipeReader, int, Heard]]:
    theirs, ours = os.pipe()
    heard = Heard()
    reader = PipeReader(theirs, heard.data.extend, heard.end)
    try:
        yield reader, ours, heard
    finally:
        reader.close()


async def until(said: bytearray, size: int) -> None:
    while len(said) < size:
        await asyncio.sleep(0)


async def test_what_is_written_arrives_in_order_and_then_the_end() -> None:
    pieces = [bytes([number]) * 70_000 for number in range(50)]
    async with reading() as (_, ours, heard):
        writer = PipeWriter(ours)
        for piece in pieces:
            writer.write(piece)
        writer.close()
        await heard.ended
        assert heard.data == b"".join(pieces)
        assert (writer.offered, writer.written) == (3_500_000, 3_500_000)


async def test_one_who_pauses_gets_nothing_until_it_goes_on() -> None:
    async with reading() as (reader, ours, heard):
        os.write(ours, b"before")
        await until(heard.data, 6)
        reader.pause()
        os.write(ours, b" after")
        os.close(ours)
        for _ in range(100):
            await asyncio.sleep(0)
        assert heard.data == b"before"
        reader.resume()
        await heard.ended
        assert heard.data == b"before after"


async def test_a_reader_that_is_behind_lets_the_writer_wait() -> None:
    async with reading() as (reader, ours, heard):
        reader.pause()
        writer = PipeWriter(ours)
        size = 4 * HIGH_WATER
        writer.write(b"x" * size)
        assert writer.is_full
        waiting = asyncio.ensure_future(writer.drained())
        for _ in range(100):
            await asyncio.sleep(0)
        assert not waiting.done()
        reader.resume()
        await waiting
        await writer.room()
        await until(heard.data, size)
        writer.close()
        await heard.ended


async def test_last_words_are_taken_without_waiting_for_the_loop() -> None:
    async with reading() as (reader, ours, heard):
        os.write(ours, b"last words")
        os.close(ours)
        reader.drain()
        assert heard.data == b"last words"
        assert heard.ended.done()


async def test_one_who_keeps_a_pipe_without_a_word_does_not_keep_us() -> None:
    async with reading() as (reader, ours, heard):
        reader.drain()
        assert not heard.data
        os.close(ours)
        await heard.ended


async def test_writing_for_nobody_ends_with_an_error_and_wakes_who_waits() -> None:
    theirs, ours = os.pipe()
    writer = PipeWriter(ours)
    os.close(theirs)
    writer.write(b"x")
    await writer.drained()
    with pytest.raises(BrokenPipeError):
        writer.write(b"x")
    assert writer.unread() is None


async def test_what_was_written_before_it_is_closed_still_goes_out() -> None:
    async with reading() as (_, ours, heard):
        writer = PipeWriter(ours)
        writer.write(b"goodbye")
        writer.close()
        await heard.ended
        assert heard.data == b"goodbye"


async def test_a_closed_pipe_leaves_no_thread_and_no_descriptor() -> None:
    descriptors, threads = open_descriptors(), set(threading.enumerate())
    async with reading() as (_, ours, heard):
        writer = PipeWriter(ours)
        writer.write(b"x")
        await until(heard.data, 1)
        writer.close()
        await heard.ended
    # Threads of other tests may end meanwhile.
    while open_descriptors() - descriptors or set(threading.enumerate()) - threads:
        await asyncio.sleep(0)
