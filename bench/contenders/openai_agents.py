"""openai-agents: its MCP servers under an `MCPServerManager`, which it recommends for several."""

from typing import Any

from agents.mcp import MCPServer, MCPServerManager, MCPServerStdio, MCPServerStreamableHttp

from bench.contenders.driver import Target, serve

# Its default of 5 s ends the largest results.
READ_SECONDS = 60.0


class OpenAiAgents:
    def __init__(self) -> None:
        self._manager: MCPServerManager | None = None
        self._servers: dict[str, MCPServer] = {}

    async def open(self, servers: dict[str, Target]) -> None:
        made: dict[str, MCPServer] = {}
        for name, target in servers.items():
            options: dict[str, Any] = {"name": name, "cache_tools_list": True}
            options["client_session_timeout_seconds"] = READ_SECONDS
            if "url" in target:
                made[name] = MCPServerStreamableHttp(params={"url": target["url"]}, **options)
            else:
                command, *arguments = target["command"]
                made[name] = MCPServerStdio(params={"command": command, "args": arguments}, **options)
        self._manager = MCPServerManager(made.values(), connect_in_parallel=True)
        await self._manager.connect_all()
        active = self._manager.active_servers
        self._servers = {name: server for name, server in made.items() if server in active}
        for server in self._servers.values():
            await server.list_tools()

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        result = await self._servers[server].call_tool(tool, arguments)
        return str(result.content[0].text)

    async def close(self) -> None:
        if self._manager is not None:
            await self._manager.cleanup_all()


if __name__ == "__main__":
    serve(OpenAiAgents)
