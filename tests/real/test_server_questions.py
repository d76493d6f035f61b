"""Questions of servers that nobody here wrote: server-everything and FastMCP, in both eras, through the engine as every surface uses it."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from openclaw.app import App
from openclaw.asking.forms import choices_of
from openclaw.conversation import Answer, Asker, Conversation, Nobody, Question
from openclaw.mcp.manager import Manager
from openclaw.mcp.tools.results import Result
from openclaw.tool import Invocation
from parts.cache import python_of
from parts.command_line import Home, local_model
from parts.model_servers import KEY, Call, ChatServer, MessagesServer
from parts.model_servers import Answer as Said
from parts.peers import NEWEST, STATEFUL, everything, over_http, stdio_entry
from parts.person import Person, agrees, declines

pytestmark = pytest.mark.real

FASTMCP = Path(__file__).parent.parent / "parts" / "fastmcp_asking.py"


@asynccontextmanager
async def connected(folder: Path, entry: dict[str, Any], **config: Any) -> AsyncIterator[tuple[Manager, Path]]:
    """The servers of an App, and the workspace of its agent."""
    home = Home(folder / "home", mcp={"servers": {"peer": entry}}, **config)
    workspace = folder / "work"
    workspace.mkdir()
    async with App(home.config(), paths=home.paths, env=home.environ, workspace=workspace) as app:
        manager = await app.engine.manager()
        manager.start("main")
        await manager.settle("main", float("inf"))
        yield manager, workspace


def call(asker: Asker, workspace: Path | None = None) -> Invocation:
    return Invocation(Conversation("main", "s", asker=asker, workspace=workspace), "c")


def text_of(result: Result) -> str:
    return result.fault or "\n".join(block.text or "" for block in result.content)


def fills_in(question: Question) -> Answer:
    """Somebody who gives only what has to be given, and agrees to everything else as it is proposed."""
    assert question.kind == "form"
    return Answer("accept", {"name": "Ada"})


# server-everything: requests of the server, over every transport


@pytest.mark.parametrize("transport", ["stdio", "streamable-http", "sse"])
async def test_the_form_of_server_everything_is_filled_in_with_every_default(transport: str, tmp_path: Path) -> None:
    person = Person(fills_in)
    async with everything(transport) as entry, connected(tmp_path, entry) as (manager, _):
        result = await manager.call("peer__trigger-elicitation-request", {}, agent="main", invocation=call(person))
    text = text_of(result)
    assert "User provided the requested information" in text, text
    assert ("- Name: Ada" in text, "- Favorite Integer: 42" in text, "- Favorite Number: 3.14" in text) == (True,) * 3
    (question,) = person.asked
    assert question.schema is not None
    shown = question.schema["properties"]
    assert choices_of(shown["legacyTitledEnum"])[0] == ("pet-1", "Cats")
    assert choices_of(shown["titledMultipleSelectEnum"])[0] == ("fish-1", "Tuna")
    assert result.note == "The person answered a question of peer."


@pytest.mark.parametrize("transport", ["stdio", "streamable-http"])
async def test_who_declines_is_heard_and_where_nobody_is_it_is_cancelled(transport: str, tmp_path: Path) -> None:
    async with everything(transport) as entry, connected(tmp_path, entry) as (manager, _):
        said = [
            await manager.call("peer__trigger-elicitation-request", {}, agent="main", invocation=call(asker))
            for asker in (Person(declines), Nobody())
        ]
    assert "User declined" in text_of(said[0])
    assert "User cancelled" in text_of(said[1])
    assert said[1].note == "peer asked a question nobody was there to answer."


@pytest.mark.parametrize("transport", ["stdio", "streamable-http"])
async def test_a_page_of_server_everything_is_agreed_to_and_one_nearby_refused(transport: str, tmp_path: Path) -> None:
    person = Person(agrees)
    page = {"url": "https://pay.example.org/a", "message": "Pay here."}
    async with everything(transport) as entry, connected(tmp_path, entry) as (manager, _):
        opened = await manager.call("peer__trigger-url-elicitation", page, agent="main", invocation=call(person))
        near = {**page, "url": "http://127.0.0.1:9/"}
        refused = await manager.call("peer__trigger-url-elicitation", near, agent="main", invocation=call(person))
    assert "User completed the URL elicitation flow." in text_of(opened)
    assert [(one.kind, one.text, one.url) for one in person.asked] == [("url", "Pay here.", page["url"])]
    assert refused.is_error
    assert "may not be opened" in text_of(refused)


async def test_pages_that_come_first_are_visited_and_the_call_made_again(tmp_path: Path) -> None:
    person = Person(agrees)
    page = {"url": "https://pay.example.org/a", "message": "Pay here.", "errorPath": True}
    async with everything("stdio") as entry, connected(tmp_path, entry) as (manager, _):
        result = await manager.call("peer__trigger-url-elicitation", page, agent="main", invocation=call(person))
    assert "User completed the URL elicitation flow." in text_of(result)
    # First the page that the server wants visited before, whether that is done, and then the one that was asked for.
    assert [one.url for one in person.asked] == ["https://modelcontextprotocol.io/", "", "https://pay.example.org/a"]


@pytest.mark.parametrize("wire", [ChatServer, MessagesServer])
async def test_server_everything_asks_a_model_over_either_wire(
    wire: type[ChatServer] | type[MessagesServer], tmp_path: Path
) -> None:
    person = Person(agrees)
    api = "openai-completions" if wire is ChatServer else "anthropic-messages"
    async with wire([Said("A model's words.")]) as model, everything("stdio") as entry:
        asking = {**entry, "sampling": {"enabled": True, "models": ["local/local-model"]}}
        async with connected(tmp_path, asking, **local_model(model.url, KEY, api)) as (manager, _):
            arguments = {"prompt": "Say something.", "maxTokens": 30}
            result = await manager.call(
                "peer__trigger-sampling-request", arguments, agent="main", invocation=call(person)
            )
        (request,) = model.requests
    assert "A model's words." in text_of(result), text_of(result)
    assert [one.text.splitlines()[0] for one in person.asked] == [
        "I want local/local-model to answer this, with at most 30 tokens:",
        "Let me have the model's answer:",
    ]
    sent = str(request)
    assert ("You are a helpful test server." in sent, "tools" in request) == (True, False)


async def test_server_everything_is_told_the_workspace_where_the_config_says_so(tmp_path: Path) -> None:
    async with (
        everything("stdio") as entry,
        connected(tmp_path, {**entry, "roots": "workspace"}) as (manager, workspace),
    ):
        result = await manager.call("peer__get-roots-list", {}, agent="main", invocation=call(Nobody(), workspace))
    assert workspace.as_uri() in text_of(result)


# FastMCP, in both eras and over both transports


@asynccontextmanager
async def fastmcp(folder: Path, transport: str, held_to: str, **config: Any) -> AsyncIterator[tuple[Manager, Path]]:
    more = {"sampling": {"enabled": True, "models": ["local/local-model"], "approve": "never"}, "roots": "workspace"}
    command = [python_of("fastmcp"), str(FASTMCP), transport]
    if transport == "stdio":
        async with connected(folder, {**stdio_entry(command, held_to), **more}, **config) as made:
            yield made
        return
    async with (
        over_http(command, "mcp", held_to) as url,
        connected(folder, {"url": url, "transport": transport, **more}, **config) as made,
    ):
        yield made


ERAS = pytest.mark.parametrize("held_to", ["", STATEFUL], ids=["newest", "stateful"])
WAYS = pytest.mark.parametrize("transport", ["stdio", "streamable-http"])


@ERAS
@WAYS
async def test_a_form_of_fastmcp_is_answered_declined_and_cancelled(
    transport: str, held_to: str, tmp_path: Path
) -> None:
    people: list[Asker] = [Person(agrees), Person(declines), Nobody()]
    async with fastmcp(tmp_path, transport, held_to) as (manager, _):
        (status,) = manager.status()
        assert status.revision == (held_to or NEWEST)
        results = [await manager.call("peer__book", {}, agent="main", invocation=call(person)) for person in people]
    texts = [text_of(result) for result in results]
    assert texts[0].startswith("accept ")
    assert re.search(r"people.*2", texts[0])
    assert texts[1].startswith("decline ")
    assert ("booking 4711" in texts[0]) == (not held_to)
    nobody = "peer asked a question nobody was there to answer."
    assert nobody in (results[2].note, results[2].fault), results[2]


@WAYS
async def test_a_page_of_fastmcp_is_asked_about_once_and_the_retry_tells(transport: str, tmp_path: Path) -> None:
    person = Person(agrees)
    async with fastmcp(tmp_path, transport, "") as (manager, _):
        result = await manager.call("peer__pay", {}, agent="main", invocation=call(person))
    assert text_of(result) == "accept after 2"
    assert [one.url for one in person.asked if one.url] == ["https://pay.example.org/4711"]


@ERAS
async def test_fastmcp_asks_a_model_and_for_folders(held_to: str, tmp_path: Path) -> None:
    async with ChatServer([Said("Soup.")]) as model:
        async with fastmcp(tmp_path, "stdio", held_to, **local_model(model.url, KEY)) as (manager, workspace):
            dish = await manager.call("peer__invent", {}, agent="main", invocation=call(Nobody()))
            folder = await manager.call("peer__folder", {}, agent="main", invocation=call(Nobody(), workspace))
    assert text_of(dish) == "local/local-model: Soup. (endTurn)"
    assert text_of(folder).rstrip("/") == workspace.as_uri()


@ERAS
async def test_a_model_that_fastmcp_asks_uses_a_tool_of_the_server_and_hears_what_came_of_it(
    held_to: str, tmp_path: Path
) -> None:
    wants = Said(calls=[Call("call_1", "dice")])
    async with ChatServer([wants, Said("A four.")]) as model:
        async with fastmcp(tmp_path, "stdio", held_to, **local_model(model.url, KEY)) as (manager, _):
            told = await manager.call("peer__roll", {}, agent="main", invocation=call(Nobody()))
            assert text_of(told) == "toolUse, endTurn: A four."
        first, second = model.requests
    assert [one["function"]["name"] for one in first["tools"]] == ["dice"]
    assert [one["role"] for one in second["messages"]] == ["user", "assistant", "tool"]
    assert second["messages"][-1]["content"] == "It is a 4."
