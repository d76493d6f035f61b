"""Gateways on one PostgreSQL, by each strict wire of a vendor and each way in: a tool is called, a conversation goes on elsewhere, and
after a restart."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from openclaw.content import to_json
from parts.editor import Editor, choose
from parts.gateways import Home, gateway_process, home, stdio_server
from parts.model_servers import Answer, Call, ChatServer, MessagesServer, ModelServer
from parts.order_process import OrderProcess
from parts.postgres import PostgresServer, free_port
from parts.responses_server import ResponsesServer

pytestmark = [pytest.mark.real, pytest.mark.minutes(2)]

WIRES: dict[str, type[ModelServer]] = {
    "anthropic-messages": MessagesServer,
    "openai-completions": ChatServer,
    "openai-responses": ResponsesServer,
}


@contextmanager
def place_at(folder: Path, url: str, model: ModelServer, wire: str) -> Iterator[Home]:
    folder.mkdir()
    provider = {"baseUrl": model.url, "apiKey": model.key, "api": wire, "models": ["local-model"]}
    with home(folder, env={"TOKEN_KEY": "correct horse battery staple"}) as made:
        made.save(
            {
                "gateway": {"port": free_port()},
                "session": {"store": "postgres", "postgres": {"url": url}},
                "tokenStore": {"key": "secret://env/TOKEN_KEY"},
                "mcp": {"servers": {"parts": stdio_server()}},
                "models": {"mode": "replace", "providers": {"vendor": provider}},
                "agents": {"defaults": {"model": "vendor/local-model"}},
            }
        )
        yield made


async def said(place: Home, text: str) -> str:
    done = await asyncio.to_thread(place.run, "agent", "--session-key", "k", text)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def asked(model: ModelServer) -> str:
    return to_json(model.requests[-1]).decode()


def calling(words: str) -> list[Answer]:
    return [Answer("Let me.", calls=[Call("call_1", "parts__echo", {"text": words})]), Answer("Echoed.")]


@pytest.mark.parametrize("wire", WIRES)
async def test_turns_orders_and_editors_go_on_at_another_gateway_and_after_a_restart(
    postgres: PostgresServer, tmp_path: Path, wire: str
) -> None:
    url = await postgres.new_database()
    plain = [Answer(f"Answer {number}.") for number in range(1, 5)]
    answers = [*calling("by a turn"), *plain[:2], *calling("by an order"), plain[2], *calling("by an editor"), plain[3]]
    async with WIRES[wire](answers) as model:
        with (
            place_at(tmp_path / "one", url, model, wire) as first,
            place_at(tmp_path / "two", url, model, wire) as second,
        ):
            with gateway_process(first), gateway_process(second) as two:
                assert "Echoed." in await said(first, "say it")
                assert await said(second, "what was said?") == "Answer 1."
                assert "by a turn" in asked(model)
                two.end()
                with gateway_process(second):
                    assert await said(second, "and now?") == "Answer 2."
                    assert "by a turn" in asked(model)
                    await _orders(first, second, model)
                    session = await _edited(first, tmp_path)
            with gateway_process(first):
                await _edited_on(first, tmp_path, session)
                assert "by an editor" in asked(model)
        assert model.refused == []


async def _orders(first: Home, second: Home, model: ModelServer) -> None:
    for place, answer in ((first, "Echoed."), (second, "Answer 3.")):
        async with OrderProcess(place.state.parent, env=dict(place.env)) as client:
            await client.initialize()
            assert answer in await client.said("do it", sessionKey="work")
    assert "by an order" in asked(model)


async def _edited(place: Home, folder: Path) -> Any:
    async with Editor(place, folder, answer=choose("allow_once")) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "say it") == "end_turn"
        return session


async def _edited_on(place: Home, folder: Path, session: Any) -> None:
    async with Editor(place, folder) as editor:
        await editor.request("session/resume", sessionId=session, cwd=str(folder), mcpServers=[])
        assert await editor.prompt(session, "what was said?") == "end_turn"
