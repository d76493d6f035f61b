"""The gateway in front of the reference server that tests everything a client can do."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import openai
import pytest

from parts.gateways import Running, home, running
from parts.peers import EVERYTHING_TOOLS, everything

pytestmark = pytest.mark.real


@pytest.fixture(params=["stdio", "http", "sse"])
async def gateway(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Running]:
    async with everything(request.param) as entry:
        with home(tmp_path) as place:
            echo = {"toolCalls": [{"name": "all__echo", "arguments": {"message": "from afar"}}]}
            place.save({"mcp": {"servers": {"all": entry}}, **place.script(echo, {"text": "It said {result}"})})
            async with running(place) as one:
                await one.ready("all")
                yield one


async def test_everything_works_over_http_and_through_the_stub(gateway: Running) -> None:
    _, listed = await gateway.get("/v1/mcp/servers/all/tools")
    assert {tool["tool"] for tool in listed} >= EVERYTHING_TOOLS
    _, total = await gateway.post("/v1/tools/invoke", {"tool": "all__get-sum", "arguments": {"a": 2, "b": 40}})
    assert "42" in total["content"][0]["text"]
    assert (await gateway.post("/v1/mcp/servers/all/refresh"))[1][0]["ok"]
    _, resources = await gateway.get("/v1/mcp/servers/all/resources")
    status, read = await gateway.post("/v1/mcp/servers/all/read", {"uri": resources[0]["uri"]})
    assert (status, read["contents"][0]["uri"]) == (200, resources[0]["uri"])
    call = await asyncio.to_thread(gateway.home.run, "mcp", "call", "all__echo", "message=hi")
    assert (call.returncode, "hi" in call.stdout) == (0, True), call.stderr
    picture = await asyncio.to_thread(gateway.home.run, "mcp", "call", "all__get-tiny-image", "--json")
    assert "image" in {block["type"] for block in json.loads(picture.stdout)["content"]}


async def test_the_vendors_client_streams_an_answer_that_used_it(gateway: Running) -> None:
    async with openai.AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key=gateway.home.token, max_retries=0) as client:
        stream = await client.chat.completions.create(
            model="openclaw", messages=[{"role": "user", "content": "echo"}], stream=True
        )
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert text.startswith("It said ")
    assert "from afar" in text


async def test_a_restart_of_the_server_is_seen_by_nobody_who_calls_after_it(gateway: Running) -> None:
    status, restarted = await gateway.post("/v1/mcp/servers/all/restart")
    assert (status, restarted["state"]) == (200, "ready")
    _, answer = await gateway.post("/v1/tools/invoke", {"tool": "all__echo", "arguments": {"message": "back"}})
    assert not answer["isError"]
