"""The words of a command line that a person types or is told to type, as the shells of this system take them. Pure.

Owns the difference: on Windows a backslash stands in paths and escapes nothing, and cmd.exe knows double quotes alone. No line goes to a
shell; programs are started by their words (`process/spawn.py`).
"""

import re
import shlex
import sys
from collections.abc import Iterable

_IS_WINDOWS = sys.platform == "win32"
# A run without blanks and quotes, what stands in quotes, or a quote that is not closed.
_PIECE_ON_WINDOWS = re.compile(r"""([^\s"']+)|"([^"]*)"|'([^']*)'|(["'])""")
_PLAIN_ON_WINDOWS = re.compile(r"[\w@+=:,./\\-]+")


def split_words(line: str, *, windows: bool = _IS_WINDOWS) -> list[str]:
    """Raises ValueError for a quote that is not closed."""
    if not windows:
        return shlex.split(line)
    words: list[str] = []
    ends = -1
    for piece in _PIECE_ON_WINDOWS.finditer(line):
        plain, double, single, rest = piece.groups()
        if rest is not None:
            raise ValueError("No closing quotation")
        text = plain or double or single or ""
        # What stands behind the last piece without a blank is of the same word.
        words[-1:] = [words[-1] + text] if piece.start() == ends else [*words[-1:], text]
        ends = piece.end()
    return words


def quote_word(word: str, *, windows: bool = _IS_WINDOWS) -> str:
    """`word` so that it is one."""
    if not windows:
        return shlex.quote(word)
    if _PLAIN_ON_WINDOWS.fullmatch(word):
        return word
    return f"'{word}'" if '"' in word and "'" not in word else '"' + word.replace('"', '\\"') + '"'


def join_words(words: Iterable[str]) -> str:
    return " ".join(quote_word(word) for word in words)
