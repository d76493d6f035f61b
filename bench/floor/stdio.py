"""A plain MCP client over standard input and output: one asyncio protocol, `json`, a dictionary of futures. No deadlines, no checks."""

import asyncio
import json
from typing import Any


class StdioClient(asyncio.SubprocessProtocol):
    _transport: asyncio.SubprocessTransport
    _input: asyncio.WriteTransport

    def __init__(self) -> None:
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._pieces: list[bytes] = []
        self._number = 0
        # What every request carries besides.
        self._more: dict[str, Any] = {}
        self._exited = asyncio.Event()

    @classmethod
    async def open(cls, command: list[str], *, modern: bool = False) -> "StdioClient":
        loop = asyncio.get_running_loop()
        transport, client = await loop.subprocess_exec(cls, *command, stderr=None)
        client._transport = transport
        pipe = transport.get_pipe_transport(0)
        assert isinstance(pipe, asyncio.WriteTransport)
        client._input = pipe
        client._more = {"_meta": META} if modern else {}
        if modern:
            return client
        await client.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": INFO})
        client._input.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return client

    def request(self, method: str, params: dict[str, Any]) -> "asyncio.Future[Any]":
        self._number += 1
        future = self._waiting[self._number] = asyncio.get_running_loop().create_future()
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._input.write(json.dumps(message).encode() + b"\n")
        return future

    async def call(self, tool: str, arguments: dict[str, Any]) -> str:
        result = await self.request("tools/call", {"name": tool, "arguments": arguments, **self._more})
        return str(result["content"][0]["text"])

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if b"\n" not in data:
            self._pieces.append(data)
            return
        *lines, rest = b"".join([*self._pieces, data]).split(b"\n")
        self._pieces = [rest] if rest else []
        for line in lines:
            message = json.loads(line)
            # Servers also tell of other things.
            if "result" in message:
                self._waiting.pop(message["id"]).set_result(message["result"])

    def process_exited(self) -> None:
        self._exited.set()

    async def close(self) -> None:
        self._transport.close()
        await self._exited.wait()


INFO = {"name": "floor", "version": "1"}
MODERN = "2026-07-28"
# What 2026-07-28 wants in every request.
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": INFO,
    "io.modelcontextprotocol/clientCapabilities": {},
}
