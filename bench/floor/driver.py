"""The floor as a contender: `python -m bench.floor.driver`."""

import asyncio
from typing import Any

from bench.contenders.driver import Target, serve
from bench.floor.http import HttpClient
from bench.floor.stdio import StdioClient


class Floor:
    def __init__(self) -> None:
        self._clients: dict[str, StdioClient | HttpClient] = {}
        self._opening: dict[str, asyncio.Future[StdioClient | HttpClient]] = {}

    async def open(self, servers: dict[str, Target]) -> None:
        for name, target in servers.items():
            self._clients[name] = await self._connect(target)

    async def open_many(self, servers: dict[str, Target]) -> None:
        """All at once; a call waits for its own server."""
        self._opening = {name: asyncio.ensure_future(self._connect(target)) for name, target in servers.items()}

    async def _connect(self, target: Target) -> StdioClient | HttpClient:
        modern = target.get("modern", False)
        if "url" in target:
            return await HttpClient.open(target["url"], modern=modern)
        return await StdioClient.open(target["command"], modern=modern)

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        if server not in self._clients:
            self._clients[server] = await self._opening[server]
        return await self._clients[server].call(tool, arguments)

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()


if __name__ == "__main__":
    serve(Floor)
