"""Whether a process and those it started are doing anything, as far as the system tells without asking them.

One look is two small files for each process. Looks and tells; what it means that one is idle is for others to say (mcp/signs.py). Knows
nothing where there is no /proc.
"""

import os
from pathlib import Path

import msgspec

_PROC = Path("/proc")
# Where /proc/PID/stat has them, counted from the state, which follows the name: the time spent for the program itself and inside the
# system for it, and the same of its children that have ended.
_TIMES = slice(11, 15)
# On a processor or waiting for one; or waiting for a disk.
_BUSY = frozenset({b"R", b"D"})


class Activity(msgspec.Struct, frozen=True):
    """`ticks` is the processor time each of the processes has used, in hundredths of a second mostly; `is_busy`: one of them was at work
    in that very moment, though it may not have got a processor."""

    ticks: dict[int, int]
    is_busy: bool


def activity_of(pid: int, proc: Path = _PROC) -> Activity | None:
    """What a process and its descendants did so far; None when that cannot be known."""
    ticks: dict[int, int] = {}
    is_busy = False
    found = [pid]
    while found:
        one = found.pop()
        # The name stands in parentheses, and may itself hold any.
        fields = _read(f"{proc}/{one}/stat").rpartition(b")")[2].split()
        if fields and one not in ticks:
            ticks[one] = sum(map(int, fields[_TIMES]))
            is_busy |= fields[0] in _BUSY
            found += map(int, _read(f"{proc}/{one}/task/{one}/children").split())
    return Activity(ticks, is_busy) if ticks else None


def _read(path: str) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        # Gone, or not for us to see.
        return b""
    try:
        return os.read(file, 1 << 16)
    except OSError:
        return b""
    finally:
        os.close(file)
