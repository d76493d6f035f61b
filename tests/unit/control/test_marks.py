"""What a terminal is like, from its environment alone."""

import pytest

from openclaw.control.marks import marks, pictures_of

UTF8 = {"LANG": "en_US.UTF-8"}


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"TERM": "xterm"}, "sicm"),
        ({"TERM": "xterm", "NO_COLOR": "1"}, "sim"),
        ({"TERM": "dumb"}, "si"),
        ({"TERM": "xterm", "LANG": "C"}, "sicma"),
        ({"TERM": "xterm", "LANG": "de_DE.ISO-8859-1", "LC_ALL": "de_DE.utf8"}, "sicm"),
    ],
)
def test_colours_drawing_and_characters(env: dict[str, str], expected: str) -> None:
    assert marks(env, screen=True, interactive=True) == expected


def test_a_pipe_has_nothing_and_is_written_in_utf_8() -> None:
    assert marks({"TERM": "xterm", "LANG": "C", "KITTY_WINDOW_ID": "1"}, screen=False, interactive=False) == ""


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, "kitty"),
        ({"TERM": "xterm-ghostty"}, "kitty"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "iterm2"),
        ({"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, "iterm2"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "iterm2"),
        ({"TERM": "foot"}, "sixel"),
        ({"TERM": "xterm-256color"}, ""),
        ({"TERM": "tmux-256color", "TERM_PROGRAM": "iTerm.app", "TMUX": "/tmp/x"}, ""),
    ],
)
def test_how_pictures_are_sent(env: dict[str, str], expected: str) -> None:
    assert pictures_of(marks({**UTF8, **env}, screen=True, interactive=True)) == expected
