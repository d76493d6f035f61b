"""When tools are searched for instead of shown, and which are shown anyway."""

from collections.abc import Sequence
from typing import Any

import pytest

from openclaw.agent.deferral import (
    MOST_TOKENS,
    Offer,
    SearchSettings,
    always_shown,
    is_on,
    left_behind,
    most_used,
    split,
    tokens_of,
)
from openclaw.content import Message, Text, ToolMessage
from openclaw.tool import Invocation, Kind, Tool, ToolResult, parameters


async def run(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
    raise AssertionError("nobody calls it here")


def tool(name: str, kind: Kind = "mcp", description: str = "") -> Tool:
    return Tool(name, description, parameters({}), run, kind=kind, origin="" if kind == "native" else "s")


AUTO, ON, OFF = SearchSettings(), SearchSettings("on"), SearchSettings("off")
LARGE, SMALL = 1_000_000, 100_000


@pytest.mark.parametrize(
    ("settings", "tools", "tokens", "window", "was_on", "decided"),
    [
        (AUTO, 40, 0, LARGE, False, False),
        (AUTO, 41, 0, LARGE, False, True),
        (AUTO, 1, MOST_TOKENS, LARGE, False, False),
        (AUTO, 1, MOST_TOKENS + 1, LARGE, False, True),
        # A small window counts by its share.
        (AUTO, 1, 5_000, SMALL, False, False),
        (AUTO, 1, 5_001, SMALL, False, True),
        # What began ends below half.
        (AUTO, 21, 0, LARGE, True, True),
        (AUTO, 20, 0, LARGE, True, False),
        (AUTO, 1, 2_501, SMALL, True, True),
        (AUTO, 1, 2_500, SMALL, True, False),
        (ON, 1, 1, LARGE, False, True),
        (OFF, 1_000_000, 1_000_000, SMALL, True, False),
    ],
)
def test_searching_begins_and_ends(
    settings: SearchSettings, tools: int, tokens: int, window: int, was_on: bool, decided: bool
) -> None:
    assert is_on(settings, tools=tools, tokens=tokens, window=window, was_on=was_on) is decided


@pytest.mark.parametrize(
    ("one", "used", "why"),
    [
        (tool("read", "native"), (), "it is built in"),
        (tool("mail__send"), (), ""),
        (tool("lookup", "plugin"), (), ""),
        (tool("desk__pen"), (), 'tools.search.keep names it ("desk__*")'),
        (tool("mail__send"), ("mail__send",), "the conversation used it most"),
    ],
)
def test_what_is_always_shown(one: Tool, used: Sequence[str], why: str) -> None:
    assert always_shown(one, SearchSettings(keep=("desk__*",)), used) == why


def test_an_offer_is_split_in_the_order_of_the_tools() -> None:
    read, pen, send = tool("read", "native"), tool("desk__pen"), tool("mail__send")
    offer = split([read, send, pen], SearchSettings(keep=("desk__*",)))
    assert (offer.shown, offer.deferred) == ((read, pen), {"mail__send": send})
    labelled = Offer((read,), {"mail__send": Tool("mail__send", "", parameters({}), run, label="MCP: mail/send")})
    assert labelled.labels(["mail__send", "read", "gone"]) == {"mail__send": "MCP: mail/send", "read": ""}


def test_a_definition_counts_with_its_name_description_and_schema() -> None:
    assert tokens_of([tool("abcd", description="x" * 394)]) == 100


def test_calls_that_are_left_behind_are_counted_and_searches_are_not() -> None:
    def result(call: str, name: str) -> Message:
        return ToolMessage(call, name, (Text("x"),))

    messages = [result("1", "a"), result("2", "tool_search"), result("3", "a"), result("4", "b")]
    assert left_behind({"c": 2, "a": 1}, messages, [messages[3]]) == {"c": 2, "a": 3}


def test_the_five_that_were_used_most_are_shown() -> None:
    counts = {"f": 1, "e": 1, "d": 1, "c": 9, "b": 1, "a": 1}
    assert most_used(counts) == ("a", "b", "c", "d", "e")
