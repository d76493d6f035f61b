"""The ways in which a person can use `/mcp`: at a terminal with a gateway, in a chat with one and without, over HTTP. The same words for
all of them."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from parts.gateways import PROGRAM, Home, Running, home, running
from parts.processes import HANG_GUARD

SURFACES = ("terminal", "chat", "chat-alone", "http")


class Surface(Protocol):
    async def mcp(self, *words: str) -> str:
        """What `/mcp WORDS` says."""
        ...


class Terminal:
    def __init__(self, gateway: Running) -> None:
        self._gateway = gateway

    async def mcp(self, *words: str) -> str:
        run = await asyncio.to_thread(self._gateway.home.run, "mcp", *words)
        return run.stdout + run.stderr


class Chat:
    """Lines typed into `openclaw chat`, one at a time."""

    # What is asked after each line, and how its answer begins: everything before that is the answer to the line.
    _MARK, _SAID = b"/status\n", b"agent main, model "

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def mcp(self, *words: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        quoted = " ".join(json.dumps(word) if " " in word else word for word in words)
        self._process.stdin.write(f"/mcp {quoted}\n".encode() + self._MARK)
        said = b""
        async with asyncio.timeout(HANG_GUARD):
            while not (line := await self._process.stdout.readline()).startswith(self._SAID):
                assert line, said.decode()
                said += line
        return said.decode()


class Http:
    def __init__(self, gateway: Running) -> None:
        self._gateway = gateway

    async def mcp(self, *words: str) -> str:
        verb, *rest = words
        one = f"/v1/mcp/servers/{rest[0]}" if rest else "/v1/mcp/servers"
        answer: Any
        match verb, rest:
            case "servers", []:
                _, answer = await self._gateway.get("/v1/mcp/servers")
            case "connect", [url, "--name", name]:
                _, answer = await self._gateway.post("/v1/mcp/servers", {"url": url, "name": name})
            case "status", [_]:
                _, answer = await self._gateway.get(one)
            case (("tools" | "logs"), [_]):
                _, answer = await self._gateway.get(f"{one}/{verb}")
            case "auth", [_, "--code", code]:
                _, answer = await self._gateway.post(f"{one}/auth", {"code": code})
            case "auth", [_, "--logout"]:
                _, answer = await self._gateway.post(f"{one}/auth", {"logout": True})
            case "remove", [_]:
                _, answer = await self._gateway.send("DELETE", one)
            case "call", [tool, *pairs]:
                arguments = dict(pair.split("=", 1) for pair in pairs)
                _, answer = await self._gateway.post("/v1/tools/invoke", {"tool": tool, "arguments": arguments})
            case _:
                _, answer = await self._gateway.post(f"{one}/{verb}")
        return json.dumps(answer)


@asynccontextmanager
async def surface(kind: str, folder: Path, config: dict[str, Any] | None = None) -> AsyncIterator[Surface]:
    with home(folder, config) as place:
        if kind == "chat-alone":
            async with _chat(place) as chat:
                yield chat
            return
        async with running(place) as gateway:
            if kind == "chat":
                async with _chat(place) as chat:
                    yield chat
            else:
                yield Terminal(gateway) if kind == "terminal" else Http(gateway)


@asynccontextmanager
async def _chat(place: Home) -> AsyncIterator[Chat]:
    process = await asyncio.create_subprocess_exec(
        *PROGRAM,
        "chat",
        env=dict(place.env),
        cwd=place.state,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        limit=2**20,
    )
    try:
        yield Chat(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            await asyncio.wait_for(process.communicate(), HANG_GUARD)
        except TimeoutError:
            os.kill(process.pid, 9)
            await process.wait()
