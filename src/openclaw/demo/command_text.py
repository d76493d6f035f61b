"""What a person types: this program and its interpreter by names that work in the folder they stand in, and commands as a shell reads them.

Owns quoting, and where a long command may be folded. It never starts anything.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from openclaw.typed_words import quote_word

_MODULE = "openclaw"
_HOME = "~/"
# A word of a shell with its quotes; what is quoted may have blanks in it.
_WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")
_GOES_ON = " \\"


def program(started_as: str, env: Mapping[str, str]) -> str:
    """What to type for this program: its name where a shell finds it by that, else its path, else its module."""
    beside = Path(sys.executable).parent / "openclaw"
    own = started_as if os.path.basename(started_as) == "openclaw" else str(beside)
    found = shutil.which("openclaw", path=env.get("PATH"))
    if found is not None and os.path.realpath(found) == os.path.realpath(own):
        return "openclaw"
    if not os.path.exists(own):
        return f"{interpreter(env)} -m {_MODULE}"
    path, here = os.path.abspath(own), os.getcwd()
    if path.startswith(here + os.sep):
        inside = path.removeprefix(here + os.sep)
        return quoted(inside if os.sep in inside else f".{os.sep}{inside}")
    return quoted(below_home(path, env))


def interpreter(env: Mapping[str, str]) -> str:
    """The whole path: in a config it has to work from every folder."""
    return quoted(below_home(sys.executable, env))


def below_home(path: str, env: Mapping[str, str]) -> str:
    home = env.get("HOME", "").rstrip(os.sep)
    return _HOME + path.removeprefix(home + os.sep) if home and path.startswith(home + os.sep) else path


def quoted(word: str) -> str:
    """One word for a shell, which looks for a home in front of the first quote only."""
    if word.startswith(_HOME):
        rest = word.removeprefix(_HOME)
        return _HOME + (quote_word(rest) if rest else "")
    return quote_word(word)


def folded(command: str, room: int) -> Iterator[str]:
    """The lines of a command, each but the last with the backslash that makes a shell read on. Words stay whole."""
    line = ""
    for word in _WORD.findall(command):
        if line and len(line) + 1 + len(word) > room - len(_GOES_ON):
            yield line + _GOES_ON
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line
