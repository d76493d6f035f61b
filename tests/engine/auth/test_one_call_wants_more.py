"""A 403 that asks for more scope concerns that one request: the server stays up for everybody else."""

import asyncio
import json
from typing import Any

from aiohttp import web

from openclaw.mcp.connect import Dependencies
from openclaw.mcp.manager import Manager
from parts.auth_program import Program
from parts.auth_server import AuthServer

TOOLS = ["files__read", "files__wait", "files__write"]


def dependencies_of(program: Program) -> Dependencies:
    return Dependencies(authorize=program.credentials.authorizer, signed_in=program.credentials.signed_in)


async def test_a_call_that_wants_more_rights_takes_nothing_from_anybody_else(
    server: AuthServer, program: Program
) -> None:
    await program.sign_in()
    async with Manager([program.spec], dependencies=dependencies_of(program)) as manager:
        running = asyncio.create_task(manager.call("files__wait", {}))
        await server.waiting.acquire()
        refused = await manager.call("files__write", {})
        assert (refused.is_error, refused.needs_sign_in) == (True, True)
        assert "this call wants more rights" in refused.fault
        assert (await manager.call("files__read", {})).content[0].text == "read"
        assert manager.status()[0].state == "ready"
        assert [tool.name for tool in manager.tools()] == TOOLS
        server.gate.set()
        assert (await running).content[0].text == "wait"


async def test_a_resource_that_wants_more_rights_is_named_and_costs_nothing_else(
    server: AuthServer, program: Program
) -> None:
    await program.sign_in()

    async def answer(request: web.Request) -> web.StreamResponse:
        message: dict[str, Any] = json.loads(await request.read() or b"{}")
        match message.get("method", ""):
            case "resources/read" | "resources/list" | "resources/templates/list" | "ping":
                return server._challenge(403, "tools:write", "insufficient_scope")
            case "initialize":
                info = {"name": "protected", "version": "1"}
                result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "resources": {}}}
                return web.json_response(
                    {"jsonrpc": "2.0", "id": message["id"], "result": {**result, "serverInfo": info}}
                )
            case "":
                return web.Response(status=405)
        return await server._rpc(message)

    server.answers["/mcp"] = answer
    spec = program.spec
    spec = type(spec)(
        spec.name, transport=spec.transport, url=spec.url, inject_resources=("notes://one",), health_interval=0.05
    )
    async with Manager([spec], dependencies=dependencies_of(program)) as manager:
        assert "It cannot be read: The server 'files' needs you to sign in again" in manager.context("")
        while not any(seen.body and seen.body.get("method") == "ping" for seen in server.seen):
            await asyncio.sleep(0.01)
        await manager.server("files").refresh()
        assert (await manager.call("files__read", {})).content[0].text == "read"
        assert manager.status()[0].state == "ready"
