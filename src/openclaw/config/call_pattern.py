"""How a pattern of calls is written: `NAME` or `NAME(arg=GLOB, other=GLOB)`. Pure.

Owns the grammar. A glob is the whole value, with `*` for any run of characters; `**` in it makes it a path, where `*` stays within one
name; one that starts with `https://` is an address, whose host is written out; a JSON list is a command line by its words, with `*` at the
end for any further ones. A value with a comma or a bracket in it stands in quotes. Which calls fit a pattern is security/patterns.py's.
"""

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit

import msgspec

from openclaw.content import to_json
from openclaw.errors import UsageError
from openclaw.late_pattern import late_pattern
from openclaw.wildcard import is_pattern

# Globs of grants are parsed when they are first met; so many are kept.
_MOST_GLOBS = 4_096
_ARGUMENT = late_pattern(r"[A-Za-z_$][\w$.-]*")
_PORTS = {"http": 80, "https": 443}


class CallPattern(msgspec.Struct, frozen=True):
    """A pattern as written, and what it is made of."""

    text: str
    name: str
    arguments: tuple[tuple[str, "Glob"], ...] = ()


class Glob(msgspec.Struct, frozen=True):
    """What one argument has to look like."""

    text: str
    # The elements of a command line, when it is one.
    argv: tuple[str, ...] | None = None
    # Scheme, host, port and the rest, when it is an address.
    address: tuple[str, str, int, str] | None = None

    @property
    def is_anything(self) -> bool:
        return self.text == "*"

    @property
    def is_path(self) -> bool:
        return "**" in self.text


def read_pattern(text: str, *, home: str = "") -> CallPattern:
    """`home` is what `~/` at the beginning of a value stands for. Raises UsageError with what is wrong."""
    written = text.strip()
    name, bracket, rest = written.partition("(")
    name = name.strip()
    if not name or any(character in name for character in ')=,"'):
        raise UsageError(f'"{text}" is no pattern of calls.', hint=_HINT)
    arguments: list[tuple[str, Glob]] = []
    if bracket:
        if not rest.endswith(")"):
            raise UsageError(f'"{text}" has no closing bracket.', hint=_HINT)
        arguments = [(key, _read_glob(value, text, home)) for key, value in _split(rest[:-1], text)]
        if len({key for key, _ in arguments}) < len(arguments):
            raise UsageError(f'"{text}" names an argument twice.', hint=_HINT)
    return CallPattern(written, name, tuple(arguments))


def text_of(name: str, arguments: Mapping[str, str]) -> str:
    """A pattern as it is written: what `parse` reads."""
    if not arguments:
        return name
    return f"{name}({', '.join(f'{key}={_quoted(value)}' for key, value in arguments.items())})"


@lru_cache(_MOST_GLOBS)
def glob(text: str) -> Glob:
    """Raises UsageError for an address with a wildcard in its host, or a list that is none of words."""
    if text.startswith("["):
        try:
            argv = msgspec.json.decode(text, type=tuple[str, ...])
        except msgspec.MsgspecError:
            argv = None
        if argv:
            return Glob(text, argv=argv)
    if text.casefold().startswith(("http://", "https://")):
        address = read_address(text)
        if address is None or is_pattern(address[1]):
            raise UsageError(f'"{text}" is no address with a whole host.', hint="Write it as https://HOST/*.")
        return Glob(text, address=address)
    return Glob(text)


def read_address(text: str) -> tuple[str, str, int, str] | None:
    """Scheme, host, port, and path with query. None when it is no address, or one that readers may take differently."""
    if "\\" in text or any(character.isspace() or ord(character) < 0x20 for character in text):
        return None
    try:
        parts = urlsplit(text)
        scheme, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError:
        return None
    if scheme not in _PORTS or not host or "@" in parts.netloc:
        return None
    rest = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return scheme, host.rstrip(".").casefold(), port or _PORTS[scheme], rest


_HINT = "Write NAME, or NAME(argument=VALUE, …) with * for any run of characters."


def _split(inside: str, text: str) -> list[tuple[str, str]]:
    """The arguments of a pattern. A value ends at a comma that stands neither in quotes nor in brackets."""
    found: list[tuple[str, str]] = []
    rest = inside.strip()
    while rest:
        name = _ARGUMENT.match(rest)
        after = rest[name.end() :].lstrip() if name else ""
        if name is None or not after.startswith("="):
            raise UsageError(f'"{text}" names no argument before "{rest[:20]}".', hint=_HINT)
        value = after[1:].lstrip()
        end = _end_of_value(value)
        if end < 0:
            raise UsageError(f'"{text}" has quotes or brackets that are not closed.', hint=_HINT)
        found.append((name.group(), value[:end].rstrip()))
        rest = value[end + 1 :].lstrip()
        if value[end:].strip() == ",":
            raise UsageError(f'"{text}" ends in a comma.', hint=_HINT)
    return found


def _end_of_value(value: str) -> int:
    depth, quoted, skip = 0, False, False
    for index, character in enumerate(value):
        if skip:
            skip = False
        elif quoted:
            skip, quoted = character == "\\", character != '"'
        elif character == '"' and (depth or index == 0):
            quoted = True
        elif character == "[" and (depth or index == 0):
            depth += 1
        elif character == "]" and depth:
            depth -= 1
        elif character == "," and not depth:
            return index
    return -1 if quoted or depth else len(value)


def _read_glob(value: str, text: str, home: str) -> Glob:
    if value.startswith('"'):
        try:
            return glob(msgspec.json.decode(value, type=str))
        except msgspec.MsgspecError:
            raise UsageError(f'"{text}" has a value in quotes that is not JSON.', hint=_HINT) from None
    if value.startswith("[") and glob(value).argv is None:
        raise UsageError(f'"{text}" has a list that is not one of words.', hint='Write it as ["git","status","*"].')
    if not value:
        raise UsageError(f'"{text}" has an argument without a value.', hint=_HINT)
    return glob(home + value[1:] if home and value.startswith("~/") else value)


def _quoted(value: str) -> str:
    is_plain = value and value == value.strip() and not any(character in value for character in ',()"[]')
    return value if is_plain or glob(value).argv is not None else to_json(value).decode()
