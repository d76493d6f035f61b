"""A tool that the model has to find, through every way in: whoever looks sees the tool itself, and not by which way it was called."""

import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from parts import many_tools
from parts.editor import NearEditor
from parts.gateways import Home, running
from parts.gateways import home as made_home
from parts.order_process import OrderProcess

CALL = {"id": "many__tool_7", "arguments": {"path": "a"}}
TURNS: tuple[dict[str, Any], ...] = (
    {"toolCalls": [{"name": "tool_search", "arguments": {"query": "thing number 7"}}]},
    {"toolCalls": [{"name": "tool_call", "arguments": CALL}]},
    {"text": "It was {result}"},
)


def sections(home: Home) -> dict[str, Any]:
    entry = {"command": sys.executable, "args": ["-I", "-S", many_tools.__file__, "45"]}
    return {
        **home.script(*TURNS),
        "mcp": {"servers": {"many": entry}},
        "tools": {"approval": {"mode": "off", "taint": "off"}},
    }


async def by_agent(home: Home, folder: Path) -> str:
    done = home.run("agent", "--json", "-m", "Do thing 7.")
    calls = [call["name"] for call in json.loads(done.stdout)["toolCalls"]]
    assert calls == ["tool_search", "many__tool_7"]
    return done.stdout


async def by_chat(home: Home, folder: Path) -> str:
    done = home.run("chat", input="Do thing 7.\n")
    return done.stdout + done.stderr


async def by_gateway(home: Home, folder: Path) -> str:
    async with running(home) as gateway:
        await gateway.ready("many")
        body = {"model": "openclaw", "messages": [{"role": "user", "content": "Do thing 7."}]}
        _, answer = await gateway.post("/v1/chat/completions", body)
    return json.dumps(answer)


async def by_order(home: Home, folder: Path) -> str:
    async with OrderProcess(folder, config=json.loads(home.config_file.read_text())) as process:
        await process.initialize()
        return json.dumps(await process.order("Do thing 7."))


async def by_editor(home: Home, folder: Path) -> str:
    async with NearEditor(home, folder) as editor:
        session = await editor.new()
        await editor.prompt(session, "Do thing 7.")
        assert "tool_7" in editor.call("many__tool_7")["title"]
        return json.dumps(editor.of("agent_message_chunk", session))


WAYS: dict[str, Callable[[Home, Path], Awaitable[str]]] = {
    "agent": by_agent,
    "chat": by_chat,
    "gateway": by_gateway,
    "order": by_order,
    "editor": by_editor,
}


@pytest.mark.parametrize("way", WAYS)
async def test_a_tool_that_was_found_is_called_under_its_own_name(tmp_path: Path, way: str) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    with made_home(tmp_path) as home:
        home.save(sections(home))
        said = await WAYS[way](home, folder)
    assert "done" in said
    assert "tool_call" not in said
