"""Several callers with the same old token: one whose 401 arrives late takes what the first of them got."""

import asyncio

import pytest
from aiohttp import web

from parts.auth_program import Clock, Program
from parts.auth_server import AuthServer

CALLBACK = "http://127.0.0.1:7777/callback"


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


class Door:
    """Who comes through is let through, but for one who is to be held."""

    def __init__(self) -> None:
        self.holds_next = False
        self.holding = asyncio.Event()
        self.opened = asyncio.Event()

    async def resolve(self, text: str) -> str:
        if self.holds_next:
            self.holds_next = False
            self.holding.set()
            await self.opened.wait()
        return "mine"


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


@pytest.mark.parametrize("when", ["during", "after"])
async def test_a_refusal_that_arrives_during_or_after_a_sign_in_asks_for_no_second_one(
    server: AuthServer, program: Program, clock: Clock, when: str
) -> None:
    """During: the late caller has read the old tokens already, and goes on when the new ones are there and nobody signs in any more."""
    door, asked, may_sign_in = Door(), asyncio.Event(), asyncio.Event()
    sign_ins: list[str] = []

    async def sign_in() -> None:
        sign_ins.append("asked for")
        asked.set()
        await may_sign_in.wait()
        await program.sign_in()

    server.clients["mine"] = {"redirect_uris": [CALLBACK]}
    # Who reads tokens asks whether they are of the client in the config: there they can be held.
    program.resolve = door.resolve  # type: ignore[method-assign]
    program.configure(client_id="secret://env/CLIENT", redirect_url=CALLBACK)
    program.restart()
    await program.sign_in()
    server.access.clear()
    server.refresh.clear()
    clock.ahead = 60
    authorizer = program.authorizer(sign_in)
    refusal = Refusal(server)
    late = asyncio.create_task(program.call(authorizer=authorizer))
    await refusal.asked_for.wait()
    first = asyncio.create_task(program.call(authorizer=authorizer))
    await asked.wait()
    if when == "during":
        door.holds_next = True
        refusal.may_go_out.set()
        await door.holding.wait()
    may_sign_in.set()
    assert await first == 200
    refusal.may_go_out.set()
    door.opened.set()
    assert await late == 200
    assert sign_ins == ["asked for"]
