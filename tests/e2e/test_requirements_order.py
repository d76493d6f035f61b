"""Orders from outside: what the model gets to see of them, which conversation they join, and what the server leaves open."""

import base64
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from openclaw import __version__
from openclaw.sessions.sqlite import SqliteStore
from parts.command_line import Home
from parts.model_servers import ChatServer
from parts.order_process import OPENCLAW, OrderProcess, environment, local_model
from parts.samples import SAMPLES
from parts.served import served

PNG = SAMPLES["image/png"]
MP3 = b"ID3\x04\0\0\0\0\0#"


def item(data: bytes, mime_type: str, filename: str) -> dict[str, str]:
    return {"data": base64.b64encode(data).decode(), "mimeType": mime_type, "filename": filename}


async def ordered(home: Path, chat: ChatServer, *orders: dict[str, Any], **config: Any) -> None:
    async with OrderProcess(home, config=local_model(chat.url, chat.key) | config) as server:
        await server.initialize()
        for order in orders:
            assert await server.said("look", **order) == "ok"


def seen(chat: ChatServer) -> Any:
    """What the model was sent of the first order."""
    return chat.requests[0]["messages"][-1]["content"]


async def keys(home: Path) -> list[str]:
    store = SqliteStore(home / ".openclaw" / "py" / "sessions.sqlite")
    try:
        return [session.key for session in await store.list()]
    finally:
        await store.close()


# Conversations


@pytest.mark.requirement("004-session-form")
@pytest.mark.requirement("004-session-key")
async def test_an_order_without_a_key_gets_one_with_time_and_chance(tmp_path: Path) -> None:
    async with ChatServer() as chat:
        await ordered(tmp_path, chat, {}, {})
    found = await keys(tmp_path)
    assert [re.fullmatch(r"agent:main:mcp-\d{13}-[0-9a-f]{32}", key) is not None for key in found] == [True, True]
    assert len(set(found)) == 2


@pytest.mark.requirement("004-session-namespace")
async def test_a_key_of_an_order_stands_in_a_namespace_of_its_own(tmp_path: Path) -> None:
    async with ChatServer() as chat:
        await ordered(tmp_path, chat, {"sessionKey": "client-123"}, {"sessionKey": "agent:main:main"})
    assert sorted(await keys(tmp_path)) == ["agent:main:mcp:agent:main:main", "agent:main:mcp:client-123"]


# Media


@pytest.mark.requirement("004-image-seen")
async def test_the_model_sees_an_image(tmp_path: Path) -> None:
    async with ChatServer() as chat:
        await ordered(tmp_path, chat, {"images": [item(PNG, "image/png", "a.png")]})
    assert seen(chat) == [
        {"type": "text", "text": "look"},
        {"type": "text", "text": '[The picture "a.png":]'},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}"}},
    ]


@pytest.mark.requirement("004-file-untranscribed")
async def test_a_recording_is_accepted_without_a_transcription_provider(tmp_path: Path) -> None:
    async with ChatServer() as chat:
        await ordered(tmp_path, chat, {"files": [item(MP3, "audio/mpeg", "memo.mp3")]})
    assert '[The recording "memo.mp3" was not transcribed: no transcription provider is configured' in str(seen(chat))


@asynccontextmanager
async def transcriber() -> AsyncIterator[tuple[str, list[tuple[str, bytes]]]]:
    """An endpoint that hears the same words in every recording: its address, and what it was sent."""
    heard: list[tuple[str, bytes]] = []

    async def transcribe(request: web.Request) -> web.Response:
        form = await request.post()
        file = form["file"]
        assert isinstance(file, web.FileField)
        heard.append((str(form["model"]), file.file.read()))
        return web.json_response({"text": "buy milk"})

    app = web.Application()
    app.router.add_post("/v1/audio/transcriptions", transcribe)
    async with served(app) as origin:
        yield f"{origin}/v1", heard


