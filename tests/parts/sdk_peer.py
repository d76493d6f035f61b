"""A server made with the official Python SDK, 1.x or 2.x, whichever the interpreter has: an other side that nobody here wrote.

    python sdk_peer.py stdio|streamable-http|sse

Over HTTP it prints its port on one line and serves until it is ended.
"""

import asyncio
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pydantic import BaseModel
from serve_app import serve

# Its name until the second version; types are those of the one in our environment.
if TYPE_CHECKING or find_spec("mcp.server.mcpserver"):
    from mcp.server.mcpserver import Image, MCPServer
else:
    from mcp.server.fastmcp import FastMCP as MCPServer
    from mcp.server.fastmcp import Image

server = MCPServer("sdk-peer", instructions="Ask nicely.")
PNG = b"\x89PNG\r\n\x1a\n not a whole one"


class Point(BaseModel):
    x: int
    y: int


@server.tool()
def echo(text: str) -> str:
    """Says it again."""
    return text


@server.tool()
def picture() -> Image:
    """A picture."""
    return Image(data=PNG, format="png")


@server.tool()
def point(x: int, y: int) -> Point:
    """A point."""
    return Point(x=x, y=y)


@server.tool()
def broken() -> str:
    """Fails."""
    raise ValueError("It broke.")


@server.resource("shop://hours")
def hours() -> str:
    return "9 to 5"


@server.resource("shop://item/{name}")
def item(name: str) -> str:
    return f"One {name}."


@server.prompt()
def haggle(price: str) -> str:
    """Talk the price down."""
    return f"I offer {price}."


def run() -> None:
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        asyncio.run(serve(server.sse_app() if sys.argv[1] == "sse" else server.streamable_http_app()))


if __name__ == "__main__":
    run()
