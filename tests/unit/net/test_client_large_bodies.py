"""Requests with large bodies: written as the peer takes them, and never mixed up with the next request."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from openclaw.errors import LinkLostError
from openclaw.net.client import LARGE_BODY, ClientOptions, HttpClient
from openclaw.security.egress import Rules

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
LOCAL = ClientOptions(rules=Rules(allow_loopback=True))


@asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[str]:
    """A server whose connections are all over when the block is."""
    running: list[asyncio.Task[None]] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await serve(reader, writer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        running.append(asyncio.create_task(handle(reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    await asyncio.gather(*running)


def answer(text: str, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()


async def head_of(reader: asyncio.StreamReader) -> int:
    """Read a request's head; the length of its body."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    return int(next(line.split(":")[1] for line in head.split("\r\n") if line.lower().startswith("content-length")))


@pytest.mark.parametrize("size", [LARGE_BODY, LARGE_BODY + 1, 8 * LARGE_BODY + 7])
async def test_a_body_of_any_size_arrives_whole(size: int) -> None:
    body = os.urandom(size)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            data = await reader.readexactly(await head_of(reader))
            writer.write(answer(hashlib.sha256(data).hexdigest()))
            await writer.drain()

    async with serving(serve) as url, HttpClient(LOCAL) as client:
        for _ in range(2):
            fetched = await client.fetch("POST", url, body=body)
            assert fetched.body.decode() == hashlib.sha256(body).hexdigest()


async def test_an_answer_that_comes_before_the_body_was_sent_ends_the_connection() -> None:
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        if connections == 1:
            await head_of(reader)
            writer.write(answer("too large", "413 Content Too Large"))
            await writer.drain()
            await reader.read()
        else:
            await reader.readexactly(await head_of(reader))
            writer.write(answer("fine"))
            await writer.drain()

    async with serving(serve) as url, HttpClient(LOCAL) as client:
        first = await client.fetch("POST", url, body=bytes(64 * LARGE_BODY))
        second = await client.fetch("POST", url, body=b"small")
    assert (first.status, first.body, second.body, connections) == (413, b"too large", b"fine", 2)


async def test_a_peer_that_leaves_while_a_body_is_sent_is_a_lost_link() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        writer.transport.abort()

    async with serving(serve) as url, HttpClient(LOCAL) as client:
        with pytest.raises(LinkLostError):
            await client.fetch("POST", url, body=bytes(64 * LARGE_BODY))
