"""Files and directories of the session store: made for their owner alone, whatever the umask says."""

import os
from pathlib import Path


def make_directory(path: Path) -> None:
    """`path` and every directory missing above it. Those that exist keep their mode: they may be shared on purpose."""
    missing = [directory for directory in (path, *path.parents) if not directory.exists()]
    for directory in reversed(missing):
        directory.mkdir(mode=0o700, exist_ok=True)


def make_file(path: Path) -> None:
    """An empty file where there is none. SQLite gives its side files the mode of this one."""
    make_directory(path.parent)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
