"""Changing which servers there are: over HTTP and from a terminal through the gateway."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from parts.auth_server import AuthServer
from parts.gateways import GatewayProcess, Running, gateway_process, home, running, stdio_server
from parts.http_server import HttpServer


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Running]:
    with home(tmp_path, {"mcp": {"servers": {"part": stdio_server()}}}) as place:
        async with running(place) as one:
            await one.ready("part")
            yield one


async def states(gateway: Running) -> dict[str, str]:
    _, listed = await gateway.get("/v1/mcp/servers")
    return {server["name"]: server["state"] for server in listed["servers"]}


async def test_a_server_with_an_address_comes_and_goes_over_http(gateway: Running) -> None:
    async with HttpServer() as server:
        body = {"url": server.url, "name": "far", "headers": {"X-Team": "blue"}}
        status, added = await gateway.post("/v1/mcp/servers", body)
        assert (status, added["name"], added["state"], added["tools"]) == (200, "far", "ready", 6)
        status, answer = await gateway.post("/v1/tools/invoke", {"tool": "far__echo", "arguments": {"text": "hi"}})
        assert (status, answer["isError"]) == (200, False)
        assert (await gateway.post("/v1/mcp/servers", body))[0] == 400
        assert (await gateway.post("/v1/mcp/servers/far/disable"))[0] == 200
        assert await states(gateway) == {"part": "ready", "far": "disabled"}
        assert (await gateway.post("/v1/mcp/servers/far/enable"))[0] == 200
        await gateway.ready("far")
        assert (await gateway.send("DELETE", "/v1/mcp/servers/far"))[0] == 200
        assert await states(gateway) == {"part": "ready"}
        written = json.loads(gateway.home.config_file.read_text())
    assert list(written["mcp"]["servers"]) == ["part"]


async def test_what_http_writes_reaches_into_no_environment(gateway: Running) -> None:
    async with HttpServer() as server:
        body = {"url": server.url, "name": "far", "headers": {"X-Home": "${HOME}"}}
        assert (await gateway.post("/v1/mcp/servers", body))[0] == 200
        seen = [dict(request.headers).get("X-Home") for request in server.seen]
        body = {"url": server.url, "name": "worse", "headers": {"X-Key": "secret://env/HOME"}}
        status, answer = await gateway.post("/v1/mcp/servers", body)

    assert set(seen) == {"${HOME}"}
    assert (status, "secrets" in answer["error"]["message"]) == (400, True)


async def test_a_server_that_can_never_work_is_not_kept(gateway: Running) -> None:
    before = gateway.home.config_file.read_text()
    status, _ = await gateway.post("/v1/mcp/servers", {"url": "http://mcp.example/mcp", "name": "plain"})
    assert status == 400
    assert json.loads(gateway.home.config_file.read_text()) == json.loads(before)
    assert await states(gateway) == {"part": "ready"}


async def test_a_stopped_server_stays_stopped_until_it_is_restarted(gateway: Running) -> None:
    assert (await gateway.post("/v1/mcp/servers/part/disconnect"))[0] == 200
    assert (await gateway.post("/v1/tools/invoke", {"tool": "part__echo", "arguments": {}}))[0] == 404
    told = asyncio.create_task(gateway.reloaded())
    await asyncio.sleep(0)
    gateway.home.save({"mcp": {"servers": {"part": stdio_server()}}}, tools={"deny": ["x"]})
    assert (await told)["ok"]
    assert (await states(gateway))["part"] == "stopped"
    await gateway.gateway.app.settled()
    assert (await states(gateway))["part"] == "stopped"
    status, restarted = await gateway.post("/v1/mcp/servers/part/restart")
    assert (status, restarted["state"]) == (200, "ready")


async def test_signing_in_to_a_program_is_refused(gateway: Running) -> None:
    status, answer = await gateway.post("/v1/mcp/servers/part/auth")
    assert (status, "nothing to sign in to" in answer["error"]["message"]) == (400, True)


async def test_a_server_that_wants_a_sign_in_gets_one_over_http(gateway: Running) -> None:
    async with AuthServer() as server:
        status, added = await gateway.post("/v1/mcp/servers", {"url": server.url, "name": "guarded"})
        assert (status, added["state"]) == (200, "needs-auth")
        status, begun = await gateway.post("/v1/mcp/servers/guarded/auth")
        assert (status, begun["authorizationUrl"].startswith(server.issuer)) == (200, True)
        callback = await server.browse(begun["authorizationUrl"])
        status, done = await gateway.post("/v1/mcp/servers/guarded/auth", {"code": callback})
        assert (status, done["server"]) == (200, "guarded")
        await gateway.ready("guarded")
        status, answer = await gateway.post("/v1/tools/invoke", {"tool": "guarded__read", "arguments": {}})
        assert (status, answer["isError"]) == (200, False)
        assert (await gateway.post("/v1/mcp/servers/guarded/auth", {"logout": True}))[1]["wasSignedIn"]
        assert (await states(gateway))["guarded"] == "needs-auth"
        # The browser may also come back by itself: to the sign-in that was begun last.
        path = "/v1/mcp/servers/guarded/auth"
        assert (await gateway.post(path, {"wait": True}))[0] == 502
        assert (await gateway.post(path, {"listen": True}))[0] == 200
        _, begun = await gateway.post(path, {"listen": True})
        async with gateway.client.get(await server.browse(begun["authorizationUrl"])) as page:
            assert (page.status, "You are signed in" in await page.text()) == (200, True)
        status, done = await gateway.post(path, {"wait": True})
        assert (status, done["server"]) == (200, "guarded")
        await gateway.ready("guarded")


async def test_a_sign_in_that_another_replaces_before_it_has_an_address_says_so(gateway: Running) -> None:
    path, reached = "/v1/mcp/servers/guarded/auth", asyncio.Event()
    async with AuthServer() as server:

        async def hold(request: web.Request) -> web.StreamResponse:
            reached.set()
            await server.gate.wait()
            return web.Response(status=503)

        await gateway.post("/v1/mcp/servers", {"url": server.url, "name": "guarded"})
        server.answers["/register"] = hold
        first = asyncio.create_task(gateway.post(path, {"listen": True}))
        await reached.wait()
        del server.answers["/register"]
        assert (await gateway.post(path, {"listen": True}))[0] == 200
        status, answer = await first
    assert (status, "was begun anew" in answer["error"]["message"]) == (502, True)


async def test_of_several_sign_ins_that_are_begun_at_once_one_goes_on(gateway: Running) -> None:
    path = "/v1/mcp/servers/guarded/auth"
    async with AuthServer() as server:
        await gateway.post("/v1/mcp/servers", {"url": server.url, "name": "guarded"})
        assert (await gateway.post(path, {"listen": True}))[0] == 200
        begun = await asyncio.gather(*(gateway.post(path, {"listen": True}) for _ in range(3)))
        going_on = [task for task in asyncio.all_tasks() if task.get_name() == "sign-in-guarded" and not task.done()]
    assert (sorted({status for status, _ in begun}), len(going_on)) in (([200], 1), ([200, 502], 1))


def pid_of(gateway: GatewayProcess, name: str) -> int:
    return int(json.loads(gateway.home.run("mcp", "status", name, "--json").stdout)["pid"])


def test_a_terminal_may_add_a_program_through_the_gateway_and_everybody_has_it(tmp_path: Path) -> None:
    entry = stdio_server()
    with home(tmp_path, {"mcp": {"servers": {"part": entry}}}) as place, gateway_process(place) as gateway:
        gateway.wait_until("'part' is ready")
        kept = pid_of(gateway, "part")
        words = ("mcp", "connect", "--name", "more", "--yes", "--", entry["command"], *entry["args"])
        added = place.run(*words)
        assert added.returncode == 0, added.stderr
        assert pid_of(gateway, "more") == pid_of(gateway, "more")
        assert place.run("mcp", "call", "more__echo", "text=hi").stdout == "hi\n"
        assert pid_of(gateway, "part") == kept
        unasked = place.run("mcp", "connect", "--name", "again", "--", entry["command"], *entry["args"])
        assert (unasked.returncode, "Nobody is there to agree" in unasked.stderr) == (2, True)
        assert place.run("mcp", "remove", "more").returncode == 0
        assert place.run("mcp", "call", "more__echo", "text=hi").returncode == 2
