"""What a gateway asks another one that runs a server."""

import asyncio

import pytest

from openclaw.errors import DeadlineError, LinkLostError, TransportError
from openclaw.fleet.forwarding import Destination, GatewayTransport, is_served
from openclaw.protocol.transports import NOT_HERE
from openclaw.transport.base import Outgoing


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


class Waiting:
    """Waits for the answer to one request (`transport/base.py`)."""

    def __init__(self) -> None:
        self.error: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()

    def received(self, data: bytes, origin: int | None) -> None:
        raise AssertionError(data)

    def awaits(self, request_id: int) -> bool:
        return not self.error.done()

    def failed(self, request_id: int, error: Exception) -> None:
        self.error.set_result(error)

    def closed(self, error: TransportError | None) -> None:
        return None


@pytest.mark.parametrize(("status", "maybe_sent"), [(NOT_HERE, False), (502, True), (503, True), (504, True)])
async def test_only_a_gateway_itself_says_that_a_call_was_surely_not_made(status: int, maybe_sent: bool) -> None:
    """What stands between two gateways answers 502 to 504 also when it has passed the request on, and the way back broke."""
    held: list[asyncio.StreamWriter] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.append(writer)
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"GET"):
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        else:
            writer.write(b"HTTP/1.1 %d Oh\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status)
        await writer.drain()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    waiting = Waiting()
    async with GatewayTransport(Destination("other", url, "key", "digest", 5.0, 1_000)).open(waiting) as link:
        await link.send(Outgoing(b'{"id":1}', "tools/call", 1))
        error = await waiting.error
    assert isinstance(error, LinkLostError)
    assert error.maybe_sent is maybe_sent
    server.close()
    for writer in held:
        writer.close()
    await server.wait_closed()
