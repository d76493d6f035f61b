"""The official Python client, in both eras, as the other side of `openclaw mcp-server`."""

import base64
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from openclaw.mcp_server.order_tool import TOOL
from parts import media_server
from parts.model_servers import Answer, Call, ChatServer
from parts.order_process import OPENCLAW, environment, local_model, write_config

MEDIA = {"command": sys.executable, "args": [media_server.__file__]}
MODES = ["legacy", "auto", "2026-07-28"]


def client(home: Path, mode: str) -> Client:
    command, *arguments = OPENCLAW
    parameters = StdioServerParameters(
        command=command, args=[*arguments, "mcp-server"], env=environment(home), cwd=str(home)
    )
    return Client(stdio_client(parameters), mode=mode)


def plain(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


@pytest.mark.parametrize("mode", MODES)
async def test_it_finds_the_tool_and_gets_text_media_and_progress(mode: str, tmp_path: Path) -> None:
    replies = [Answer("Drawing.", calls=[Call("c1", "media__picture")]), Answer("Here it is.")]
    told: list[str | None] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async with ChatServer(replies) as chat:
        write_config(tmp_path, local_model(chat.url, chat.key) | {"mcp": {"servers": {"media": MEDIA}}})
        async with client(tmp_path, mode) as session:
            tools = [plain(tool) for tool in (await session.list_tools()).tools]
            result = await session.call_tool("order_openclaw", {"message": "draw"}, progress_callback=tell)
    data = base64.b64encode(media_server.png()).decode()
    assert tools == [TOOL]
    assert [plain(block) for block in result.content] == [
        {"type": "text", "text": "Drawing.\n\nHere it is."},
        {"type": "image", "data": data, "mimeType": "image/png"},
    ]
    assert (result.is_error, told[0]) == (False, "Starting")


@pytest.mark.parametrize("mode", MODES)
async def test_wrong_arguments_come_back_as_an_error_result(mode: str, tmp_path: Path) -> None:
    async with client(tmp_path, mode) as session:
        result = await session.call_tool("order_openclaw", {"message": 5})
    expected = "Error: The argument message must be a string, not a number."
    assert (result.is_error, plain(result.content[0])) == (True, {"type": "text", "text": expected})


@pytest.mark.parametrize("mode", MODES)
async def test_an_unknown_tool_is_an_error_of_the_protocol(mode: str, tmp_path: Path) -> None:
    async with client(tmp_path, mode) as session:
        with pytest.raises(MCPError) as refused:
            await session.call_tool("other", {})
    assert refused.value.error.code == -32602
