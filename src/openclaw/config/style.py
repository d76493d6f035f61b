"""How a JSON5 text is written, and how to write more of it in the same hand.

Pure. Owns quotes, keys without quotes, indentation, line ends and the writing of values; `edit.py` decides where they go.
"""

import json
import math
import re
from typing import Any

import msgspec
from msgspec.structs import replace

from openclaw.config.json5 import Array, Node, Object, Scalar, is_name
from openclaw.errors import UsageError

_INDENT = re.compile("[ \t]*")
_DEFAULT_UNIT = "  "


class Style(msgspec.Struct, frozen=True):
    quote: str = '"'
    # Keys stand without quotes where they can.
    bare_keys: bool = False
    unit: str = _DEFAULT_UNIT
    newline: str = "\n"
    colon: str = ": "
    # What stands between a comma and the next value on the same line.
    gap: str = " "
    # The whole text is one line.
    single_line: bool = False

    def at(self, source: str, node: Node) -> "Style":
        """The style among a container's own keys, or of the text that is replaced."""
        if isinstance(node, Object) and node.members:
            quoted = [source[member.start] for member in node.members.values() if source[member.start] in "\"'"]
            return replace(
                self, bare_keys=2 * len(quoted) < len(node.members), quote=quoted[0] if quoted else self.quote
            )
        if isinstance(node, Scalar) and source[node.start] in "\"'":
            return replace(self, quote=source[node.start])
        return self

    def key(self, key: str) -> str:
        return key if self.bare_keys and is_name(key) else self.text(key)

    def text(self, text: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise UsageError("The value holds half of a surrogate pair, which cannot be written.") from None
        written = json.dumps(text, ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
        if self.quote == '"':
            return written
        return "'" + written[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"

    def render(self, value: Any, indent: str) -> str:
        """A value as text; `indent` is that of the line it starts on. Numbers, texts, true, false, null, lists and mappings."""
        match value:
            case None | bool() | int():
                return json.dumps(value)
            case float():
                return _number(value)
            case str():
                return self.text(value)
            case dict():
                items = [f"{self.key(str(key))}{self.colon}{{}}" for key in value]
                return self._container("{}", items, list(value.values()), indent)
            case list() | tuple():
                return self._container("[]", ["{}"] * len(value), list(value), indent)
        raise UsageError(f"A {type(value).__name__} cannot be written in a config file.")

    def _container(self, brackets: str, frames: list[str], values: list[Any], indent: str) -> str:
        # Short lists read best on one line, as people write arguments.
        flat = brackets == "[]" and not any(isinstance(value, dict | list | tuple) for value in values)
        inner = indent if self.single_line or flat else indent + self.unit
        written = [frame[:-2] + self.render(value, inner) for frame, value in zip(frames, values, strict=True)]
        if not written:
            return brackets
        if self.single_line or flat:
            return brackets[0] + f",{self.gap}".join(written) + brackets[1]
        lines = f",{self.newline}{inner}".join(written)
        return f"{brackets[0]}{self.newline}{inner}{lines}{self.newline}{indent}{brackets[1]}"

    def line_indent(self, source: str, offset: int) -> str:
        """The white space at the start of the line that holds `offset`."""
        match = _INDENT.match(source, line_start(source, offset))
        return match.group() if match else ""

    def child_indent(self, source: str, node: Node, child: int) -> str:
        """The indentation of a child that starts its line; else one step more than the container's own line."""
        first = line_start(source, child)
        before = source[first:child]
        return before if not before.strip(" \t") else self.line_indent(source, node.start) + self.unit


def style_of(root: Node) -> Style:
    """The style of a whole text, from the nodes in it."""
    source = root.source.text
    quotes = [source[start] for start in _text_starts(root) if source[start] in "\"'"]
    bare = [start for start in _key_starts(root) if source[start] not in "\"'"]
    keys = len(_key_starts(root))
    span = source[root.start : root.end]
    single_line = keys > 0 and "\n" not in span and "\r" not in span
    return Style(
        quote="'" if quotes.count("'") > quotes.count('"') else '"',
        bare_keys=2 * len(bare) > keys,
        unit=_unit(root),
        newline="\r\n" if "\r\n" in source else "\r" if "\r" in source and "\n" not in source else "\n",
        colon=":" if single_line and ": " not in span else ": ",
        gap="" if single_line and ", " not in span and ": " not in span else " ",
        single_line=single_line,
    )


def line_start(source: str, offset: int) -> int:
    return max(source.rfind("\n", 0, offset), source.rfind("\r", 0, offset)) + 1


def _unit(root: Node) -> str:
    """The indentation of the first key, when it starts a line."""
    if isinstance(root, Object) and root.members:
        source = root.source.text
        first = next(iter(root.members.values())).start
        before = source[line_start(source, first) : first]
        if before and not before.strip(" \t"):
            return before
    return _DEFAULT_UNIT


def _nodes(node: Node) -> list[Node]:
    found: list[Node] = [node]
    for current in found:
        if isinstance(current, Object):
            found.extend(member.value for member in current.members.values())
        elif isinstance(current, Array):
            found.extend(current.items)
    return found


def _key_starts(root: Node) -> list[int]:
    return [member.start for node in _nodes(root) if isinstance(node, Object) for member in node.members.values()]


def _text_starts(root: Node) -> list[int]:
    texts = [node.start for node in _nodes(root) if isinstance(node, Scalar) and isinstance(node.value, str)]
    return [*texts, *_key_starts(root)]


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)
