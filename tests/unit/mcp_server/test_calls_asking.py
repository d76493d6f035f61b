"""An order that asks its client, in both eras: what goes out, what counts as an answer, and what never comes of it."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from openclaw.conversation import NO_ANSWER, Answer, Question
from openclaw.mcp_server.order import Order
from openclaw.mcp_server.rounds import LIFE
from openclaw.mcp_server.server import OrderListener, OrderServer
from openclaw.mcp_server.under_way import MOST_ROUNDS
from parts.loops import ShiftedLoop, own_clock

MAY_IT = Question("approval", "May it?", options=("once",))
PAGE = Question("url", "Look.", asker="web", url="https://example.com/")
YES = {"action": "accept", "content": {"decision": "once"}}
ACCEPTED = Answer("accept", {"option": "once"}, by="client")
FORMS: dict[str, Any] = {"elicitation": {}}
Story = Callable[[OrderListener], Coroutine[Any, Any, str]]


def result(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": False}


class Client:
    """The other side of a server, in this process. `stories` are what orders of that message do."""

    def __init__(self, **stories: Story) -> None:
        self.lines: asyncio.Queue[Any] = asyncio.Queue()
        self.runs: list[str] = []
        self.ended = asyncio.Event()
        self.stories = stories
        self.server = OrderServer(lambda line: self.lines.put_nowait(json.loads(line)), self._carry_out)

    async def _carry_out(self, order: Order, version: str, listener: OrderListener) -> dict[str, Any]:
        self.runs.append(order.message)
        try:
            return result(await self.stories[order.message](listener))
        finally:
            self.ended.set()

    def send(self, **message: Any) -> None:
        self.server.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def connect(self, version: str, capabilities: dict[str, Any]) -> None:
        self.send(id="i", method="initialize", params={"protocolVersion": version, "capabilities": capabilities})
        await self.lines.get()

    def order(self, id: Any, message: str = "go", **params: Any) -> None:
        given = {"name": "order_openclaw", "arguments": {"message": message}, **params}
        self.send(id=id, method="tools/call", params=given)

    def modern(
        self, id: Any, message: str = "go", *, capabilities: Any = None, meta: Any = None, **params: Any
    ) -> None:
        declared = FORMS if capabilities is None else capabilities
        version = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
        known = {**version, "io.modelcontextprotocol/clientCapabilities": declared, **(meta or {})}
        self.order(id, message, _meta=known, **params)

    async def asked(self, id: Any) -> tuple[str, str]:
        """The key of the only question in the answer to this request, and its state."""
        line = await self.lines.get()
        assert (line["id"], line["result"]["resultType"]) == (id, "input_required"), line
        [key] = line["result"]["inputRequests"]
        return key, line["result"]["requestState"]

    async def said(self, id: Any) -> str:
        line = await self.lines.get()
        assert line.get("id") == id, line
        return str(line["result"]["content"][0]["text"])

    async def refused(self, id: Any) -> str:
        line = await self.lines.get()
        assert (line["id"], line["error"]["code"]) == (id, -32602), line
        return str(line["error"]["message"])


async def ask_once(listener: OrderListener) -> str:
    answer = await listener.asker.ask(MAY_IT)
    return f"{answer.action} {dict(answer.content)}"


async def what_it_can(listener: OrderListener) -> str:
    can = [kind for kind in ("approval", "form", "url", "sign-in") if listener.asker.can(kind)]
    answer = await listener.asker.ask(PAGE if "url" not in can else MAY_IT) if len(can) < 3 else NO_ANSWER
    return f"{can} {answer.action}"


# What a client declared


@pytest.mark.parametrize(
    ("capabilities", "can"),
    [
        ({}, []),
        ({"elicitation": {}}, ["approval", "form"]),
        ({"elicitation": {"form": {}}}, ["approval", "form"]),
        ({"elicitation": {"url": {}}}, ["url"]),
        ({"elicitation": {"form": {}, "url": {}}}, ["approval", "form", "url"]),
        ({"elicitation": None}, []),
        ({"elicitation": []}, []),
        ({"sampling": {}, "roots": {}}, []),
    ],
)
async def test_a_client_is_asked_only_what_it_declared(capabilities: dict[str, Any], can: list[str]) -> None:
    legacy, modern = Client(go=what_it_can), Client(go=what_it_can)
    await legacy.connect("2025-11-25", capabilities)
    legacy.order(1)
    modern.modern(1, capabilities=capabilities)
    assert (await legacy.said(1), await modern.said(1)) == (f"{can} cancel", f"{can} cancel")


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26"])
async def test_revisions_without_elicitation_are_never_asked(version: str) -> None:
    client = Client(go=what_it_can)
    await client.connect(version, FORMS)
    client.order(1)
    assert await client.said(1) == "[] cancel"


async def test_2025_06_18_knows_no_addresses() -> None:
    client = Client(go=what_it_can)
    await client.connect("2025-06-18", {"elicitation": {"form": {}, "url": {}}})
    client.order(1)
    assert await client.said(1) == "['approval', 'form'] cancel"


async def test_an_order_in_a_batch_asks_nobody() -> None:
    client = Client(go=what_it_can)
    await client.connect("2025-03-26", {})
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": FORMS,
    }
    params = {"name": "order_openclaw", "arguments": {"message": "go"}, "_meta": meta}
    client.server.receive(json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}]).encode())
    [line] = await client.lines.get()
    assert line["result"]["content"][0]["text"] == "[] cancel"


# Up to 2025-11-25: a request of ours


async def connected(story: Story = ask_once) -> tuple[Client, Any]:
    """A client that was asked something, and the request that it got."""
    client = Client(go=story)
    await client.connect("2025-11-25", FORMS)
    client.order(1)
    asked = await client.lines.get()
    assert asked["method"] == "elicitation/create"
    return client, asked


async def test_a_question_is_a_request_and_its_answer_comes_back() -> None:
    client, asked = await connected()
    client.send(id="openclaw-99", result=YES)
    client.send(id=asked["id"], result=YES)
    client.send(id=asked["id"], result={"action": "decline"})
    assert (asked["params"]["message"], await client.said(1)) == ("May it?", "accept {'option': 'once'}")


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"code": -32601, "message": "no such method"}},
        {"error": None},
        {"result": {"action": "accept", "content": {"decision": "always"}}},
        {"result": "yes"},
        {"result": None},
        {"result": {"action": "accept", "content": {"decision": "once", "x": "x" * (1 << 20)}}},
    ],
)
async def test_an_error_and_an_unknown_answer_are_no_yes(answer: dict[str, Any]) -> None:
    client, asked = await connected()
    client.send(id=asked["id"], **answer)
    assert await client.said(1) == "cancel {}"


async def test_a_cancelled_order_takes_its_question_back() -> None:
    client, asked = await connected()
    client.send(method="notifications/cancelled", params={"requestId": 1})
    taken_back = {"requestId": asked["id"], "reason": "This is no longer asked."}
    line = await client.lines.get()
    assert (line["method"], line["params"], client.lines.empty()) == ("notifications/cancelled", taken_back, True)


async def test_a_question_that_is_waited_for_no_longer_is_taken_back_and_the_order_goes_on() -> None:
    async def impatient(listener: OrderListener) -> str:
        asking = asyncio.create_task(listener.asker.ask(MAY_IT))
        await go_on.wait()
        asking.cancel()
        await asyncio.wait([asking])
        return "went on"

    go_on = asyncio.Event()
    client, asked = await connected(impatient)
    go_on.set()
    assert (await client.lines.get())["params"]["requestId"] == asked["id"]
    client.send(id=asked["id"], result=YES)
    assert await client.said(1) == "went on"


async def test_a_server_that_stops_while_it_asks_answers_the_order() -> None:
    client, _ = await connected()
    await client.server.stop()
    assert "the server is stopping" in await client.said(1)


# 2026-07-28: the answer to the client's own request


async def test_the_request_is_answered_with_the_question_and_taken_up_again_with_the_answer() -> None:
    client = Client(go=ask_once)
    client.modern(1)
    key, state = await client.asked(1)
    client.modern(2, requestState=state, inputResponses={key: YES, "other": 5})
    assert (await client.said(2), client.runs) == ("accept {'option': 'once'}", ["go"])


async def test_several_questions_come_in_several_rounds_each_with_a_state_of_its_own() -> None:
    async def twice(listener: OrderListener) -> str:
        return f"{await ask_once(listener)}, {await ask_once(listener)}"

    client = Client(go=twice)
    client.modern(1)
    first, state = await client.asked(1)
    client.modern(2, requestState=state, inputResponses={first: YES})
    second, another = await client.asked(2)
    client.modern(3, requestState=another, inputResponses={first: YES, second: {"action": "decline"}})
    assert (await client.said(3), first != second) == ("accept {'option': 'once'}, decline {}", True)


async def test_what_is_asked_at_once_goes_out_together_and_only_what_is_missing_is_asked_again() -> None:
    async def both(listener: OrderListener) -> str:
        return ", ".join(await asyncio.gather(ask_once(listener), ask_once(listener)))

    client = Client(go=both)
    client.modern(1)
    told = (await client.lines.get())["result"]
    first, second = told["inputRequests"]
    client.modern(2, requestState=told["requestState"], inputResponses={second: {"action": "decline"}})
    again, state = await client.asked(2)
    client.modern(3, requestState=state, inputResponses={first: YES})
    assert (again, await client.said(3)) == (first, "accept {'option': 'once'}, decline {}")


@pytest.mark.parametrize("responses", [{}, {"inputResponses": {}}, {"inputResponses": {"other": YES}}])
async def test_a_missing_answer_is_asked_for_again(responses: dict[str, Any]) -> None:
    client = Client(go=ask_once)
    client.modern(1)
    key, state = await client.asked(1)
    client.modern(2, requestState=state, **responses)
    again, state = await client.asked(2)
    client.modern(3, requestState=state, inputResponses={key: YES})
    assert (again, await client.said(3)) == (key, "accept {'option': 'once'}")


@pytest.mark.parametrize(
    "answer", [12345, None, {"action": "accept"}, {"action": "accept", "content": {"decision": 1}}]
)
async def test_an_unusable_answer_is_asked_for_again_but_not_for_ever(answer: Any) -> None:
    client = Client(go=ask_once)
    client.modern(0)
    for round in range(MOST_ROUNDS):
        key, state = await client.asked(round)
        client.modern(round + 1, requestState=state, inputResponses={key: answer})
    assert (await client.said(MOST_ROUNDS), client.runs) == ("cancel {}", ["go"])


async def test_a_state_counts_once() -> None:
    client = Client(go=ask_once)
    client.modern(1)
    key, state = await client.asked(1)
    client.modern(2, requestState=state, inputResponses={key: YES})
    client.modern(3, requestState=state, inputResponses={key: YES})
    assert "was used already" in await client.refused(3)
    assert (await client.said(2), client.runs) == ("accept {'option': 'once'}", ["go"])


async def test_nothing_runs_for_a_state_that_was_tampered_with_or_other_arguments_and_the_right_one_still_counts() -> (
    None
):
    client = Client(go=ask_once, other=ask_once)
    client.modern(1)
    key, state = await client.asked(1)
    answers = {key: YES}
    client.modern(2, requestState=state + "-TAMPERED", inputResponses=answers)
    client.modern(3, "other", requestState=state, inputResponses=answers)
    client.modern(4, requestState=state, inputResponses=[])
    client.modern(5, requestState=5, inputResponses=answers)
    client.modern(6, requestState="", inputResponses=answers)
    client.modern(7, inputResponses=answers)
    client.order(8, requestState=state)
    refusals = [await client.refused(id) for id in range(2, 9)]
    assert refusals == [
        "Invalid params: this requestState was not given by this server. Nothing was run.",
        "Invalid params: this requestState belongs to a call with other arguments. Nothing was run.",
        "Invalid params: inputResponses must be an object.",
        "Invalid params: requestState must be a string that we gave.",
        "Invalid params: requestState must be a string that we gave.",
        "Invalid params: inputResponses belong to a requestState. Nothing was run.",
        "Invalid params: send initialize first, or name io.modelcontextprotocol/protocolVersion and "
        "io.modelcontextprotocol/clientCapabilities in _meta of every request.",
    ]
    client.modern(9, requestState=state, inputResponses=answers)
    assert (await client.said(9), client.runs) == ("accept {'option': 'once'}", ["go"])


async def test_a_client_that_comes_back_without_the_ability_is_not_asked_again() -> None:
    client = Client(go=ask_once)
    client.modern(1)
    _, state = await client.asked(1)
    client.modern(2, capabilities={}, requestState=state)
    assert await client.said(2) == "cancel {}"


async def test_cancelling_the_request_that_was_answered_means_nothing_and_cancelling_the_next_ends_the_order() -> None:
    async def goes_on(listener: OrderListener) -> str:
        await ask_once(listener)
        listener.tell("working")
        await asyncio.Event().wait()
        return ""

    client = Client(go=goes_on)
    client.modern(1)
    key, state = await client.asked(1)
    client.send(method="notifications/cancelled", params={"requestId": 1})
    client.modern(2, meta={"progressToken": "t"}, requestState=state, inputResponses={key: YES})
    told = [(await client.lines.get())["params"]["message"] for _ in range(2)]
    client.send(method="notifications/cancelled", params={"requestId": 2})
    await client.ended.wait()
    assert (told, client.lines.empty()) == (["Waiting for an answer", "working"], True)


async def test_the_progress_of_a_call_goes_to_the_request_that_waits_for_it() -> None:
    async def tells(listener: OrderListener) -> str:
        listener.tell("before")
        await ask_once(listener)
        return "done"

    client = Client(go=tells)
    client.modern(1, meta={"progressToken": "a"})
    before = await client.lines.get()
    key, state = await client.asked(1)
    client.modern(2, meta={"progressToken": "b"}, requestState=state, inputResponses={key: YES})
    after = await client.lines.get()
    tokens = [line["params"]["progressToken"] for line in (before, after)]
    assert (tokens, await client.said(2)) == (["a", "b"], "done")


@own_clock
async def test_an_order_whose_client_does_not_come_back_ends(loop: ShiftedLoop) -> None:
    client = Client(go=ask_once)
    client.modern(1)
    key, state = await client.asked(1)
    await loop.pass_time(LIFE - 1)
    assert not client.ended.is_set()
    await loop.pass_time(2)
    await client.ended.wait()
    client.modern(2, requestState=state, inputResponses={key: YES})
    assert ("has ended" in await client.refused(2), client.runs) == (True, ["go"])


async def test_an_order_that_went_on_without_its_client_is_answered_when_that_comes_back() -> None:
    async def impatient(listener: OrderListener) -> str:
        asking = asyncio.create_task(listener.asker.ask(MAY_IT))
        await go_on.wait()
        asking.cancel()
        await asyncio.wait([asking])
        return "went on"

    go_on = asyncio.Event()
    client = Client(go=impatient)
    client.modern(1)
    key, state = await client.asked(1)
    go_on.set()
    await client.ended.wait()
    await asyncio.sleep(0)
    client.modern(2, requestState=state, inputResponses={key: YES})
    assert (await client.said(2), client.lines.empty()) == ("went on", True)


async def test_a_server_that_stops_ends_the_orders_that_are_parked() -> None:
    client = Client(go=ask_once)
    client.modern(1)
    await client.asked(1)
    await client.server.stop()
    assert (client.ended.is_set(), client.lines.empty()) == (True, True)
