"""Regular expressions that are compiled when they are first used.

A call typed at a terminal needs a few of the patterns it passes by, and compiling all of them would take it a tenth of its time. Owns
nothing but the moment: whoever has such a pattern uses it as any other. For patterns that every call needs, `re.compile` says it better.
"""

import re
from typing import Any, AnyStr, Generic, cast

_METHODS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
_FACTS = ("pattern", "flags", "groups", "groupindex")


class LatePattern(Generic[AnyStr]):
    def __init__(self, text: AnyStr, flags: int) -> None:
        self._text: AnyStr = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Called for the first use alone: from then on everything is there."""
        if name not in _METHODS and name not in _FACTS:
            raise AttributeError(name)
        compiled = re.compile(self._text, self._flags)
        vars(self).update({each: getattr(compiled, each) for each in (*_METHODS, *_FACTS)})
        return vars(self)[name]


def late_pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The same as `re.compile(text, flags)`, but later. What is wrong with a pattern is found then, and in a test that uses them all."""
    return cast("re.Pattern[AnyStr]", LatePattern(text, flags))
