"""Which files about servers stay in the state directory: those of servers somebody has, and of the others those used last.

Sessions may bring other servers every time, and each leaves what it wrote to standard error, its tools and its pins. Past a number those
that were not used for the longest time go, pins included: their tools are then trusted anew, as at first sight. Blocking. A file that
cannot be looked at or removed stays.
"""

import os
import re
from collections import defaultdict
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

# Servers that nobody has at the moment, of each kind of file: years of a busy editor.
MOST_UNUSED = 500

_FOLDERS = ("logs", "cache", "pins")
# Files of a server begin with what identifies it (cache.py); others are not ours, or are just being written.
_NAME = re.compile(r"([0-9a-f]{32})\.")


def remove_old_files(state: Path, used: Collection[str]) -> None:
    """Note that the servers `used` (their identities) are in use now, and remove the files of those that were not for the longest time."""
    for folder in _FOLDERS:
        files: dict[str, list[Path]] = defaultdict(list)
        with suppress(OSError):
            for path in (state / folder).iterdir():
                if match := _NAME.match(path.name):
                    files[match[1]].append(path)
        for identity in files.keys() & set(used):
            for path in files.pop(identity):
                with suppress(OSError):
                    os.utime(path)
        by_age = sorted(files.values(), key=_last_used)
        for paths in by_age[: max(0, len(by_age) - MOST_UNUSED)]:
            for path in paths:
                with suppress(OSError):
                    path.unlink()


def _last_used(paths: list[Path]) -> float:
    return max(map(_changed, paths))


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
