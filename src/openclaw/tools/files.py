"""`read`, `write`, `edit` and `ls`: what they do to a file, once confine.py has opened it.

Owns the window a model sees of a file, what counts as text, and what makes an edit unambiguous. Every function here blocks
and raises PathError; native.py runs them in threads and describes them to models. Which paths are allowed is
confine.py's business.
"""

import io
import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

from openclaw.content import PICTURES, Block, Image, Text
from openclaw.errors import PathError
from openclaw.media import sniff
from openclaw.tools.confine import Fence, Opened, show

# As much of one result as a model's view takes in.
RESULT_CHARS = 100_000
# Lines of one `read` when the model names no limit: several screens, and well under RESULT_CHARS for ordinary source.
READ_LINES = 2_000
# A longer line counts as several, so that a file that is one endless line can still be read piece by piece.
LINE_CHARS = 4_000
# Beyond this, counting lines up to an offset takes longer than a tool call may.
READ_BYTES = 256 * 1024 * 1024
# Models refuse larger images; the usual limit is 5 MB.
IMAGE_BYTES = 5_000_000
# Known by their first bytes, though they may hold no NUL for a while.
_BINARY_TYPES = PICTURES | {"application/pdf", "application/zip", "application/gzip"}
# Enough to tell text from binary, as most tools do it.
HEAD_BYTES = 8_192
# An edit holds the whole file in memory, several times.
EDIT_BYTES = 10 * 1024 * 1024
# Entries of one `ls`, and how many are looked at before it gives up counting.
LS_ENTRIES = 1_000
LS_SCAN = 100_000
# Places an ambiguous edit names.
PLACES = 5


class Reading(msgspec.Struct, frozen=True):
    """What `read` found. `kept` says the file holds a kept result of a server: its text is untrusted."""

    blocks: tuple[Block, ...]
    kept: bool


def read(fence: Fence, workspace: Path, path: str, *, offset: int = 1, limit: int = READ_LINES) -> Reading:
    """The lines `offset` to `offset + limit - 1` of a text file, an image as an image, or one sentence about anything else."""
    with fence.file(path, workspace) as opened:
        head = opened.head(HEAD_BYTES)
        kind = sniff(head)
        if kind in PICTURES and opened.size <= IMAGE_BYTES:
            data = opened.head(IMAGE_BYTES)
            return Reading((Text(f"{opened.shown} ({kind}, {len(data):,} bytes)"), Image(data, kind)), opened.kept)
        encoding = _encoding(head)
        if encoding is None or kind in _BINARY_TYPES:
            return Reading((Text(f"{opened.shown} is binary ({kind}, {opened.size:,} bytes)."),), opened.kept)
        if opened.size > READ_BYTES:
            raise PathError(
                f"{opened.shown} is too large to read ({opened.size:,} bytes).", hint="Use grep to find a part of it."
            )
        return Reading((Text(_window(opened, encoding, offset, limit)),), opened.kept)


class Change(msgspec.Struct, frozen=True):
    """What was done to a file. `old` is None when there was none; `is_known` says that both texts are there to be shown."""

    said: str
    path: str
    new: str
    old: str | None = None
    is_known: bool = True


def write(fence: Fence, workspace: Path, path: str, content: str) -> Change:
    data = _encoded(content, "content")
    before = _before(fence, workspace, path) if len(data) <= EDIT_BYTES else None
    place = fence.replace(path, workspace, data)
    is_known = before is not None
    return Change(wrote(data, place.shown), place.real, content, before[0] if before else None, is_known)


def wrote(data: bytes, shown: str) -> str:
    return f"Wrote {len(data):,} bytes to {shown}."


def _before(fence: Fence, workspace: Path, path: str) -> tuple[str | None] | None:
    """The text of a file that is about to be replaced, None in it when there is none; None when it is no text that can be shown."""
    try:
        with fence.file(path, workspace) as opened:
            return (_whole(opened),)
    except PathError:
        return None if os.path.lexists(fence.locate(path, workspace).real) else (None,)


def edit(fence: Fence, workspace: Path, path: str, old: str, new: str, *, replace_all: bool = False) -> Change:
    """Replace `old`, which must occur exactly once unless `replace_all`. Line endings of the file are kept."""
    with fence.file(path, workspace) as opened:
        text, shown = _whole(opened), opened.shown
    changed = edited(text, shown, old, new, replace_all=replace_all)
    place = fence.replace(path, workspace, changed.new.encode("utf-8"))
    return Change(changed.said, place.real, changed.new, text)


class Edited(msgspec.Struct, frozen=True):
    new: str
    said: str


def edited(text: str, shown: str, old: str, new: str, *, replace_all: bool = False) -> Edited:
    """A text after an edit. Raises PathError when it is not clear what is meant."""
    if old == new:
        raise PathError("old_text and new_text are the same: there is nothing to change.")
    _encoded(new, "new_text")
    if old not in text and "\r\n" in text:
        old, new = (part.replace("\r\n", "\n").replace("\n", "\r\n") for part in (old, new))
    count = text.count(old)
    if not count:
        raise PathError(f"old_text does not occur in {shown}.", hint=_near(text, old))
    lines = [text.count("\n", 0, at) + 1 for at in itertools.islice(_places(text, old), PLACES)]
    if count > 1 and not replace_all:
        named = ", ".join(map(str, lines)) + (", …" if count > PLACES else "")
        raise PathError(
            f"old_text occurs {count} times in {shown} (lines {named}).",
            hint="Add surrounding lines to make it unique, or set replace_all.",
        )
    said = f"Replaced {count} occurrences in {shown}." if count > 1 else f"Replaced line {lines[0]} of {shown}."
    return Edited(text.replace(old, new), said)


