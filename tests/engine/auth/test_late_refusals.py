"""Several callers with the same old token: one whose 401 arrives late takes what the first of them got."""

import asyncio

from aiohttp import web

from parts.auth_program import Clock, Program
from parts.auth_server import AuthServer


class Refusal:
    """A 401 for the next call, held back until it may go out. Calls after it are answered as usual."""

    def __init__(self, server: AuthServer) -> None:
        self.asked_for = asyncio.Event()
        self.may_go_out = asyncio.Event()
        self._server = server
        server.answers["/mcp"] = self._answer

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        del self._server.answers["/mcp"]
        self.asked_for.set()
        await self.may_go_out.wait()
        return web.Response(status=401, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})


async def test_a_refusal_that_arrives_after_a_renewal_renews_nothing(
    server: AuthServer, program: Program, clock: Clock
) -> None:
    await program.sign_in()
    server.expire()
    clock.ahead = 60
    authorizer = program.authorizer()
    refusal = Refusal(server)
    late = asyncio.create_task(program.call(authorizer=authorizer))
    await refusal.asked_for.wait()
    assert await program.call(authorizer=authorizer) == 200
    refusal.may_go_out.set()
    assert await late == 200
    assert [seen.form["grant_type"] for seen in server.at("/token")] == ["authorization_code", "refresh_token"]


async def test_a_refusal_that_arrives_after_a_sign_in_asks_for_no_second_one(
    server: AuthServer, program: Program
) -> None:
    """The call goes on with the tokens that somebody got meanwhile."""
    await program.sign_in()
    server.access.clear()
    server.refresh.clear()
    refusal = Refusal(server)
    late = asyncio.create_task(program.call(authorizer=program.authorizer()))
    await refusal.asked_for.wait()
    await program.sign_in()
    refusal.may_go_out.set()
    assert await late == 200
