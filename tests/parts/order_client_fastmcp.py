"""FastMCP's client, against the server whose command line is given. Runs in an environment of its own.

python order_client_fastmcp.py MODE MESSAGE COMMAND ARGUMENTS…

Prints one JSON object: tools, content, isError, progress, asked. With ORDER_ANSWERS in the environment, an object of questions and the
content of their answers, it accepts what it is asked.
"""

import asyncio
import json
import os
import sys

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport


async def main() -> None:
    mode, message, command, *arguments = sys.argv[1:]
    answers = json.loads(os.environ.get("ORDER_ANSWERS", "null"))
    asked: list[str] = []
    progress: list[str | None] = []

    async def tell(done: float, total: float | None, text: str | None) -> None:
        progress.append(text)

    async def answer(message: str, response_type: object, params: object, context: object) -> ElicitResult:
        asked.append(message)
        return ElicitResult(action="accept", content=answers[message])

    transport = StdioTransport(command, arguments, env=dict(os.environ), keep_alive=False)
    async with Client(transport, mode=mode, elicitation_handler=answer if answers else None) as client:
        tools = [tool.name for tool in await client.list_tools()]
        result = await client.call_tool(
            "order_openclaw", {"message": message}, progress_handler=tell, raise_on_error=False
        )
    content = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content]
    told = {"tools": tools, "content": content, "isError": result.is_error, "progress": progress, "asked": asked}
    print(json.dumps(told))


asyncio.run(main())
