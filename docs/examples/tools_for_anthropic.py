"""Give the tools of MCP servers to a model of Anthropic."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from anthropic import AsyncAnthropic

from openclaw.mcp import Manager, Server

CLOCK = Server("clock", command=sys.executable, args=[Path(__file__).with_name("clock_server.py")])


async def main(question: str) -> None:
    model = AsyncAnthropic()  # ANTHROPIC_API_KEY
    messages: list[Any] = [{"role": "user", "content": question}]
    async with Manager([CLOCK]) as manager:
        while True:
            reply = await model.messages.create(
                model=os.environ.get("MODEL", "claude-sonnet-4-5"),
                max_tokens=1024,
                messages=messages,
                tools=manager.tools_for("anthropic"),
            )
            messages.append({"role": "assistant", "content": reply.content})
            answers = await manager.answers_for("anthropic", reply)
            if not answers:
                break
            messages += answers
    print("".join(block.text for block in reply.content if block.type == "text"))


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:])))
