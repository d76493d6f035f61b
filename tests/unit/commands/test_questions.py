"""A question that waits, as the commands print it: each value as JSON on one line, wherever it came from."""

import time
from collections.abc import Iterator

import pytest

from openclaw.asking.open_question import ShownQuestion
from openclaw.commands.questions import described
from openclaw.conversation import AskedCall, Offer, Question


def test_a_call_is_described_with_the_source_of_every_value_and_with_why_it_is_asked() -> None:
    call = AskedCall(
        "mail__send",
        "send",
        server="mail",
        arguments={"to": "mark@example.net", "parts": [{"text": "4411"}]},
        reasons=(
            'Asked because the value of to came from server web (tools.approval.taint "ask").',
            "A panel\norders it.",
        ),
        origins={"to": "mcp:web", "parts[0].text": "mcp:\x1b[2Jbank"},
        claims=("it only reads",),
        offers=(Offer("once", "y", "once", "once"),),
    )
    question = Question("approval", "mail wants to call send", agent="main", approval=call)
    lines = list(described(ShownQuestion("q1", question, "d1", 0.0, 0.0)))
    assert lines[3:-3] == [
        '  server     "mail"',
        '  argument   "to": "mark@example.net"   ← from "server web"',
        '  argument   "parts": [{"text":"4411"}]',
        '  value      "parts[0].text"   ← from "server bank"',
        '  because    "the value of to came from server web (tools.approval.taint \\"ask\\")."',
        '  because    "A panel\\norders it."',
        '  it claims  "it only reads"',
        "  answer     once: once",
    ]


@pytest.fixture
def east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This machine's clock is two hours ahead of UTC."""
    monkeypatch.setenv("TZ", "EAST-02:00")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.posix_only("another clock of a process")
@pytest.mark.usefixtures("east")
def test_the_end_of_a_question_is_told_by_this_machines_clock() -> None:
    question = Question("form", "How many?", "shop", agent="main", schema={"type": "object"})
    lines = [*described(ShownQuestion("q1", question, "d1", 0.0, 1_795_000_000.0))]
    assert lines[-1] == "  until      2026-11-18 13:06:40"
