"""A server made with FastMCP 4 that asks back, in both eras. Run by the environment that has FastMCP.

    python fastmcp_asking.py stdio|streamable-http

Over HTTP it prints its port on one line and serves until it is ended.
"""

import asyncio
import sys
from dataclasses import dataclass
from typing import Any, Literal

import mcp_types as types
from fastmcp import Context, FastMCP
from serve_app import serve

server = FastMCP("fastmcp-asking")


@dataclass
class Table:
    """What a table is booked for."""

    people: int = 2
    place: Literal["in", "out"] = "in"
    quiet: bool = True


SCHEMA = {
    "type": "object",
    "properties": {
        "people": {"type": "integer", "default": 2, "minimum": 1},
        "place": {"type": "string", "enum": ["in", "out"], "default": "in"},
        "quiet": {"type": "boolean", "default": True},
    },
}
PROMPT = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="A name for a dish?"))

ROLL = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="Roll the dice."))
DICE = types.Tool(name="dice", description="Rolls a dice.", input_schema={"type": "object"})


def is_modern(ctx: Context) -> bool:
    return bool(ctx._is_modern_protocol())


def asks(state: str | None = None, **requests: types.InputRequest) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=requests or None, request_state=state)


@server.tool
async def book(ctx: Context) -> str | types.InputRequiredResult:
    """Books a table: asks what for."""
    if not is_modern(ctx):
        answer = await ctx.elicit("What table?", Table)
        return f"{answer.action} {getattr(answer, 'data', '')}"
    if ctx.input_responses is None:
        params = types.ElicitRequestFormParams(message="What table?", requested_schema=SCHEMA)
        return asks(state="booking 4711", table=types.ElicitRequest(params=params))
    given = ctx.input_responses["table"]
    return f"{given.action} {given.content} {ctx.request_state}"


@server.tool
async def pay(ctx: Context) -> str | types.InputRequiredResult:
    """Wants a page to be visited first; it takes two looks until it knows."""
    page = types.ElicitRequestURLParams(message="Pay here.", url="https://pay.example.org/4711")
    seen = int(ctx.request_state or 0)
    if ctx.input_responses is None or (seen < 2 and ctx.input_responses["pay"].action == "accept"):
        return asks(state=str(seen + 1), pay=types.ElicitRequest(params=page))
    return f"{ctx.input_responses['pay'].action} after {seen}"


@server.tool
async def invent(ctx: Context) -> str | types.InputRequiredResult:
    """Has a model invent a dish."""
    if not is_modern(ctx):
        result = await ctx.session.create_message([PROMPT], max_tokens=20, related_request_id=ctx.request_id)
        return f"{result.model}: {result.content.text} ({result.stop_reason})"
    if ctx.input_responses is None:
        params = types.CreateMessageRequestParams(messages=[PROMPT], max_tokens=20)
        return asks(dish=types.CreateMessageRequest(params=params))
    result = ctx.input_responses["dish"]
    return f"{result.model}: {result.content.text} ({result.stop_reason})"


def request_to_roll(*more: types.SamplingMessage) -> types.CreateMessageRequest:
    params = types.CreateMessageRequestParams(messages=[ROLL, *more], max_tokens=20, tools=[DICE])
    return types.CreateMessageRequest(params=params)


def rolled(use: types.ToolUseContent) -> tuple[types.SamplingMessage, types.SamplingMessage]:
    """What the model wanted, and what came of it."""
    given = types.ToolResultContent(tool_use_id=use.id, content=[types.TextContent(type="text", text="It is a 4.")])
    return types.SamplingMessage(role="assistant", content=[use]), types.SamplingMessage(role="user", content=[given])


def block_of(result: types.CreateMessageResult | types.CreateMessageResultWithTools) -> Any:
    return result.content[0] if isinstance(result.content, list) else result.content


@server.tool
async def roll(ctx: Context) -> str | types.InputRequiredResult:
    """Has a model roll a dice of the server's, and say what came of it."""
    if not is_modern(ctx):
        how: dict[str, Any] = {"max_tokens": 20, "tools": [DICE], "related_request_id": ctx.request_id}
        wanted = await ctx.session.create_message([ROLL], **how)
        said = await ctx.session.create_message([ROLL, *rolled(block_of(wanted))], **how)
        return f"{wanted.stop_reason}, {said.stop_reason}: {block_of(said).text}"
    if ctx.input_responses is None:
        return asks(roll=request_to_roll())
    result = ctx.input_responses["roll"]
    if isinstance(use := block_of(result), types.ToolUseContent):
        return asks(state=str(result.stop_reason), roll=request_to_roll(*rolled(use)))
    return f"{ctx.request_state}, {result.stop_reason}: {block_of(result).text}"


@server.tool
async def folder(ctx: Context) -> str | types.InputRequiredResult:
    """Tells which folder it may work in."""
    if not is_modern(ctx):
        return ", ".join(str(root.uri) for root in (await ctx.session.list_roots()).roots)
    if ctx.input_responses is None:
        return asks(where=types.ListRootsRequest())
    return ", ".join(str(root.uri) for root in ctx.input_responses["where"].roots)


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run(transport="stdio", show_banner=False)
    else:
        asyncio.run(serve(server.http_app(transport=sys.argv[1])))
