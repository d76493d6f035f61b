"""Framed text for a person's eyes: whole, or in pieces as a model speaks it."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.security.external import Source, frame
from openclaw.security.unframe import Unframer, without_frames


@pytest.mark.parametrize("warning", [True, False])
@pytest.mark.parametrize("source", ["mcp_server", "web_fetch", "unknown"])
def test_a_person_is_shown_what_a_frame_holds_and_nothing_else(source: Source, warning: bool) -> None:
    framed = frame("first line\nsecond line", source=source, sender="files", subject="notes", warning=warning)
    assert without_frames(f"Here it is:\n{framed}\nDone.").split() == [
        "Here",
        "it",
        "is:",
        "first",
        "line",
        "second",
        "line",
        "Done.",
    ]


def test_text_that_only_looks_like_a_frame_is_left_as_it_is() -> None:
    text = '<<<EXTERNAL_UNTRUSTED_CONTENT id="0123456789abcdef">>>\nSource: x\n---\nhello'
    assert without_frames(text) == text


def in_pieces(text: str, cuts: list[int]) -> str:
    unframer = Unframer()
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return "".join(unframer.feed(text[start:end]) for start, end in pairwise(places)) + unframer.end()


FRAMED = st.builds(
    lambda text, source, warning: str(frame(text, source=source, sender="srv", warning=warning)),
    st.text("ab<>\n", max_size=30),
    st.sampled_from(["mcp_server", "web_fetch", "unknown"]),
    st.booleans(),
)
PROSE = st.sampled_from(
    [
        "",
        "hello\n",
        "SECURITY NOTICE: nothing",
        "This is output from MCP server 'x', or so it says.\nBut no frame follows.",
        "<<<EXTERNAL but no frame",
        "<<<",
        "\n\n",
        "<<<EXTERNAL_UNTRUSTED_CONTENT ",
    ]
)


@given(st.lists(st.one_of(FRAMED, PROSE), max_size=4).map("".join), st.lists(st.integers(0, 3_000), max_size=12))
@settings(max_examples=200)
def test_pieces_show_what_the_whole_shows_wherever_it_is_cut(text: str, cuts: list[int]) -> None:
    assert in_pieces(text, cuts) == without_frames(text)


def test_a_frame_that_comes_character_by_character_is_never_seen() -> None:
    text = f"It says:\n{frame('milk', source='mcp_server', sender='notes')}\nThat is all."
    assert in_pieces(text, list(range(len(text)))) == "It says:\nmilk\nThat is all."


def test_prose_is_shown_as_it_comes() -> None:
    unframer = Unframer()
    assert [unframer.feed(piece) for piece in ("This is ", "fine. ", "Really")] == ["", "This is fine. ", "Really"]


def test_a_long_answer_in_small_pieces_costs_no_more_than_its_length() -> None:
    unframer = Unframer()
    opened = str(frame("x" * 200_000, source="web_fetch"))[:-10]
    shown = "".join(unframer.feed(opened[place : place + 5]) for place in range(0, len(opened), 5))
    assert (shown, unframer.end()) == ("", opened)
