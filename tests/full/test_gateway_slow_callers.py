"""Callers who send a byte now and then, to hold a connection open for ever."""

import asyncio
from pathlib import Path

import pytest

from parts.gateways import Running, home, running

pytestmark = [pytest.mark.full, pytest.mark.minutes(1)]
# Longer than any of the gateway's own limits.
PATIENCE = 120.0


async def dripping(gateway: Running, first: bytes, drip: bytes) -> bytes:
    """Send something, then a little every second until the gateway has had enough; what it said."""
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.gateway.port)
    writer.write(first)

    async def keep_on() -> None:
        while True:
            await asyncio.sleep(1)
            writer.write(drip)

    task = asyncio.create_task(keep_on())
    said = b""
    try:
        async with asyncio.timeout(PATIENCE):
            while piece := await reader.read(65536):
                said += piece
        return said
    except ConnectionError:
        # It was cut off in the middle of what it sends; what it was told before still counts.
        return said
    finally:
        task.cancel()
        writer.close()


async def test_nobody_holds_a_connection_without_asking_for_something(tmp_path: Path) -> None:
    post = b"POST /v1/tools/invoke HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n"
    with home(tmp_path) as place:
        async with running(place) as gateway:
            token = f"Authorization: Bearer {place.token}\r\n\r\n".encode()
            silent, head, body, stranger = await asyncio.gather(
                dripping(gateway, b"", b""),
                dripping(gateway, b"GET /health HTTP/1.1\r\nHost: localhost\r\n", b"X: y\r\n"),
                dripping(gateway, post + token, b"x"),
                dripping(gateway, post + b"\r\n", b"x"),
            )

    assert (silent, head) == (b"", b"")
    assert body.startswith(b"HTTP/1.1 400 ")
    assert stranger.startswith(b"HTTP/1.1 401 ")
