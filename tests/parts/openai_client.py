"""A gateway, and the vendor's own client to ask it with."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import openai

from parts.gateways import Running, home, running, stdio_server


@asynccontextmanager
async def playing(folder: Path, *turns: Mapping[str, Any], **config: Any) -> AsyncIterator[Running]:
    """A gateway whose model plays these turns and whose agent has one server."""
    with home(folder) as place:
        place.save({"mcp": {"servers": {"part": stdio_server()}}, **place.script(*turns), **config})
        async with running(place) as gateway:
            await gateway.ready("part")
            yield gateway


def vendor(gateway: Running) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key=gateway.home.token, max_retries=0)


async def said(gateway: Running, key: str) -> list[Any]:
    async with gateway.gateway.app.store.turn(key, "main") as turn:
        return turn.history()
