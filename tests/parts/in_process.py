"""The engine in one process with a server that another library made. Run by an environment that has the library, and not ours.

    python in_process.py MODULE TOOL… : the module beside this one whose `server` is taken, and what is called of it, in JSON

`OUR_PACKAGES` names the folder of the packages that the engine needs; those of the environment go first.
"""

import asyncio
import json
import os
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(os.environ["OUR_PACKAGES"])
sys.path.insert(0, str(HERE.parent.parent / "src"))

from openclaw.mcp import (  # noqa: E402  # the path has to be there first
    ElicitationAnswer,
    ElicitationRequest,
    Manager,
    SamplingAnswer,
    SamplingRequest,
    Server,
)


async def elicit(request: ElicitationRequest) -> ElicitationAnswer:
    return request.accept({"people": 4, "place": "out", "quiet": False})


async def sample(request: SamplingRequest) -> SamplingAnswer:
    return SamplingAnswer(request.messages[0].text.upper(), "local")


async def main(module: str, calls: list[str]) -> None:
    server = Server("peer", in_process=import_module(module).server)
    async with Manager([server], elicit=elicit, sample=sample, roots=["/srv/shared"]) as manager:
        for call in calls:
            tool, _, arguments = call.partition(" ")
            result = await manager.call(f"peer__{tool}", json.loads(arguments or "{}"))
            kinds = [picture.mime_type for picture in result.images]
            print(json.dumps([tool, result.is_error, result.text, result.data, kinds]))
        print(json.dumps([manager.status()[0].state, await manager.server("peer").ping() >= 0]))
    print(json.dumps(len(asyncio.all_tasks())))


asyncio.run(main(sys.argv[1], sys.argv[2:]))
