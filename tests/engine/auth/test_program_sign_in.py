"""A program that embeds the client has its person sign in: by the address that the browser ended at, or by a browser that comes back."""

import asyncio
from pathlib import Path

import aiohttp
import pytest

from openclaw.errors import UsageError
from openclaw.mcp import Manager, Server, SignInRequest
from parts.auth_server import AuthServer


async def visited(address: str) -> int:
    async with aiohttp.ClientSession() as browser, browser.get(address) as response:
        return response.status


@pytest.mark.parametrize("comes_back", [False, True])
async def test_a_program_signs_its_person_in_and_stays_signed_in(tmp_path: Path, comes_back: bool) -> None:
    asked: list[SignInRequest] = []
    visits: list[asyncio.Task[int]] = []

    async with AuthServer() as server:

        async def sign_in(request: SignInRequest) -> str | None:
            asked.append(request)
            ended = await server.browse(request.url)
            if not comes_back:
                return ended
            # The page that says how it went is there when it is known.
            visits.append(asyncio.create_task(visited(ended)))
            return None

        docs = Server("docs", url=server.url)
        async with Manager([docs], sign_in=sign_in, state=tmp_path) as manager:
            before = manager.status()[0].state
            done = await manager.sign_in("docs")
            tools = [tool.name for tool in manager.tools()]
        async with Manager([docs], sign_in=sign_in, state=tmp_path) as manager:
            result = await manager.call("docs__read", {})
        assert await asyncio.gather(*visits) == [200] * comes_back

    assert (before, result.is_error, len(asked), asked[0].server) == ("needs-auth", False, 1, "docs")
    assert (done.server, done.scopes, "docs__read" in tools) == ("docs", ("tools:read", "offline_access"), True)


async def test_who_gave_nobody_to_sign_in_is_told_what_to_give(tmp_path: Path) -> None:
    async def sign_in(request: SignInRequest) -> str | None:
        raise AssertionError

    with pytest.raises(UsageError, match="sign_in needs a folder for its tokens"):
        Manager([], sign_in=sign_in)
    async with Manager([]) as manager:
        with pytest.raises(UsageError, match="Nobody can sign in here"):
            await manager.sign_in("docs")
