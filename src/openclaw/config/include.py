"""Reading config files: what may be read at all, and `$include`.

Owns the only file reading of this package. A file is read once, whole, if it is a regular file of bounded size and UTF-8 text. `$include`
puts other files in place of an object: one file, or several merged in order; keys beside it go before what was included. Included files
stay within the directory of the config file, by real path.
"""

import errno
import os
import stat
from pathlib import Path

import msgspec

from openclaw.config.json5 import Array, Member, Node, Object, Scalar, parse
from openclaw.errors import ConfigError, Problem

# Ten times what the largest hand-written configs take; a file beyond it is not a config.
MAX_FILE_BYTES = 2 * 1024 * 1024
# Upstream's bound: deeper chains of includes are mistakes.
MAX_INCLUDE_DEPTH = 10
# More characters than any file system takes.
MAX_INCLUDE_PATH = 4096
INCLUDE = "$include"


def read_text(file: Path, limit: int = MAX_FILE_BYTES) -> str:
    """The text of a regular file of at most `limit` bytes.

    Raises FileNotFoundError when there is none, ConfigError with one clear line for anything else.
    """
    # Without O_NONBLOCK, opening a FIFO would wait for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(file, flags)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise _unreadable(file, _reason(error)) from None
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise _unreadable(file, "it is a directory" if stat.S_ISDIR(mode) else "it is not a regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise _unreadable(file, _reason(error)) from None
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise _unreadable(file, f"it is larger than {limit // (1024 * 1024)} MB")
    return _decoded(file, data)


def read_tree(file: Path, text: str | None = None) -> "Tree":
    """The tree of a config file, or of `text` in its place, with its includes. Raises FileNotFoundError or ConfigError."""
    reading = Tree(parse(read_text(file) if text is None else text, str(file)), [file])
    roots = {os.path.dirname(os.path.realpath(file)), os.path.realpath(file.parent)}
    include = _Include(reading, roots)
    reading.root = include.resolve(reading.root, file, ())
    if include.problems:
        raise ConfigError(include.problems)
    return reading


class Tree(msgspec.Struct):
    """`files` are all that were read, the config file first."""

    root: Node
    files: list[Path] = msgspec.field(default_factory=list)


class _Include:
    def __init__(self, tree: Tree, roots: set[str]) -> None:
        self.tree = tree
        self.roots = roots
        self.problems: list[Problem] = []

    def resolve(self, node: Node, file: Path, chain: tuple[str, ...]) -> Node:
        """`file` is where the node stands, `chain` the real paths of the files that include it."""
        if isinstance(node, Array):
            items = [self.resolve(item, file, chain) for item in node.items]
            return Array(node.source, node.start, node.end, items)
        if isinstance(node, Scalar):
            return node
        members = {
            key: Member(member.source, key, member.start, member.end, self.resolve(member.value, file, chain))
            for key, member in node.members.items()
            if key != INCLUDE
        }
        own = Object(node.source, node.start, node.end, members)
        if INCLUDE not in node.members:
            return own
        included = self.included(node.members[INCLUDE], file, chain)
        if included is None:
            return own
        if members and not isinstance(included, Object):
            self.fail(node.members[INCLUDE], "keys stand beside it, so the included file must hold an object.")
            return own
        return merge(included, own) if members else included

    def included(self, member: Member, file: Path, chain: tuple[str, ...]) -> Node | None:
        names = member.value.items if isinstance(member.value, Array) else [member.value]
        result: Node | None = None
        for name in names:
            if not isinstance(name, Scalar) or not isinstance(name.value, str) or not name.value:
                self.fail(member, "expected the path of a file, or a list of them.")
                continue
            node = self.read(member, name.value, file, chain)
            if node is not None:
                result = node if result is None else merge(result, node)
        return result

    def read(self, member: Member, name: str, file: Path, chain: tuple[str, ...]) -> Node | None:
        target = file.parent / name
        here = (*chain, os.path.realpath(file))
        refusal = self.refusal(name, target, here)
        if refusal:
            self.fail(member, refusal)
            return None
        if target not in self.tree.files:
            self.tree.files.append(target)
        try:
            return self.resolve(parse(read_text(Path(os.path.realpath(target))), str(target)), target, here)
        except FileNotFoundError:
            self.fail(member, f"there is no file {name}.")
        except ConfigError as error:
            self.problems.extend(error.problems)
        return None

    def refusal(self, name: str, target: Path, here: tuple[str, ...]) -> str:
        """Why a file may not be included; empty when it may."""
        if len(name) > MAX_INCLUDE_PATH or "\0" in name:
            return "expected the path of a file."
        real = os.path.realpath(target)
        if not any(Path(real).is_relative_to(root) for root in self.roots):
            return f"{name} is outside the directory of the config file; included files must be in it."
        if real in here:
            return f"{name} includes itself, directly or through another file."
        if len(here) > MAX_INCLUDE_DEPTH:
            return f"more than {MAX_INCLUDE_DEPTH} files include one another here."
        return ""

    def fail(self, member: Member, message: str) -> None:
        self.problems.append(member.source.problem(member.start, message, path=INCLUDE))


def merge(first: Node, second: Node) -> Node:
    """Objects key by key, lists one after the other, anything else the second."""
    if isinstance(first, Array) and isinstance(second, Array):
        return Array(second.source, second.start, second.end, [*first.items, *second.items])
    if not (isinstance(first, Object) and isinstance(second, Object)):
        return second
    members = dict(first.members)
    for key, member in second.members.items():
        if key in members:
            value = merge(members[key].value, member.value)
            member = Member(member.source, key, member.start, member.end, value)
        members[key] = member
    return Object(second.source, second.start, second.end, members)


def _decoded(file: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = error.start - (before.rfind(b"\n") + 1) + 1
        message = f"The file is not UTF-8 text: byte 0x{data[error.start]:02x} is not part of a character."
        raise ConfigError([Problem(message, str(file), line, column, hint="Save it as UTF-8.")]) from None


def _unreadable(file: Path, reason: str) -> ConfigError:
    return ConfigError([Problem(f"It cannot be read: {reason}.", str(file))])


def _reason(error: OSError | ValueError) -> str:
    """The system's words, which start with a capital; a short list of the usual ones reads better."""
    usual = {
        errno.EACCES: "permission denied",
        errno.ELOOP: "its symbolic links lead in a circle",
        errno.ENOTDIR: "its path leads through a file",
    }
    number = error.errno if isinstance(error, OSError) else None
    return usual.get(number or 0) or (os.strerror(number).lower() if number else "its path is not one")
