"""The screen that questions are shown on: standard error, as large as it is now, with colours where it has them."""

import os
from collections.abc import Mapping

from openclaw.control.dialogue_steps import Screen

_ERRORS = 2


def question_screen(env: Mapping[str, str], *, no_color: bool) -> Screen:
    usual, columns = Screen(), env.get("COLUMNS", "")
    try:
        size = os.get_terminal_size(_ERRORS)
    except OSError:
        size = os.terminal_size((usual.width, usual.height))
    is_smart = os.isatty(_ERRORS) and env.get("TERM") != "dumb"
    return Screen(
        (int(columns) if columns.isdecimal() else 0) or size.columns or usual.width,
        size.lines or usual.height,
        colour=is_smart and not no_color and not env.get("NO_COLOR"),
        clipboard=is_smart,
    )
