"""FastMCP: one `Client` for each server; for many servers at once, one `Client` for a whole config, as its documentation shows."""

from contextlib import AsyncExitStack
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from bench.contenders.driver import Target, serve


class FastMcp:
    def __init__(self) -> None:
        self._exit = AsyncExitStack()
        self._clients: dict[str, Client[Any]] = {}
        self._prefix = False

    async def open(self, servers: dict[str, Target]) -> None:
        for name, target in servers.items():
            if "url" in target:
                client = Client(target["url"])
            else:
                command, *arguments = target["command"]
                client = Client(StdioTransport(command, arguments))
            self._clients[name] = await self._exit.enter_async_context(client)
            await client.list_tools()

    async def open_many(self, servers: dict[str, Target]) -> None:
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
        result = await self._clients[server].call_tool(name, arguments)
        return str(result.content[0].text)

    async def close(self) -> None:
        await self._exit.aclose()


if __name__ == "__main__":
    serve(FastMcp)