def ls(fence: Fence, workspace: Path, path: str) -> str:
    """The entries of a directory, sorted by name: directories end in a slash, links show where they point."""
    with fence.directory(path, workspace) as (descriptor, place):
        with os.scandir(descriptor) as scan:
            entries = sorted(itertools.islice(scan, LS_SCAN), key=lambda entry: entry.name)
        lines = [_entry(descriptor, entry) for entry in entries[:LS_ENTRIES]]
    if len(entries) == LS_SCAN:
        lines.append(f"[More than {LS_SCAN:,} entries: these are the first of those looked at.]")
    elif len(entries) > LS_ENTRIES:
        lines.append(f"[{len(entries) - LS_ENTRIES:,} more entries are not shown.]")
    return "\n".join(lines) or f"[{place.shown} is empty.]"


def _entry(directory: int, entry: os.DirEntry[str]) -> str:
    name = show(entry.name)
    try:
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            return f"{name} -> {show(os.readlink(entry.name, dir_fd=directory))}"
    except OSError:
        # It went away while we looked.
        return name
    if stat.S_ISDIR(status.st_mode):
        return f"{name}/"
    return f"{name} ({status.st_size:,} bytes)" if stat.S_ISREG(status.st_mode) else f"{name} (not a regular file)"


def _encoding(head: bytes) -> str | None:
    """How to read the file as text; None when it is binary."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    return None if b"\0" in head else "utf-8-sig"


def is_text(fence: Fence, workspace: Path, path: str) -> bool | None:
    """Whether a file is text; None when there is none. Raises PathError for a path that may not be used."""
    place = fence.locate(path, workspace)
    if not os.path.lexists(place.real):
        return None
    with fence.file(path, workspace) as opened:
        head = opened.head(HEAD_BYTES)
        return not opened.kept and _encoding(head) == "utf-8-sig" and sniff(head) not in _BINARY_TYPES


def window_of(text: str, shown: str, offset: int, limit: int) -> str:
    """The same as `read` gives of a file, of a text that begins at line `offset`."""
    lines = text.splitlines(keepends=True)
    if not lines:
        return f"[{shown} is empty.]" if offset == 1 else f"[{shown} has no line {offset}.]"
    kept, room = [], RESULT_CHARS
    for line in lines[:limit]:
        if len(line) > room:
            break
        kept.append(line)
        room -= len(line)
    body = "".join(kept) or lines[0][:RESULT_CHARS]
    if len(kept) == len(lines):
        return body
    last = offset + max(len(kept), 1) - 1
    gap = "" if body.endswith("\n") else "\n"
    return f"{body}{gap}[Lines {offset} to {last}; there are more. Continue with offset {last + 1}.]"


def _window(opened: Opened, encoding: str, offset: int, limit: int) -> str:
    with io.FileIO(opened.descriptor, closefd=False) as raw:
        text = io.TextIOWrapper(io.BufferedReader(raw), encoding=encoding, errors="replace", newline="\n")
        lines = _lines(text)
        skipped = sum(1 for _ in itertools.islice(lines, offset - 1))
        shown: list[str] = []
        room = RESULT_CHARS
        more = False
        for line in lines:
            if len(shown) == limit or len(line) > room:
                more = True
                break
            shown.append(line)
            room -= len(line)
        text.detach()
    if not shown:
        if not skipped and not opened.size:
            return f"[{opened.shown} is empty.]"
        raise PathError(f"{opened.shown} has {skipped} lines: there is no line {offset}.")
    body = "".join(shown)
    if not more:
        return body
    last = offset + len(shown) - 1
    gap = "" if body.endswith("\n") else "\n"
    return f"{body}{gap}[Lines {offset} to {last}; there are more. Continue with offset {last + 1}.]"


def _lines(text: IO[str]) -> Iterator[str]:
    return iter(lambda: text.readline(LINE_CHARS), "")


def _whole(opened: Opened) -> str:
    with io.FileIO(opened.descriptor, closefd=False) as raw:
        data = io.BufferedReader(raw).read(EDIT_BYTES + 1)
    if len(data) > EDIT_BYTES:
        raise PathError(f"{opened.shown} is too large to edit ({opened.size:,} bytes).")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PathError(f"{opened.shown} is not UTF-8 text, and cannot be edited as text.") from error


def _encoded(text: str, name: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise PathError(f"{name} holds half of a surrogate pair, which no file can hold as UTF-8.") from error


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + len(part))


def _near(text: str, old: str) -> str:
    """Where a passage differs from `old` in white space alone: the usual reason for a miss."""
    wanted = [line.strip() for line in old.strip().splitlines()]
    lines = [line.strip() for line in text.splitlines()]
    if wanted:
        for number in range(len(lines) - len(wanted) + 1):
            if lines[number : number + len(wanted)] == wanted:
                return f"A passage that differs only in white space begins at line {number + 1}."
    return "Read the file again: it has to match exactly."
