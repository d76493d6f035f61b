"""A plugin whose tool asks what it is told to ask, and a gateway with it: questions without a model, a server or a terminal."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from parts.gateways import Home, Running, home, running
from parts.processes import HANG_GUARD

# It notes in a file what it was allowed to do.
_PLUGIN = """
import json
from pathlib import Path
import msgspec
from openclaw import Question, Text, Tool, ToolResult, parameters
from openclaw.plugins import PluginHandle, ToolPlugin

DONE = Path({done!r})

async def initialize(context):
    async def ask(arguments, invocation):
        asker = invocation.conversation.asker
        question = msgspec.convert(arguments["question"], Question)
        while True:
            context.log.warning("it asks")
            answer = await asker.ask(question)
            if answer.is_yes:
                with DONE.open("a") as file:
                    file.write(json.dumps(dict(answer.content)) + "\\n")
            if not arguments.get("forever"):
                return ToolResult((Text(json.dumps(msgspec.to_builtins(answer))),))

    def tool(name, timeout):
        return Tool(name, "Asks.", parameters({{"type": "object"}}), ask, read_only=True, timeout=timeout)

    return PluginHandle(tools=[tool("ask", None), tool("ask_briefly", 1.0)])

plugin = ToolPlugin("Asks", "Asks.", initialize)
"""

MAY_IT = {
    "kind": "approval",
    "options": ["once", "always"],
    "approval": {
        "tool": "files__write",
        "title": "write",
        "server": "files",
        "arguments": {"path": "/notes/a-private-name"},
        "offers": [
            {"id": "once", "key": "y", "text": "once", "lasts": "once"},
            {"id": "always", "key": "a", "text": "always below /notes", "lasts": "always"},
        ],
    },
}
FORM = {
    "kind": "form",
    "text": "Who are you?",
    "asker": "shop",
    "schema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
}
PAGE = {"kind": "url", "text": "Pay here.", "asker": "shop", "url": "https://shop.test/pay"}


def done(place: Home) -> list[Any]:
    """What was done because somebody allowed it."""
    file = place.state / "done"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@contextmanager
def asking_home(folder: Path, **config: Any) -> Iterator[Home]:
    file = folder / "ask.py"
    with home(folder) as place:
        file.write_text(_PLUGIN.format(done=str(place.state / "done")))
        plugins = {"load": {"paths": [str(file)]}, "entries": {"ask": {}}}
        place.save({"plugins": plugins, **config})
        yield place


@asynccontextmanager
async def asking_gateway(folder: Path, **config: Any) -> AsyncIterator[Running]:
    with asking_home(folder, **config) as place:
        async with running(place) as gateway:
            await (await gateway.gateway.app.plugins()).loaded()
            yield gateway


class Watcher:
    """Reads a gateway's events."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.snapshot: Mapping[str, Any] = {}

    async def next(self, kind: str = "question") -> dict[str, Any]:
        """The next event of this kind."""
        name = ""
        async with asyncio.timeout(HANG_GUARD):
            async for raw in self._response.content:
                line = raw.decode().rstrip("\n")
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: ") and name == kind:
                    found: dict[str, Any] = json.loads(line.removeprefix("data: "))
                    return found
        raise AssertionError("the stream ended")


@asynccontextmanager
async def watching(url: str, token: str, query: str = "?answers=approval,form,url") -> AsyncIterator[Watcher]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        aiohttp.ClientSession() as client,
        client.get(f"{url}/v1/events{query}", headers=headers, timeout=aiohttp.ClientTimeout(None)) as response,
    ):
        assert response.status == 200
        watcher = Watcher(response)
        watcher.snapshot = await watcher.next("snapshot")
        yield watcher
