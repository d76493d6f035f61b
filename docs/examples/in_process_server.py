"""A server in the same program: made with the official SDK, called without a process and without a socket."""

import asyncio

from mcp.server import MCPServer

from openclaw.mcp import Manager, Server

shop = MCPServer("shop")


@shop.tool()
def price(item: str) -> dict[str, int]:
    """What an item costs."""
    return {"cents": 2000 if item == "hat" else 500}


async def main() -> None:
    async with Manager([Server("shop", in_process=shop)]) as manager:
        result = await manager.call("shop__price", {"item": "hat"})
        print(result.data)


if __name__ == "__main__":
    asyncio.run(main())
