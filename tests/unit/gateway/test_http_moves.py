"""The HTTP port when it has to move, and what it says when it cannot."""

import asyncio
import socket
from pathlib import Path

import pytest

from openclaw.config.sections import GatewaySection
from openclaw.control.port import listen
from openclaw.errors import OpenClawError
from openclaw.gateway.guard import GuardRules
from openclaw.gateway.http import HttpServer
from openclaw.gateway.page_tokens import PageTokens


async def answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        return False
    writer.close()
    return True


@pytest.mark.linux_only("several addresses of loopback: macOS has one")
async def test_a_port_that_is_lost_on_the_way_is_said_to_be_lost_and_looked_for_again(tmp_path: Path) -> None:
    # Where it goes back to is 127.0.0.2, and there its port is somebody else's: as if it had been taken while it moved.
    sockets = listen("127.0.0.1", 0)
    first = int(sockets[0].getsockname()[1])
    home = GatewaySection(bind="127.0.0.2", port=first)
    with socket.create_server(("127.0.0.2", first)), socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
        server = HttpServer([], GuardRules(tokens=("t",)), PageTokens(tmp_path / "pages.json"))
        await server.start(home, sockets)
        with pytest.raises(OpenClawError) as refused:
            await server.move(GatewaySection(bind="127.0.0.1", port=port))
        told = str(refused.value)
        lost = (server.port, await answers(first))
        with pytest.raises(OpenClawError, match="Nothing listens"):
            await server.move(GatewaySection(bind="127.0.0.1", port=port))
    await server.move(home)
    try:
        _, writer = await asyncio.open_connection("127.0.0.2", first)
        writer.close()
    finally:
        await server.leave()
        await server.finish(0)

    assert f"Port {port} is taken" in told
    assert "The old port was taken meanwhile, so nothing listens: " in told
    assert lost == (0, False)
