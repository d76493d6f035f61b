"""Questions of servers as values, and the answers in the protocol's own shape."""

from pathlib import Path
from typing import Any

import pytest

from openclaw.errors import RpcError, UsageError
from openclaw.mcp.connect import Dependencies
from openclaw.mcp.handlers import ELICIT, ROOTS, SAMPLE, Handlers
from openclaw.mcp.tools.results import Content
from openclaw.mcp.typed_handlers import (
    ElicitationAnswer,
    ElicitationRequest,
    PageRequest,
    SamplingAnswer,
    SamplingMessage,
    SamplingRequest,
    with_typed_handlers,
)

FORM = {"type": "object", "properties": {"n": {"type": "integer"}}}


def given(**functions: Any) -> Handlers:
    asked: dict[str, Any] = {"elicit": None, "sample": None, "roots": (), "on_log": None, **functions}
    return with_typed_handlers(Dependencies(), **asked).handlers


@pytest.mark.parametrize(
    ("action", "sent"),
    [
        ("accept", {"action": "accept", "content": {"n": 3}}),
        ("decline", {"action": "decline"}),
        ("cancel", {"action": "cancel"}),
    ],
)
async def test_a_question_for_a_person_arrives_clean_and_is_answered(action: str, sent: dict[str, Any]) -> None:
    heard: list[ElicitationRequest] = []

    async def elicit(request: ElicitationRequest) -> ElicitationAnswer:
        heard.append(request)
        answers = {"accept": request.accept({"n": 3}), "decline": request.decline(), "cancel": request.cancel()}
        return answers[action]

    params = {"message": "How \x1b[31mmany?", "requestedSchema": FORM}
    assert await given(elicit=elicit).answer("shop", ELICIT, params, None) == sent
    assert heard == [ElicitationRequest("shop", "How many?", FORM)]


async def test_a_question_for_a_model_has_its_messages_whether_they_hold_one_block_or_several() -> None:
    heard: list[SamplingRequest] = []

    async def sample(request: SamplingRequest) -> SamplingAnswer:
        heard.append(request)
        return SamplingAnswer(request.messages[-1].text.upper(), "local")

    params = {
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "one"}},
            {"role": "assistant", "content": [{"type": "text", "text": "two"}, {"type": "text", "text": "three"}]},
        ],
        "maxTokens": 50,
        "systemPrompt": "Be brief.",
    }
    answer = await given(sample=sample).answer("shop", SAMPLE, params, None)
    content = {"type": "text", "text": "TWO\nTHREE"}
    assert answer == {"role": "assistant", "content": content, "model": "local", "stopReason": "endTurn"}
    said = (
        SamplingMessage("user", (Content("text", text="one"),)),
        SamplingMessage("assistant", (Content("text", text="two"), Content("text", text="three"))),
    )
    assert heard == [SamplingRequest("shop", said, 50, "Be brief.")]


async def test_folders_are_named_as_addresses(tmp_path: Path) -> None:
    answer = await given(roots=[tmp_path]).answer("shop", ROOTS, {}, None)
    assert answer == {"roots": [{"uri": tmp_path.as_uri(), "name": tmp_path.name}]}


async def test_what_is_not_given_is_not_declared() -> None:
    async def elicit(request: ElicitationRequest) -> ElicitationAnswer:
        return request.cancel()

    assert given().capabilities() == {}
    assert given(elicit=elicit).capabilities() == {"elicitation": {"form": {}}}


async def test_a_function_that_answers_with_something_else_is_told_what_to_give() -> None:
    async def elicit(request: ElicitationRequest) -> dict[str, Any]:
        return {"action": "accept"}

    with pytest.raises(UsageError, match="gave no ElicitationAnswer"):
        await given(elicit=elicit).answer("shop", ELICIT, {"message": "?"}, None)


async def test_a_function_that_is_not_async_is_told_so() -> None:
    with pytest.raises(UsageError, match=r"The elicit function is not async\. Write: async def elicit\(request\)"):
        await given(elicit=lambda request: request.decline()).answer("shop", ELICIT, {"message": "?"}, None)


def test_one_folder_is_not_a_list_of_them() -> None:
    with pytest.raises(UsageError, match=r"roots must be a list of folders\. Write roots=\[Path\.cwd\(\)\]\."):
        given(roots="/tmp")


async def test_a_page_arrives_as_an_address_that_a_browser_may_be_given() -> None:
    heard: list[PageRequest] = []

    async def visit(request: PageRequest) -> ElicitationAnswer:
        heard.append(request)
        return request.opened()

    handlers = given(visit=visit)
    page = {"mode": "url", "message": "Pay \x1b[31mhere", "url": "https://pay.example.com/a#b c", "elicitationId": "1"}
    assert await handlers.answer("shop", ELICIT, page, None) == {"action": "accept"}
    assert heard == [PageRequest("shop", "Pay here", "https://pay.example.com/a#b%20c", "pay.example.com")]
    assert handlers.capabilities() == {"elicitation": {"url": {}}}
    for refused in ({**page, "url": "http://127.0.0.1/x"}, {"message": "?", "requestedSchema": FORM}):
        with pytest.raises(RpcError):
            await handlers.answer("shop", ELICIT, refused, None)
    assert len(heard) == 1
