"""mcp-use: `MCPClient` with a config of all servers, and their sessions."""

import os
from typing import Any

from bench.contenders.driver import Target, serve

os.environ["MCP_USE_ANONYMIZED_TELEMETRY"] = "false"

from mcp_use import MCPClient


class McpUse:
    def __init__(self) -> None:
        self._client = MCPClient()

    async def open(self, servers: dict[str, Target]) -> None:
        entries = {
            name: target if "url" in target else {"command": target["command"][0], "args": target["command"][1:]}
            for name, target in servers.items()
        }
        self._client = MCPClient.from_dict({"mcpServers": entries})
        await self._client.create_all_sessions()
        for name in servers:
            await self._client.get_session(name).list_tools()

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        result = await self._client.get_session(server).call_tool(tool, arguments)
        return str(result.content[0].text)

    async def close(self) -> None:
        await self._client.close_all_sessions()


if __name__ == "__main__":
    serve(McpUse)
