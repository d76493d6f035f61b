"""What a server may ask of us: refused unless the embedding program can answer, and then answered over both ways of asking."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from openclaw.config.servers import ServerSpec
from openclaw.conversation import Conversation
from openclaw.mcp.connect import Dependencies
from openclaw.mcp.handlers import Handlers
from openclaw.mcp.manager import Manager
from openclaw.mcp.tools.results import Result
from openclaw.redact import remember
from openclaw.tool import Invocation
from parts.http_faults import json_body
from parts.http_server import HttpServer, Message
from parts.planned_server import MODERN, tool
from parts.processes import server_command
from parts.sites import Site

FORM = {"method": "elicitation/create", "params": {"message": "Your name?", "requestedSchema": {"type": "object"}}}


async def accept(server: str, params: Mapping[str, Any], invocation: Invocation | None) -> dict[str, Any]:
    return {"action": "accept", "content": {"from": server, "asked": params["message"]}}


def answer(result: Result) -> Any:
    assert not result.fault, result.fault
    return json.loads(result.content[0].text or "")


def asking(handlers: Handlers, site: Site) -> Dependencies:
    return Dependencies(make_transport=site.dependencies.make_transport, handlers=handlers)


@pytest.fixture(params=["memory", "stdio", "streamable-http"])
async def modern(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Site]:
    async with Site(request.param, tmp_path) as site:
        site.plan(tools=[tool("ask")], revisions=[MODERN])
        yield site


async def test_a_question_is_answered_and_the_state_goes_back_as_it_came(modern: Site) -> None:
    dependencies = asking(Handlers(elicitation=accept), modern)
    async with Manager([modern.spec()], dependencies=dependencies) as manager:
        state = 'opaque "\\ \u00fc'
        result = await manager.call("shop__ask", {"requests": {"k": FORM}, "state": state})
        assert answer(result) == {
            "inputResponses": {"k": {"action": "accept", "content": {"from": "shop", "asked": "Your name?"}}},
            "requestState": state,
        }


async def test_a_state_without_questions_is_simply_sent_back(modern: Site) -> None:
    async with Manager([modern.spec()], dependencies=modern.dependencies) as manager:
        assert answer(await manager.call("shop__ask", {})) == {"inputResponses": None, "requestState": "s"}


async def test_reading_a_resource_and_filling_in_a_prompt_may_ask_back_too(modern: Site) -> None:
    modern.plan(
        revisions=[MODERN],
        resources={"note://1": "words"},
        prompts=[{"name": "greet"}],
        asks=["resources/read", "prompts/get"],
    )
    async with Manager([modern.spec()], dependencies=modern.dependencies) as manager:
        server = manager.server("shop")
        contents = await server.use(lambda client: client.read_resource("note://1"))
        assert [content.text for content in contents] == ["words"]
        filled = await server.use(lambda client: client.get_prompt("greet", {}))
        assert [message.content.text for message in filled.messages] == ["greet {}"]


async def test_a_question_nobody_can_answer_ends_the_call(modern: Site) -> None:
    async with Manager([modern.spec()], dependencies=modern.dependencies) as manager:
        result = await manager.call("shop__ask", {"requests": {"k": FORM}})
        assert result.is_error
        assert result.content[0].text == (
            "The server asks for input that nobody here can give: This client does not support elicitation/create."
        )
        assert "asked" not in modern.log


async def test_a_server_that_never_stops_asking_is_given_up(modern: Site) -> None:
    async with Manager([modern.spec()], dependencies=modern.dependencies) as manager:
        result = await manager.call("shop__ask", {"forever": True})
        assert result.is_error
        assert result.content[0].text == "The server still asked for input after 10 rounds."
        assert modern.log.count("asked") == 9


def stdio(*options: str) -> ServerSpec:
    command, *args = server_command(*options)
    return ServerSpec("part", command=command, args=tuple(args))


async def test_requests_of_an_old_server_are_answered_by_the_same_handlers() -> None:
    async with Manager([stdio()], dependencies=Dependencies(handlers=Handlers(elicitation=accept))) as manager:
        result = await manager.call("part__ask", FORM)
        assert answer(result)["result"] == {"action": "accept", "content": {"from": "part", "asked": "Your name?"}}


class Heard:
    """An elicitation handler that keeps which call each question came with."""

    def __init__(self) -> None:
        self.calls: list[str | None] = []

    async def __call__(self, server: str, params: Mapping[str, Any], invocation: Invocation | None) -> dict[str, Any]:
        self.calls.append(None if invocation is None else invocation.call_id)
        return {"action": "decline"}


async def test_a_question_in_a_result_belongs_to_the_call_of_that_result(modern: Site) -> None:
    heard = Heard()
    async with Manager([modern.spec()], dependencies=asking(Handlers(elicitation=heard), modern)) as manager:
        calls = [Invocation(Conversation("main", "s"), call_id=f"c{number}") for number in range(3)]
        arguments = {"requests": {"k": FORM}}
        await asyncio.gather(*(manager.call("shop__ask", arguments, invocation=call) for call in calls))
    assert sorted(map(str, heard.calls)) == ["c0", "c1", "c2"]


async def test_a_request_of_an_old_server_belongs_to_the_only_call_under_way() -> None:
    heard = Heard()
    async with Manager([stdio()], dependencies=Dependencies(handlers=Handlers(elicitation=heard))) as manager:
        await manager.call("part__ask", FORM, invocation=Invocation(Conversation("main", "s"), call_id="c"))
        await manager.call("part__ask", FORM)
    assert heard.calls == ["c", None]


async def test_a_request_on_the_stream_of_a_call_belongs_to_it(tmp_path: Path) -> None:
    heard, both = Heard(), asyncio.Barrier(2)

    async def asks(server: HttpServer, request: web.Request, message: Message) -> web.StreamResponse:
        """Asks while another call is under way, then answers."""
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        await both.wait()
        question = {"jsonrpc": "2.0", "id": f"q{message['id']}", **FORM}
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": {"content": []}}
        for said in (question, answer):
            await stream.write(f"data: {json.dumps(said)}\n\n".encode())
        await both.wait()
        return stream

    async with Site("streamable-http", tmp_path) as site:
        assert site.http
        site.plan(tools=[tool("ask")], revisions=["2025-11-25"])
        async with Manager([site.spec()], dependencies=Dependencies(handlers=Handlers(elicitation=heard))) as manager:
            for _ in range(2):
                site.http.fault("tools/call", asks)
            calls = [Invocation(Conversation("main", "s"), call_id=f"c{number}") for number in range(2)]
            results = await asyncio.gather(*(manager.call("shop__ask", {}, invocation=call) for call in calls))
    assert [result.fault for result in results] == ["", ""]
    assert sorted(map(str, heard.calls)) == ["c0", "c1"]


@pytest.mark.requirement("000-17-sampling")
@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage", "roots/list", "tools/list"])
async def test_what_has_no_handler_is_refused(method: str) -> None:
    async with Manager([stdio()]) as manager:
        result = await manager.call("part__ask", {"method": method})
        assert answer(result)["error"]["code"] == -32601
        assert answer(await manager.call("part__ask", {"method": "ping"})) == {"result": {}}


@pytest.mark.requirement("000-17-sampling")
async def test_only_what_has_a_handler_is_declared(tmp_path: Path) -> None:
    async with Site("streamable-http", tmp_path) as site:
        assert site.http
        for handlers, declared in (
            (Handlers(), {}),
            (Handlers(elicitation=accept), {"elicitation": {"form": {}}}),
            (Handlers(sampling=accept, roots=accept), {"sampling": {}, "roots": {}}),
            (Handlers(roots=accept, roots_change=True), {"roots": {"listChanged": True}}),
        ):
            site.http.seen.clear()
            async with Manager([site.spec()], dependencies=Dependencies(handlers=handlers)):
                (first,) = [seen.message for seen in site.http.seen if seen.method == "initialize"]
                assert first["params"]["capabilities"] == declared


@pytest.mark.parametrize("secret", ["", "known-4711-tiger"])
async def test_mismatched_headers_are_mended_by_listing_again(tmp_path: Path, secret: str) -> None:
    remember(secret)
    async with Site("streamable-http", tmp_path) as site:
        assert site.http
        site.plan(tools=[tool("count")], revisions=[MODERN])
        async with Manager([site.spec()]) as manager:
            mismatch = {"jsonrpc": "2.0", "id": None, "error": {"code": -32020, "message": "Header mismatch"}}
            site.http.fault("tools/call", json_body(mismatch, 400))
            annotated = {"type": "object", "properties": {"key": {"type": "string", "x-mcp-header": "Key"}}}
            site.plan(tools=[tool("count", inputSchema=annotated)], revisions=[MODERN])
            result = await manager.call("shop__count", {"key": "k"})
            assert (result.is_error, site.log[-1]) == (False, "count k")
            assert site.http.seen[-1].headers["Mcp-Param-Key"] == "k"


async def test_mismatched_headers_in_an_answer_to_the_call_are_shown_and_the_call_not_sent_again(
    tmp_path: Path,
) -> None:
    async with Site("streamable-http", tmp_path) as site:
        assert site.http
        site.plan(tools=[tool("count")], revisions=[MODERN])

        async def ran(server: HttpServer, request: web.Request, message: Message) -> web.Response:
            error = {"code": -32020, "message": "Header mismatch."}
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "error": error}, status=400)

        async with Manager([site.spec()]) as manager:
            site.http.fault("tools/call", ran)
            result = await manager.call("shop__count", {"key": "k"})
            words = "Header mismatch. The server's list was read again: the next call may work."
            assert (result, site.http.methods().count("tools/call")) == (Result.refused(words), 1)
