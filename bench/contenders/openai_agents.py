"""openai-agents: its MCP servers, each for itself; or under an `MCPServerManager`, its own call for many servers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agents.mcp import MCPServer, MCPServerManager, MCPServerStdio, MCPServerStreamableHttp

from bench.contenders.driver import Target, serve
from bench.contenders.each import Each

# Its default of 5 s ends the largest results.
READ_SECONDS = 60.0


def _server(name: str, target: Target) -> MCPServer:
    options: dict[str, Any] = {"name": name, "cache_tools_list": True}
    options["client_session_timeout_seconds"] = READ_SECONDS
    if "url" in target:
        return MCPServerStreamableHttp(params={"url": target["url"]}, **options)
    command, *arguments = target["command"]
    return MCPServerStdio(params={"command": command, "args": arguments}, **options)


class OpenAiAgents:
    def __init__(self) -> None:
        self._manager: MCPServerManager | None = None
        self._servers: dict[str, MCPServer] = {}
        self._each: Each[MCPServer] = Each()

    async def open(self, servers: dict[str, Target]) -> None:
        made = {name: _server(name, target) for name, target in servers.items()}
        self._manager = MCPServerManager(made.values(), connect_in_parallel=True)
        await self._manager.connect_all()
        active = self._manager.active_servers
        self._servers = {name: server for name, server in made.items() if server in active}
        for server in self._servers.values():
            await server.list_tools()

    open_list = open

    async def open_many(self, servers: dict[str, Target]) -> None:
        for name, target in servers.items():
            self._each.open(name, self._opened(name, target))

    @asynccontextmanager
    async def _opened(self, name: str, target: Target) -> AsyncIterator[MCPServer]:
        async with _server(name, target) as server:
            await server.list_tools()
            yield server

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        found = self._servers.get(server) or await self._each.get(server)
        result = await found.call_tool(tool, arguments)
        return str(result.content[0].text)

    async def close(self) -> None:
        await self._each.close()
        if self._manager is not None:
            await self._manager.cleanup_all()


if __name__ == "__main__":
    serve(OpenAiAgents)
