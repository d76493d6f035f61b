"""Between a client and its model server: passes everything on, and makes the model call what a test wants called.

Each of `forced` is for one request: the tool, and for its arguments what they are to be, as schemas. The request goes on with that tool
alone, `tool_choice: "required"`, and the first words of a call already said: what follows is bound by the grammar of the model's own
server. Without those words llama.cpp lets a model talk without end before its call; a choice by the name of the tool it takes for `auto`.
`bodies` are the requests as the client sent them.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ClientSession, ClientTimeout, web

from parts.served import served

# How a call begins in the template of `real_model.py`.
BEGINNING = "<tool_call>\n"
# One turn of a model on a machine that does other things.
SECONDS = 900.0


class Forcing:
    def __init__(self, address: str, forced: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        self.bodies: list[dict[str, Any]] = []
        self._address = address
        self._forced = list(forced)

    async def pass_on(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        if self._forced:
            name, fields = self._forced.pop(0)
            [tool] = [one for one in body["tools"] if one["function"]["name"] == name]
            schema = {"type": "object", "properties": dict(fields), "required": list(fields)}
            forced = {**tool, "function": {**tool["function"], "parameters": schema}}
            begun = {"role": "assistant", "content": BEGINNING}
            choice = {"tools": [forced], "tool_choice": "required", "parallel_tool_calls": False}
            body = {**body, **choice, "messages": [*body["messages"], begun]}
        headers = {"Authorization": request.headers["Authorization"], "Content-Type": "application/json"}
        async with (
            ClientSession(timeout=ClientTimeout(SECONDS)) as session,
            session.post(f"{self._address}{request.path}", data=json.dumps(body), headers=headers) as answer,
        ):
            response = web.StreamResponse(status=answer.status, headers={"Content-Type": answer.content_type})
            await response.prepare(request)
            async for piece in answer.content.iter_any():
                await response.write(piece)
            return response


@asynccontextmanager
async def forcing(address: str, *forced: tuple[str, Mapping[str, Any]]) -> AsyncIterator[tuple[Forcing, str]]:
    """The one between, and its address."""
    between = Forcing(address, forced)
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_route("*", "/{path:.*}", between.pass_on)
    async with served(app) as url:
        yield between, url
