"""Use the MCP client in a program of your own: start servers, list their tools, call one, watch what happens."""

import asyncio
import sys
from pathlib import Path

from openclaw.mcp import Manager, Server, as_json

CLOCK = Server("clock", command=sys.executable, args=[Path(__file__).with_name("clock_server.py")])


async def main() -> None:
    manager = Manager([CLOCK])
    manager.events.subscribe(lambda event: print("event:", type(event.value).__name__))
    async with manager:
        for tool in manager.tools():
            print(tool.name, "-", tool.description, sorted(tool.schema["properties"]))

        result = await manager.call("clock__now", {"format": "%Y"}, timeout=10)
        print("answer:", result.text, "error:", result.is_error)
        print("as the server sent it:", as_json(result))

        # Nothing raises: a failure is a result too.
        wrong = await manager.call("clock__now", {"format": 7})
        print("error:", wrong.is_error, "-", wrong.fault)

        for server in manager.status():
            print(server.name, server.state, server.revision, server.tools, "tool(s)")


if __name__ == "__main__":
    asyncio.run(main())
