"""A first look at a text from outside: whether there is anything in it that cleaning would change or the log would name.

Owns one pattern for all of it, which may find too much and never too little: what it finds is looked at closely by `external.py`, what it
does not find is as it should be. One pass of an automaton in place of some twenty searches in Python: 0.3 µs in place of 1.2 for a hundred
digits, 1.5 in place of 39 for a JSON document of a kilobyte, 0.5 in place of 16 for a hundred letters of many scripts (busy machine).
Changes nothing, decides nothing. What a character looks like says `fold.py`.
"""

import logging
from collections.abc import Callable, Iterable
from itertools import groupby

from openclaw.json_schema import finder
from openclaw.security.fold import letters, tabled

_log = logging.getLogger(__name__)

# To make the pattern takes 8 ms, and its library more to load: who frames a few texts does without.
_FIRST = 32
# Of these every character is looked up. Beyond them any may look like any letter, but for ideographs: those that do are in a table.
_LOOKED_UP = (range(0x800), range(0x3000, 0x3100))
_IDEOGRAPHS = range(0x4E00, 0xA000)
_ANY_LETTER = r"\x{800}-\x{2fff}\x{3100}-\x{4dff}\x{a000}-\x{d7ff}\x{e000}-\x{10ffff}"
# Where characters stand that look like several letters at once, beyond those that are looked up (test_first_look.py knows them all).
_SEVERAL = (
    r"\x{20a8}\x{2100}-\x{218f}\x{2460}-\x{24ff}\x{3200}-\x{33ff}\x{fb00}-\x{fb4f}\x{fdf0}-\x{fdff}\x{1f100}-\x{1f1ad}"
)
# A character written out that may be a letter. A line end or a tab that is written out separates, like all that is no letter or digit.
_WRITTEN_OUT = r"&[#A-Za-z]|\\[ux]|%[0-9a-fA-F]{2}"
_BETWEEN = r"(?:[^a-zA-Z0-9<>]|\\[nrt])*"


class FirstLook:
    """`unseen` are characters that are never left as they are, as members of a class; `parts` are texts of which each token holds one,
    `markers` letters in a row of which each marker does, `hints` words in small letters without which nothing is suspicious."""

    def __init__(
        self, *, unseen: str, parts: Iterable[str], markers: Iterable[str], hints: Iterable[str], first: int = _FIRST
    ) -> None:
        self._made_of = unseen, tuple(parts), tuple(markers), tuple(hints)
        self._left = first
        self._finds: Callable[[str], bool] | None = None

    def make(self) -> None:
        """Make the pattern now. Where it cannot be made, or does not find what it was made of, as with a library that reads patterns
        otherwise, everything is looked at closely."""
        unseen, parts, markers, hints = self._made_of
        try:
            finds = finder(_pattern(unseen, parts, markers, hints))
            is_good = all(map(finds, (*parts, *markers, *hints)))
        except ValueError as error:
            finds, is_good = _finds_all, False
            _log.debug("The first look: %s", error)
        if not is_good:
            _log.warning("Texts from outside cannot be looked at quickly, and take longer; nothing else changes.")
        self._finds = finds if is_good else _finds_all

    def is_harmless(self, text: str) -> bool:
        """Whether nothing was found in `text`. Of the first texts nobody knows."""
        finds = self._finds
        if finds is None:
            self._left -= 1
            if self._left < 0:
                self.make()
            return False
        try:
            return not finds(text)
        except ValueError:
            # Half a character: no text that could be read.
            return False


def _finds_all(text: str) -> bool:
    return True


def _pattern(unseen: str, parts: Iterable[str], markers: Iterable[str], hints: Iterable[str]) -> str:
    like, several = _look_alikes()
    return "|".join(
        (
            f"[{_escaped(unseen)}{_class(several)}{_SEVERAL}]",
            *map(_plainly, parts),
            _WRITTEN_OUT,
            *(_BETWEEN.join(f"[{_class(like[letter])}{_ANY_LETTER}]" for letter in word) for word in markers),
            f"(?i-u:{'|'.join(map(_plainly, hints))})",
        )
    )


def _look_alikes() -> tuple[dict[str, set[int]], set[int]]:
    """Code points by the one letter that each looks like, and those that look like several."""
    like: dict[str, set[int]] = {}
    several: set[int] = set()
    for code in (*(code for codes in _LOOKED_UP for code in codes), *tabled(_IDEOGRAPHS)):
        spelled = letters(chr(code))
        if len(spelled) == 1:
            like.setdefault(spelled, set()).add(code)
        elif spelled:
            several.add(code)
    return like, several


def _class(codes: Iterable[int]) -> str:
    """These code points as members of a class."""
    rows = groupby(enumerate(sorted(codes)), lambda pair: pair[1] - pair[0])
    ends = [(row[0][1], row[-1][1]) for row in (list(row) for _, row in rows)]
    return "".join(rf"\x{{{low:x}}}-\x{{{high:x}}}" for low, high in ends)


def _escaped(members: str) -> str:
    """Members of a class without a character that a pattern could take for something else."""
    return "".join(one if one == "-" else rf"\x{{{ord(one):x}}}" for one in members)


def _plainly(text: str) -> str:
    return "".join(one if one.isalnum() or one in " _" else rf"\x{{{ord(one):x}}}" for one in text)
