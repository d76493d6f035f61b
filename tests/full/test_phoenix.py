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
from parts.gateways import Running, home, running
from parts.order_process import OrderProcess

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = "b7ad6b7169203331"
PARENT = {"traceparent": f"00-{TRACE}-{CALLER}-01"}
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


async def by_http(gateway: Running) -> None:
    body = {"model": "openclaw", "messages": [{"role": "user", "content": "milk?"}]}
    headers = {**gateway.headers, **PARENT}
    async with gateway.client.post(f"{gateway.url}/v1/chat/completions", json=body, headers=headers) as response:
        assert response.status == 200


async def by_order(gateway: Running) -> None:
    """An MCP client's, with `openclaw mcp-server` between it and the gateway."""
    place = gateway.home
    env = {name: place.env[name] for name in ("OPENCLAW_STATE_DIR", "XDG_RUNTIME_DIR")}
    async with OrderProcess(place.state / "client", env=env) as client:
        await client.initialize()
        await client.order("milk?", meta=PARENT)


ASK = {"http": by_http, "order": by_order}
SERVED = {"http": "POST /v1/chat/completions", "order": "tools/call order_openclaw"}


@pytest.mark.full
@pytest.mark.minutes(2)
@pytest.mark.parametrize("caller", ["order", "http"])
async def test_a_trace_of_caller_gateway_turn_model_call_and_server_is_one_in_phoenix(
    tmp_path: Path, caller: str
) -> None:
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
                await ASK[caller](gateway)
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
    assert (served["name"], server["name"]) == (SERVED[caller], "tools/call price")
    models = [(one["span_kind"], one["parent_id"]) for one in spans if one["name"] == "chat one"]
    assert models == [("LLM", turn["context"]["span_id"])] * 2
