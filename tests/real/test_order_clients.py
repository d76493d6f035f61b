"""Clients nobody here wrote, each ordering something that uses a server's tool on the way and returns a picture."""

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from parts import asking_plugin, media_server
from parts.cache import node, npm_folder, npm_program, python_of
from parts.model_servers import Answer, Call, ChatServer
from parts.order_process import OPENCLAW, environment, local_model, write_config
from parts.peers import everything

pytestmark = pytest.mark.real

PARTS = Path(__file__).parent.parent / "parts"
MEDIA = {"command": sys.executable, "args": [media_server.__file__]}
SERVER = [*OPENCLAW, "mcp-server"]
CONTENT = [
    {"type": "text", "text": "Drawing.\n\nHere it is."},
    {"type": "image", "data": base64.b64encode(media_server.png()).decode(), "mimeType": "image/png"},
]
OFFLINE_NOTE = "builtin/offline: not a language model"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Path]:
    replies = [Answer("Drawing.", calls=[Call("c1", "media__picture")]), Answer("Here it is.")]
    async with ChatServer(replies) as chat:
        write_config(tmp_path, local_model(chat.url, chat.key) | {"mcp": {"servers": {"media": MEDIA}}})
        yield tmp_path


async def output_of(home: Path, *command: str, **extra: str) -> str:
    env = environment(home, PATH=f"{os.path.dirname(node())}:{os.environ['PATH']}", **extra)
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=env, cwd=home
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()


