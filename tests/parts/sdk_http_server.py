"""A server made with the official Python SDK, over HTTP: an other side that nobody here wrote.

Run as a program with `streamable-http` or `sse`; it prints its port on one line and serves until it is ended.
"""

import asyncio
import sys

from mcp.server.mcpserver import Context, MCPServer
from serve_app import serve

server = MCPServer("sdk")


@server.tool()
def echo(text: str) -> str:
    return text


@server.tool()
async def count(n: int, context: Context) -> str:
    for step in range(n):
        await context.report_progress(step + 1, n)
    return "counted"


if __name__ == "__main__":
    asyncio.run(serve(server.sse_app() if sys.argv[1] == "sse" else server.streamable_http_app()))
