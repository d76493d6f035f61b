"""Orders under way: side by side, cancelled, stopped; with a backend that waits for the test."""

import asyncio
import json
from typing import Any

import pytest

from openclaw.mcp_server.calls import MOST_ORDERS
from openclaw.mcp_server.dialogue import failure
from openclaw.mcp_server.order import Order
from openclaw.mcp_server.server import OrderListener, OrderServer

STOPPING = failure("The order was cancelled because the server is stopping.")


class Backend:
    """Carries out nothing until it is told to. `answers` may hold an exception to raise."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.cancelled: list[str] = []
        self.told: dict[str, OrderListener] = {}
        self.changed = asyncio.Event()
        self.answers: dict[str, asyncio.Future[dict[str, Any]]] = {}

    async def carry_out(self, order: Order, version: str, listener: OrderListener) -> dict[str, Any]:
        self.told[order.message] = listener
        self.answers[order.message] = asyncio.get_running_loop().create_future()
        self.started.append(order.message)
        self.changed.set()
        try:
            return await self.answers[order.message]
        except asyncio.CancelledError:
            self.cancelled.append(order.message)
            listener.tell("too late")
            raise

    async def until_started(self, *messages: str) -> None:
        while not set(messages) <= set(self.started):
            self.changed.clear()
            await self.changed.wait()

    def finish(self, message: str, text: str = "") -> None:
        self.answers[message].set_result(result(text or message))


def result(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": False}


class Client:
    """The other side of a server, in this process."""

    def __init__(self, version: str = "2025-11-25") -> None:
        self.backend = Backend()
        self.lines: list[Any] = []
        self.arrived = asyncio.Event()
        self.server = OrderServer(self._take, self.backend.carry_out)
        self.send("initialize", {"protocolVersion": version}, id="init")
        self.lines.clear()

    def _take(self, line: bytes) -> None:
        assert b"\n" not in line
        self.lines.append(json.loads(line))
        self.arrived.set()

    def send(self, method: str, params: Any = None, id: Any = None) -> None:
        self.server.receive(json.dumps(message(method, params, id)).encode())

    def order(self, text: str, id: Any, **meta: Any) -> None:
        self.server.receive(json.dumps(order(text, id, **meta)).encode())

    async def until(self, count: int) -> list[Any]:
        while len(self.lines) < count:
            self.arrived.clear()
            await self.arrived.wait()
        return self.lines


def message(method: str, params: Any = None, id: Any = None) -> dict[str, Any]:
    sent: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    return sent | ({} if id is None else {"id": id}) | ({} if params is None else {"params": params})


def order(text: str, id: Any, **meta: Any) -> dict[str, Any]:
    return message("tools/call", {"name": "order_openclaw", "arguments": {"message": text}, "_meta": meta}, id)


def answer(id: Any, told: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": told}


@pytest.mark.parametrize("id", [2, 1], ids=["ids of their own", "the same id"])
async def test_orders_run_side_by_side_and_are_answered_as_they_finish(id: int) -> None:
    client = Client()
    client.order("slow", 1)
    client.order("quick", id)
    await client.backend.until_started("slow", "quick")
    client.backend.finish("quick")
    await client.until(1)
    client.backend.finish("slow")
    assert await client.until(2) == [answer(id, result("quick")), answer(1, result("slow"))]


async def test_other_requests_are_answered_while_an_order_runs() -> None:
    client = Client()
    client.order("slow", 1)
    await client.backend.until_started("slow")
    client.send("ping", id=2)
    assert client.lines == [answer(2, {})]
    await client.server.stop()


async def test_a_cancelled_order_is_stopped_and_never_answered() -> None:
    client = Client()
    client.order("work", 1, progressToken="t")
    await client.backend.until_started("work")
    client.send("notifications/cancelled", {"requestId": 1, "reason": "enough"})
    await asyncio.sleep(0)
    client.send("ping", id=2)
    await client.server.stop()
    assert (client.backend.cancelled, client.lines) == (["work"], [answer(2, {})])


async def test_cancelling_a_request_that_is_not_under_way_does_nothing() -> None:
    client = Client()
    client.order("work", 1)
    await client.backend.until_started("work")
    client.send("notifications/cancelled", {"requestId": 99})
    client.send("notifications/cancelled", {"requestId": "1"})
    client.backend.finish("work")
    assert await client.until(1) == [answer(1, result("work"))]


async def test_stopping_answers_what_is_under_way_and_cancels_it() -> None:
    client = Client()
    client.order("a", 1)
    client.order("b", "x")
    await client.backend.until_started("a", "b")
    await client.server.stop()
    assert client.lines == [answer(1, STOPPING), answer("x", STOPPING)]
    assert sorted(client.backend.cancelled) == ["a", "b"]


async def test_a_fault_of_ours_is_an_answer_without_details() -> None:
    client = Client()
    client.order("boom", 1)
    await client.backend.until_started("boom")
    client.backend.answers["boom"].set_exception(RuntimeError("/secret/path"))
    expected = failure("OpenClaw failed (RuntimeError). Its log says more: try --verbose.")
    assert await client.until(1) == [answer(1, expected)]


async def test_an_answer_that_json_cannot_carry_is_replaced() -> None:
    client = Client()
    client.order("odd", 1)
    await client.backend.until_started("odd")
    client.backend.answers["odd"].set_result(result("half \ud800"))
    assert await client.until(1) == [answer(1, failure("The answer cannot be written as JSON."))]


async def test_wrong_arguments_are_a_result_and_start_nothing() -> None:
    client = Client()
    client.send("tools/call", {"name": "order_openclaw", "arguments": {"message": 5}}, id=1)
    expected = failure("The argument message must be a string, not a number.")
    assert (client.lines, client.backend.started) == ([answer(1, expected)], [])


async def test_one_order_too_many_is_turned_away() -> None:
    client = Client()
    for number in range(MOST_ORDERS + 1):
        client.order(str(number), number)
    expected = failure("64 orders are under way. Wait for one of them, and order again.")
    assert client.lines == [answer(MOST_ORDERS, expected)]
    await client.server.stop()


async def test_progress_is_told_under_the_callers_token_until_the_answer() -> None:
    client = Client()
    client.order("work", 1, progressToken="tok")
    await client.backend.until_started("work")
    client.backend.told["work"].tell("Thinking")
    client.backend.finish("work")
    progress = {"progressToken": "tok", "progress": 1, "message": "Thinking"}
    expected = [message("notifications/progress", progress), answer(1, result("work"))]
    await client.until(2)
    client.backend.told["work"].tell("Still there")
    assert client.lines == expected


async def test_without_a_token_there_is_no_progress() -> None:
    client = Client()
    client.order("work", 1)
    await client.backend.until_started("work")
    client.backend.told["work"].tell("Thinking")
    client.backend.finish("work")
    assert await client.until(1) == [answer(1, result("work"))]


async def test_a_modern_order_gets_a_modern_result() -> None:
    client = Client()
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    client.order("work", 1, **meta)
    await client.backend.until_started("work")
    client.backend.finish("work")
    (line,) = await client.until(1)
    assert (line["result"]["resultType"], line["result"]["content"]) == ("complete", result("work")["content"])


async def test_bytes_in_a_result_are_written_as_base64() -> None:
    client = Client()
    client.order("media", 1)
    await client.backend.until_started("media")
    block = {"type": "image", "data": b"\x00\xff", "mimeType": "image/png"}
    client.backend.answers["media"].set_result({"content": [block], "isError": False})
    expected = {"content": [block | {"data": "AP8="}], "isError": False}
    assert await client.until(1) == [answer(1, expected)]


async def test_a_batch_is_answered_together_when_its_last_order_is_done() -> None:
    client = Client("2025-03-26")
    batch = [message("ping", id=1), order("work", 2), message("notifications/initialized"), 7]
    client.server.receive(json.dumps(batch).encode())
    await client.backend.until_started("work")
    client.backend.finish("work")
    refused = {"code": -32600, "message": "Invalid request: this is not a JSON-RPC 2.0 message."}
    expected = [answer(1, {}), {"jsonrpc": "2.0", "id": None, "error": refused}, answer(2, result("work"))]
    assert await client.until(1) == [expected]


async def test_a_cancelled_order_leaves_the_rest_of_its_batch() -> None:
    client = Client("2025-03-26")
    client.server.receive(json.dumps([order("work", 2), message("ping", id=1)]).encode())
    await client.backend.until_started("work")
    client.send("notifications/cancelled", {"requestId": 2})
    assert await client.until(1) == [[answer(1, {})]]


async def test_a_batch_of_notifications_is_not_answered() -> None:
    client = Client("2025-03-26")
    client.server.receive(json.dumps([message("notifications/initialized")] * 2).encode())
    assert client.lines == []


async def test_a_batch_in_another_revision_is_refused_whole() -> None:
    client = Client("2025-06-18")
    client.server.receive(json.dumps([message("ping", id=1)]).encode())
    refused = {"code": -32600, "message": "Invalid request: batches are part of MCP 2025-03-26 alone."}
    assert client.lines == [{"jsonrpc": "2.0", "id": None, "error": refused}]
