"""A trace in a receiver that nobody here wrote: Arize Phoenix takes it over OTLP, and shows what it has by its own HTTP API."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from parts import traced_server
from parts.cache import python_of_full
from parts.gateways import home, running

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = "b7ad6b7169203331"
PAUSE = 0.2


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@asynccontextmanager
async def phoenix(folder: Path) -> AsyncIterator[str]:
    """Its address, once it answers."""
    port = free_port()
    env = {
        "HOME": str(folder),
        "PATH": "/usr/bin:/bin",
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    with (folder / "phoenix.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            python_of_full("phoenix"), "-m", "phoenix.server.main", "serve", env=env, cwd=folder, stdout=log, stderr=log
        )
    try:
        url = f"http://127.0.0.1:{port}"
        async with aiohttp.ClientSession() as client:
            while not await answers(client, f"{url}/healthz"):
                assert process.returncode is None, (folder / "phoenix.log").read_text()
                await asyncio.sleep(PAUSE)
        yield url
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def answers(client: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with client.get(url) as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False


async def kept(url: str, most: int) -> list[dict[str, Any]]:
    """The spans of our trace that tell of a caller, an agent, a model or a tool, once there are so many."""
    async with aiohttp.ClientSession() as client:
        while True:
            async with client.get(f"{url}/v1/projects/default/spans", params={"limit": "100"}) as response:
                spans = (await response.json())["data"] if response.status == 200 else []
            of_trace = [one for one in spans if one["context"]["trace_id"] == TRACE]
            found = [one for one in of_trace if not one["name"].endswith(" sessions")]
            if len(found) >= most:
                return found
            await asyncio.sleep(PAUSE)


@pytest.mark.full
@pytest.mark.minutes(2)
async def test_a_trace_of_caller_gateway_turn_model_call_and_server_is_one_in_phoenix(tmp_path: Path) -> None:
    (tmp_path / "phoenix").mkdir()
    async with phoenix(tmp_path / "phoenix") as url:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_SERVICE_NAME": "shop"}
        shop = {"command": sys.executable, "args": [traced_server.__file__], "env": env}
        call = {"name": "shop__price", "arguments": {"article": "milk"}, "id": "c1"}
        with home(tmp_path) as place:
            place.save(
                {
                    **place.script({"toolCalls": [call]}, {"text": "4 EUR."}),
                    "mcp": {"servers": {"shop": shop}},
                    "tools": {"approval": {"mode": "off", "taint": "off"}},
                    "telemetry": {"otlp": {"endpoint": url}},
                }
            )
            async with running(place) as gateway:
                await gateway.ready("shop")
                body = {"model": "openclaw", "messages": [{"role": "user", "content": "milk?"}]}
                headers = {**gateway.headers, "traceparent": f"00-{TRACE}-{CALLER}-01"}
                address = f"{gateway.url}/v1/chat/completions"
                async with gateway.client.post(address, json=body, headers=headers) as response:
                    assert response.status == 200
        # Of the model there are two: it was asked again with the result.
        spans = await kept(url, 6)

    below = {one["parent_id"]: one for one in spans if one["name"] != "chat one"}
    served = below[CALLER]
    turn = below[served["context"]["span_id"]]
    tool = below[turn["context"]["span_id"]]
    server = below[tool["context"]["span_id"]]
    assert [(one["span_kind"], one["name"]) for one in (turn, tool)] == [
        ("AGENT", "invoke_agent main"),
        ("TOOL", "tools/call price"),
    ]
    assert (served["name"], server["name"]) == ("POST /v1/chat/completions", "tools/call price")
    models = [(one["span_kind"], one["parent_id"]) for one in spans if one["name"] == "chat one"]
    assert models == [("LLM", turn["context"]["span_id"])] * 2
