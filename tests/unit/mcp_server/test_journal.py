"""What `--verbose` shows of messages and answers."""

import asyncio
import json
from typing import Any

import pytest

from openclaw.conversation import Question
from openclaw.mcp_server.journal import LogJournal
from openclaw.mcp_server.order import Order
from openclaw.mcp_server.server import OrderListener, OrderServer

SECRET = "sk-" + "a1B2" * 8


@pytest.fixture
def journal(caplog: pytest.LogCaptureFixture) -> LogJournal:
    caplog.set_level("INFO", logger="openclaw.mcp_server.journal")
    return LogJournal()


@pytest.mark.parametrize("before", range(270, 301, 3))
def test_no_part_of_a_secret_is_shown_wherever_a_text_is_cut(
    before: int, journal: LogJournal, caplog: pytest.LogCaptureFixture
) -> None:
    text = "x" * (before - 1) + " " + SECRET + " and so on"
    journal.ordered(1, Order(text))
    journal.answered(1, json.dumps({"result": text}).encode())
    assert SECRET[:8] not in caplog.text


def test_a_long_message_is_cut_and_a_short_one_is_not(journal: LogJournal, caplog: pytest.LogCaptureFixture) -> None:
    journal.ordered(1, Order("y" * 301))
    journal.ordered(2, Order("z" * 300))
    assert caplog.messages == [
        f"→ order id=1 images=none files=none: {'y' * 300}…",
        f"→ order id=2 images=none files=none: {'z' * 300}",
    ]


def test_a_question_is_shown_and_of_its_answer_that_it_came(
    journal: LogJournal, caplog: pytest.LogCaptureFixture
) -> None:
    lines: list[bytes] = []

    async def ask(order: Order, version: str, listener: OrderListener) -> dict[str, Any]:
        await listener.asker.ask(Question("approval", "May it?"))
        return {"content": [], "isError": False}

    async def story() -> None:
        server = OrderServer(lines.append, ask, journal)
        params: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}}
        server.receive(sent(id=1, method="initialize", params=params))
        params = {"name": "order_openclaw", "arguments": {"message": "go"}}
        server.receive(sent(id=2, method="tools/call", params=params))
        while len(lines) < 2:
            await asyncio.sleep(0)
        caplog.clear()
        server.receive(sent(id="openclaw-1", result={"action": "accept", "content": {"decision": "yes, privately"}}))
        await server.stop()

    asyncio.run(story())
    assert (json.loads(lines[1])["method"], caplog.messages[0]) == (
        "elicitation/create",
        "→ an answer to 'openclaw-1'",
    )
    assert "privately" not in caplog.text


def sent(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()
