"""Open panels: how many there are, for how long, and how often each may ask."""

import msgspec
import pytest

from openclaw.agent.events import ToolEnd
from openclaw.content import ToolCall
from openclaw.gateway.panels import (
    LEASE,
    MINUTE,
    MOST_ANSWER_BYTES,
    MOST_ANSWERS,
    MOST_CALLS,
    MOST_PANELS,
    MOST_REQUESTS,
    Panel,
    Panels,
)
from openclaw.mcp.tools.panel import ANSWER, PanelPage
from openclaw.tool import ToolResult


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def panels(clock: Clock) -> Panels:
    return Panels(clock=clock)


def opened(panels: Panels) -> Panel:
    page = PanelPage("<p>")
    return panels.open(agent="main", session="key", server="part", page=page, origin="http://127.0.0.1:1")


def test_a_panel_is_there_until_it_is_closed_or_nobody_used_it_for_a_while(panels: Panels, clock: Clock) -> None:
    used, idle, closed = opened(panels), opened(panels), opened(panels)
    panels.close(closed.id)
    clock.now += LEASE - 1
    assert panels.find(used.id) is used
    clock.now += 2
    assert (panels.find(used.id), panels.find(idle.id), panels.find(closed.id)) == (used, None, None)
    assert panels.find("guess") is None


def test_of_too_many_the_one_that_was_not_used_for_longest_goes(panels: Panels) -> None:
    first, *others = [opened(panels) for _ in range(MOST_PANELS)]
    panels.find(first.id)
    opened(panels)
    assert panels.find(first.id) is first
    assert panels.find(others[0].id) is None


def test_a_panel_may_ask_so_often_in_a_minute_and_call_less_often(panels: Panels, clock: Clock) -> None:
    panel = opened(panels)
    assert [panels.admits(panel, is_call=True) for _ in range(MOST_CALLS + 1)] == [True] * MOST_CALLS + [False]
    rest = MOST_REQUESTS - MOST_CALLS
    assert [panels.admits(panel, is_call=False) for _ in range(rest + 1)] == [True] * rest + [False]
    clock.now += MINUTE + 1
    assert panels.admits(panel, is_call=True)


def ended(call: str, answer: object = None) -> ToolEnd:
    details = {} if answer is None else {ANSWER: msgspec.Raw(msgspec.json.encode(answer))}
    return ToolEnd(ToolCall(call, "part__show", {}), ToolResult((), details=details), 0.1)


def kept(panels: Panels, call: str) -> bytes | None:
    answer = panels.answer("key", call)
    return None if answer is None else bytes(answer)


def test_answers_are_kept_by_session_and_call_within_bounds(panels: Panels) -> None:
    panels.note("key", ended("one", {"n": 1}))
    panels.note("key", ended("plain"))
    assert kept(panels, "one") == b'{"n":1}'
    assert (panels.answer("other", "one"), panels.answer("key", "plain")) == (None, None)
    for number in range(MOST_ANSWERS):
        panels.note("key", ended(f"more-{number}", number))
    assert (kept(panels, "one"), kept(panels, "more-0")) == (None, b"0")
    panels.note("key", ended("large", "x" * (MOST_ANSWER_BYTES - 10)))
    panels.note("key", ended("last", "y" * 100))
    assert (panels.answer("key", "large"), panels.answer("key", "more-0")) == (None, None)
    assert panels.answer("key", "last") is not None
