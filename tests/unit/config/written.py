"""Values written as JSON5 by many hands: every quote, comment, comma and line end the language allows."""

import math
import random
import re
from typing import Any

from hypothesis import strategies as st

# No lone surrogates: no file can hold them. Keys that other rules give a meaning to are left out.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
keys = st.one_of(st.sampled_from(["a", "b", "model", "x.y", "0", "1", "it's", 'say "hi"', "é", ""]), texts)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False),
    texts,
    st.sampled_from(["//", "/*", "*/", "}", ",", "\u2028", "\n", "\\", "'", '"']),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4)),
    max_leaves=12,
)
objects = st.dictionaries(keys, values, max_size=5)

_COMMENT_TEXT = ["", " note ", "{", '"', "'", ",", "[1]", "a: 1", "//", "é"]
_TOKEN = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(//[^\n\r\u2028\u2029]*|/\*.*?\*/)""", re.DOTALL)


@st.composite
def documents(draw: st.DrawFn, of: st.SearchStrategy[Any] = objects) -> tuple[str, Any]:
    """A JSON5 text and the value it means."""
    value = draw(of)
    hand = Hand(random.Random(draw(st.integers(0, 2**32))))
    return hand.space() + hand.write(value) + hand.space(), value


def comments(text: str) -> list[str]:
    """The comments of a text, found without our parser."""
    return [match[2] for match in _TOKEN.finditer(text) if match[2] is not None]


class Hand:
    """One way of writing: tidy or untidy, by chance."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.newline = chance.choice(["\n", "\n", "\r\n", "\r"])
        self.untidy = chance.random()

    def space(self) -> str:
        if self.chance.random() > self.untidy:
            return self.chance.choice(["", " "])
        return "".join(self.chance.choice([" ", "\t", self.newline, "\u00a0", self.comment()]) for _ in range(3))

    def comment(self) -> str:
        text = self.chance.choice(_COMMENT_TEXT)
        return f"//{text}{self.newline}" if self.chance.random() < 0.5 else f"/*{text}*/"

    def write(self, value: Any) -> str:
        match value:
            case None | bool():
                return {None: "null", True: "true", False: "false"}[value]
            case int():
                forms = [str(value), f"{value:+d}", hex(value)]
                return self.chance.choice(forms)
            case float():
                return self.number(value)
            case str():
                return self.text(value)
            case list():
                return self.container("[]", [self.write(item) for item in value])
        members = [f"{self.key(key)}{self.space()}:{self.space()}{self.write(item)}" for key, item in value.items()]
        return self.container("{}", members)

    def container(self, brackets: str, parts: list[str]) -> str:
        inside = ",".join(self.space() + part + self.space() for part in parts)
        comma = "," + self.space() if parts and self.chance.random() < 0.4 else ""
        return brackets[0] + (inside or self.space()) + comma + brackets[1]

    def number(self, value: float) -> str:
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        text = repr(value)
        if text.endswith(".0"):
            text = self.chance.choice([text, text[:-1]])
        return text[1:] if text.startswith("0.") and len(text) > 2 and self.chance.random() < 0.5 else text

    def key(self, key: str) -> str:
        if key.isidentifier() and key.isascii() and self.chance.random() < 0.5:
            return key
        return self.text(key)

    def text(self, text: str) -> str:
        quote = self.chance.choice("\"'")
        return quote + "".join(self.character(char, quote) for char in text) + quote

    def character(self, char: str, quote: str) -> str:
        if char in (quote, "\\"):
            return "\\" + char
        if char in "\n\r" or self.chance.random() < 0.1:
            pairs = char.encode("utf-16-be").hex()
            return "".join(f"\\u{pairs[at : at + 4]}" for at in range(0, len(pairs), 4))
        if self.chance.random() < 0.05:
            return "\\" + self.newline + char
        return char
