"""Answer what a server asks while it works: the functions that a program gives to its manager."""

import asyncio
import sys
from pathlib import Path

from openclaw.mcp import ElicitationAnswer, ElicitationRequest, Manager, Server

TABLE = Server("table", command=sys.executable, args=[Path(__file__).with_name("table_server.py")])


async def ask_person(request: ElicitationRequest) -> ElicitationAnswer:
    """Show who asks and what. A real program waits for the person here; declining must be possible."""
    print(f"{request.server} asks: {request.message}")
    answer = sys.argv[1] if len(sys.argv) > 1 else ""
    return request.accept({"people": int(answer)}) if answer else request.decline()


async def main() -> None:
    async with Manager([TABLE], elicit=ask_person, roots=[Path.cwd()]) as manager:
        result = await manager.call("table__book")
        print(result.text)


if __name__ == "__main__":
    asyncio.run(main())
