"""Searching the text of files by a regular expression: the program `grep` runs in a process of its own.

A pattern a model wrote can make the standard `re` work for hours while holding the interpreter, so it never runs inside the
gateway: grep.py starts this file, by its path and with the standard library alone, and ends it at a deadline. One JSON object on
standard input asks, one on standard output answers. The walk follows no symbolic link, opens regular files only, and
leaves out the directories it is told to by device and inode, as confine.py does.
"""

import json
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from typing import Any

# Directories of version control, packages and caches: large, and rarely what is meant. Naming one as the path searches it.
SKIPPED = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache", ".ruff_cache"}
)
# A file with a NUL this early is binary.
HEAD = 8_192
# Folders nested deeper are left out: each level costs a descriptor, and no person made them.
DEPTH = 100
# Of a long line the part around the match is shown.
SHOWN = 300
BEFORE = 100

_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_DIRECTORY = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)


def search(asked: dict[str, Any]) -> dict[str, Any]:
    """Every match below `root`/`parts`, in the order of names, within the limits asked for.

    `error` in the answer says what is wrong with the question; `stopped` which limit ended the search.
    """
    try:
        pattern = re.compile(asked["pattern"], re.IGNORECASE if asked["ignore_case"] else 0)
        wanted = glob_pattern(asked["glob"]) if asked["glob"] else None
    except (re.error, OverflowError, RecursionError) as error:
        return {"error": f"The pattern is not a regular expression: {error}."}
    ends = time.monotonic() + asked["seconds"]
    refused = {(device, inode) for device, inode in asked["refused"]}
    directory, name = _start(asked["root"], asked["parts"])
    single = not stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    answer: dict[str, Any] = {"matches": [], "files": 0, "large": 0, "stopped": "", "single": single}
    files = _opened(name, name, directory, refused) if single else walk(directory, name, refused)
    for path, descriptor in files:
        if wanted is not None and not wanted.fullmatch(path) and not wanted.fullmatch(path.rpartition("/")[2]):
            continue
        if time.monotonic() > ends:
            answer["stopped"] = "time"
        elif answer["files"] >= asked["max_files"]:
            answer["stopped"] = "files"
        else:
            answer["files"] += 1
            _search_file(descriptor, path, pattern, asked, answer)
        if answer["stopped"]:
            break
    return answer


def walk(directory: int, name: str, refused: set[tuple[int, int]]) -> Iterator[tuple[str, int]]:
    """Every regular file below, with its path from there and a descriptor that is open until the next one is asked for."""
    if sys.platform == "win32":
        # grep.py refuses before.
        return
    top = os.open(name, _DIRECTORY, dir_fd=directory)
    for folder, folders, files, descriptor in os.fwalk(".", dir_fd=top, follow_symlinks=False):
        here = os.fstat(descriptor)
        if (here.st_dev, here.st_ino) in refused:
            folders.clear()
            continue
        deeper = folders if folder.count(os.sep) < DEPTH else ()
        folders[:] = sorted(name for name in deeper if name not in SKIPPED)
        for file in sorted(files):
            yield from _opened(os.path.normpath(os.path.join(folder, file)), file, descriptor, refused)


def glob_pattern(glob: str) -> re.Pattern[str]:
    """`*` and `?` stay within a name, `**` crosses folders, `{a,b}` is either, `[…]` one of a set."""
    out, at, depth = [], 0, 0
    while at < len(glob):
        rest = glob[at:]
        if rest.startswith("**/"):
            out.append("(?:.*/)?")
            at += 3
        elif rest.startswith("**"):
            out.append(".*")
            at += 2
        elif rest[0] == "[" and (end := glob.find("]", at + 2)) > 0:
            # Two of these in a row would mean something to a later Python; here they are just characters.
            inside = re.sub(r"[\\\[&~|]|(?<=-)-", r"\\\g<0>", glob[at + 1 : end])
            out.append(f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]")
            at = end + 1
        else:
            character = rest[0]
            opens, closes = character == "{" and "}" in rest, character == "}" and depth > 0
            depth += opens - closes
            special = {"*": "[^/]*", "?": "[^/]", "{": "(?:" if opens else "", "}": ")" if closes else ""}
            special[","] = "|" if depth else ""
            out.append(special.get(character) or re.escape(character))
            at += 1
    return re.compile("".join(out) + ")" * depth, re.DOTALL)


def _start(root: str, parts: list[str]) -> tuple[int, str]:
    """The directory the search starts in, reached without following a link, and the name in it."""
    descriptor = os.open(root, _DIRECTORY)
    for part in parts[:-1]:
        below = os.open(part, _DIRECTORY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    return descriptor, parts[-1] if parts else "."


def _opened(path: str, name: str, directory: int, refused: set[tuple[int, int]]) -> Iterator[tuple[str, int]]:
    try:
        before = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if not stat.S_ISREG(before.st_mode):
            return
        descriptor = os.open(name, _FILE, dir_fd=directory)
    except OSError:
        # Unreadable, or gone since it was listed.
        return
    try:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and (status.st_dev, status.st_ino) not in refused:
            yield path, descriptor
    finally:
        os.close(descriptor)


def _search_file(
    descriptor: int, path: str, pattern: re.Pattern[str], asked: dict[str, Any], answer: dict[str, Any]
) -> None:
    if os.fstat(descriptor).st_size > asked["max_bytes"]:
        answer["large"] += 1
        return
    with os.fdopen(os.dup(descriptor), "rb") as file:
        data = file.read(asked["max_bytes"])
    if b"\0" in data[:HEAD]:
        return
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        found = pattern.search(line)
        if found is None:
            continue
        if len(answer["matches"]) >= asked["max_matches"]:
            answer["stopped"] = "matches"
            return
        answer["matches"].append([path, number, _excerpt(line, found.start())])


def _excerpt(line: str, at: int) -> str:
    line = line.rstrip("\r")
    if len(line) <= SHOWN:
        return line
    start = max(0, at - BEFORE)
    return ("…" if start else "") + line[start : start + SHOWN] + ("…" if start + SHOWN < len(line) else "")


def main() -> None:
    try:
        answer = search(json.load(sys.stdin))
    except OSError as error:
        answer = {"error": f"The search could not start: {error.strerror}."}
    # Names on disk may hold bytes that are no text: ASCII escapes carry them without failing.
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
