"""The engine against a server of the official Python SDK, over all its transports."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from openclaw.config.servers import ServerSpec
from openclaw.content import Image
from openclaw.conversation import Conversation
from openclaw.mcp import prompts, resources
from openclaw.mcp.connect import Dependencies
from openclaw.mcp.handlers import Handlers
from openclaw.mcp.manager import Manager
from openclaw.tool import Invocation

PROGRAM = str(Path(__file__).parent.parent / "parts" / "sdk_shop.py")


@pytest.fixture(params=["stdio", "streamable-http", "sse"])
async def spec(request: pytest.FixtureRequest) -> AsyncIterator[ServerSpec]:
    if request.param == "stdio":
        yield ServerSpec("sdk", command=sys.executable, args=(PROGRAM, "stdio"))
        return
    process = await asyncio.create_subprocess_exec(
        sys.executable, PROGRAM, request.param, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert process.stdout is not None
    try:
        port = int(await process.stdout.readline())
        path = "sse" if request.param == "sse" else "mcp"
        yield ServerSpec("sdk", transport=request.param, url=f"http://127.0.0.1:{port}/{path}")
    finally:
        process.kill()
        await process.wait()


async def introduce(server: str, params: Mapping[str, Any], invocation: Invocation | None) -> dict[str, Any]:
    return {"action": "accept", "content": {"name": "Ada"}}


async def test_a_question_of_an_official_server_comes_with_the_call_it_belongs_to(spec: ServerSpec) -> None:
    heard: list[Invocation | None] = []

    async def hear(server: str, params: Mapping[str, Any], invocation: Invocation | None) -> dict[str, Any]:
        heard.append(invocation)
        return {"action": "accept", "content": {"name": "Ada"}}

    async with Manager([spec], dependencies=Dependencies(handlers=Handlers(elicitation=hear))) as manager:
        await manager.call("sdk__echo", {"text": "up"})
        (greet,) = (tool for tool in manager.tools() if tool.name == "sdk__greet")
        invocation = Invocation(Conversation("main", "s"), "c")
        await greet.run({}, invocation)
    assert heard == [invocation]


async def test_everything_an_official_server_offers_arrives(spec: ServerSpec) -> None:
    dependencies = Dependencies(handlers=Handlers(elicitation=introduce))
    async with Manager([spec], dependencies=dependencies) as manager:
        (status,) = manager.status()
        assert status.revision == ("2025-11-25" if spec.transport == "sse" else "2026-07-28")
        assert "Ask nicely." in manager.context("")
        tools = {tool.name: tool for tool in manager.tools()}
        names = ["broken", "count", "echo", "greet", "picture", "point", "resources_list", "resources_read"]
        assert sorted(tools) == [f"sdk__{name}" for name in names]

        shown = await tools["sdk__picture"].run({}, Invocation(Conversation("main", "s")))
        assert shown.content[1:] == (Image(b"\x89PNG\r\n\x1a\n not a whole one", "image/png"),)
        point = await manager.call("sdk__point", {"x": 1, "y": 2})
        assert msgspec.json.decode(point.structured_content) == {"x": 1, "y": 2}
        greeting = await manager.call("sdk__greet", {})
        assert (greeting.fault, greeting.content[0].text) == ("", "Hello, Ada!")
        broken = await manager.call("sdk__broken", {})
        assert broken.is_error
        assert "broken" in (broken.content[0].text or "")
        steps: list[tuple[float, float | None, str]] = []
        await manager.call("sdk__count", {"n": 2}, on_progress=lambda *step: steps.append(step))
        assert steps == [(1.0, 2.0, ""), (2.0, 2.0, "")]

        server = manager.server("sdk")
        assert [entry.uri for entry in await server.use(resources.list_resources)] == ["shop://hours"]
        assert [e.uri_template for e in await server.use(resources.list_templates)] == ["shop://item/{name}"]
        (item,) = await server.use(lambda client: resources.read_resource(client, "shop://item/hat"))
        assert item.text == "One hat."
        (entry,) = await server.use(prompts.list_prompts)
        filled = await server.use(lambda client: prompts.get_prompt(client, entry, {"price": "5"}))
        assert filled.messages[0].content.text == "I offer 5."
