"""Orders at their limits: the most media one may carry, and how fast the server leaves."""

import asyncio
import base64
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pytest

from parts import stdio_server
from parts.media_server import png
from parts.model_servers import Answer, Call, ChatServer, Hold
from parts.order_fuzz import peak_memory
from parts.order_process import OPENCLAW, OrderProcess, environment, local_model

MB = 1 << 20
# Seconds from the end of input or a signal to the end of the process.
LEAVES_WITHIN = 2.0


def time_of_nothing(env: dict[str, str]) -> float:
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", "pass"], env=env, check=True)
    return time.monotonic() - started


def time_to_initialize(env: dict[str, str]) -> float:
    line = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n'
    started = time.monotonic()
    command = [*OPENCLAW, "mcp-server"]
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line)
        process.stdin.flush()
        assert b"2025-11-25" in process.stdout.readline()
        return time.monotonic() - started


@pytest.mark.full
def test_initialize_is_answered_within_twelve_times_an_empty_program(tmp_path: Path) -> None:
    env = environment(tmp_path)
    pairs = [(time_to_initialize(env), time_of_nothing(env)) for _ in range(11)]
    assert median(ours for ours, _ in pairs) < 12 * median(nothing for _, nothing in pairs)


@pytest.mark.full
async def test_ten_images_of_15_mb_take_less_memory_than_four_times_their_line(tmp_path: Path) -> None:
    image = {"data": base64.b64encode(png(15 * MB)).decode(), "mimeType": "image/png"}
    async with OrderProcess(tmp_path) as server:
        await server.initialize()
        result = await server.order("hello", images=[image] * 10)
        peak = peak_memory(server.process.pid)
    assert (result["isError"], peak < 4 * 10 * len(image["data"])) == (False, True)


@pytest.mark.full
async def test_everything_an_order_may_carry_fits_one_line(tmp_path: Path) -> None:
    image = {"data": base64.b64encode(png(15 * MB)).decode(), "mimeType": "image/png"}
    file = {"data": base64.b64encode(b"PK\3\4".ljust(15 * MB, b"\0")).decode(), "mimeType": "application/zip"}
    async with OrderProcess(tmp_path) as server:
        await server.initialize()
        result = await server.order("hello", images=[image] * 10, files=[file] * 5)
    assert not result["isError"]


@pytest.mark.full
@pytest.mark.parametrize("what", ["idle", "a model that thinks", "a tool that hangs", "a stubborn server"])
@pytest.mark.parametrize("how", ["eof", "SIGTERM", "SIGINT"])
async def test_it_leaves_within_two_seconds(how: str, what: str, tmp_path: Path) -> None:
    tool = [Answer(calls=[Call("c1", "parts__hang")])]
    options = ["--stubborn"] if what == "a stubborn server" else []
    servers = {"parts": {"command": sys.executable, "args": [stdio_server.__file__, *options]}}
    async with ChatServer([Answer(["x", Hold()])] if what == "a model that thinks" else tool) as chat:
        config = local_model(chat.url, chat.key) | {"mcp": {"servers": servers}}
        async with OrderProcess(tmp_path, config=config) as server:
            await server.initialize()
            if what == "a model that thinks":
                server.begin_order("work")
                await chat.waiting.wait()
            elif what != "idle":
                server.begin_order("work", meta={"progressToken": 1})
                await server.until_told("Calling tool hang on server parts")
            started = time.monotonic()
            async with asyncio.timeout(30):
                await server.end(how)
            took = time.monotonic() - started
    assert took < LEAVES_WITHIN
