"""Options that are read before anything is loaded."""

from typing import Any

import pytest

from openclaw.control.plain_options import FLAGS, VALUES, read

TAKEN = {**FLAGS, "--no-prefix-cwd": ""}, {**VALUES, "--token": ""}


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ([], {}),
        (["-v", "--agent", "work"], {"verbose": True, "agent": "work"}),
        (["--agent=work", "--config="], {"agent": "work", "config": ""}),
        (["--agent", "--local"], {"agent": "--local"}),
        (["--no-prefix-cwd", "--token", "x", "--token=y", "--local"], {"local": True}),
        (["--log-level", "debug"], {"log_level": "debug"}),
        (["--log-level", "loud"], None),
        (["--agent"], None),
        (["--local=1"], None),
        (["--help"], None),
        (["client"], None),
    ],
)
def test_plain_words_are_options_and_everything_else_is_left_to_others(
    words: list[str], options: dict[str, Any] | None
) -> None:
    assert read(words, *TAKEN) == options
