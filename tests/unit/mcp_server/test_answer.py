"""Everything that was said, as one text."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.agent.events import Event, MessageEnd, Notice, ReasoningDelta, TextDelta, ToolEnd, ToolStart, TurnStart
from openclaw.content import AssistantMessage, Block, Image, Text, Thinking, ToolCall
from openclaw.mcp_server.answer import aggregate, distinct
from openclaw.security.external import frame
from openclaw.tool import ToolResult

CALL = ToolCall("1", "files__read", {})


def block(text: str) -> MessageEnd:
    return MessageEnd(AssistantMessage((Text(text), CALL) if text else (CALL,)), final=False)


def final(text: str) -> MessageEnd:
    return MessageEnd(AssistantMessage((Text(text),)), final=True)


def tool(*content: Block, is_error: bool = False) -> ToolEnd:
    return ToolEnd(CALL, ToolResult(content, is_error=is_error), 0.1)


def text_of(events: Sequence[Event], *, verbose: bool = False) -> str:
    """The ids of frames are random."""
    return re.sub('id="[0-9a-f]{16}"', 'id="*"', aggregate(events, verbose=verbose))


FRAMED = (
    '<<<EXTERNAL_UNTRUSTED_CONTENT id="*">>>\nSource: External\nFrom: files__read\n---\nthree files\n'
    '<<<END_EXTERNAL_UNTRUSTED_CONTENT id="*">>>'
)


@pytest.mark.requirement("003-3-collected")
@pytest.mark.requirement("003-agg-callbacks")
@pytest.mark.requirement("004-aggregated")
def test_block_replies_stand_before_the_final_answer_in_their_order() -> None:
    events: list[Event] = [
        block("Let me look."),
        tool(Text("x")),
        block("One more."),
        tool(Text("y")),
        final("Done: 3 files."),
    ]
    assert text_of(events) == "Let me look.\n\nOne more.\n\nDone: 3 files."


@pytest.mark.requirement("003-agg-final")
@pytest.mark.requirement("004-limits-one-block")
def test_streamed_pieces_are_not_repeated() -> None:
    events: list[Event] = [TurnStart(1), ReasoningDelta("hm"), TextDelta("Hel"), TextDelta("lo"), final("Hello")]
    assert text_of(events) == "Hello"


def test_reasoning_and_notices_are_not_part_of_the_answer() -> None:
    message = AssistantMessage((Thinking("secret thought"), Text("Hello")))
    assert text_of([Notice("retrying"), MessageEnd(message, final=True)]) == "Hello"


@pytest.mark.requirement("003-agg-dedup")
@pytest.mark.requirement("004-aggregated")
def test_a_part_that_the_final_answer_contains_is_dropped() -> None:
    assert text_of([block("The  sum\nis 4."), final("Well. The sum is 4. Anything else?")]) == (
        "Well. The sum is 4. Anything else?"
    )


def test_a_part_that_a_later_part_contains_is_dropped() -> None:
    assert text_of([block("Looking"), block("Looking again"), final("Done")]) == "Looking again\n\nDone"


@pytest.mark.requirement("003-agg-dedup")
def test_a_repeated_part_is_said_once() -> None:
    assert text_of([block("Working."), block("Working."), final("Done")]) == "Working.\n\nDone"


@pytest.mark.requirement("003-agg-dedup-final")
def test_the_final_answer_is_never_dropped() -> None:
    assert text_of([block("It is 4, as you said."), final("4")]) == "It is 4, as you said.\n\n4"


@pytest.mark.requirement("004-tool-results")
def test_tool_results_stay_out_when_something_was_said() -> None:
    assert text_of([block(""), tool(Text("three files")), final("Done")]) == "Done"


def test_tool_results_join_the_answer_of_a_verbose_agent_in_their_frame() -> None:
    events: list[Event] = [block("Looking."), tool(Text("three files")), final("Done")]
    assert text_of(events, verbose=True) == f"Looking.\n\n{FRAMED}\n\nDone"


@pytest.mark.requirement("004-tool-results")
def test_tool_results_are_the_answer_when_nothing_else_was_said() -> None:
    assert text_of([block(""), tool(Text("three files")), final("")]) == FRAMED


def test_a_result_that_is_framed_already_keeps_its_one_frame() -> None:
    text = aggregate([tool(Text(frame("inside", source="mcp_server", sender="files")))], verbose=True)
    assert text.count("<<<EXTERNAL_UNTRUSTED_CONTENT") == 1
    assert "From: files" in text


def test_our_own_words_beside_a_framed_result_stay_outside_the_frame() -> None:
    head = Text("MCP tool error (files/read):")
    text = aggregate(
        [tool(head, Text(frame("no such file", source="mcp_server", sender="files")), is_error=True)], verbose=True
    )
    assert text.startswith("MCP tool error (files/read):\n")


def test_a_result_without_text_adds_nothing() -> None:
    assert text_of([tool(Image(b"", "image/png")), final("Done")], verbose=True) == "Done"


def test_nothing_said_is_an_empty_text() -> None:
    assert text_of([block(""), tool(), final("  ")], verbose=True) == ""


def test_a_run_that_was_cut_gives_what_there_is() -> None:
    assert text_of([ToolStart(CALL), block("Half the work")]) == "Half the work"


words = st.lists(st.sampled_from(["a", "b", "a b", " a", "b\n", "", "c a b", "  "]), max_size=6)


@settings(max_examples=200)
@given(words, words.map(" ".join))
def test_what_is_left_is_part_of_the_input_and_no_part_contains_another(parts: list[str], end: str) -> None:
    kept = distinct(parts, end)
    plain = [" ".join(part.split()) for part in kept]
    assert all(part in parts for part in kept)
    assert all(a not in b for i, a in enumerate(plain) for j, b in enumerate(plain) if i != j)
    assert all(part not in " ".join(end.split()) for part in plain)
    everything = [*plain, " ".join(end.split())]
    assert all(any(" ".join(part.split()) in whole for whole in everything) for part in parts)
