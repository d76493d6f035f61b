"""Text of others in rows of a screen."""

import pytest

from openclaw.control.shown_text import columns, cut, folded


@pytest.mark.parametrize(
    "text", ["one two three four", "x" * 35, "漢字" * 20, "e\u0301" * 30, "a 漢 b " * 9, "", "e\u0301"]
)
def test_rows_hold_every_character_and_stay_within_their_room(text: str) -> None:
    rows = folded(text, 10)
    assert "".join(rows) == text
    assert max(map(columns, rows)) <= 10


def test_rows_break_behind_a_blank_in_their_second_half() -> None:
    assert folded("one two three four", 12) == ["one two ", "three four"]
    assert folded("a twelve-letter", 10) == ["a twelve-l", "etter"]


def test_a_mark_stays_with_its_letter() -> None:
    assert cut("abcdefghije\u0301k", 12) == "abcdefghije\u0301k"
    assert cut("abcdefghije\u0301klm", 12) == "abcdefghije\u0301…"


def test_a_long_line_takes_as_long_as_its_rows() -> None:
    # A row that looked at all that follows would take minutes.
    rows = folded("xé" * 500_000, 100)
    assert (len(rows), rows[0]) == (10_000, "xé" * 50)
