"""What a gateway asks another one that runs a server."""

import asyncio

import pytest

from openclaw.errors import DeadlineError
from openclaw.fleet.forwarding import Destination, is_served


async def test_a_gateway_that_takes_a_connection_and_says_nothing_is_not_waited_for() -> None:
    """As one does that is frozen."""
    taken: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda reader, writer: taken.append(writer), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(DeadlineError):
        await is_served(Destination("other", f"http://127.0.0.1:{port}", "key", "digest", 0.1, 1_000))
    server.close()
    for writer in taken:
        writer.close()
    await server.wait_closed()
