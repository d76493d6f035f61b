"""A call is carried out at most once, whatever the server answers, and the server's own words reach the caller."""

import asyncio

import pytest

from openclaw.config.servers import ServerSpec
from openclaw.content import Text
from openclaw.conversation import Conversation
from openclaw.mcp.connect import Dependencies
from openclaw.mcp.manager import Manager
from openclaw.tool import Invocation, ToolResult
from parts.refusing_server import FORGOTTEN_AGAIN, WHOSE, Refusal, RefusingServer, Renewing, SignedOut, Whose, survive


def spec(server: RefusingServer) -> ServerSpec:
    return ServerSpec("shop", transport="streamable-http", url=server.url)


@pytest.mark.parametrize("seed", range(4))
async def test_a_call_refused_in_any_way_runs_at_most_once(seed: int) -> None:
    await survive(seed, 75)


@pytest.mark.parametrize(
    "refusal",
    [
        Refusal(400, "ours", "Invalid session id in the arguments."),
        Refusal(400, "other", "Unknown session id."),
        Refusal(404, "ours", "Method not found."),
        Refusal(404, "ours", "Session not found."),
        Refusal(429, "ours", "Slow down.", retry_after=True),
        Refusal(401, "ours", "Unauthorized."),
        Refusal(403, "ours", "Forbidden."),
    ],
    ids=str,
)
async def test_an_answer_to_the_call_is_shown_and_the_call_not_sent_again(refusal: Refusal) -> None:
    async with RefusingServer() as server:
        server.refusals["k"] = refusal
        async with Manager([spec(server)], dependencies=Dependencies(authorize=lambda spec: Renewing())) as manager:
            result = await manager.call("shop__run", {"key": "k"})
            (said,) = [block.text or "" for block in result.content]
            assert (server.runs["k"], result.is_error, refusal.words in said) == (1, True, True)
            again = await manager.call("shop__run", {"key": "l"})
            assert (again.is_error, server.runs["l"]) == (False, 1)


async def called_by_an_agent(server: RefusingServer, credentials: SignedOut) -> tuple[ToolResult, str]:
    """The result of a call whose person signs in when asked, and all of its text."""
    async with Manager([spec(server)], dependencies=Dependencies(authorize=lambda spec: credentials)) as manager:
        assert await manager.call("shop__run", {"key": "first"})
        (tool,) = manager.tools()
        invocation = Invocation(Conversation("main", "s", asker=credentials))
        result = await tool.run({"key": "k"}, invocation)
        return result, "".join(block.text for block in result.content if isinstance(block, Text))


# What is cut off, or ends with its connection, may have been an answer.
@pytest.mark.parametrize(
    "refusal",
    [
        Refusal(401, "ours", "Unauthorized after all."),
        Refusal(403, "ours", "Forbidden after all."),
        Refusal(401, "null", "Unauthorized after all.", "close"),
        Refusal(403, "null", "Forbidden after all.", "close"),
    ],
    ids=str,
)
async def test_a_call_that_was_answered_is_not_made_again_after_the_sign_in_it_led_to(refusal: Refusal) -> None:
    async with RefusingServer() as server:
        server.refusals["k"] = refusal
        credentials = SignedOut()
        result, said = await called_by_an_agent(server, credentials)
        assert (server.calls, credentials.asked, result.is_error) == (2, ["shop"], True)
        assert refusal.words in said
        assert "Somebody has to sign in." in said
        assert "it is not repeated" in said


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("whose", ["null", "absent", "other", "text"])
async def test_a_call_that_was_refused_without_an_answer_is_made_after_the_sign_in(status: int, whose: Whose) -> None:
    async with RefusingServer() as server:
        server.refusals["k"] = Refusal(status, whose)
        credentials = SignedOut()
        result, said = await called_by_an_agent(server, credentials)
        assert (server.runs["k"], credentials.asked, result.is_error) == (1, ["shop"], False)
        assert "done" in said


@pytest.mark.parametrize("status", [401, 403])
async def test_a_call_that_was_answered_is_not_sent_again_when_its_credentials_cannot_be_renewed(status: int) -> None:
    async with RefusingServer() as server:
        server.refusals["k"] = Refusal(status, "ours", "Not with this token.")
        _, said = await called_by_an_agent(server, SignedOut(away=True))
        assert (server.runs["k"], "Not with this token." in said) == (1, True)


@pytest.mark.parametrize("whose", [whose for whose in WHOSE if whose != "ours"])
async def test_a_404_that_answers_no_call_begins_a_new_session_and_sends_it_once_more(whose: Whose) -> None:
    async with RefusingServer() as server:
        server.refusals["k"] = Refusal(404, whose, "Session not found.")
        async with Manager([spec(server)]) as manager:
            result = await manager.call("shop__run", {"key": "k"})
            assert ([block.text for block in result.content], server.runs["k"]) == (["done"], 1)


async def test_a_refusal_cut_off_at_every_byte_never_runs_the_call_twice() -> None:
    refusals = [Refusal(404, "ours", "Session not found."), Refusal(429, "ours", "Slow down.", retry_after=True)]
    async with RefusingServer() as server, Manager([spec(server)]) as manager:
        for refusal in refusals:
            for cut in range(230):
                key = f"{refusal.status}-{cut}"
                server.refusals[key] = Refusal(refusal.status, "ours", refusal.words, "length", True, cut)
                await manager.call("shop__run", {"key": key})
        assert set(server.runs.values()) == {1}


async def test_calls_side_by_side_after_a_doubtful_session_begin_one_new_session() -> None:
    async with RefusingServer() as server, Manager([spec(server)]) as manager:
        server.refusals["k"] = Refusal(400, "ours", "Unknown session id.")
        await manager.call("shop__run", {"key": "k"})
        results = await asyncio.gather(*(manager.call("shop__run", {"key": str(n)}) for n in range(5)))
        assert ([result.is_error for result in results], server.sessions_begun) == ([False] * 5, 2)


async def test_a_server_that_forgets_every_session_at_once_gets_a_call_twice_and_no_more() -> None:
    async with RefusingServer() as server, Manager([spec(server)]) as manager:
        server.forgetful = True
        result = await manager.call("shop__run", {"key": "k"})
        assert (result.fault, server.calls) == ("The server no longer knows the MCP session.", 2)
        server.forgetful = False
        assert (await manager.call("shop__run", {"key": "k"})).is_error is False


async def test_a_call_that_waits_for_a_new_session_first_is_sent_twice_and_no_more() -> None:
    async with RefusingServer() as server, Manager([spec(server)]) as manager:
        server.refusals["k"] = Refusal(400, "ours", "Unknown session id.")
        await manager.call("shop__run", {"key": "k"})
        server.calls, server.forgetful = 0, True
        result = await manager.call("shop__run", {"key": "l"})
        assert (result.fault, server.calls, server.runs["l"]) == (FORGOTTEN_AGAIN, 2, 0)
        server.forgetful = False
        assert (await manager.call("shop__run", {"key": "l"})).is_error is False
