"""Whether a call names a place of ours: the config file, what it includes, the state directory with its grants, tokens and audit trail.

Who can change those can change what is asked about, so a call that does not only read and names one is always asked about, whoever granted
what (security/approval.py). Owns what "names" means: an argument, at whatever depth, a name within one included, that is a path there or
leads there by links: absolute, from the home directory, a `file:` address, or relative to wherever a tool may stand: the workspace, our
own and the servers' working directories, and any folder above the place. Of a program's command line each word counts.

What lies inside a workspace that was put into the state directory on purpose is not ours. Not found: a second hard link to a file inside
the state directory, a link by its bare name, a place that a server knows by another name (in a container), and whatever a program works
out by itself.
"""

import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec

from openclaw.tool import Tool

# No system takes a longer path, and a name has at most so many characters.
_MOST_PATH, _MOST_NAME = 4_096, 255
# JSON within a text is looked into up to so many characters.
_MOST_JSON = 65_536
# Texts of one call that are followed to where they lead. A call with more is asked about.
_MOST_LOOKS = 1_000
# What tools take off a path before they use it.
_TRIMMED = " \t\r\n\"'`"
_FILE = re.compile(r"file:", re.IGNORECASE)
_WORDS = re.compile(r"[\s\"'`=:;,<>|&(){}]+")
_HOME = re.compile(r"\$(?:HOME\b|\{HOME\})")
# Windows has two signs between names, and letters of drives before them.
_IS_WINDOWS = sys.platform == "win32"
_WINDOWS_WORDS = re.compile(r"[\s\"'`=;,<>|&(){}]+")
_WINDOWS_HOME = re.compile(
    r"\$(?:HOME\b|\{HOME\})|%USERPROFILE%|%HOMEDRIVE%%HOMEPATH%|\$env:USERPROFILE\b|\$\{env:USERPROFILE\}",
    re.IGNORECASE,
)
_BEFORE_DRIVE = re.compile(r"^/+(?=[A-Za-z]:)")


class OwnPlaces:
    """`state` is the state directory, `files` are the rest. `homes` is what `~` may stand for, `bases` are where tools may stand."""

    def __init__(
        self,
        state: str | Path = "",
        files: Iterable[str | Path] = (),
        *,
        homes: Iterable[str | Path] = (),
        bases: Iterable[str | Path] = (),
    ) -> None:
        written = [os.path.abspath(place) for place in (state, *files) if place]
        self.files = tuple(written)
        self.places = tuple({_folded(form) for place in written for form in (place, os.path.realpath(place))})
        self.homes = tuple(dict.fromkeys(os.path.abspath(home) for home in homes if home))
        self.bases = tuple(dict.fromkeys(os.path.abspath(base) for base in (*bases, *self.homes) if base))
        # Moving a folder between the home directory and the state moves the state.
        above = {parent for home in self.homes for parent in _between(home, written[0])} if state else set()
        self.above = frozenset(_folded(parent) for parent in above)
        self.tails = tuple({tail for place in self.places for tail in _tails(place)})
        self._names = frozenset(tail for tail in self.tails if "/" not in tail)
        # In there a bare name is a place of ours.
        self._stands_inside = any(self.is_inside(_folded(os.path.realpath(base))) for base in self.bases)

    def named_in(self, tool: Tool, arguments: Mapping[str, Any], workspace: Path | None) -> bool:
        """Whether an argument of the call is, or leads to, a place of ours."""
        if not self.places:
            return False
        is_exec = tool.kind == "native" and tool.name == "exec"
        looks = None
        for value in arguments.values():
            # As nearly every argument is.
            if type(value) is str and not is_exec and not self.may_be_path(value):
                continue
            if value is None or isinstance(value, bool | int | float):
                continue
            if looks is None:
                looks = _Looks(self, tool, arguments, workspace)
            if looks.find(value):
                return True
        return False

    def may_be_path(self, text: str) -> bool:
        if "/" in text or self._stands_inside or text[:1] == "~" or "%2" in text:
            return True
        if _IS_WINDOWS and ("\\" in text or text[1:2] == ":"):
            return True
        return len(text) <= _MOST_NAME and text.strip(_TRIMMED).casefold() in self._names

    def is_inside(self, folded: str) -> bool:
        return any(_inside(folded, place) for place in self.places)


