"""The engine as a config asks for it: what goes over the wire, what a process may do, what a life looks like in the log."""

import asyncio
import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from openclaw.config.servers import ServerSpec
from openclaw.mcp.connect import Dependencies
from openclaw.mcp.manager import Manager
from openclaw.process.run import run
from openclaw.transport.base import Link, Receiver, Transport
from parts.command_line import Home
from parts.http_server import HttpServer, Plan
from parts.planned_server import tool
from parts.processes import handle_of, wait_until_gone
from parts.sites import Site

SESSIONS = Plan(revisions=("2025-11-25",))
# Everything that tells what a process may do, as it sees itself.
RIGHTS = """
import json, os
print(json.dumps([os.getuid(), os.geteuid(), os.getgid(), os.getegid(), sorted(os.getgroups()), os.umask(0)]))
"""


async def until(manager: Manager, condition: Callable[[], bool]) -> None:
    changed = asyncio.Event()
    unsubscribe = manager.events.subscribe(lambda event: changed.set())
    try:
        while not condition():
            changed.clear()
            await changed.wait()
    finally:
        unsubscribe()


# Over the wire


@pytest.mark.requirement("000-4.2-headers")
@pytest.mark.requirement("000-9.1-bearer")
async def test_every_post_says_what_it_is_what_it_takes_and_who_asks(tmp_path: Path) -> None:
    async with HttpServer(SESSIONS) as server:
        home = Home(tmp_path, mcp={"servers": {"web": {"url": server.url, "apiKey": "tvly-xxxxx"}}})
        assert (await home.openclaw("mcp", "call", "web__echo", "text=hi")).out == "hi\n"
    posts = [seen.headers for seen in server.seen if seen.verb == "POST"]
    names = ("Content-Type", "Accept", "Authorization")
    assert len(posts) >= 4
    assert {tuple(headers.get(name) for name in names) for headers in posts} == {
        ("application/json", "application/json, text/event-stream", "Bearer tvly-xxxxx")
    }
    assert {seen.headers.get("Authorization") for seen in server.seen} == {"Bearer tvly-xxxxx"}


@pytest.mark.requirement("002-1-handshake")
async def test_a_server_is_initialised_before_it_is_asked_for_its_tools(tmp_path: Path) -> None:
    async with HttpServer(SESSIONS) as server:
        await Home(tmp_path, mcp={"servers": {"web": {"url": server.url}}}).openclaw("mcp", "servers")
    told = [
        seen.method for seen in server.seen if seen.method in ("initialize", "notifications/initialized", "tools/list")
    ]
    assert told == ["initialize", "notifications/initialized", "tools/list"]


@pytest.mark.requirement("001-FR-1-headers")
@pytest.mark.requirement("002-3.4-secrets")
async def test_a_secret_of_a_header_is_resolved_before_the_server_is_reached(tmp_path: Path) -> None:
    async with HttpServer(SESSIONS) as server:
        home = Home(tmp_path, mcp={"servers": {"web": {"url": server.url, "headers": {"X-Team": "secret://env/TEAM"}}}})
        home.environ["TEAM"] = "the-blue-ones"
        await home.openclaw("mcp", "servers")
    assert {seen.headers["X-Team"] for seen in server.seen} == {"the-blue-ones"}


@pytest.mark.requirement("000-10-malformed")
async def test_a_malformed_message_of_a_stream_is_skipped_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "openclaw")
    broken = b'data: {"jsonrpc": "2.0", "method": nothing\n\n'

    async def answer(server: HttpServer, request: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        result = {
            "jsonrpc": "2.0",
            "id": message["id"],
            "result": {"content": [{"type": "text", "text": "still here"}]},
        }
        return web.Response(
            body=broken + b"data: %s\n\n" % json.dumps(result).encode(), content_type="text/event-stream"
        )

    async with Site("streamable-http", tmp_path) as site, Manager([site.spec()]) as manager:
        assert site.http
        site.http.fault("tools/call", answer)
        assert (await manager.call("shop__echo", {})).content[0].text == "still here"
    assert "MCP server 'shop': dropped not a JSON-RPC message" in caplog.text


# A process of ours


@pytest.mark.requirement("001-NFR-3-privileges")
@pytest.mark.requirement("001-US-5-permissions")
@pytest.mark.requirement("002-5.3-children")
async def test_a_child_has_our_rights_and_no_more() -> None:
    mask = os.umask(0)
    os.umask(mask)
    ours = [os.getuid(), os.geteuid(), os.getgid(), os.getegid(), sorted(os.getgroups()), mask]
    done = await run([sys.executable, "-c", RIGHTS], timeout=60, env={})
    assert json.loads(done.stdout) == ours


# A life


@pytest.mark.requirement("001-FR-7-lifecycle")
async def test_start_restart_and_stop_are_logged_at_info(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "openclaw")
    async with Site("stdio", tmp_path) as site, Manager([site.spec()]) as manager:
        first = manager.status()[0].pid
        await manager.server("shop").restart()
        await until(manager, lambda: manager.status()[0].pid not in (first, None) and _state(manager) == "ready")
        manager.server("shop").stop("disconnected by hand")
        await until(manager, lambda: _state(manager) == "stopped")
    told = [(r.levelname, r.getMessage()) for r in caplog.records if "MCP server 'shop'" in r.getMessage()]
    assert told == [
        ("INFO", "MCP server 'shop' is ready."),
        ("INFO", "MCP server 'shop' is being restarted."),
        ("INFO", "MCP server 'shop' is ready."),
        ("INFO", "MCP server 'shop' stopped (disconnected by hand)."),
    ]


def _state(manager: Manager) -> str:
    return manager.status()[0].state


@pytest.mark.requirement("002-10-reconnect")
@pytest.mark.parametrize("kind", ["stdio", "sse"])
async def test_tools_are_listed_again_after_a_reconnect(kind: str, tmp_path: Path) -> None:
    async with Site(kind, tmp_path) as site:
        await _reconnect(site)


async def _reconnect(site: Site) -> None:
    site.plan(tools=[tool("echo"), tool("old")])
    async with Manager([site.spec()]) as manager:
        site.plan(tools=[tool("echo"), tool("new")])
        await site.crash(manager.status()[0].pid)
        assert (await manager.call("shop__echo", {"text": "back"})).content[0].text == "back"
        await until(manager, lambda: [t.name for t in manager.tools()] == ["shop__echo", "shop__new"])


class Unwilling:
    """A server in this process whose link cannot be closed without a fault."""

    def __init__(self, inner: Transport) -> None:
        self.facts = inner.facts
        self._inner = inner

    @asynccontextmanager
    async def open(self, receiver: Receiver) -> AsyncIterator[Link]:
        async with self._inner.open(receiver) as link:
            yield link
        raise OSError("the link would not close")


@pytest.mark.requirement("002-3.7-shutdown-error-log")
async def test_a_server_that_fails_while_it_is_ended_is_logged_and_the_others_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "openclaw")
    bad, good = Site("memory", tmp_path, "bad"), Site("stdio", tmp_path, "good")

    def transport(spec: ServerSpec) -> Transport | None:
        inner = bad.dependencies.make_transport(spec)
        return Unwilling(inner) if inner else None

    async with Manager([bad.spec(), good.spec()], dependencies=Dependencies(make_transport=transport)) as manager:
        pid = manager.status()[1].pid
        assert pid is not None
        handle = handle_of(pid)
    wait_until_gone(handle)
    assert caplog.messages[-2:] == ["MCP server 'bad' could not be closed properly.", "MCP manager shut down"]
    assert "the link would not close" in caplog.text
