"""An order that a gateway carries out: what the gateway asks meanwhile goes to whoever ordered, or to nobody."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from openclaw.commands.console import Console
from openclaw.conversation import Answer, Asker, Question, QuestionKind
from openclaw.gateway.request import CommandRequest
from openclaw.mcp_server.forward import Sender, forward
from openclaw.mcp_server.order import Order
from openclaw.mcp_server.server import OrderListener
from parts.control_socket import serving

MAY_IT = Question("approval", "May it?", options=("once",))
RESULT: dict[str, Any] = {"content": [], "isError": False}


class Client:
    """An ordering client that can show approvals, and answers them in its own time."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[tuple[Question, asyncio.Future[Answer]]] = asyncio.Queue()

    def can(self, kind: QuestionKind) -> bool:
        return kind == "approval"

    async def ask(self, question: Question) -> Answer:
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.asked.put_nowait((question, answer))
        return await answer


async def ordered(place: Path, *asker: Asker) -> dict[str, Any] | None:
    told = OrderListener(lambda text: None, lambda session: None, *asker)
    sender = Sender(dict(os.environ), Path("/"), "", "")
    return await forward(Order("hello"), "2025-11-25", told, gateway=place, sender=sender)


def printed(console: Console) -> int:
    console.out('{"result": {"content": [], "isError": false}}\n')
    return 0


async def test_an_order_without_an_asker_says_that_nobody_is_there() -> None:
    found: list[object] = []

    async def work(request: CommandRequest, console: Console) -> int:
        found.extend((request.kinds, console.asker.can("approval"), await console.asker.ask(MAY_IT)))
        found.append(await console.browse("https://example.com/"))
        return printed(console)

    async with serving(work) as (_, _, place):
        assert await ordered(place) == RESULT
    assert found == [frozenset(), False, Answer("cancel"), False]


async def test_questions_go_to_who_ordered_and_each_answer_comes_back() -> None:
    client, found = Client(), list[object]()
    other = Question("approval", "And this?")

    async def work(request: CommandRequest, console: Console) -> int:
        found.append(request.kinds)
        found.append(await asyncio.gather(console.asker.ask(MAY_IT), console.asker.ask(other)))
        found.append(await console.asker.ask(Question("form", "Really?")))
        return printed(console)

    async with serving(work) as (_, _, place):
        order = asyncio.create_task(ordered(place, client))
        (first, one), (second, two) = await client.asked.get(), await client.asked.get()
        two.set_result(Answer("decline"))
        one.set_result(Answer("accept", {"option": "once"}))
        assert await order == RESULT
    assert [first, second] == [MAY_IT, other]
    assert found == [
        frozenset({"approval"}),
        [Answer("accept", {"option": "once"}), Answer("decline")],
        Answer("cancel"),
    ]


async def test_a_question_that_is_taken_back_is_taken_back_from_who_ordered() -> None:
    client, ended = Client(), asyncio.Event()

    async def work(request: CommandRequest, console: Console) -> int:
        asking = asyncio.create_task(console.asker.ask(MAY_IT))
        await ended.wait()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await console.asker.ask(MAY_IT)
        return printed(console)

    async with serving(work) as (_, _, place):
        order = asyncio.create_task(ordered(place, client))
        _, first = await client.asked.get()
        ended.set()
        _, second = await client.asked.get()
        assert (first.cancelled(), second.cancelled()) == (True, False)
        second.set_result(Answer("cancel"))
        assert await order == RESULT


async def test_an_order_that_is_given_up_answers_what_is_open_with_cancel() -> None:
    client, answers = Client(), asyncio.Queue[Answer]()

    async def work(request: CommandRequest, console: Console) -> int:
        asking = asyncio.create_task(console.asker.ask(MAY_IT))
        try:
            await asyncio.shield(asking)
        finally:
            answers.put_nowait(await asking)
        return 0

    async with serving(work) as (_, _, place):
        order = asyncio.create_task(ordered(place, client))
        _, asked = await client.asked.get()
        order.cancel()
        assert await answers.get() == Answer("cancel")
        await asyncio.wait([order])
    assert (order.cancelled(), asked.cancelled()) == (True, True)


class Broken:
    """Fails at whatever it is asked."""

    def can(self, kind: QuestionKind) -> bool:
        return True

    async def ask(self, question: Question) -> Answer:
        raise ValueError("a fault of ours")


async def test_a_question_that_cannot_be_asked_is_answered_as_where_nobody_is_and_the_order_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = list[Answer]()

    async def work(request: CommandRequest, console: Console) -> int:
        found.append(await console.asker.ask(MAY_IT))
        return printed(console)

    async with serving(work) as (_, _, place):
        assert await ordered(place, Broken()) == RESULT
    assert found == [Answer("cancel")]
    assert [line.getMessage() for line in caplog.records] == ["A question of the gateway cannot be asked."]
