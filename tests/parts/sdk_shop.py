"""The server of sdk_peer.py with what only the newest official SDK can do: questions to the person, and progress.

Run as a program with `stdio`, `streamable-http` or `sse`; over HTTP it prints its port on one line.
"""

from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, Resolve
from pydantic import BaseModel
from sdk_peer import run, server


class Name(BaseModel):
    name: str


def who() -> Elicit[Name]:
    return Elicit("Your name?", Name)


@server.tool()
def greet(name: Annotated[Name, Resolve(who)]) -> str:
    return f"Hello, {name.name}!"


@server.tool()
async def count(n: int, context: Context) -> str:
    for step in range(n):
        await context.report_progress(step + 1, n)
    return "counted"


if __name__ == "__main__":
    run()
