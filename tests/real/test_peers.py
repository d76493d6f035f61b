"""The engine against servers that nobody here wrote, each in the newest revision it speaks and in the oldest there is."""

from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from openclaw.config.agents import agent
from openclaw.engine import Engine
from openclaw.mcp.manager import Manager
from openclaw.mcp.prompts import get_prompt, list_prompts
from openclaw.mcp.resources import list_resources, list_templates, read_resource
from openclaw.mcp.tools.results import Result
from parts.cache import python_of
from parts.command_line import Home
from parts.http_server import HttpServer
from parts.peers import (
    EVERYTHING_TOOLS,
    KITS,
    NEWEST,
    OLDEST,
    PROGRAMS,
    SHOP_TOOLS,
    STATEFUL,
    Kit,
    Peer,
    everything,
    over_http,
    stdio_entry,
)

pytestmark = pytest.mark.real

PNG = b"\x89PNG\r\n\x1a\n"
REVISIONS = pytest.mark.parametrize("held_to", ["", OLDEST], ids=["newest", "oldest"])


@asynccontextmanager
async def connected(folder: Path, name: str, entry: dict[str, Any]) -> AsyncIterator[Manager]:
    """The engine as every surface uses it, with one server in its config and up."""
    home = Home(folder / "home", mcp={"servers": {name: entry}})
    config = home.config()
    async with Engine(config, paths=home.paths, env=home.environ) as engine:
        manager = await engine.manager()
        manager.start(agent(config, "").id)
        await manager.settle(agent(config, "").id, float("inf"))
        yield manager


def text_of(result: Result) -> str:
    assert not result.is_error, result.fault or result.content
    return "\n".join(block.text or "" for block in result.content)


def tools_of(manager: Manager) -> set[str]:
    return {entry.definition.name for entry in manager.entries("main")}


