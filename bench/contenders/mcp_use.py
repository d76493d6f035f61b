"""mcp-use: `MCPClient` with a config of all servers, and a session for each; `create_all_sessions` is its own call for many."""

import asyncio
import os
from typing import Any

from bench.contenders.driver import Target, serve

os.environ["MCP_USE_ANONYMIZED_TELEMETRY"] = "false"

from mcp_use import MCPClient


class McpUse:
    def __init__(self) -> None:
        self._client = MCPClient()
        self._opening: dict[str, asyncio.Task[None]] = {}

    def _configure(self, servers: dict[str, Target]) -> None:
        entries = {
            name: target if "url" in target else {"command": target["command"][0], "args": target["command"][1:]}
            for name, target in servers.items()
        }
        self._client = MCPClient.from_dict({"mcpServers": entries})

    async def open(self, servers: dict[str, Target]) -> None:
        self._configure(servers)
        await self._client.create_all_sessions()
        for name in servers:
            await self._client.get_session(name).list_tools()

    open_list = open

    async def open_many(self, servers: dict[str, Target]) -> None:
        self._configure(servers)
        self._opening = {name: asyncio.create_task(self._session(name)) for name in servers}

    async def _session(self, name: str) -> None:
        session = await self._client.create_session(name)
        await session.list_tools()

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        if self._opening:
            await asyncio.shield(self._opening[server])
        result = await self._client.get_session(server).call_tool(tool, arguments)
        return str(result.content[0].text)

    async def close(self) -> None:
        for task in self._opening.values():
            task.cancel()
        await self._client.close_all_sessions()


if __name__ == "__main__":
    serve(McpUse)
