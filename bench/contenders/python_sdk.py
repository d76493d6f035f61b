"""The official Python SDK, as its documentation shows it: one `Client` for each server."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from bench.contenders.driver import Target, serve
from bench.contenders.each import Each


class PythonSdk:
    def __init__(self) -> None:
        self._exit = AsyncExitStack()
        self._clients: dict[str, Client] = {}
        self._each: Each[Client] = Each()

    @asynccontextmanager
    async def _opened(self, target: Target) -> AsyncIterator[Client]:
        if "url" in target:
            client = Client(target["url"])
        else:
            command, *arguments = target["command"]
            client = Client(StdioServerParameters(command=command, args=arguments))
        async with client:
            await client.list_tools()
            yield client

    async def open(self, servers: dict[str, Target]) -> None:
        for name, target in servers.items():
            self._clients[name] = await self._exit.enter_async_context(self._opened(target))

    async def open_many(self, servers: dict[str, Target]) -> None:
        for name, target in servers.items():
            self._each.open(name, self._opened(target))

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        client = self._clients.get(server) or await self._each.get(server)
        result = await client.call_tool(tool, arguments)
        block = result.content[0]
        return block.text if isinstance(block, TextContent) else ""

    async def close(self) -> None:
        await self._each.close()
        await self._exit.aclose()


if __name__ == "__main__":
    serve(PythonSdk)