@pytest.mark.requirement("000-15-e2e")
@pytest.mark.requirement("001-NFR-4-real")
@REVISIONS
@pytest.mark.parametrize("peer", PROGRAMS, ids=lambda peer: peer.name)
async def test_a_program_lists_its_tools_and_answers_a_call(peer: Peer, held_to: str, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    peer.prepare(folder)
    entry = {**stdio_entry(peer.command(folder), held_to), "env": peer.environment(folder)}
    async with connected(tmp_path, peer.name, entry) as manager:
        (status,) = manager.status()
        assert (status.state, status.revision) == ("ready", held_to or peer.newest)
        assert tools_of(manager) == peer.tools
        answer = text_of(await manager.call(f"{peer.name}__{peer.tool}", peer.arguments(folder), agent="main"))
        assert peer.matches(answer), answer


@REVISIONS
async def test_the_fetch_server_gets_a_page(held_to: str, tmp_path: Path) -> None:
    command = [python_of("servers"), "-m", "mcp_server_fetch", "--ignore-robots-txt", "--allow-private-ips"]
    async with (
        HttpServer() as site,
        connected(tmp_path, "fetch", stdio_entry(command, held_to)) as manager,
    ):
        (status,) = manager.status()
        assert (status.state, status.revision) == ("ready", held_to or NEWEST)
        wanted = {"url": f"{site.origin}/a/page", "raw": True}
        assert "/a/page" in text_of(await manager.call("fetch__fetch", wanted, agent="main"))
        (prompt,) = await manager.server("fetch", "main").use(list_prompts)
        filled = await manager.server("fetch", "main").use(
            lambda client: get_prompt(client, prompt, {"url": f"{site.origin}/b"})
        )
        assert "/b" in (filled.messages[0].content.text or "")


@REVISIONS
@pytest.mark.parametrize(
    ("kit", "transport"),
    [(kit, transport) for kit in KITS for transport in kit.transports],
    ids=[f"{kit.name}-{transport}" for kit in KITS for transport in kit.transports],
)
async def test_everything_a_server_of_an_sdk_offers_arrives(
    kit: Kit, transport: str, held_to: str, tmp_path: Path
) -> None:
    if transport == "stdio":
        await use_shop(tmp_path, stdio_entry(kit.command(transport), held_to), held_to or kit.newest)
        return
    path = "sse" if transport == "sse" else "mcp"
    async with over_http(kit.command(transport), path, held_to) as url:
        newest = STATEFUL if transport == "sse" else kit.newest
        await use_shop(tmp_path, {"url": url, "transport": transport}, held_to or newest)


async def use_shop(folder: Path, entry: dict[str, Any], revision: str) -> None:
    async with connected(folder, "shop", entry) as manager:
        (status,) = manager.status()
        assert (status.state, status.revision) == ("ready", revision)
        assert "Ask nicely." in manager.context("main")
        assert tools_of(manager) == SHOP_TOOLS
        assert text_of(await manager.call("shop__echo", {"text": "hé 世界"}, agent="main")) == "hé 世界"
        (picture,) = (await manager.call("shop__picture", {}, agent="main")).content
        assert (picture.type, picture.mime_type) == ("image", "image/png")
        assert b64decode(picture.data or "").startswith(PNG)
        point = await manager.call("shop__point", {"x": 1, "y": 2}, agent="main")
        assert msgspec.json.decode(point.structured_content) == {"x": 1, "y": 2}
        broken = await manager.call("shop__broken", {}, agent="main")
        assert (broken.is_error, broken.fault) == (True, "")

        server = manager.server("shop", "main")
        assert [entry.uri for entry in await server.use(list_resources)] == ["shop://hours"]
        assert [entry.uri_template for entry in await server.use(list_templates)] == ["shop://item/{name}"]
        (hours,) = await server.use(lambda client: read_resource(client, "shop://hours"))
        (hat,) = await server.use(lambda client: read_resource(client, "shop://item/hat"))
        assert (hours.text, hat.text) == ("9 to 5", "One hat.")
        (haggle,) = await server.use(list_prompts)
        filled = await server.use(lambda client: get_prompt(client, haggle, {"price": "5"}))
        assert [message.content.text for message in filled.messages] == ["I offer 5."]


@REVISIONS
@pytest.mark.parametrize("transport", ["stdio", "streamable-http", "sse"])
async def test_everything_that_server_everything_offers_arrives(transport: str, held_to: str, tmp_path: Path) -> None:
    async with everything(transport, held_to) as entry, connected(tmp_path, "ev", entry) as manager:
        (status,) = manager.status()
        assert (status.state, status.revision, status.transport) == ("ready", held_to or STATEFUL, transport)
        assert tools_of(manager) == EVERYTHING_TOOLS
        await use_tools(manager)
        await use_resources_and_prompts(manager)


async def use_tools(manager: Manager) -> None:
    assert text_of(await manager.call("ev__echo", {"message": "hi"}, agent="main")) == "Echo: hi"
    assert "42" in text_of(await manager.call("ev__get-sum", {"a": 40, "b": 2}, agent="main"))
    image = await manager.call("ev__get-tiny-image", {}, agent="main")
    assert [block.type for block in image.content] == ["text", "image", "text"]
    assert b64decode(image.content[1].data or "").startswith(PNG)
    weather = await manager.call("ev__get-structured-content", {"location": "New York"}, agent="main")
    assert set(msgspec.json.decode(weather.structured_content)) == {"temperature", "conditions", "humidity"}
    links = await manager.call("ev__get-resource-links", {"count": 2}, agent="main")
    assert [block.type for block in links.content] == ["text", "resource_link", "resource_link"]
    reference = {"resourceType": "Text", "resourceId": 1}
    embedded = await manager.call("ev__get-resource-reference", reference, agent="main")
    assert [block.type for block in embedded.content] == ["text", "resource", "text"]
    steps: list[tuple[float, float | None, str]] = []
    long = {"duration": 0.05, "steps": 2}
    await manager.call(
        "ev__trigger-long-running-operation", long, agent="main", on_progress=lambda *step: steps.append(step)
    )
    assert [(done, total) for done, total, _ in steps] == [(1, 2), (2, 2)]
    refused = await manager.call("ev__get-sum", {"a": "x", "b": 2}, agent="main")
    assert (refused.is_error, "a is not" in refused.fault) == (True, True)


async def use_resources_and_prompts(manager: Manager) -> None:
    server = manager.server("ev", "main")
    listed = [entry.uri for entry in await server.use(list_resources)]
    assert "demo://resource/static/document/features.md" in listed
    templates = [entry.uri_template for entry in await server.use(list_templates)]
    assert templates == ["demo://resource/dynamic/text/{resourceId}", "demo://resource/dynamic/blob/{resourceId}"]
    (text,) = await server.use(lambda client: read_resource(client, "demo://resource/dynamic/text/1"))
    assert (text.text or "").startswith("Resource 1: This is a plaintext resource")
    (blob,) = await server.use(lambda client: read_resource(client, "demo://resource/dynamic/blob/1"))
    assert b64decode(blob.blob or "").startswith(b"Resource 1: This is a base64 blob")
    prompts = {prompt.name: prompt for prompt in await server.use(list_prompts)}
    assert set(prompts) == {"simple-prompt", "args-prompt", "completable-prompt", "resource-prompt"}
    filled = await server.use(lambda client: get_prompt(client, prompts["args-prompt"], {"city": "Rome"}))
    assert [message.content.text for message in filled.messages] == ["What's weather in Rome?"]
    offered = await server.complete("department", "E", prompt="completable-prompt")
    assert offered == ["Engineering"]
