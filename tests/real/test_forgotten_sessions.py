"""A server of somebody else's that is started anew in between: its MCP sessions are gone, and the next call works all the same."""

import pytest

from openclaw.config.servers import ServerSpec
from openclaw.mcp.manager import Manager
from parts.peers import listening, npm

pytestmark = pytest.mark.real


async def test_server_everything_started_anew_is_found_again() -> None:
    command = npm("mcp-server-everything", "streamableHttp")
    process, port = await listening(command)
    try:
        spec = ServerSpec("every", transport="streamable-http", url=f"http://127.0.0.1:{port}/mcp")
        async with Manager([spec]) as manager:
            for number in range(3):
                result = await manager.call("every__echo", {"message": f"hi {number}"})
                assert [block.text for block in result.content] == [f"Echo: hi {number}"], result
                process.kill()
                await process.wait()
                process, _ = await listening(command, port)
    finally:
        process.kill()
        await process.wait()
