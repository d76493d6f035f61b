"""Panels of servers (MCP Apps) over HTTP: which tools have one, what one may call, and that they are off until they are wanted."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from parts.gateways import Running, home, running
from parts.processes import HANG_GUARD

SERVER = Path(__file__).parent.parent / "parts" / "panel_server.py"
FREE = {"tools": {"approval": {"mode": "off", "taint": "off"}}}
ON = {"apps": {"enabled": True}}
CALL = {"toolCalls": [{"name": "part__show", "arguments": {"text": "hello"}}], "text": "I show."}


@asynccontextmanager
async def gateway(folder: Path, mcp: dict[str, Any], **config: Any) -> AsyncIterator[Running]:
    entry = {"command": sys.executable, "args": ["-S", "-E", str(SERVER)]}
    with home(folder) as place:
        place.save({**place.script(CALL, {"text": "Shown."}), **config, "mcp": {"servers": {"part": entry}, **mcp}})
        async with running(place) as up:
            await up.ready("part")
            yield up


async def said(up: Running) -> tuple[str, str]:
    """A turn in which the tool with the panel is called: the session's key and the id of the call."""
    _, run = await up.post("/v1/runs", {"message": "show it"})
    async with asyncio.timeout(HANG_GUARD):
        _, events = await up.get(f"/v1/runs/{run['run']}/events")
    calls = [
        json.loads(line[6:]) for line in events.splitlines() if line.startswith('data: {"at"') and '"tool"' in line
    ]
    return run["sessionKey"], calls[0]["id"]


async def test_a_panel_is_opened_beside_a_call_and_calls_tools_of_its_own_server_alone(tmp_path: Path) -> None:
    async with gateway(tmp_path, ON, **FREE) as up:
        panel = {"server": "part", "uri": "ui://part/panel"}
        assert await up.get("/v1/apps") == (
            200,
            {"enabled": True, "tools": {"part__old_show": panel, "part__show": panel}},
        )
        key, call = await said(up)
        status, opened = await up.post("/v1/apps", {"tool": "part__show", "sessionKey": key, "call": call})
        assert status == 200
        # As the server answered it, with what no model sees.
        answer = opened.pop("result")
        assert answer["structuredContent"] == {"tool": "show", "text": "hello"}
        assert answer["_meta"] == {"part/only": "for the panel"}
        assert opened.pop("definition")["name"] == "show"
        origin = opened["origin"]
        assert opened == {
            "app": opened["app"],
            "url": f"{origin}/frame/{opened['app']}",
            "origin": origin,
            "server": "part",
            "hosts": ["https://api.example.com", "wss://live.example.com", "https://*.example.org"],
            "border": True,
        }
        assert origin != up.url
        async with up.client.get(opened["url"]) as frame:
            assert f"frame-ancestors {up.url}" in frame.headers["Content-Security-Policy"]
        async with up.client.get(f"{up.url}/") as page:
            assert page.headers["Content-Security-Policy"].endswith(f"; frame-src {origin}")

        path = f"/v1/apps/{opened['app']}"
        called = await up.post(f"{path}/call", {"name": "secret_part", "arguments": {"text": "from the app"}})
        assert called[1]["structuredContent"] == {"tool": "secret_part", "text": "from the app"}
        assert (await up.post(f"{path}/call", {"name": "plain", "arguments": {"text": "x"}}))[0] == 200
        refused = [
            await up.post(f"{path}/call", {"name": name}) for name in ("model_part", "exec", "part__plain", "read")
        ]
        assert [status for status, _ in refused] == [404] * 4
        wrong = (await up.post(f"{path}/call", {"name": "plain"}))[1]
        assert (wrong["isError"], "was not called" in wrong["content"][0]["text"]) == (True, True)
        read = await up.post(f"{path}/read", {"uri": "ui://part/other"})
        assert read == (200, {"contents": [{"uri": "ui://part/other", "mimeType": "text/plain", "text": "read"}]})
        # Both leave their lines.
        _, trail = await up.get("/v1/audit?limit=20")
        of_panel = [(one["event"], one.get("tool")) for one in trail["records"] if one.get("by") == "app"]
        assert ("outcome", "part__secret_part") in of_panel
        assert ("read", None) in of_panel
        # What only panels may call is offered to no model, and the server was told that they are shown.
        _, tools = await up.get("/v1/tools")
        assert "part__secret_part" not in {one["name"] for one in tools["tools"]}
        _, heard = await up.post("/v1/tools/invoke", {"tool": "part__heard"})
        assert "text/html;profile=mcp-app" in heard["content"][0]["text"]
        assert await up.send("DELETE", path) == (200, {"closed": True})
        assert (await up.post(f"{path}/call", {"name": "plain", "arguments": {"text": "x"}}))[0] == 404


async def test_a_call_of_a_panel_is_asked_about_as_what_it_is(tmp_path: Path) -> None:
    async with gateway(tmp_path, ON) as up:
        _, opened = await up.post("/v1/apps", {"tool": "part__show"})
        events = await up.client.get(f"{up.url}/v1/events?answers=approval", headers=up.headers)
        await events.content.readline()
        body = {"name": "secret_part", "arguments": {"text": "x"}}
        calling = asyncio.create_task(up.post(f"/v1/apps/{opened['app']}/call", body))
        async with asyncio.timeout(HANG_GUARD):
            while not (asked := (await up.get("/v1/questions"))[1]["questions"]):
                await events.content.readline()
        (question,) = asked
        assert "It comes from the app that this server shows, not from the model." in question["approval"]["reasons"]
        assert question["approval"]["tool"] == "part__secret_part"
        await up.post(f"/v1/questions/{question['id']}", {"digest": question["digest"], "choice": "decline"})
        status, answer = await calling
        events.close()
        said = "part__secret_part was not called: the person declined."
        assert (status, answer) == (200, {"content": [{"type": "text", "text": said}], "isError": True})


async def test_panels_are_off_until_the_config_wants_them(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}, **FREE) as up:
        assert await up.get("/v1/apps") == (200, {"enabled": False, "tools": {}})
        status, answer = await up.post("/v1/apps", {"tool": "part__show"})
        assert (status, answer["error"]["code"]) == (404, "apps_off")
        _, heard = await up.post("/v1/tools/invoke", {"tool": "part__heard"})
        assert "mcp-app" not in heard["content"][0]["text"]
        async with up.client.get(f"{up.url}/") as page:
            assert "frame-src" not in page.headers["Content-Security-Policy"]
