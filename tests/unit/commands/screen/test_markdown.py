"""Markdown in rows: the same however it comes, as wide as the screen, and with nothing in it that a stranger could use."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.commands.screen.columns import STYLE, cells
from openclaw.commands.screen.markdown import MarkdownRows
from parts.talking_model import MARKDOWN, words_of


def whole(text: str, width: int = 80, *, colour: bool = False) -> list[str]:
    rows = MarkdownRows(colour=colour)
    rows.feed(text)
    return rest_of(rows, width)


def rest_of(rows: MarkdownRows, width: int) -> list[str]:
    """Everything that is left, drawn bit by bit."""
    shown = rows.rows(width, last=True)
    found = shown.certain
    while shown.is_behind:
        shown = rows.rows(width, last=True)
        found += shown.certain
    return found


def in_pieces(pieces: list[str], width: int = 80) -> list[str]:
    rows, given_out = MarkdownRows(colour=False), list[str]()
    for piece in pieces:
        rows.feed(piece)
        given_out += rows.rows(width).certain
    return given_out + rest_of(rows, width)


@pytest.mark.parametrize("width", [60, 100, 200])
def test_an_answer_is_the_same_whether_it_comes_whole_or_word_by_word_and_fits(width: int) -> None:
    pieces = [piece for piece in words_of(MARKDOWN) if isinstance(piece, str)]
    rows = in_pieces(pieces, width)
    assert rows == whole(MARKDOWN, width)
    assert all(cells(row) <= width for row in rows)


def test_long_code_is_the_same_whether_it_comes_whole_or_line_by_line() -> None:
    code = [f"line {number}\n" if number % 7 else "\n" for number in range(1, 1000)]
    pieces = ["Look:\n\n", "```text\n", *code, "```\n", "\n", "And so on.\n"]
    expected = ["Look:", "", *(f"  {line}".rstrip() for line in code), "", "And so on."]
    assert in_pieces(pieces) == whole("".join(pieces)) == expected


@pytest.mark.parametrize("last", [True, False])
def test_long_code_that_came_at_once_is_drawn_bit_by_bit(last: bool) -> None:
    rows = MarkdownRows(colour=True)
    rows.feed("```python\n" + "x = 1\n\n" * 1000 + "```\nThe end.\n")
    sizes = []
    while (shown := rows.rows(80, last=last)).is_behind:
        sizes.append(len(shown.certain))
    assert (len(sizes) >= 30, max(sizes) <= 60) == (True, True)


@settings(max_examples=15, deadline=None)
@given(places=st.lists(st.integers(0, len(MARKDOWN)), max_size=12).map(sorted))
def test_any_split_of_the_text_gives_the_same_words(places: list[int]) -> None:
    pieces = [MARKDOWN[start:end] for start, end in zip([0, *places], [*places, len(MARKDOWN)], strict=True)]
    assert " ".join(in_pieces(pieces)).split() == " ".join(whole(MARKDOWN)).split()


def test_a_window_that_gets_narrower_loses_and_repeats_no_word() -> None:
    rows, shown = MarkdownRows(colour=False), list[str]()
    text = " ".join(f"word{number}" for number in range(200))
    for number, piece in enumerate(words_of(text)):
        assert isinstance(piece, str)
        rows.feed(piece)
        shown += rows.rows(100 if number < 100 else 37).certain
    shown += rest_of(rows, 61)
    assert " ".join(shown).split() == text.split()


LONG = " ".join(f"word{number}" for number in range(60))


@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize(
    "text",
    [
        f"So **{LONG}** it is.",
        f"So ~~{LONG}~~ it is.",
        f"So `{LONG}` it is.",
        f"So `{LONG.replace('word2', '**word2').replace(' word3', '** word3')}` it is.",
        f"- **{LONG}** it is.\n- So.",
        f"> **{LONG}** it is.",
        f"See [the manual](https://example.org/{'-'.join(LONG.split())}) for more.",
        f"See ![the picture](https://example.org/{'-'.join(LONG.split())}) for more.",
    ],
    ids=["bold", "struck", "code", "code with marks", "list", "quotation", "link", "picture"],
)
def test_what_is_marked_over_many_rows_loses_and_repeats_no_letter_when_the_mark_ends(text: str, width: int) -> None:
    def letters(rows: list[str]) -> str:
        return re.sub(r"[^A-Za-z0-9-]", "", "".join(rows))

    pieces = [text[start : start + 5] for start in range(0, len(text), 5)]
    assert letters(in_pieces(pieces, width)) == letters([text.removeprefix("- ").replace("\n- ", "")])


def test_a_quotation_keeps_its_bar_and_its_words_in_a_window_that_changes() -> None:
    rows, shown = MarkdownRows(colour=False), list[str]()
    for number, piece in enumerate(words_of(f"> {LONG}")):
        assert isinstance(piece, str)
        rows.feed(piece)
        shown += rows.rows(60 if number < 30 else 97).certain
    shown += rest_of(rows, 43)
    assert {row[:2] for row in shown} == {"▌ "}
    assert " ".join(row[2:] for row in shown).split() == LONG.split()


def test_the_end_that_may_change_is_given_again_until_it_is_certain() -> None:
    rows = MarkdownRows(colour=False)
    rows.feed("A **bold")
    assert rows.rows(40).live == ["A **bold"]
    rows.feed("** word")
    assert (rows.rows(40).certain, rows.rows(40).live) == ([], ["A bold word"])
    rows.feed("\n\nAnd more")
    now = rows.rows(40)
    assert (now.certain, now.live) == (["A bold word"], ["", "And more"])


def test_a_link_shows_where_it_leads_and_a_picture_is_only_named() -> None:
    assert whole(
        "[https://bank.example](https://evil.example) ![cat](https://evil.example/x.png) <https://a.example>"
    ) == [
        "https://bank.example (https://evil.example) [cat] (https://evil.example/x.png)",
        "https://a.example",
    ]


def test_a_line_that_the_model_began_stays_one() -> None:
    assert whole("readme.md\nnotes.md\n\n- one\n  more\n- two") == [
        "readme.md",
        "notes.md",
        "",
        " • one",
        "   more",
        " • two",
    ]


def test_html_and_definitions_are_text() -> None:
    assert whole("Use `List<int>` or <b>List<T></b>.\n\n[1]: https://a.example") == [
        "Use List<int> or <b>List<T></b>.",
        "",
        "[1]: https://a.example",
    ]


def test_code_and_diffs_have_colours_and_nothing_but_styles() -> None:
    rows = "\n".join(whole(MARKDOWN, colour=True))
    assert "\x1b[91;49m-return 1" in rows
    assert "\x1b[92;49m+return 2" in rows
    assert "\x1b" not in STYLE.sub("", rows)


def test_without_colours_there_are_no_styles_at_all() -> None:
    assert "\x1b" not in "".join(whole(MARKDOWN))


@pytest.mark.parametrize("width", [40, 60, 100])
def test_no_letter_of_a_table_is_lost_where_it_does_not_fit(width: int) -> None:
    address = "https://example.org/a/very/long/address/that/does/not/fit"
    words = "東京から京都までの新幹線の切符"
    rows = MarkdownRows(colour=False)
    rows.feed(f"| Where | What it is, in more words |\n|---|---|\n| {address} | one |\n| two | {words} and more |\n")
    shown = rows.rows(width, last=True).certain
    assert all(cells(row) <= width for row in shown)
    assert "…" not in "".join(shown)
    for text in (address, words):
        left = text
        for row in shown:
            # Each row has the next piece of it in its column.
            pieces = [piece for piece in row.split() if left.startswith(piece)]
            left = left.removeprefix(pieces[0]) if pieces else left
        assert left == ""
