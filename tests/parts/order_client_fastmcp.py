"""FastMCP's client, against the server whose command line is given. Runs in an environment of its own.

python order_client_fastmcp.py MESSAGE COMMAND ARGUMENTS…

Prints one JSON object: tools, content, isError, progress.
"""

import asyncio
import json
import os
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def main() -> None:
    message, command, *arguments = sys.argv[1:]
    progress: list[str | None] = []

    async def tell(done: float, total: float | None, text: str | None) -> None:
        progress.append(text)

    async with Client(StdioTransport(command, arguments, env=dict(os.environ), keep_alive=False)) as client:
        tools = [tool.name for tool in await client.list_tools()]
        result = await client.call_tool(
            "order_openclaw", {"message": message}, progress_handler=tell, raise_on_error=False
        )
    content = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content]
    print(json.dumps({"tools": tools, "content": content, "isError": result.is_error, "progress": progress}))


asyncio.run(main())
