"""The options of a program that another one waits for, read on the standard library alone.

Owns what counts as plain: flags and values that a table names, each value behind a blank or an equals sign. Whatever else is typed (help,
mistakes, other commands) is for the command table, which loads more.
"""

from collections.abc import Mapping, Sequence

# A plain name instead of typing.TYPE_CHECKING: type checkers know it, and importing typing costs milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LEVELS = ("debug", "info", "warning", "error")
# What every surface on standard input and output takes.
FLAGS = {"-v": "verbose", "--verbose": "verbose", "--local": "local", "--log-json": "log_json"}
VALUES = {"--agent": "agent", "--config": "config", "--log-level": "log_level"}


def read(words: Sequence[str], flags: Mapping[str, str], values: Mapping[str, str]) -> "dict[str, Any] | None":
    """The options under the names that the tables give them; None unless all words are plain. An empty name is one that is passed over."""
    options: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word in flags:
            options[flags[word]] = True
        elif name in values and (equals or rest):
            options[values[name]] = value if equals else rest.pop(0)
        else:
            return None
    options.pop("", None)
    return options if options.get("log_level", _LEVELS[0]) in _LEVELS else None
