"""The one wildcard there is: `*` stands for any run of characters, everything else for itself.

Case-sensitive, anchored at both ends, and linear: names come from servers, so no regular expression is built from or run over them.
"""

from collections.abc import Iterable


def matches(pattern: str, text: str) -> bool:
    """Whether the whole of `text` fits `pattern`."""
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    last = rest.pop()
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    place, end = len(first), len(text) - len(last)
    for piece in rest:
        # The leftmost place is always as good as any later one, so nothing is ever tried twice.
        found = text.find(piece, place, end)
        if found < 0:
            return False
        place = found + len(piece)
    return True


def is_pattern(text: str) -> bool:
    return "*" in text


def first_match(patterns: Iterable[str], text: str) -> str | None:
    """The first of `patterns` that `text` fits."""
    return next((pattern for pattern in patterns if matches(pattern, text)), None)
