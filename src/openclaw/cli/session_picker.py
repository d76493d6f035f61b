"""Choosing a conversation at a terminal: a list with the newest on top and what was asked once at its end, arrow keys, and words that
narrow it down.

Decides what is shown and what is chosen (`Picker`, pure); prompt-toolkit draws it and reads the keys.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from prompt_toolkit.application import Application, get_app
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl

from openclaw.commands.console import USUAL_WIDTH
from openclaw.commands.screen.columns import cut, folded, in_ascii
from openclaw.security.external import clean_label
from openclaw.sessions.key import is_unnamed

# Rows at a time: about half of a small terminal.
_ROWS = 12
_MOST_TITLE = 60
_LEAST_TITLE = 8
_MARK, _ARROWS = "›", "↑ ↓"
_MARK_ASCII, _ARROWS_ASCII = ">", "Up and Down"
_KEYS = "choose, Enter goes on, letters narrow the list, Esc leaves"


class Choice(msgspec.Struct, frozen=True, rename="camel"):
    """A conversation as `sessions list --json` tells of it."""

    key: str
    agent: str
    updated_at: str
    messages: int
    title: str = ""


class Picker:
    """`typed` narrows the list down to those that have all its words; `at` is the row that Enter takes.

    What was asked once, without a session key, comes behind the conversations.
    """

    def __init__(self, choices: Sequence[Choice]) -> None:
        self._choices = sorted(choices, key=lambda one: is_unnamed(one.key))
        self.typed = ""
        self.at = 0

    @property
    def found(self) -> list[Choice]:
        words = self.typed.lower().split()
        return [one for one in self._choices if all(word in f"{one.title} {one.key}".lower() for word in words)]

    @property
    def chosen(self) -> Choice | None:
        found = self.found
        return found[self.at] if self.at < len(found) else None

    def move(self, steps: int) -> None:
        self.at = max(0, min(self.at + steps, len(self.found) - 1))

    def narrow(self, typed: str) -> None:
        self.typed, self.at = typed, 0

    def lines(self, width: int = USUAL_WIDTH, *, utf8: bool = True) -> list[tuple[str, str]]:
        """What is shown, each line with its style; without `utf8` our own signs are ASCII. Of one that does not fit the title gives way."""
        found = self.found
        first = max(0, min(self.at - _ROWS // 2, len(found) - _ROWS))
        shown = [("bold", f"Go on with which conversation? {self.typed}")]
        for number, one in enumerate(found[first : first + _ROWS], first):
            mark = (_MARK if utf8 else _MARK_ASCII) if number == self.at else " "
            messages = f"{one.messages} message{'' if one.messages == 1 else 's'}"
            messages += ", asked once" if is_unnamed(one.key) else ""
            about = f"{_when(one.updated_at)}, {messages}"
            title = clean_label(one.title, _MOST_TITLE) or clean_label(one.key, _MOST_TITLE)
            title = title if utf8 else in_ascii(title)
            # A blank, a mark and two blanks between; and a column that no terminal wraps at.
            fitting = cut(title, max(width - len(about) - 5, _LEAST_TITLE), utf8=utf8)
            shown.append(("reverse" if number == self.at else "", f"{mark} {fitting}  {about}"))
        if not found:
            shown.append(("", "  none has these words"))
        keys = f"  {_ARROWS if utf8 else _ARROWS_ASCII} {_KEYS}"
        return [*shown, *(("ansibrightblack", row) for row in folded(keys, width - 1))]


def _when(at: str) -> str:
    return datetime.fromisoformat(at.replace("Z", "+00:00")).astimezone().strftime("%Y-%m-%d %H:%M")


def _drawn(lines: Sequence[tuple[str, str]]) -> StyleAndTextTuples:
    return [(style, f"{line}\n") for style, line in lines]


async def pick(choices: Sequence[Choice], *, utf8: bool = True) -> Choice | None:
    """The conversation that the person chose; None when they left."""
    picker = Picker(choices)
    keys = KeyBindings()

    @keys.add("up")
    def up(event: KeyPressEvent) -> None:
        picker.move(-1)

    @keys.add("down")
    def down(event: KeyPressEvent) -> None:
        picker.move(1)

    @keys.add("backspace")
    def shorter(event: KeyPressEvent) -> None:
        picker.narrow(picker.typed[:-1])

    @keys.add(Keys.Any)
    def longer(event: KeyPressEvent) -> None:
        if event.data.isprintable():
            picker.narrow(picker.typed + event.data)

    @keys.add("enter")
    @keys.add("c-j")
    def take(event: KeyPressEvent) -> None:
        if picker.chosen is not None:
            event.app.exit(result=picker.chosen)

    @keys.add("escape", eager=True)
    @keys.add("c-c")
    @keys.add("c-d")
    def leave(event: KeyPressEvent) -> None:
        event.app.exit(result=None)

    def rows() -> StyleAndTextTuples:
        return _drawn(picker.lines(get_app().output.get_size().columns, utf8=utf8))

    shown = FormattedTextControl(rows, focusable=True)
    application: Application[Choice | None] = Application(
        layout=Layout(Window(shown, always_hide_cursor=True, dont_extend_height=True)),
        key_bindings=keys,
        erase_when_done=True,
    )
    return await application.run_async()