class _Looks:
    """The search through one call."""

    def __init__(self, own: OwnPlaces, tool: Tool, arguments: Mapping[str, Any], workspace: Path | None) -> None:
        self._own = own
        self._is_native = tool.kind == "native"
        self._is_exec = self._is_native and tool.name == "exec"
        self._given = workspace
        self._cwd = arguments.get("cwd") if self._is_exec else None
        self._left = _MOST_LOOKS

    @cached_property
    def _root(self) -> str:
        """Where the workspace really is; empty without one."""
        return os.path.realpath(self._given) if self._given is not None else ""

    @cached_property
    def _workspace(self) -> str:
        return _folded(self._root)

    @cached_property
    def _bases(self) -> Sequence[str]:
        if not self._root:
            bases: tuple[str, ...] = self._own.bases
        else:
            bases = (self._root,) if self._is_native else (self._root, *self._own.bases)
        if isinstance(self._cwd, str):
            cwd = os.path.expanduser(self._cwd)
            bases = tuple(os.path.join(base, cwd) for base in bases or (os.getcwd(),))
        return bases

    def find(self, argument: Any) -> bool:
        waiting = [(argument, True)]
        while waiting:
            value, may_be_json = waiting.pop()
            if isinstance(value, str):
                if may_be_json and (inner := _json_in(value)) is not None:
                    waiting.append((inner, False))
                if self._text_leads(value):
                    return True
            elif isinstance(value, Mapping):
                waiting.extend((str(key), False) for key in value)
                waiting.extend((one, may_be_json) for one in value.values())
            elif isinstance(value, list | tuple):
                waiting.extend((one, may_be_json) for one in value)
        return False

    def _text_leads(self, text: str) -> bool:
        if not self._is_exec:
            return self._own.may_be_path(text) and self._leads(text)
        # A shell may read it: each of its words.
        if _IS_WINDOWS:
            at_home = _WINDOWS_HOME.sub("~", text)
            words = [*_WINDOWS_WORDS.split(at_home), *_WORDS.split(at_home)]
        else:
            words = _WORDS.split(_HOME.sub("~", text))
        return any(self._leads(word) for word in (text, *words) if word)

    def _leads(self, text: str) -> bool:
        self._left -= 1
        if self._left < 0:
            return True
        return any(self._is_ours(form) for form in _forms(text))

    def _is_ours(self, path: str) -> bool:
        if len(path) > _MOST_PATH:
            path = os.path.normpath(path)
            if len(path) > _MOST_PATH:
                return False
        if path[:1] == "~":
            home, _, rest = path.partition("/")
            if home != "~":
                return self._is_own_path(os.path.expanduser(path))
            return any(self._is_own_path(os.path.join(one, rest)) for one in self._own.homes)
        if path.startswith("/") or os.path.isabs(path):
            return self._is_own_path(path)
        if not path:
            return False
        normal = _folded(os.path.normpath(path))
        while normal.startswith("../"):
            normal = normal[3:]
        # Where a native tool stands is known.
        if not (self._is_native and self._root) and any(_inside(normal, tail) for tail in self._own.tails):
            return True
        first = path.partition("/")[0]
        for base in self._bases:
            # Most texts with a slash in them are no path at all: nothing is there, and nothing leads anywhere.
            if ".." not in path and not _exists(os.path.join(base, first)):
                continue
            if self._is_own_path(os.path.join(base, path)):
                return True
        return False

    def _is_own_path(self, path: str) -> bool:
        try:
            real = os.path.realpath(path)
        except (OSError, ValueError):
            real = os.path.normpath(path)
        return self._judge(_folded(real)) or self._is_same_file(real)

    def _judge(self, folded: str) -> bool:
        if folded in self._own.above:
            return True
        return any(
            _inside(folded, place)
            and not (_inside(self._workspace, place) and self._workspace != place and _inside(folded, self._workspace))
            for place in self._own.places
        )

    def _is_same_file(self, real: str) -> bool:
        """Whether it is one of our files, or below our directory, under another name: a mount, or a file system that ignores more."""
        if self._workspace and _inside(_folded(real), self._workspace) and self._own.is_inside(self._workspace):
            return False
        ours = {one for one in map(_identity, self._own.files) if one is not None}
        while ours:
            if _identity(real) in ours:
                return True
            above = os.path.dirname(real)
            if above == real:
                break
            real = above
        return False


def _forms(text: str) -> Iterator[str]:
    """A text as the path that it may be to somebody, with slashes between the names."""
    for form in _readings(text):
        yield _BEFORE_DRIVE.sub("", form.replace("\\", "/")) if _IS_WINDOWS else form


def _readings(text: str) -> Iterator[str]:
    """Trimmed, before a NUL, of a `file:` address, decoded."""
    text = text.strip(_TRIMMED).partition("\0")[0]
    if (scheme := _FILE.match(text)) is not None:
        rest = text[scheme.end() :]
        if rest.startswith("//"):
            # Behind the slashes stands a host; to some, the path itself.
            yield unquote(rest[2:])
            rest = "/" + rest[2:].partition("/")[2]
        yield unquote(rest)
        yield unquote(re.split(r"[?#]", rest, maxsplit=1)[0])
        return
    yield text
    if "%" in text:
        yield unquote(text)


def _json_in(text: str) -> Any:
    """What a text holds as JSON, if it does."""
    if len(text) > _MOST_JSON or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _folded(path: str) -> str:
    """For comparing: many file systems ignore case, and some how a letter is composed."""
    if _IS_WINDOWS:
        path = path.replace("\\", "/")
    return path.casefold() if path.isascii() else unicodedata.normalize("NFC", path).casefold()


def _inside(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _tails(place: str) -> Iterator[str]:
    """`/home/me/.openclaw` as somebody names it who stands in `/home/me`, in `/home`, in `/`. One plain word alone may mean anything."""
    names = [name for name in place.split("/") if name]
    for start in range(len(names)):
        if start < len(names) - 1 or "." in names[start]:
            yield "/".join(names[start:])


def _between(home: str, place: str) -> Iterator[str]:
    above = os.path.dirname(place)
    while _inside(_folded(above), _folded(home)) and _folded(above) != _folded(home):
        yield above
        above = os.path.dirname(above)


def _exists(path: str) -> bool:
    try:
        os.lstat(path)
    except (OSError, ValueError):
        return False
    return True


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino
