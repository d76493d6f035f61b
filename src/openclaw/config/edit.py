"""Changing a config file by changing its text: only what is named changes, every comment and every other byte stays.

Owns where a new setting goes and what it looks like there: the indentation, quotes, commas and line ends of its neighbours. Works on the
spans that `json5.py` keeps; `style.py` knows how values are written. `edit_file` writes only what still loads, atomically.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any

from openclaw.config.dotted import Path, format_path
from openclaw.config.include import read_text
from openclaw.config.json5 import Array, Node, Object, parse, skip
from openclaw.config.load import Config, load_config
from openclaw.config.paths import Paths
from openclaw.config.style import Style, line_start, style_of
from openclaw.errors import ConfigError, Problem, StoreError, UsageError
from openclaw.files import make_directory, reason, replace
from openclaw.lock import take

# A change of the text: what to put in place of the characters from start to end.
Change = tuple[int, int, str]


def set_value(source: str, path: Path, value: Any) -> str:
    """The text with `value` at `path`; missing objects on the way are made. An index one past the end of a list appends.

    Raises UsageError when the path leads through something that has no such key, ConfigError when the text itself is broken.
    """
    source = _with_root(source)
    root = parse(source)
    style = style_of(root)
    node = root
    for depth, key in enumerate(path):
        children = _children(node)
        if children is None:
            raise UsageError(
                f"{format_path(path[:depth]) or 'The file'} is neither an object nor a list, so nothing can be set below it."
            )
        if isinstance(node, Array):
            key = _index(node, key, path[: depth + 1])
        if key in children:
            node = children[key][1]
            continue
        return _apply(source, _insertion(source, node, key, _nested(path[depth + 1 :], value), style))
    indent = style.line_indent(source, node.start)
    return _apply(source, [(node.start, node.end, style.at(source, node).render(value, indent))])


def remove(source: str, path: Path) -> str:
    """The text without the setting at `path`. Comments about it stay. Raises UsageError when nothing is set there."""
    node = parse(_with_root(source))
    for key in path[:-1]:
        node = _existing(node, key, path)
    children = _children(node)
    if not path or children is None or path[-1] not in children:
        raise UsageError(f"Nothing is set at {format_path(path) or 'the top of the file'}.")
    keys = list(children)
    position = keys.index(path[-1])
    before = children[keys[position - 1]][1].end if position else None
    start, child = children[path[-1]]
    return _apply(source, _removal(source, start, child.end, before))


def remove_whole(source: str, path: Path) -> str:
    """The same, and without what held nothing but that: of a setting that a program made nothing is left."""
    node, kept = parse(_with_root(source)), 1
    for depth, key in enumerate(path[:-1], 1):
        node = _existing(node, key, path)
        if len(_children(node) or ()) > 1:
            kept = depth + 1
    return remove(source, path[:kept])


def edit_file(paths: Paths, env: Mapping[str, str], change: Callable[[str], str]) -> Config:
    """Change the config file's text, if what comes out still loads; the new config. A missing file counts as empty.

    Other writers of ours wait meanwhile. Raises ConfigError, with nothing written, when the changed text does not load, or when a server is
    refused that was not before.
    """
    file = paths.config_file
    with _only_writer(file):
        source = _source(file)
        text = change(source)
        config = _loaded(paths, env, source, text)
        if text != source:
            replace(file, text.encode())
    return config


def preview(paths: Paths, env: Mapping[str, str], change: Callable[[str], str]) -> Config:
    """The config that `edit_file` would give, with nothing written. Raises what it would raise."""
    source = _source(paths.config_file)
    return _loaded(paths, env, source, change(source))


def _source(file: FilePath) -> str:
    try:
        return read_text(file)
    except FileNotFoundError:
        return ""


def _loaded(paths: Paths, env: Mapping[str, str], source: str, text: str) -> Config:
    config = load_config(paths, env, text=text)
    if spoilt := _spoilt(config, paths, env, source):
        raise ConfigError(spoilt)
    return config


def _spoilt(config: Config, paths: Paths, env: Mapping[str, str], source: str) -> list[Problem]:
    """What is wrong with server entries now and was not before."""
    if not config.refused:
        return []
    try:
        before = load_config(paths, env, text=source).refused if source else {}
    except ConfigError:
        before = {}
    known = {(path, one.path, one.message) for path, problems in before.items() for one in problems}
    return [
        one
        for path, problems in config.refused.items()
        for one in problems
        if (path, one.path, one.message) not in known
    ]


@contextlib.contextmanager
def _only_writer(file: FilePath) -> Iterator[None]:
    """Holds a lock, which ends with the process. Each holder keeps it for milliseconds."""
    directory = FilePath(os.path.realpath(file)).parent
    try:
        make_directory(directory)
        descriptor = _open_lock(directory)
    except OSError as error:
        raise StoreError(f"{directory} cannot be used: {reason(error)}.") from None
    try:
        take(descriptor, wait=True)
        yield
    finally:
        os.close(descriptor)


def _open_lock(directory: FilePath) -> int:
    """The directory itself, which needs no file of its own; Windows cannot open one, and an empty file stays there."""
    if sys.platform == "win32":
        return os.open(directory / ".openclaw.lock", os.O_RDWR | os.O_CREAT | os.O_NOINHERIT, 0o600)
    return os.open(directory, os.O_RDONLY | os.O_CLOEXEC)


def _with_root(source: str) -> str:
    """A text without a value, comments at most, gets an empty object to work in."""
    if skip(source, 0) < len(source):
        return source
    return source + ("" if not source or source[-1] in "\r\n" else "\n") + "{}\n"


def _apply(source: str, changes: list[Change]) -> str:
    """Of two changes at one place, the first in the list comes first in the text."""
    pieces: list[str] = []
    offset = 0
    for start, end, text in sorted(changes, key=lambda change: change[0]):
        pieces += [source[offset:start], text]
        offset = end
    return "".join([*pieces, source[offset:]])


def _children(node: Node) -> dict[str, tuple[int, Node]] | None:
    """What stands in a container, by key or index: where it starts (the key's start in an object), and its value."""
    if isinstance(node, Object):
        return {key: (member.start, member.value) for key, member in node.members.items()}
    if isinstance(node, Array):
        return {str(index): (item.start, item) for index, item in enumerate(node.items)}
    return None


def _existing(node: Node, key: str, path: Path) -> Node:
    children = _children(node)
    if children is None or key not in children:
        raise UsageError(f"Nothing is set at {format_path(path)}.")
    return children[key][1]


def _index(node: Array, key: str, path: Path) -> str:
    if not (key.isascii() and key.isdigit()) or int(key) > len(node.items):
        raise UsageError(f"{format_path(path)} is not in the list, which has {len(node.items)} items.")
    return str(int(key))


def _nested(path: Path, value: Any) -> Any:
    """What has to be made so that `value` is at `path`: objects, and a list where its first index is named."""
    for key in reversed(path):
        value = [value] if key == "0" else {key: value}
    return value


def _insertion(source: str, node: Node, key: str, value: Any, style: Style) -> list[Change]:
    """A new last child of a container."""
    children = list((_children(node) or {}).values())
    style = style.at(source, node)

    def written(indent: str) -> str:
        text = style.render(value, indent)
        return f"{style.key(key)}{style.colon}{text}" if isinstance(node, Object) else text

    if not children:
        return _first_child(source, node, written, style)
    start, last = children[-1]
    comma = skip(source, last.end)
    trailing = source[comma] == ","
    changes: list[Change] = [] if trailing else [(last.end, last.end, ",")]
    anchor, past_line_comment = _past_comments(source, comma + 1 if trailing else last.end)
    previous = children[-2][1].end if len(children) > 1 else node.start
    end = "," if trailing else ""
    if past_line_comment or _breaks(source, previous, start):
        indent = style.child_indent(source, node, start)
        return [*changes, (anchor, anchor, style.newline + indent + written(indent) + end)]
    indent = style.line_indent(source, node.start)
    return [*changes, (anchor, anchor, style.gap + written(indent) + end)]


def _first_child(source: str, node: Node, written: Callable[[str], str], style: Style) -> list[Change]:
    outer = style.line_indent(source, node.start)
    anchor, past_line_comment = _past_comments(source, node.start + 1)
    if past_line_comment or _breaks(source, node.start, node.end):
        return [(anchor, anchor, style.newline + outer + style.unit + written(outer + style.unit))]
    if style.single_line:
        return [(anchor, anchor, written(outer))]
    inner = outer + style.unit
    return [(anchor, anchor, style.newline + inner + written(inner) + style.newline + outer)]


def _breaks(source: str, start: int, end: int) -> bool:
    between = source[start:end]
    return "\n" in between or "\r" in between


def _past_comments(source: str, offset: int) -> tuple[int, bool]:
    """Past the comments that follow on the same line and so belong to what stands before; whether the last is a line comment."""
    while True:
        next_token = offset
        while source[next_token : next_token + 1] in (" ", "\t"):
            next_token += 1
        end = _comment_end(source, next_token)
        if end == next_token or _breaks(source, next_token, end):
            return offset, False
        if source.startswith("//", next_token):
            return end, True
        offset = end


def _comment_end(source: str, offset: int) -> int:
    """The end of the comment that starts here; the offset itself when none does."""
    if source.startswith("/*", offset):
        return source.index("*/", offset + 2) + 2
    if not source.startswith("//", offset):
        return offset
    ends = [place for end in "\n\r\u2028\u2029" if (place := source.find(end, offset)) >= 0]
    return min(ends, default=len(source))


def _removal(source: str, start: int, end: int, before: int | None) -> list[Change]:
    """Take out a child and one comma: its own, or the one before it when it is the last and has none. A line left blank goes too."""
    comma = skip(source, end)
    if source[comma] == ",":
        if not source[end:comma].strip(" \t"):
            return [(*_trimmed(source, start, comma + 1), "")]
        return [(start, end, ""), (comma, comma + 1, "")]
    if before is None:
        return [(*_trimmed(source, start, end), "")]
    comma = skip(source, before)
    if not source[comma + 1 : start].strip(" \t"):
        return [(comma, end, "")]
    return [(comma, comma + 1, ""), (*_trimmed(source, start, end), "")]


def _trimmed(source: str, start: int, end: int) -> tuple[int, int]:
    """The span with the whole line, if nothing else is on it, else with the blanks after it."""
    first = line_start(source, start)
    last = end
    while source[last : last + 1] in (" ", "\t"):
        last += 1
    if source[first:start].strip(" \t"):
        return start, end if source[last : last + 1] in ("\n", "\r", "/") else last
    for newline in ("\r\n", "\n", "\r"):
        if source.startswith(newline, last):
            return first, last + len(newline)
    return start, last
