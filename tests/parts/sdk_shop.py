"""A server made with the official Python SDK that uses most of the protocol: an other side that nobody here wrote.

Run as a program with `stdio`, `streamable-http` or `sse`; over HTTP it prints its port on one line.
"""

import asyncio
import sys
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, Image, MCPServer, Resolve
from pydantic import BaseModel
from serve_app import serve

server = MCPServer("sdk-shop", instructions="Ask nicely.")
PNG = b"\x89PNG\r\n\x1a\n and so on"


class Name(BaseModel):
    name: str


class Point(BaseModel):
    x: int
    y: int


def who() -> Elicit[Name]:
    return Elicit("Your name?", Name)


@server.tool()
def picture() -> Image:
    return Image(data=PNG, format="png")


@server.tool()
def point(x: int, y: int) -> Point:
    return Point(x=x, y=y)


@server.tool()
def greet(name: Annotated[Name, Resolve(who)]) -> str:
    return f"Hello, {name.name}!"


@server.tool()
def broken() -> str:
    raise ValueError("It broke.")


@server.tool()
async def count(n: int, context: Context) -> str:
    for step in range(n):
        await context.report_progress(step + 1, n)
    return "counted"


@server.resource("shop://hours")
def hours() -> str:
    return "9 to 5"


@server.resource("shop://item/{name}")
def item(name: str) -> str:
    return f"One {name}."


@server.prompt()
def haggle(price: str) -> str:
    return f"I offer {price}."


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        asyncio.run(serve(server.sse_app() if sys.argv[1] == "sse" else server.streamable_http_app()))
