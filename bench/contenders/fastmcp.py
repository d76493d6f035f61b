"""FastMCP: one `Client` for each server; or one `Client` for a whole config, its own call for many servers."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from bench.contenders.driver import Target, serve
from bench.contenders.each import Each


class FastMcp:
    def __init__(self) -> None:
        self._exit = AsyncExitStack()
        self._clients: dict[str, Client[Any]] = {}
        self._each: Each[Client[Any]] = Each()
        self._prefix = False

    @asynccontextmanager
    async def _opened(self, target: Target) -> AsyncIterator[Client[Any]]:
        if "url" in target:
            client = Client(target["url"])
        else:
            command, *arguments = target["command"]
            client = Client(StdioTransport(command, arguments))
        async with client:
            await client.list_tools()
            yield client

    async def open(self, servers: dict[str, Target]) -> None:
        for name, target in servers.items():
            self._clients[name] = await self._exit.enter_async_context(self._opened(target))

    async def open_many(self, servers: dict[str, Target]) -> None:
        for name, target in servers.items():
            self._each.open(name, self._opened(target))

    async def open_list(self, servers: dict[str, Target]) -> None:
        entries = {
            name: target if "url" in target else {"command": target["command"][0], "args": target["command"][1:]}
            for name, target in servers.items()
        }
        client = await self._exit.enter_async_context(Client({"mcpServers": entries}))
        await client.list_tools()
        self._clients = dict.fromkeys(servers, client)
        self._prefix = True

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        name = f"{server}_{tool}" if self._prefix else tool
        client = self._clients.get(server) or await self._each.get(server)
        result = await client.call_tool(name, arguments)
        return str(result.content[0].text)

    async def close(self) -> None:
        await self._each.close()
        await self._exit.aclose()


if __name__ == "__main__":
    serve(FastMcp)
