"""Give the tools of MCP servers to a model of OpenAI, or of anybody who speaks chat completions."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

from openclaw.mcp import Manager, Server

CLOCK = Server("clock", command=sys.executable, args=[Path(__file__).with_name("clock_server.py")])


async def main(question: str) -> None:
    model = AsyncOpenAI()  # OPENAI_API_KEY, and OPENAI_BASE_URL for another vendor
    messages: list[Any] = [{"role": "user", "content": question}]
    async with Manager([CLOCK]) as manager:
        while True:
            completion = await model.chat.completions.create(
                model=os.environ.get("MODEL", "gpt-5-mini"), messages=messages, tools=manager.tools_for("openai")
            )
            message = completion.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            answers = await manager.answers_for("openai", message)
            if not answers:
                break
            messages += answers
    print(message.content)


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:])))