@pytest.mark.parametrize(
    ("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]
)
async def test_the_typescript_client_orders(mode: str, version: str, home: Path) -> None:
    script = str(PARTS / "order_client.mjs")
    told = json.loads(await output_of(home, node(), script, str(npm_folder()), mode, "draw", *SERVER))
    assert (told["version"], told["server"]["name"], [tool["name"] for tool in told["tools"]]) == (
        version,
        "openclaw",
        ["order_openclaw"],
    )
    assert (told["result"]["content"], told["result"].get("isError"), told["progress"][0]) == (
        CONTENT,
        False,
        "Starting",
    )


async def test_the_fastmcp_client_orders(home: Path) -> None:
    script = str(PARTS / "order_client_fastmcp.py")
    told = json.loads(await output_of(home, python_of("fastmcp"), script, "auto", "draw", *SERVER))
    assert (told["tools"], told["content"], told["isError"], told["progress"][0]) == (
        ["order_openclaw"],
        CONTENT,
        False,
        "Starting",
    )


@pytest.fixture
async def asking_home(tmp_path: Path) -> AsyncIterator[Path]:
    async with ChatServer([Answer("", calls=[Call("c1", "ask")]), Answer("Done.")]) as chat:
        config = local_model(chat.url, chat.key, verbose=True) | asking_plugin.config()
        write_config(tmp_path, config)
        yield tmp_path


def typescript(mode: str) -> list[str]:
    return [node(), str(PARTS / "order_client.mjs"), str(npm_folder()), mode]


def fastmcp(mode: str) -> list[str]:
    return [python_of("fastmcp"), str(PARTS / "order_client_fastmcp.py"), mode]


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("kit", [typescript, fastmcp])
async def test_clients_of_both_eras_answer_what_an_order_asks(
    kit: Callable[[str], list[str]], mode: str, asking_home: Path
) -> None:
    command = [*kit(mode), "go", *SERVER]
    told = json.loads(await output_of(asking_home, *command, ORDER_ANSWERS=json.dumps(asking_plugin.ANSWERS)))
    content = (told.get("result") or told)["content"]
    assert (told["asked"], asking_plugin.HEARD in content[0]["text"]) == (list(asking_plugin.ANSWERS), True), told


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("kit", [typescript, fastmcp])
async def test_clients_that_declare_nothing_are_not_asked(
    kit: Callable[[str], list[str]], mode: str, asking_home: Path
) -> None:
    told = json.loads(await output_of(asking_home, *kit(mode), "go", *SERVER))
    content = (told.get("result") or told)["content"]
    assert asking_plugin.NOBODY in content[0]["text"], told


PAGE = "https://example.com/connect"
OF_EVERYTHING = {
    "[everything via OpenClaw] Please provide inputs for the following fields:": {"name": "Ada", "integer": 7},
    "[everything via OpenClaw] Connect.": None,
}


@pytest.fixture
async def everything_home(tmp_path: Path) -> AsyncIterator[Path]:
    """An agent that has server-everything ask for a form, and for a page to be opened."""
    calls = [
        Call("c1", "everything__trigger-elicitation-request"),
        Call("c2", "everything__trigger-url-elicitation", {"url": PAGE, "message": "Connect."}),
    ]
    async with (
        everything("stdio") as entry,
        ChatServer([*(Answer("", calls=[call]) for call in calls), Answer("Done.")]) as chat,
    ):
        servers = {"mcp": {"servers": {"everything": entry}}, "tools": {"approval": {"mode": "off", "taint": "off"}}}
        write_config(tmp_path, local_model(chat.url, chat.key, verbose=True) | servers)
        yield tmp_path


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("kit", [typescript, fastmcp])
async def test_what_a_server_asks_reaches_the_client_of_the_order(
    kit: Callable[[str], list[str]], mode: str, everything_home: Path
) -> None:
    command = [*kit(mode), "go", *SERVER]
    told = json.loads(await output_of(everything_home, *command, ORDER_ANSWERS=json.dumps(OF_EVERYTHING)))
    text = (told.get("result") or told)["content"][0]["text"]
    assert (told["asked"], "Ada" in text, "User completed the URL" in text) == (list(OF_EVERYTHING), True, True), told


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_servers_question_to_a_client_that_declares_nothing_is_cancelled(
    mode: str, everything_home: Path
) -> None:
    told = json.loads(await output_of(everything_home, *typescript(mode), "go", *SERVER))
    text = told["result"]["content"][0]["text"]
    assert ("everything asked a question nobody was there to answer." in text, told["asked"]) == (True, []), told


def inspector(*arguments: str) -> list[str]:
    return [npm_program("mcp-inspector"), "--cli", *SERVER, "--method", *arguments]


async def test_the_inspector_lists_the_tool(home: Path) -> None:
    listed = json.loads(await output_of(home, *inspector("tools/list")))
    assert [tool["name"] for tool in listed["tools"]] == ["order_openclaw"]


async def test_the_inspector_orders(home: Path) -> None:
    call = inspector("tools/call", "--tool-name", "order_openclaw", "--tool-arg", "message=draw")
    told: dict[str, Any] = json.loads(await output_of(home, *call))
    assert (told["content"], told["isError"]) == (CONTENT, False)


async def test_the_inspector_orders_from_the_offline_model(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    call = inspector("tools/call", "--tool-name", "order_openclaw", "--tool-arg", "message=list the files here")
    told = json.loads(await output_of(tmp_path, *call))
    text = told["content"][0]["text"]
    assert ("notes.txt" in text, OFFLINE_NOTE in text) == (True, True)


@pytest.mark.parametrize("keys", [["sessionKey=trip"], []])
async def test_two_inspectors_share_a_conversation_by_its_key_and_nothing_without_one(
    keys: list[str], tmp_path: Path
) -> None:
    words = [word for key in keys for word in ("--tool-arg", key)]
    async with ChatServer([Answer("Noted."), Answer("Blue.")]) as chat:
        write_config(tmp_path, local_model(chat.url, chat.key))
        for message in ("message=It is blue.", "message=Which?"):
            call = inspector("tools/call", "--tool-name", "order_openclaw", "--tool-arg", message, *words)
            told = json.loads(await output_of(tmp_path, *call))
    assert told["content"] == [{"type": "text", "text": "Blue."}]
    contents = [message["content"] for message in chat.requests[-1]["messages"] if message["role"] != "system"]
    assert contents == (["It is blue.", "Noted.", "Which?"] if keys else ["Which?"])


async def test_mcporter_orders(home: Path) -> None:
    command, *arguments = SERVER
    words = [word for argument in arguments for word in ("--stdio-arg", argument)]
    call = [npm_program("mcporter"), "call", "--stdio", command, *words, "--name", "oc", "--tool", "order_openclaw"]
    told = json.loads(await output_of(home, *call, "--args", '{"message": "draw"}', "--output", "json"))
    assert (told["content"], told["isError"]) == (CONTENT, False)
