"""Files that several processes add to, and that are given another name while they are open: logs and the audit trail.

Owns how such a file is opened, and the one difference between systems: on Windows whoever opens a file says whether others may rename it
meanwhile, and that every write goes to its end is a matter of which rights were asked for. Which file is full, and what it is called
then, is its owner's business.
"""

import os
import sys
from pathlib import Path
from typing import BinaryIO

from openclaw.files import make_directory

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

# Of the Windows API. Who may append and not write appends, whole and whoever else does (FILE_APPEND_DATA); the others are for
# `fstat` (FILE_READ_ATTRIBUTES) and for waiting (SYNCHRONIZE).
APPEND_RIGHTS = 0x4 | 0x80 | 0x100000
READ_RIGHTS = 0x80000000
# Others may read, write, and rename or remove.
SHARED = 0x1 | 0x2 | 0x4
_NORMAL = 0x80
_OPEN_ALWAYS, _CREATE_ALWAYS, _OPEN_EXISTING = 4, 2, 3

if sys.platform == "win32":
    import _winapi
    import msvcrt

    def _open(path: Path, rights: int, how: int, flags: int) -> int:
        handle = _winapi.CreateFile(str(path), rights, SHARED, _winapi.NULL, how, _NORMAL, _winapi.NULL)
        return msvcrt.open_osfhandle(handle, flags | os.O_BINARY | os.O_NOINHERIT)

    def _to_append(path: Path, anew: bool) -> int:
        return _open(path, APPEND_RIGHTS, _CREATE_ALWAYS if anew else _OPEN_ALWAYS, os.O_APPEND)

    def _to_read(path: Path) -> int:
        return _open(path, READ_RIGHTS, _OPEN_EXISTING, os.O_RDONLY)
else:

    def _to_append(path: Path, anew: bool) -> int:
        return os.open(path, _APPEND | (os.O_TRUNC if anew else 0), 0o600)

    def _to_read(path: Path) -> int:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def open_to_append(path: Path, *, anew: bool = False) -> int:
    """A descriptor whose every `os.write` is added whole. A file that is not there is made, private to its owner, with its directory;
    `anew` empties one that is. Raises OSError."""
    make_directory(path.parent)
    return _to_append(path, anew)


def open_to_read(path: Path) -> BinaryIO:
    """Keeps nobody from giving the file another name. Raises OSError."""
    return open(_to_read(path), "rb")