@pytest.mark.requirement("004-file-transcribed")
async def test_a_recording_is_transcribed_where_a_provider_is_configured(tmp_path: Path) -> None:
    async with ChatServer() as chat, transcriber() as (url, heard):
        media = {"audio": {"transcription": {"baseUrl": url, "model": "whisper-1"}}}
        await ordered(tmp_path, chat, {"files": [item(MP3, "audio/mpeg", "memo.mp3")]}, media=media)
    assert heard == [("whisper-1", MP3)]
    assert "\n---\nbuy milk\n<<<END_EXTERNAL_UNTRUSTED_CONTENT" in seen(chat)


# No port

if sys.platform.startswith("linux"):
    # Elsewhere nothing tells which process a socket belongs to.

    @pytest.mark.requirement("003-no-network")
    @pytest.mark.requirement("004-sec-no-network")
    async def test_nothing_listens_while_orders_are_carried_out(tmp_path: Path) -> None:
        async with (
            ChatServer() as chat,
            OrderProcess(tmp_path, config=local_model(chat.url, chat.key)) as server,
        ):
            await server.initialize()
            assert await server.said("look") == "ok"
            # This process listens: the model server is in it.
            assert (listening(server.process.pid), listening(os.getpid()) != []) == ([], True)


def listening(pid: int) -> list[str]:
    """The TCP addresses a process listens at."""
    sockets = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        # One of ours may be the listing itself, and closed by now.
        with suppress(FileNotFoundError):
            sockets |= set(re.findall(r"^socket:\[(\d+)\]$", os.readlink(entry)))
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]
    ]
    # 0A is the state of a listening socket, the tenth field its inode.
    return [row[1] for row in rows if row[3] == "0A" and row[9] in sockets]


# The command


@pytest.mark.requirement("003-command")
@pytest.mark.requirement("003-verbose")
@pytest.mark.requirement("004-cli-verbose")
@pytest.mark.parametrize("word", ["-v", "--verbose"])
async def test_the_command_serves_on_its_input_and_output_and_logs_when_asked(word: str, tmp_path: Path) -> None:
    request = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    quiet, verbose = [await Home(tmp_path).openclaw("mcp-server", *words, text=request) for words in ((), (word,))]
    answer = '{"jsonrpc":"2.0","id":1,"result":{}}\n'
    assert [(done.code, done.out) for done in (quiet, verbose)] == [(0, answer)] * 2
    assert (quiet.err, "ping" in verbose.err) == ("", True)


@pytest.mark.requirement("004-cli-version")
async def test_the_version_of_the_command_is_printed(tmp_path: Path) -> None:
    done = await Home(tmp_path).openclaw("mcp-server", "--version")
    assert (done.code, done.out, done.err) == (0, f"openclaw mcp-server {__version__}\n", "")


@pytest.mark.requirement("004-cli-help")
@pytest.mark.parametrize("word", ["-h", "--help"])
async def test_the_help_of_the_command_names_its_options(word: str, tmp_path: Path) -> None:
    done = await Home(tmp_path).openclaw("mcp-server", word)
    assert (done.code, done.err) == (0, "")
    assert re.findall(r"^  (-v, --verbose|--version|-h, --help)\b", done.out, re.MULTILINE) == [
        *("-v, --verbose", "--version", "-h, --help")
    ]


# Clients


@pytest.mark.requirement("004-quick-client")
async def test_a_client_of_the_official_sdk_finds_the_tool_and_gets_an_answer(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    command, *arguments = [*OPENCLAW, "mcp-server"]
    server = StdioServerParameters(command=command, args=arguments, env=environment(tmp_path), cwd=tmp_path)
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        (tool,) = (await session.list_tools()).tools
        result = await session.call_tool(tool.name, {"message": "list the files here"})
    assert (tool.name, result.is_error) == ("order_openclaw", False)
    assert "notes.txt" in str(result.content)
