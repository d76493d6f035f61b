"""The official Python SDK, as its documentation shows it: one `Client` for each server."""

from contextlib import AsyncExitStack
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from bench.contenders.driver import Target, serve


class PythonSdk:
    def __init__(self) -> None:
        self._exit = AsyncExitStack()
        self._clients: dict[str, Client] = {}

    async def open(self, servers: dict[str, Target]) -> None:
        for name, target in servers.items():
            if "url" in target:
                client = Client(target["url"])
            else:
                command, *arguments = target["command"]
                client = Client(StdioServerParameters(command=command, args=arguments))
            self._clients[name] = await self._exit.enter_async_context(client)
            await client.list_tools()

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        result = await self._clients[server].call_tool(tool, arguments)
        block = result.content[0]
        return block.text if isinstance(block, TextContent) else ""

    async def close(self) -> None:
        await self._exit.aclose()


if __name__ == "__main__":
    serve(PythonSdk)
