"""A server made with the official Python SDK, over HTTP: an other side that nobody here wrote.

Run as a program with `streamable-http` or `sse`; it prints its port on one line and serves until it is ended.
"""

import asyncio
import socket
import sys

import uvicorn
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("sdk")


@server.tool()
def echo(text: str) -> str:
    return text


@server.tool()
async def count(n: int, context: Context) -> str:
    for step in range(n):
        await context.report_progress(step + 1, n)
    return "counted"


async def main(transport: str) -> None:
    app = server.sse_app() if transport == "sse" else server.streamable_http_app()
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    # Connections wait in the queue until the server has started.
    listener.listen()
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    await uvicorn.Server(uvicorn.Config(app, log_level="error")).serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
