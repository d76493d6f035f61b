"""What a call will do to a file, as a client shows it before it is done: text before, and text after.

Only looks: at a text file in the session's folders, of a size that is read in no time. What cannot be told now is told when it is done.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from openclaw.acp import wire

# Bytes of a file that are read for this, while everybody waits.
MOST_BYTES = 256 * 1024


def planned(tool: str, arguments: Mapping[str, Any], folders: Sequence[Path]) -> list[wire.ToolContent]:
    """The change that a native tool is about to make; empty for any other tool, and for what cannot be seen before."""
    match tool, arguments:
        case "edit", {"path": str(path), "old_text": str(old), "new_text": str(new)} if _is_path(path):
            return [wire.Diff(absolute(path, folders[0]), old, new)]
        case "write", {"path": str(path), "content": str(new)} if _is_path(path):
            return _written(absolute(path, folders[0]), new, folders)
        case _:
            return []


def absolute(path: str, workspace: Path) -> str:
    return os.path.abspath(os.path.join(workspace, os.path.expanduser(path)))


def _is_path(path: str) -> bool:
    return bool(path) and "\0" not in path


def _written(path: str, new: str, folders: Sequence[Path]) -> list[wire.ToolContent]:
    real = os.path.realpath(path)
    if not any(Path(real).is_relative_to(os.path.realpath(folder)) for folder in folders):
        return []
    try:
        # Nobody waits for the other end of a pipe.
        descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        return [wire.Diff(path, None, new)]
    except OSError:
        return []
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
            return []
        try:
            return [wire.Diff(path, file.read(MOST_BYTES).decode(), new)]
        except (OSError, UnicodeDecodeError):
            return []
