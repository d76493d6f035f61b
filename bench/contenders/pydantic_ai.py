"""pydantic-ai: one `MCPToolset` for each server, called directly, without a model."""

from contextlib import AsyncExitStack
from typing import Any

from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset

from bench.contenders.driver import Target, serve


class PydanticAi:
    def __init__(self) -> None:
        self._exit = AsyncExitStack()
        self._toolsets: dict[str, MCPToolset[Any]] = {}

    async def open(self, servers: dict[str, Target]) -> None:
        for name, target in servers.items():
            if "url" in target:
                toolset = MCPToolset(target["url"])
            else:
                command, *arguments = target["command"]
                toolset = MCPToolset(StdioTransport(command, arguments))
            self._toolsets[name] = await self._exit.enter_async_context(toolset)
            await toolset.list_tools()

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        return str(await self._toolsets[server].direct_call_tool(tool, arguments))

    async def close(self) -> None:
        await self._exit.aclose()


if __name__ == "__main__":
    serve(PydanticAi)
