"""A server made with FastMCP 4: an other side that nobody here wrote. Run by the environment that has FastMCP.

    python fastmcp_peer.py stdio|streamable-http|sse

Over HTTP it prints its port on one line and serves until it is ended.
"""

import asyncio
import sys

from fastmcp import FastMCP
from fastmcp.utilities.types import Image
from serve_app import serve

server = FastMCP("fastmcp-peer", instructions="Ask nicely.")
PNG = b"\x89PNG\r\n\x1a\n not a whole one"


@server.tool
def echo(text: str) -> str:
    """Says it again."""
    return text


@server.tool
def picture() -> Image:
    """A picture."""
    return Image(data=PNG, format="png")


@server.tool
def point(x: int, y: int) -> dict[str, int]:
    """A point."""
    return {"x": x, "y": y}


@server.tool
def broken() -> str:
    """Fails."""
    raise ValueError("It broke.")


@server.resource("shop://hours")
def hours() -> str:
    return "9 to 5"


@server.resource("shop://item/{name}")
def item(name: str) -> str:
    return f"One {name}."


@server.prompt
def haggle(price: str) -> str:
    """Talk the price down."""
    return f"I offer {price}."


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run(transport="stdio", show_banner=False)
    else:
        asyncio.run(serve(server.http_app(transport=sys.argv[1])))
