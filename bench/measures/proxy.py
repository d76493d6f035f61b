"""What a gateway adds to a call: a plain client through it, less the same client directly at the target.

Ours is asked by `POST /v1/tools/invoke`, with its token, policy, checks and audit; the others pass MCP through. mcp-proxy turns stdio into
HTTP and HTTP into stdio, so it is met from the side it has.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from bench.contenders.driver import TEXT, Target
from bench.drivers import DriverError, HttpServer, affinity, cores, environment, stdio_server
from bench.floor.http import HttpClient
from bench.floor.stdio import StdioClient
from bench.gateway import Gateway, free_port, running_gateway, write_config
from bench.parts import ROOT, Unavailable, python_of, python_of_parts
from bench.results import Figure, middle
from bench.run import Run

COUNT = 400
READY_SECONDS = 20.0
# One call, however it gets there.
Call = Callable[[], Awaitable[str]]


def measure(run: Run) -> None:
    run.say("gateway: starting")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, HttpServer() as http, affinity(cores()[0]):
        home = Path(folder)
        targets: dict[str, Target] = {"stdio": stdio_server(), "http": http.target("json/mcp")}
        write_config(home, targets)
        try:
            with running_gateway(home) as gateway:
                asyncio.run(_compare(run, targets, gateway))
        except DriverError as error:
            run.failed("gateway", "ours", error)
            asyncio.run(_compare(run, targets, None))


async def _compare(run: Run, targets: dict[str, Target], gateway: Gateway | None) -> None:
    for case, target in targets.items():
        run.say(f"gateway: {case}")
        async with AsyncExitStack() as stack:
            calls: dict[str, Call] = {}
            ways = {"direct": _direct, "mcp-proxy": _mcp_proxy, "fastmcp": _fastmcp}
            if gateway is not None:
                ways["ours"] = partial(_ours, gateway, case)
            for who, way in ways.items():
                try:
                    calls[who] = await stack.enter_async_context(way(target))
                except (DriverError, Unavailable, OSError) as error:
                    run.failed("gateway", who, error)
            await _rounds(run, case, calls)


async def _rounds(run: Run, case: str, calls: dict[str, Call]) -> None:
    taken: dict[str, list[float]] = {who: [] for who in calls}
    for call in calls.values():
        for _ in range(20):
            await call()
    for _ in range(run.rounds(7, 3)):
        for who, call in calls.items():
            took = []
            for _ in range(COUNT if who in ("direct", "ours") else COUNT // 4):
                started = time.perf_counter()
                text = await call()
                took.append(time.perf_counter() - started)
            assert TEXT in text
            taken[who].append(sorted(took)[len(took) // 2])
    for who, values in taken.items():
        added = [value - direct for value, direct in zip(values, taken["direct"], strict=True)]
        if who != "direct":
            run.results.add(Figure("gateway", case, who, middle(added), "seconds", None, min(added), max(added)))


@asynccontextmanager
async def _direct(target: Target) -> AsyncIterator[Call]:
    async with _client(target) as client:
        yield lambda: client.call("echo", {"text": TEXT})


@asynccontextmanager
async def _client(target: Target) -> AsyncIterator[HttpClient | StdioClient]:
    if "url" in target:
        client: HttpClient | StdioClient = await HttpClient.open(target["url"])
    else:
        client = await StdioClient.open(target["command"])
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def _ours(gateway: Gateway, server: str, target: Target) -> AsyncIterator[Call]:
    client = HttpClient(f"{gateway.url}/v1/tools/invoke", f"Authorization: Bearer {gateway.token}\r\n")
    question = {"tool": f"{server}__echo", "arguments": {"text": TEXT}}

    async def call() -> str:
        head, body = await client.post(question)
        if b" 200 " not in head[:20]:
            raise DriverError(f"the gateway answered {head[:40]!r} {body[:200]!r}")
        return body.decode()

    # The first call waits for the server.
    await call()
    yield call
    await client.close()


@asynccontextmanager
async def _mcp_proxy(target: Target) -> AsyncIterator[Call]:
    program = str(Path(python_of("mcp-proxy")).parent / "mcp-proxy")
    if "url" in target:
        command = [program, "--log-level", "ERROR", "--transport", "streamablehttp", target["url"]]
        async with _direct({"command": command}) as call:
            yield call
        return
    port = free_port()
    command = [program, "--log-level", "ERROR", "--port", str(port), "--", *target["command"]]
    async with _listening(command, port), _direct({"url": f"http://127.0.0.1:{port}/mcp"}) as call:
        yield call


@asynccontextmanager
async def _fastmcp(target: Target) -> AsyncIterator[Call]:
    port = free_port()
    module = [python_of_parts("fastmcp"), "-m", "bench.contenders.fastmcp_proxy"]
    command = [*module, json.dumps(target), str(port)]
    async with _listening(command, port), _direct({"url": f"http://127.0.0.1:{port}/mcp"}) as call:
        yield call


@asynccontextmanager
async def _listening(command: list[str], port: int) -> AsyncIterator[None]:
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        quiet = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            *command, stdin=quiet, stdout=quiet, stderr=quiet, cwd=ROOT, env=environment(Path(home))
        )
        try:
            await _wait_for(port, process)
            yield
        finally:
            process.kill()
            await process.wait()


async def _wait_for(port: int, process: asyncio.subprocess.Process) -> None:
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end and process.returncode is None:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        except OSError:
            await asyncio.sleep(0.05)
    raise DriverError("it did not start to listen")
