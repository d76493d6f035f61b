"""JSON5 to values that know where they stand.

Owns reading: one parser for the whole of JSON5 (comments, trailing commas, unquoted keys, both quotes, hex, NaN, Infinity, line
continuations) that keeps the offset of every key and value and leaves the text itself alone. Linear in time, bounded in depth.
Refuses duplicate keys and lone surrogates: both are legal JSON5 and never what the writer meant.
Next: `load.py` reads files with it, `edit.py` changes text by the spans kept here.
"""

import re
from bisect import bisect_right
from typing import Any, NoReturn

import msgspec

from openclaw.errors import ConfigError, Problem
from openclaw.late_pattern import late_pattern

# Config files nest some ten levels deep. The bound keeps a hostile file from exhausting the stack, which our caller shares.
MAX_DEPTH = 100
# Python itself refuses longer decimal numbers, because converting them takes quadratic time.
MAX_DIGITS = 4_000

_SPACE = re.compile("[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*")
_LINE_END = late_pattern("[\n\r\u2028\u2029]")
# An editor counts these as line ends; U+2028 and U+2029 are line ends to JSON5 but not to an editor.
_EDITOR_LINE_END = late_pattern("\r\n|\n|\r")
_NUMBER = late_pattern(
    r"[+-]?(?:0[xX][0-9a-fA-F]+|Infinity|NaN|(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
)
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_PLAIN = {'"': re.compile(r'[^"\\\n\r]*'), "'": re.compile(r"[^'\\\n\r]*")}
_HEX = late_pattern("[0-9a-fA-F]+")
_SURROGATE = late_pattern("[\ud800-\udfff]")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\n": "", "\u2028": "", "\u2029": ""}
_WORDS = {"true": True, "false": False, "null": None}
_CLOSERS = {"object": "}", "array": "]"}


