"""The words of a command line that a person types or is told to type, as the shells of this system take them. Pure.

Owns the difference: on Windows a backslash stands in paths and escapes nothing, and cmd.exe knows double quotes alone, in which PowerShell
runs what stands behind a dollar sign. No line of ours goes to a shell, programs are started by their words (`process/spawn.py`); but people
copy what they are shown into one, and others chose some of it: what is quoted here begins no other command, in either of the two.
"""

import re
import shlex
import sys
from collections.abc import Iterable

_IS_WINDOWS = sys.platform == "win32"
# A run without blanks and quotes, what stands in quotes, or a quote that is not closed.
_PIECE_ON_WINDOWS = re.compile(r"""([^\s"']+)|"((?:[^"]|"")*)"|'([^']*)'|(["'])""")
# To PowerShell a comma makes a list, and an `@` in front a variable.
_PLAIN_ON_WINDOWS = re.compile(r"(?!@)[\w@+=:./\\-]+")
# What ends double quotes or is run within them. A quote twice is one to both shells, and of as many cmd.exe sees as many begin as end; the
# others PowerShell takes for themselves behind a grave accent, three more quotes among them. cmd.exe looks up %NAME% before it sees any
# quotes, and some names stand for one (%CMDCMDLINE:~0,1%): no name begins with what is nothing to PowerShell.
_ACTIVE = re.compile('["$`%\n\r\u201c-\u201e]')
_QUIET = re.compile('""|%\\$\\(\\)|`[$`nr\u201c-\u201e]')
_WRITTEN = {'"': '""', "%": "%$()", "\n": "`n", "\r": "`r"}
_MEANT = {written: one for one, written in _WRITTEN.items()}
# Before a quote a program takes two of them for one.
_LAST_BACKSLASHES = re.compile(r"\\+\Z")


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
        text = plain or (double and _unquoted(double)) or single or ""
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
    quiet = _ACTIVE.sub(lambda active: _WRITTEN.get(active[0]) or f"`{active[0]}", word)
    return f'"{_LAST_BACKSLASHES.sub(lambda last: 2 * last[0], quiet)}"'


def join_words(words: Iterable[str]) -> str:
    return " ".join(quote_word(word) for word in words)


def _unquoted(quiet: str) -> str:
    quiet = _LAST_BACKSLASHES.sub(lambda last: last[0][: (len(last[0]) + 1) // 2], quiet)
    return _QUIET.sub(lambda written: _MEANT.get(written[0]) or written[0][1], quiet)
