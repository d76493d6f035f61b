"""What others chose, as text that a person can judge at a terminal: nothing in it drives the screen or hides, and it stays within its room.

Pure. A value stands as it is where all of it can be seen, and in quotes with escapes where not, so that neither can be taken for the other.
Lines are measured in columns: letters of some scripts take two.
"""

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from openclaw.security.external import clean_terminal
from openclaw.typed_words import quote_word

# Letters that leave an empty place, or none at all, though they count as printable.
_FILLERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# Behind a letter that is not ASCII these are spelling: emoji and several scripts are written with them.
_JOINED = re.compile(
    "(?<=[^\x00-\x7f\u200c\u200d\ufe0e\ufe0f])(?:\ufe0f\u200d|[\u200c\u200d\ufe0e\ufe0f])(?=[^\u200c\u200d\ufe0e\ufe0f]|$)"
)
# Texts that would be read as a value of another kind.
_OTHER_KIND = re.compile(r"[\"{\[].*|true|false|null|-?\d[\d.eE+-]*", re.DOTALL)
_TAB = 8
_NARROWEST = 10


def value_text(value: Any) -> str:
    """A value of a call, whole and on one line."""
    if isinstance(value, str):
        is_plain = is_seen(value) and value == value.strip() and value and not _OTHER_KIND.fullmatch(value)
        return value if is_plain else quoted(value)
    return quoted(value)


def shell_word(value: Any) -> str:
    """A word of a command line as a shell would take it, so that it is seen where it ends."""
    return quote_word(value) if isinstance(value, str) and is_seen(value) else quoted(value)


def quoted(value: Any) -> str:
    """As JSON, with everything that cannot be seen written as an escape."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        text = "(a value that cannot be shown)"
    return text if is_seen(text) else "".join(letter if is_seen(letter) else _escape(letter) for letter in text)


def is_seen(text: str) -> bool:
    """Whether every character of it is seen as what it is."""
    if text.isascii():
        return text.isprintable()
    rest = _JOINED.sub("", text)
    return rest.isprintable() and not _FILLERS.search(rest)


def _escape(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def columns(text: str) -> int:
    """How wide a text is on a screen."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def folded(text: str, room: int) -> list[str]:
    """One line in rows of at most so many columns, broken behind a blank where there is one. No character is lost."""
    rows, room, start = [], max(room, _NARROWEST), 0
    while (end := _fitting(text, room, start)) < len(text):
        blank = text.rfind(" ", start, end) + 1
        end = blank if blank - start > (end - start) // 2 else end
        rows.append(text[start:end])
        start = end
    return [*rows, text[start:]]


def in_rows(parts: Sequence[str], between: str, room: int) -> list[str]:
    """Parts that stay whole, with something between them, in rows of at most so many columns where that can be."""
    return [between.join(group) for group in grouped(parts, len(between), room)]


def grouped(parts: Sequence[str], between: int, room: int) -> list[list[str]]:
    """Which parts stand in one row, when so many columns are between them."""
    groups: list[list[str]] = []
    for part in parts:
        if groups and sum(columns(one) + between for one in groups[-1]) + columns(part) <= room:
            groups[-1].append(part)
        else:
            groups.append([part])
    return groups


def cut(text: str, room: int) -> str:
    """At most so many columns of it, with a mark where the rest is missing."""
    return text if columns(text) <= room else f"{text[: _fitting(text, max(room - 1, 1))].rstrip()}…"


def _fitting(text: str, room: int, start: int = 0) -> int:
    """Where the characters end that fit, from `start` on; one at least does. What follows those is not looked at: it may be long."""
    if text[start : start + room + 1].isascii():
        return min(start + max(room, 1), len(text))
    used = 0
    for place in range(start, len(text)):
        used += _columns(text[place])
        if used > room:
            return max(place, start + 1)
    return len(text)


def padded(text: str, width: int) -> str:
    return text + " " * max(width - columns(text), 0)


def behind_a_bar(text: str, width: int, bar: str) -> list[str]:
    """Words of somebody else, every row of them behind a bar: none can be taken for a line of ours."""
    rows = []
    for line in clean_terminal(text).expandtabs(_TAB).splitlines():
        rows += [f"{bar}{row.rstrip()}" for row in folded(line, width - len(bar) - 1)]
    return rows


def many(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
