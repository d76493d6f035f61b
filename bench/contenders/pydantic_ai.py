"""pydantic-ai: one `MCPToolset` for each server, called directly, without a model."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset

from bench.contenders.driver import Target, serve
from bench.contenders.each import Each


class PydanticAi:
    def __init__(self) -> None:
        self._exit = AsyncExitStack()
        self._toolsets: dict[str, MCPToolset[Any]] = {}
        self._each: Each[MCPToolset[Any]] = Each()

    @asynccontextmanager
    async def _opened(self, target: Target) -> AsyncIterator[MCPToolset[Any]]:
        if "url" in target:
            toolset = MCPToolset(target["url"])
        else:
            command, *arguments = target["command"]
            toolset = MCPToolset(StdioTransport(command, arguments))
        async with toolset:
            await toolset.list_tools()
            yield toolset

    async def open(self, servers: dict[str, Target]) -> None:
        for name, target in servers.items():
            self._toolsets[name] = await self._exit.enter_async_context(self._opened(target))

    async def open_many(self, servers: dict[str, Target]) -> None:
        for name, target in servers.items():
            self._each.open(name, self._opened(target))

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        toolset = self._toolsets.get(server) or await self._each.get(server)
        return str(await toolset.direct_call_tool(tool, arguments))

    async def close(self) -> None:
        await self._each.close()
        await self._exit.aclose()


if __name__ == "__main__":
    serve(PydanticAi)
