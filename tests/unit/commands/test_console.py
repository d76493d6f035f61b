"""How things are said at a terminal."""

import pytest

from openclaw.commands.console import duration


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (1.4, "1 s"),
        (90, "90 s"),
        (119.9, "2 min"),
        (3_599.5, "60 min"),
        (5_400, "90 min"),
        (7_199.5, "2 h"),
        (86_400, "24 h"),
        (3 * 86_400, "3 d"),
    ],
)
def test_a_duration_is_one_number_that_says_enough(seconds: float, said: str) -> None:
    assert duration(seconds) == said
