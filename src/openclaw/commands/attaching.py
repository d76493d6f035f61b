"""Files that a person sends along: named with an option, with `/attach`, or as `@path` in what they say.

Reads them where the person stands, as the person could. A word with an `@` that names no file is just text, unless it can be nothing but
a path; one that looks like a file is told of. `@server:uri` is references.py's. A blank in a path has a backslash before it; on
Windows, where that is part of paths, such a path stands in quotes.
"""

import mimetypes
import os
import re
import stat
import sys
from collections.abc import Collection, Iterator
from pathlib import Path, PureWindowsPath
from urllib.parse import unquote

import msgspec

from openclaw.app import Attachment
from openclaw.errors import UsageError
from openclaw.media import ITEM_BYTES

# `@path` at the start of a word: in quotes, or up to the next blank that has no backslash before it.
_POINTER = re.compile(r"""(?<![^\s(])@(?:"(?P<double>[^"\n]+)"|'(?P<single>[^'\n]+)'|(?P<plain>(?:\\.|[^\s\\])+))""")
# What may end a sentence behind a path.
_MARKS = ".,;:!?)"
# What only a path begins with.
_PATHS = ("./", "../", "/", "~/")
_WINDOWS_PATH = re.compile(r"(?:[A-Za-z]:)?[\\/]|(?:\.{1,2}|~)[\\/]")
# A folder or an ending, which a person's name has not.
_LIKE_A_FILE = re.compile(r"[./\\]")
_IS_WINDOWS = sys.platform == "win32"


def path_of(cwd: Path, name: str) -> Path:
    """Where a person who stands in `cwd` means."""
    return cwd / os.path.expanduser(name)


def read_file(cwd: Path, name: str, said: str) -> Attachment:
    """A file of the person's; `said` is how they named it. Looked at before it is read: a pipe would be waited for without end, a disk
    image fill the memory. Raises UsageError."""
    path = path_of(cwd, name)
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise UsageError(f"{said}: it is not a file.")
        if found.st_size > ITEM_BYTES:
            raise UsageError(f"{said}: it has {found.st_size:,} bytes; at most {ITEM_BYTES:,} can be sent.")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{said}: {error.strerror or error}.") from None
    return Attachment(
        name=path.name, mime_type=mimetypes.guess_type(path.name)[0] or "application/octet-stream", data=data
    )


class FilesSaid(msgspec.Struct, frozen=True):
    """The files that a message names, and its words that look like one and are none here."""

    files: tuple[Attachment, ...] = ()
    missed: tuple[str, ...] = ()


def files_said(message: str, cwd: Path, servers: Collection[str] = ()) -> FilesSaid:
    """Every file that `@path` in a message names, each once. Words that begin with one of `servers` and a colon are resources. Raises
    UsageError for a path that is none."""
    found: dict[str, Attachment] = {}
    missed: list[str] = []
    for name in _named(message, servers):
        path = next((one for one in _meant(name) if path_of(cwd, one).is_file()), "")
        if path and path not in found:
            found[path] = read_file(cwd, path, f"@{path}")
        elif not path and _is_path(name):
            raise UsageError(f"@{name}: there is no such file.")
        elif not path and _LIKE_A_FILE.search(word := name.rstrip(_MARKS)):
            missed.append(word)
    return FilesSaid(tuple(found.values()), tuple(dict.fromkeys(missed)))


def _named(message: str, servers: Collection[str]) -> Iterator[str]:
    for match in _POINTER.finditer(message):
        name = match["double"] or match["single"] or plain_path(match["plain"])
        if name.partition(":")[0] not in servers or ":" not in name:
            yield name


def _meant(name: str) -> list[str]:
    """The path as it stands, or without the marks that end a sentence."""
    # To Windows both are the same file when the mark is a dot.
    whole = name.rstrip(".") if _IS_WINDOWS else name
    return list(dict.fromkeys([whole, name.rstrip(_MARKS)]))


def _is_path(name: str) -> bool:
    return bool(_WINDOWS_PATH.match(name)) if _IS_WINDOWS else name.startswith(_PATHS)


def plain_path(typed: str, *, windows: bool = _IS_WINDOWS) -> str:
    """The path that was typed behind an `@`, without quotes."""
    return typed if windows else re.sub(r"\\(.)", r"\1", typed)


def typed_path(path: str, *, windows: bool = _IS_WINDOWS) -> str:
    """A path as it is typed behind an `@`: one word."""
    if windows:
        return f'"{path}"' if re.search(r"[\s']", path) else path
    return re.sub(r"""([\s\\"'])""", r"\\\1", path)


def pasted_file(text: str) -> str:
    """The path of the file that was pasted or dropped onto a terminal, which may have quoted it; empty when it is something else."""
    word = text.strip()
    if "\n" in word:
        return ""
    if word[:1] == word[-1:] and word[:1] in ("'", '"') and len(word) > 1:
        word = word[1:-1]
    elif word.startswith("file://"):
        word = unquote(word.removeprefix("file://"))
        # Before the letter of a drive stands a sign of the address.
        word = word.removeprefix("/") if _IS_WINDOWS else word
    else:
        word = plain_path(word)
    return word if _is_whole(word) and os.path.isfile(os.path.expanduser(word)) else ""


def _is_whole(path: str) -> bool:
    return path.startswith(("/", "~/")) or (_IS_WINDOWS and PureWindowsPath(path).is_absolute())
