"""A server that answers 403: its reason reaches whoever reads the error, cleaned, bounded, and framed for a model."""

from pathlib import Path

import pytest
from aiohttp import web

from openclaw.content import text_of
from openclaw.mcp.manager import Manager
from openclaw.mcp.tools.bridge import result_of
from parts.http_server import HttpServer, Message
from parts.sites import Site

REASON = "Your plan does not include this workspace."
BODIES = [
    (REASON, "text/plain"),
    (f'{{"error": "forbidden", "error_description": "{REASON}"}}', "application/json"),
    (f'{{"error": {{"code": 7, "message": "{REASON}"}}}}', "application/json"),
]


@pytest.mark.parametrize(("body", "kind"), BODIES, ids=["text", "oauth", "message"])
async def test_a_server_that_lets_nobody_in_says_why(tmp_path: Path, body: str, kind: str) -> None:
    async def refuse(server: HttpServer, request: web.Request, message: Message) -> web.Response:
        return web.Response(status=403, text=body, content_type=kind)

    async with Site("streamable-http", tmp_path) as site:
        assert site.http is not None
        for method in ("server/discover", "initialize"):
            site.http.fault(method, refuse)
        async with Manager([site.spec()]) as manager:
            (status,) = manager.status()
            assert (status.state, f"It said: {REASON}" in status.reason) == ("failed", True)


async def test_a_refused_call_says_why_in_a_frame_and_the_server_stays_up(tmp_path: Path) -> None:
    async def refuse(server: HttpServer, request: web.Request, message: Message) -> web.Response:
        return web.Response(status=403, text=f"{REASON} {'x' * 5000}")

    async with Site("streamable-http", tmp_path) as site:
        assert site.http is not None
        async with Manager([site.spec()]) as manager:
            site.http.fault("tools/call", refuse)
            refused = await manager.call("shop__echo", {"text": "x"})
            shown = result_of(refused, "shop", "echo", None)
            said = text_of(shown.content)
            assert (REASON in said, "EXTERNAL" in said, len(said) < 2500) == (True, True, True)
            assert not (await manager.call("shop__echo", {"text": "x"})).is_error
