"""Answer what a server asks while it works: the handlers of a program that embeds the engine."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openclaw import Invocation, clean_label
from openclaw.mcp import Dependencies, Handlers, Manager, ServerSpec

TABLE = ServerSpec("table", command=sys.executable, args=(str(Path(__file__).with_name("table_server.py")),))


async def ask_person(server: str, params: Mapping[str, Any], invocation: Invocation | None) -> Mapping[str, Any]:
    """`elicitation`: show who asks and what. A real program waits for the person here; declining must be possible."""
    print(f"{server} asks: {clean_label(params['message'], 200)}")
    answer = sys.argv[1] if len(sys.argv) > 1 else ""
    return {"action": "accept", "content": {"people": int(answer)}} if answer else {"action": "decline"}


async def name_folders(server: str, params: Mapping[str, Any], invocation: Invocation | None) -> Mapping[str, Any]:
    """`roots`: the folders this server may work in."""
    return {"roots": [{"uri": Path.cwd().as_uri(), "name": "here"}]}


async def main() -> None:
    dependencies = Dependencies(handlers=Handlers(elicitation=ask_person, roots=name_folders))
    async with Manager([TABLE], dependencies=dependencies) as manager:
        result = await manager.call("table__book", {})
        print(result.content[0].text)


if __name__ == "__main__":
    asyncio.run(main())
