"""How servers stand, as `status` shows it over HTTP, through a gateway's terminal and in chat."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from parts.auth_server import AuthServer
from parts.gateways import Running, gateway_process, home, running, stdio_server
from parts.http_server import HttpServer, Plan


async def status_of(gateway: Running, name: str) -> dict[str, Any]:
    _, found = await gateway.get(f"/v1/mcp/servers/{name}")
    return dict(found)


@pytest.mark.requirement("000-8.1-status")
async def test_the_status_of_a_program_tells_how_it_runs_and_how_it_did(tmp_path: Path) -> None:
    with home(tmp_path, {"mcp": {"servers": {"part": stdio_server()}}}) as place:
        async with running(place) as gateway:
            await gateway.ready("part")
            before = await status_of(gateway, "part")
            for tool, arguments in (("echo", {"text": "x"}), ("crash", {"code": 3})):
                await gateway.post("/v1/tools/invoke", {"tool": f"part__{tool}", "arguments": arguments})
            # Waits until it is back.
            shown = await asyncio.to_thread(place.run, "mcp", "status", "part")
            after = await status_of(gateway, "part")
            listed = await asyncio.to_thread(place.run, "gateway", "status")

    assert f"part  Running (PID {after['pid']}), {after['tools']} tools" in listed.stdout
    assert (before["latencyP50Ms"], before["lastError"]) == (None, "")
    assert (before["state"], before["transport"], before["tools"] > 0) == ("ready", "stdio", True)
    assert 0 < after["latencyP50Ms"] <= after["latencyP95Ms"]
    assert (after["pid"] != before["pid"], "exited with code 3" in after["lastError"]) == (True, True)
    assert after["lastErrorSeconds"] >= 0
    lines = [line.split()[0] for line in shown.stdout.splitlines()[1:]]
    assert set(lines) >= {"State", "Transport", "Revision", "Tools", "Restarts", "Latency", "Last", "Ready"}
    assert f"Running (PID {after['pid']})" in shown.stdout


async def test_a_remote_servers_status_has_its_session_shortened(tmp_path: Path) -> None:
    async with HttpServer(Plan(revisions=("2025-11-25",))) as server:
        with home(tmp_path, {"mcp": {"servers": {"far": {"url": server.url}}}}) as place:
            async with running(place) as gateway:
                await gateway.ready("far")
                found = await status_of(gateway, "far")
                (session,) = server.sessions

    assert (found["transport"], found["pid"], bool(found["revision"])) == ("streamable-http", None, True)
    assert found["lastHeardSeconds"] >= 0
    assert (bool(found["mcpSession"]), found["mcpSession"] in session) == (True, False)


@pytest.mark.requirement("000-8.1-status-expiry")
@pytest.mark.requirement("000-8.2-expiry")
async def test_when_a_sign_in_ends_is_told_everywhere(tmp_path: Path) -> None:
    async with AuthServer() as server:
        with home(tmp_path, {"mcp": {"servers": {"guarded": {"url": server.url}}}}) as place:
            async with running(place) as gateway:
                _, begun = await gateway.post("/v1/mcp/servers/guarded/auth")
                callback = await server.browse(begun["authorizationUrl"])
                assert (await gateway.post("/v1/mcp/servers/guarded/auth", {"code": callback}))[0] == 200
                await gateway.ready("guarded")
                found = await status_of(gateway, "guarded")
                _, listed = await gateway.get("/v1/mcp/servers")
                (told,) = (await gateway.gateway.status())["servers"]
                words = (("gateway", "status"), ("mcp", "status", "guarded"), ("mcp", "servers"))
                shown = [(await asyncio.to_thread(place.run, *one)).stdout for one in words]

    expiries = [found["authExpiresAt"], listed["servers"][0]["authExpiresAt"], told["authExpiresAt"]]
    assert (len(set(expiries)), expiries[0] > time.time(), found["auth"]) == (1, True, "oauth")
    assert ["expires" in text for text in shown] == [True, True, True]


def test_a_glance_tells_of_the_gateway_that_was_asked(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        alone = json.loads(place.run("status", "--json").stdout)
        told_alone = place.run("status").stdout
        with gateway_process(place) as gateway:
            asked = json.loads(place.run("status", "--json").stdout)
            beside = place.run("--local", "status").stdout

    assert (alone["gateway"], asked["gateway"]) == (None, gateway.process.pid)
    # Both work where the person is.
    assert alone["agents"][0]["workspace"] == asked["agents"][0]["workspace"]
    assert "  Gateway   none runs; `openclaw gateway start` keeps servers warm\n" in told_alone
    assert (
        f"  Gateway   runs (pid {gateway.process.pid}), and did not answer this; look: openclaw gateway status\n"
        in beside
    )
