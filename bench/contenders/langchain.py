"""langchain-mcp-adapters: `MultiServerMCPClient` with a session kept for each server, its tools called as LangChain tools.

Its short way, `get_tools()`, starts a new session (for stdio, a new process) for every single call; keeping sessions is its fast
way. `get_tools()` is its own call for many servers, and may be asked for one server alone.
"""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

from bench.contenders.driver import Target, serve


class LangChain:
    def __init__(self) -> None:
        self._exit = AsyncExitStack()
        self._tools: dict[tuple[str, str], Any] = {}
        self._opening: dict[str, asyncio.Task[None]] = {}

    def _client(self, servers: dict[str, Target], **options: Any) -> MultiServerMCPClient:
        entries: dict[str, Any] = {}
        for name, target in servers.items():
            if "url" in target:
                entries[name] = {"transport": "http", "url": target["url"]}
            else:
                command, *arguments = target["command"]
                entries[name] = {"transport": "stdio", "command": command, "args": arguments}
        return MultiServerMCPClient(entries, **options)

    async def open(self, servers: dict[str, Target]) -> None:
        client = self._client(servers)
        for name in servers:
            session = await self._exit.enter_async_context(client.session(name))
            for tool in await load_mcp_tools(session):
                self._tools[name, tool.name] = tool

    async def open_many(self, servers: dict[str, Target]) -> None:
        client = self._client(servers)
        self._opening = {name: asyncio.create_task(self._tools_of(client, name)) for name in servers}

    async def _tools_of(self, client: MultiServerMCPClient, name: str) -> None:
        for tool in await client.get_tools(server_name=name):
            self._tools[name, tool.name] = tool

    async def open_list(self, servers: dict[str, Target]) -> None:
        for tool in await self._client(servers, tool_name_prefix=True).get_tools():
            server, _, name = tool.name.partition("_")
            self._tools[server, name] = tool

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        if self._opening:
            await asyncio.shield(self._opening[server])
        result = await self._tools[server, tool].ainvoke(arguments)
        return result if isinstance(result, str) else str(result[0]["text"])

    async def close(self) -> None:
        for task in self._opening.values():
            task.cancel()
        await self._exit.aclose()


if __name__ == "__main__":
    serve(LangChain)
