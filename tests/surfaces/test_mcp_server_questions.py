"""An order that asks who ordered it: the official Python client in both eras, with a gateway that carries the order out and without."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, types
from mcp.client.stdio import stdio_client

from parts.asking_plugin import ANSWERS, HEARD, NOBODY, config
from parts.gateways import Home, gateway_process, home
from parts.order_process import MODERN_META, OPENCLAW, OrderProcess

ERAS = ["legacy", "2026-07-28"]
WHERE = ["gateway", "local"]
TURNS: list[dict[str, Any]] = [{"toolCalls": [{"name": "ask", "arguments": {}}]}, {"text": "It says: {result}"}]


class Person:
    """Answers what they know how to answer. `shown` is what they were asked."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    async def answer(self, context: Any, params: Any) -> types.ElicitResult:
        self.shown.append(params.message)
        return types.ElicitResult(action="accept", content=ANSWERS[params.message])


@contextmanager
def place_to_ask(folder: Path, where: str) -> Iterator[Home]:
    with home(folder) as place:
        place.save(place.script(*TURNS), **config())
        if where == "local":
            yield place
        else:
            with gateway_process(place):
                yield place


def client(place: Home, where: str, mode: str, person: Person | None) -> Client:
    command, *arguments = OPENCLAW
    local = ["--local"] if where == "local" else []
    server = StdioServerParameters(
        command=command, args=[*arguments, "mcp-server", *local], env=dict(place.env), cwd=str(place.state)
    )
    return Client(stdio_client(server), mode=mode, elicitation_callback=None if person is None else person.answer)


async def said(client: Client) -> str:
    async with client:
        result = await client.call_tool("order_openclaw", {"message": "go"})
    [block] = result.content
    assert isinstance(block, types.TextContent)
    assert not result.is_error, block.text
    return block.text


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("mode", ERAS)
async def test_the_client_is_asked_for_an_approval_a_form_and_a_visit(mode: str, where: str, tmp_path: Path) -> None:
    person = Person()
    with place_to_ask(tmp_path, where) as place:
        text = await said(client(place, where, mode, person))
    assert (text.replace("\n", " "), person.shown) == (f"It says: {HEARD}", list(ANSWERS))


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_that_declares_nothing_is_not_asked(mode: str, where: str, tmp_path: Path) -> None:
    with place_to_ask(tmp_path, where) as place:
        text = await said(client(place, where, mode, None))
    assert text == f"It says: {NOBODY}"


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("how", ["eof", "SIGTERM"])
async def test_a_server_that_ends_while_it_asks_ends_at_once_and_leaves_no_question(
    how: str, era: str, where: str, tmp_path: Path
) -> None:
    with place_to_ask(tmp_path, where) as place:
        names = ("OPENCLAW_STATE_DIR", "XDG_RUNTIME_DIR")
        local = ["--local"] if where == "local" else []
        async with OrderProcess(tmp_path, *local, env={name: place.env[name] for name in names}) as server:
            if era == "legacy":
                await server.initialize(elicitation={})
                server.begin_order("go", meta={"progressToken": 1})
                await server.until_told("Waiting for an answer")
            else:
                meta = MODERN_META | {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
                asked = await server.order("go", meta=meta)
                assert asked["resultType"] == "input_required"
            assert await server.end(how) == (0 if how == "eof" else 143)
        if where == "gateway":
            # The gateway hears of it a moment later.
            while json.loads(place.run("approvals", "list", "--json").stdout):
                pass
