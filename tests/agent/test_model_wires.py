"""Whole turns over every wire: an App, real MCP servers, and model servers that refuse what the vendors refuse."""

import base64
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from openclaw.agent.attachments import Attachment
from openclaw.app import App
from openclaw.conversation import Conversation
from parts.command_line import Home, local_model, parts_server
from parts.media_server import png
from parts.model_servers import Answer, Call, ChatServer, MessagesServer, ModelServer, Reply
from parts.responses_server import ResponsesServer

WIRES: dict[str, type[ModelServer]] = {
    "openai-completions": ChatServer,
    "openai-responses": ResponsesServer,
    "anthropic-messages": MessagesServer,
}
every_wire = pytest.mark.parametrize("api", WIRES)


def home_of(folder: Path, api: str, server: ModelServer, **config: Any) -> Home:
    return Home(folder, **local_model(server.url, server.key, api), **config)


def app_of(home: Home) -> App:
    return App(home.config(), paths=home.paths, env=home.environ)


def told(server: ModelServer, place: int = -1) -> str:
    asked = server.requests[place]
    return str(asked.get("messages", asked.get("input")))


@every_wire
async def test_a_result_of_an_mcp_server_reaches_the_model(tmp_path: Path, api: str) -> None:
    replies: list[Reply] = [Answer(calls=(Call("call_1", "parts__echo", {"text": "hello"}),)), Answer("It says hello.")]
    async with WIRES[api](replies) as server:
        home = home_of(tmp_path, api, server, mcp={"servers": {"parts": parts_server()}})
        async with app_of(home) as app:
            reply = await app.reply("Say hello.")

    assert (reply.text, reply.error) == ("It says hello.", "")
    assert "END_EXTERNAL_UNTRUSTED_CONTENT" in told(server)


@every_wire
async def test_a_picture_and_the_text_of_a_file_come_with_one_message(tmp_path: Path, api: str) -> None:
    given = (Attachment("notes.txt", "text/plain", b"Buy milk."), Attachment("shop.png", "image/png", png()))
    async with WIRES[api]([Answer("A shop, and milk.")]) as server, app_of(home_of(tmp_path, api, server)) as app:
        reply = await app.reply("What is this?", attachments=given)

    assert (reply.text, reply.error) == ("A shop, and milk.", "")
    assert ("Buy milk." in told(server), "image" in told(server)) == (True, True)


@every_wire
async def test_a_model_that_is_listed_with_its_window_alone_still_sees_pictures(tmp_path: Path, api: str) -> None:
    async with WIRES[api]([Answer("A pixel.")]) as server:
        sections = local_model(server.url, server.key, api)
        sections["models"]["providers"]["local"]["models"] = [{"id": "local-model", "contextWindow": 100_000}]
        async with app_of(Home(tmp_path, **sections)) as app:
            await app.reply("What is this?", attachments=(Attachment("a.png", "image/png", png()),))

    assert base64.b64encode(png()).decode() in told(server)


@every_wire
@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ({"apiKey": "sk-of-the-config-0123456789"}, "models.providers.local.apiKey"),
        (
            {"headers": {"Authorization": "Bearer wrong", "x-api-key": "wrong"}},
            "models.providers.local.headers.Authorization",
        ),
    ],
    ids=["config", "header"],
)
async def test_a_refused_key_is_named_by_the_place_it_really_stands_in(
    tmp_path: Path, api: str, entry: dict[str, Any], place: str
) -> None:
    async with WIRES[api]() as server:
        sections = local_model(server.url, server.key, api)
        provider = sections["models"]["providers"]["local"]
        provider |= {"apiKey": "", **entry}
        async with app_of(Home(tmp_path, **sections)) as app:
            reply = await app.reply("hi")

    assert reply.error == f"local refused the API key (401). Check {place}."


async def test_what_was_sent_over_the_responses_wire_is_the_beginning_of_what_is_sent_next(tmp_path: Path) -> None:
    """Byte for byte, within a turn and from turn to turn: the vendor's cache lives on nothing else."""
    replies: list[Reply] = [
        Answer("Let me see.", reasoning="hm", calls=(Call("call_1", "parts__echo", {"text": "hello"}),)),
        Answer("It says hello.", reasoning="so"),
        Answer("Again.", calls=(Call("call_1", "parts__echo", {"text": "again"}),)),
        Answer("It says again."),
        Answer("Bye."),
    ]
    async with ResponsesServer(replies, phases=True) as server:
        asks = {"approval": {"mode": "off", "taint": "off"}}
        home = home_of(tmp_path, "openai-responses", server, tools=asks, mcp={"servers": {"parts": parts_server()}})
        async with app_of(home) as app:
            await app.reply("Say hello.", Conversation(session="k"))
            await app.reply("Once more.", Conversation(session="k"))
        async with app_of(home) as app:
            reply = await app.reply("Bye.", Conversation(session="k"))

    assert (reply.text, server.refused, len(server.bodies)) == ("Bye.", [], 5)
    for earlier, later in pairwise(server.bodies[:4]):
        assert later.startswith(earlier.removesuffix(b"]}"))
    # A server that starts anew is told of in the system prompt; the conversation is what it was.
    before, after = (body[body.index(b'"input":[') :] for body in server.bodies[3:])
    assert after.startswith(before.removesuffix(b"]}"))
    assert [item["phase"] for item in server.requests[-1]["input"] if item.get("role") == "assistant"] == [
        "commentary",
        "final_answer",
        "commentary",
        "final_answer",
    ]