class Source:
    """One text and the name of the file it came from; turns offsets into lines and columns."""

    __slots__ = ("_starts", "file", "text")

    def __init__(self, text: str, file: str = "") -> None:
        self.text = text
        self.file = file
        self._starts: list[int] | None = None

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1."""
        if self._starts is None:
            self._starts = [0, *(match.end() for match in _EDITOR_LINE_END.finditer(self.text))]
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def problem(self, offset: int, message: str, *, path: str = "", hint: str = "") -> Problem:
        line, column = self.place(offset)
        return Problem(message, self.file, line, column, path, hint)


# The three nodes are never changed once parsed. They are not frozen because freezing triples the cost of making one.
class Scalar(msgspec.Struct, eq=False):
    source: Source
    start: int
    end: int
    value: str | int | float | bool | None


class Array(msgspec.Struct, eq=False):
    source: Source
    start: int
    end: int
    items: "list[Node]"


class Member(msgspec.Struct, eq=False):
    """One key of an object. Its own source: after an `$include` the key and the value may stand in different files."""

    source: Source
    key: str
    start: int
    end: int
    value: "Node"


class Object(msgspec.Struct, eq=False):
    source: Source
    start: int
    end: int
    members: dict[str, Member]


Node = Scalar | Array | Object


def parse(text: str, file: str = "") -> Node:
    """The tree of one JSON5 text. Raises ConfigError with every problem found: the first broken spot, and all duplicate keys."""
    source = Source(text, file)
    parser = _Parser(source)
    try:
        root = parser.document()
    except _Broken as broken:
        raise ConfigError([*parser.problems, broken.problem]) from None
    if parser.problems:
        raise ConfigError(parser.problems)
    return root


def loads(text: str, file: str = "") -> Any:
    """Plain data of one JSON5 text."""
    return plain(parse(text, file))


def plain(node: Node) -> Any:
    """Dicts, lists and scalars of a tree."""
    if isinstance(node, Object):
        return {key: plain(member.value) for key, member in node.members.items()}
    if isinstance(node, Array):
        return [plain(item) for item in node.items]
    return node.value


def skip(text: str, offset: int) -> int:
    """The offset of the next token: past white space and comments."""
    while True:
        match = _SPACE.match(text, offset)
        offset = match.end() if match else offset
        if text.startswith("//", offset):
            end = _LINE_END.search(text, offset)
            offset = end.start() if end else len(text)
        elif text.startswith("/*", offset):
            close = text.find("*/", offset + 2)
            if close < 0:
                raise _Unclosed(offset)
            offset = close + 2
        else:
            return offset


def is_name(key: str) -> bool:
    """Whether a key may stand without quotes (ASCII names only: what every JSON5 reader agrees on)."""
    return _NAME.fullmatch(key) is not None


class _Unclosed(Exception):
    def __init__(self, offset: int) -> None:
        super().__init__("unclosed comment")
        self.offset = offset


class _Broken(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class _Parser:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.problems: list[Problem] = []
        # The containers that are open, outermost first: what a half-written file is missing.
        self.open: list[tuple[str, int]] = []

    def document(self) -> Node:
        start = self.skip(0)
        if start == len(self.text):
            self.fail(start, "The file is empty.", "Write {} for an empty config.")
        root = self.value(start)
        end = self.skip(root.end)
        if end < len(self.text):
            self.fail(end, f"Expected the end of the file, found {self.found(end)}.")
        return root

    def fail(self, offset: int, message: str, hint: str = "") -> NoReturn:
        raise _Broken(self.source.problem(offset, message, hint=hint))

    def found(self, offset: int) -> str:
        """One character only: more of the text could be part of a secret."""
        return f'"{self.text[offset]}"' if self.text[offset].isprintable() else f"U+{ord(self.text[offset]):04X}"

    def expected(self, offset: int, what: str, hint: str = "") -> NoReturn:
        if offset < len(self.text):
            self.fail(offset, f"Expected {what}, found {self.found(offset)}.", hint)
        if not self.open:
            self.fail(offset, f"Expected {what}, but the file ends here.")
        kind, start = self.open[-1]
        line, column = self.source.place(start)
        self.fail(
            offset,
            f"The file ends inside the {kind} opened at line {line}, column {column}.",
            f"It looks half-written: expected {what}.",
        )

    def skip(self, offset: int) -> int:
        try:
            return skip(self.text, offset)
        except _Unclosed as comment:
            self.fail(comment.offset, "This comment is never closed.", "Close it with */.")

    def value(self, offset: int) -> Node:
        char = self.text[offset : offset + 1]
        if char == "{":
            return self.object(offset)
        if char == "[":
            return self.array(offset)
        if char in _PLAIN:
            text, end = self.string(offset)
            return Scalar(self.source, offset, end, text)
        return self.bare(offset)

    def bare(self, offset: int) -> Scalar:
        """A number, or one of the three words."""
        match = _NUMBER.match(self.text, offset)
        if match:
            self.no_name_after(match.end(), "a number")
            return Scalar(self.source, offset, match.end(), self.number(match.group(), offset))
        word = _NAME.match(self.text, offset)
        if word is None or word.group() not in _WORDS:
            self.expected(offset, "a value", "Text must stand in quotes." if word else "")
        self.no_name_after(word.end(), "a value")
        return Scalar(self.source, offset, word.end(), _WORDS[word.group()])

    def no_name_after(self, offset: int, what: str) -> None:
        if offset < len(self.text) and (self.text[offset] == "." or _continues_name(self.text[offset])):
            self.fail(
                offset,
                f"{self.found(offset)} cannot be part of {what}.",
                "Text must stand in quotes; 010 is written 10.",
            )

    def number(self, text: str, offset: int) -> int | float:
        if len(text) > MAX_DIGITS:
            self.fail(offset, f"This number is longer than {MAX_DIGITS} characters.")
        digits = text.lstrip("+-")
        if digits[:2] in ("0x", "0X"):
            number: int | float = int(digits, 16)
        elif digits in ("Infinity", "NaN"):
            number = float(digits.lower())
        elif digits.isdigit():
            number = int(digits)
        else:
            number = float(digits)
        return -number if text[0] == "-" else number

    def object(self, start: int) -> Object:
        self.enter("object", start)
        members: dict[str, Member] = {}
        offset = self.skip(start + 1)
        while self.text[offset : offset + 1] != "}":
            member = self.member(offset)
            if member.key in members:
                line, _ = self.source.place(members[member.key].start)
                message = f"The key {_quoted(member.key)} is written twice in this object; the first is on line {line}."
                self.problems.append(self.source.problem(member.start, message, hint="Keep one of them."))
            members[member.key] = member
            offset = self.separator(member.value.end, "object")
        self.open.pop()
        return Object(self.source, start, offset + 1, members)

    def member(self, offset: int) -> Member:
        key, end = self.key(offset)
        colon = self.skip(end)
        if self.text[colon : colon + 1] != ":":
            self.expected(colon, f"a colon after the key {_quoted(key)}")
        value = self.value(self.skip(colon + 1))
        return Member(self.source, key, offset, end, value)

    def array(self, start: int) -> Array:
        self.enter("array", start)
        items: list[Node] = []
        offset = self.skip(start + 1)
        while self.text[offset : offset + 1] != "]":
            items.append(self.value(offset))
            offset = self.separator(items[-1].end, "array")
        self.open.pop()
        return Array(self.source, start, offset + 1, items)

    def enter(self, kind: str, start: int) -> None:
        self.open.append((kind, start))
        if len(self.open) > MAX_DEPTH:
            self.fail(start, f"Values are nested more than {MAX_DEPTH} levels deep here.")

    def separator(self, offset: int, kind: str) -> int:
        """Past the comma after a value, to the next one or to the closing bracket."""
        offset = self.skip(offset)
        char = self.text[offset : offset + 1]
        if char == ",":
            return self.skip(offset + 1)
        if char != _CLOSERS[kind]:
            self.expected(offset, f"a comma or {_CLOSERS[kind]}")
        return offset

    def key(self, offset: int) -> tuple[str, int]:
        char = self.text[offset : offset + 1]
        if char in _PLAIN:
            return self.string(offset)
        match = _NAME.match(self.text, offset)
        end = match.end() if match else offset
        if end == len(self.text) or not (self.text[end] == "\\" or _continues_name(self.text[end])):
            if match:
                return match.group(), end
            self.expected(offset, "a key or }")
        return self.unusual_name(offset)

    def unusual_name(self, start: int) -> tuple[str, int]:
        """An unquoted key with letters beyond ASCII or with escapes."""
        pieces: list[str] = []
        offset = start
        while offset < len(self.text):
            char = self.text[offset]
            width = 1
            if char == "\\":
                if self.text[offset + 1 : offset + 2] != "u":
                    self.fail(offset, "Only \\uXXXX may be escaped in a key without quotes.", "Put the key in quotes.")
                char, width = chr(self.hex(offset + 2, 4)), 6
            elif not _continues_name(char):
                break
            if not _continues_name(char) or (not pieces and not (char in "$_" or char.isidentifier())):
                self.fail(offset, "This character cannot stand in a key without quotes.", "Put the key in quotes.")
            pieces.append(char)
            offset += width
        return "".join(pieces), offset

    def string(self, start: int) -> tuple[str, int]:
        quote = self.text[start]
        run = _PLAIN[quote]
        pieces: list[str] = []
        offset = start + 1
        escaped = False
        while True:
            match = run.match(self.text, offset)
            assert match is not None  # a starred pattern always matches
            pieces.append(match.group())
            offset = match.end()
            char = self.text[offset : offset + 1]
            if char == quote:
                break
            if char != "\\":
                self.unclosed(start, quote)
            piece, offset = self.escape(offset + 1, start, quote)
            pieces.append(piece)
            escaped = True
        text = "".join(pieces)
        return (self.joined(text, start) if escaped else text), offset + 1

    def unclosed(self, start: int, quote: str) -> NoReturn:
        self.fail(start, "This text is not closed on its line.", f"Close it with {quote}.")

    def escape(self, offset: int, start: int, quote: str) -> tuple[str, int]:
        """What the escape whose letter stands at `offset` means, and where the text goes on."""
        char = self.text[offset : offset + 1]
        if not char:
            self.unclosed(start, quote)
        if char in _ESCAPES:
            return _ESCAPES[char], offset + 1
        if char == "\r":
            return "", offset + (2 if self.text.startswith("\r\n", offset) else 1)
        if char == "x":
            return chr(self.hex(offset + 1, 2)), offset + 3
        if char == "u":
            return chr(self.hex(offset + 1, 4)), offset + 5
        if char == "0" and not self.text[offset + 1 : offset + 2].isdigit():
            return "\0", offset + 1
        if char in "0123456789":
            self.fail(offset - 1, f"\\{char} is not an escape.", "Write a backslash as \\\\.")
        return char, offset + 1

    def hex(self, offset: int, digits: int) -> int:
        text = self.text[offset : offset + digits]
        if len(text) < digits or not _HEX.fullmatch(text):
            self.fail(offset - 2, f"Expected {digits} hexadecimal digits after \\{self.text[offset - 1]}.")
        return int(text, 16)

    def joined(self, text: str, start: int) -> str:
        """Surrogate pairs written as two escapes become one character."""
        if not _SURROGATE.search(text):
            return text
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self.fail(start, "This text holds half of a surrogate pair, which is not a character.")


def _continues_name(char: str) -> bool:
    return char in "$\u200c\u200d" or ("a" + char).isidentifier()


def _quoted(key: str) -> str:
    """A key as it may be shown: on one line, and not the whole of a file that lost a quote."""
    shown = key if len(key) <= 60 else key[:60] + "…"
    return '"' + "".join(char if char.isprintable() else "?" for char in shown) + '"'
