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
# A second message of the same conversation: the model knows the name by now.
NEXT: tuple[dict[str, Any], ...] = (
    {"toolCalls": [{"name": "many__tool_7", "arguments": {"path": "b"}}]},
    {"text": "Again {result}"},
)


def sections(home: Home) -> dict[str, Any]:
    entry = {"command": sys.executable, "args": ["-I", "-S", many_tools.__file__, "45"]}
    return {
        **home.script(*TURNS, *NEXT),
        "mcp": {"servers": {"many": entry}},
        "tools": {"approval": {"mode": "off", "taint": "off"}},
    }


# A third one, in a process that was not there before.
LAST: tuple[dict[str, Any], ...] = (
    {"toolCalls": [{"name": "many__tool_7", "arguments": {"path": "c"}}]},
    {"text": "Later {result}"},
)


async def by_agent(home: Home, folder: Path) -> str:
    """A process for each: what was found stays found when the first has ended."""
    words = ("agent", "--json", "--session-key", "s", "-m", "Do thing 7.")
    said, calls = "", []
    for turns in (TURNS, NEXT, LAST):
        home.script(*turns)
        done = home.run(*words)
        said += done.stdout
        calls.append([call["name"] for call in json.loads(done.stdout)["toolCalls"]])
    assert calls == [["tool_search", "many__tool_7"], ["many__tool_7"], ["many__tool_7"]]
    return said


async def by_chat(home: Home, folder: Path) -> str:
    done = home.run("chat", input="Do thing 7.\nOnce more.\n")
    home.script(*LAST)
    later = home.run("chat", "--continue", input="And now?\n")
    return done.stdout + done.stderr + later.stdout + later.stderr


async def by_gateway(home: Home, folder: Path) -> str:
    body = {"model": "openclaw", "messages": [{"role": "user", "content": "Do thing 7."}], "user": "ada"}
    answers: list[Any] = []
    for count in (2, 1):
        async with running(home) as gateway:
            await gateway.ready("many")
            answers += [await gateway.post("/v1/chat/completions", body) for _ in range(count)]
        home.script(*LAST)
    return json.dumps([answer for _, answer in answers])


async def by_order(home: Home, folder: Path) -> str:
    answers: list[Any] = []
    for count in (2, 1):
        async with OrderProcess(folder, config=json.loads(home.config_file.read_text())) as process:
            await process.initialize()
            answers += [await process.order("Do thing 7.", sessionKey="s") for _ in range(count)]
        home.script(*LAST)
    return json.dumps(answers)


async def by_editor(home: Home, folder: Path) -> str:
    async with NearEditor(home, folder) as editor:
        session = await editor.new()
        await editor.prompt(session, "Do thing 7.")
        await editor.prompt(session, "Once more.")
        assert "tool_7" in editor.call("many__tool_7")["title"]
        said = editor.of("agent_message_chunk", session)
    home.script(*LAST)
    async with NearEditor(home, folder) as editor:
        await editor.request("session/resume", sessionId=session, cwd=str(folder))
        await editor.prompt(session, "And now?")
        return json.dumps([*said, *editor.of("agent_message_chunk", session)])


WAYS: dict[str, Callable[[Home, Path], Awaitable[str]]] = {
    "agent": by_agent,
    "chat": by_chat,
    "gateway": by_gateway,
    "order": by_order,
    "editor": by_editor,
}


@pytest.mark.parametrize("way", WAYS)
async def test_a_tool_that_was_found_is_called_under_its_own_name_in_the_next_turn_too_and_after_a_restart(
    tmp_path: Path, way: str
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    with made_home(tmp_path) as home:
        home.save(sections(home))
        said = await WAYS[way](home, folder)
    assert "It was" in said
    assert [said.partition(word)[2].count("done") >= 1 for word in ("Again", "Later")] == [True, True]
    assert "tool_call" not in said
