"""The one wildcard: `*` is any run of characters, everything else is itself."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.tool import Absence
from openclaw.wildcard import first_match, matches


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("read", "read", True),
        ("read", "reads", False),
        ("*", "", True),
        ("shop__*", "shop__echo", True),
        ("shop__*", "shop_echo", False),
        ("*_file", "read_file", True),
        ("a*b*c", "a-b-c", True),
        ("a*b*c", "a-c-b", False),
        ("a*a", "a", False),
        ("Read*", "read_file", False),
        ("[r]?*", "read", False),
        ("file:///docs/*.md", "file:///docs/deep/a.md", True),
    ],
)
def test_a_star_stands_for_any_run_and_everything_else_for_itself(pattern: str, text: str, fits: bool) -> None:
    assert matches(pattern, text) is fits


@settings(max_examples=200)
@given(st.text("ab*", max_size=8), st.text("ab", max_size=12))
def test_it_is_the_regular_expression_that_anybody_would_write(pattern: str, text: str) -> None:
    expected = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text)
    assert matches(pattern, text) is (expected is not None)


def test_an_absence_covers_the_tools_that_its_name_stands_for() -> None:
    absence = Absence("shop__*", "The server is disabled.")
    assert [absence.covers(name) for name in ("shop__echo", "other__echo")] == [True, False]


def test_the_first_matching_pattern_is_named() -> None:
    assert first_match(["x", "re*", "*"], "read") == "re*"
    assert first_match([], "read") is None
