"""Processes of ours that nobody will end any more: they carry a mark (watch.py), and the guardian of that mark is gone.

It happens when a gateway and its guardian were both killed. Looks and tells; ends nothing. Knows nothing where there is no /proc. On
Windows there are none of them: what we start ends with us (job_kin.py).
"""

import os
import sys
from itertools import pairwise
from pathlib import Path

import msgspec

from openclaw.log import one_line
from openclaw.process import guardian

assert sys.platform != "win32"

_PROC = Path("/proc")
_SHOWN_NAME = 60


class Stale(msgspec.Struct, frozen=True):
    pid: int
    name: str


def stale(proc: Path = _PROC) -> list[Stale]:
    """Every one of them that we may look at."""
    marked = {pid: marks for pid in _processes(proc) if (marks := _marks(proc / str(pid)))}
    # Looked for afterwards: a guardian is awake before the first process that carries its mark.
    guarded = {mark for pid in _processes(proc) if (mark := _guarded(proc / str(pid)))}
    found = (
        Stale(pid, name)
        for pid, marks in sorted(marked.items())
        if not marks & guarded and (name := _name(proc / str(pid)))
    )
    return list(found)


def _processes(proc: Path) -> list[int]:
    try:
        return [int(name) for name in os.listdir(proc) if name.isdigit()]
    except OSError:
        return []


def _marks(process: Path) -> set[bytes]:
    """The marks in a process's environment: one for each process of ours above it."""
    head = f"{guardian.VARIABLE}=".encode()
    values = [one.removeprefix(head) for one in _read(process / "environ").split(b"\0") if one.startswith(head)]
    return {mark.partition(b".")[0] for value in values for mark in value.split(b";") if mark}


def _guarded(process: Path) -> bytes:
    """The mark that a process guards; empty when it is no guardian."""
    argv = _read(process / "cmdline").rstrip(b"\0").split(b"\0")
    script = os.path.basename(guardian.__file__).encode()
    marks = (mark for name, mark in pairwise(argv) if os.path.basename(name) == script)
    return next(marks, b"").partition(b".")[0]


def _name(process: Path) -> str:
    """What a process is called; empty when it has ended."""
    state = _read(process / "stat").rpartition(b")")[2].split()[:1]
    name = _read(process / "comm").decode("utf-8", "replace").strip()
    return "" if state in ([], [b"Z"], [b"X"]) else one_line(name, _SHOWN_NAME)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        # Gone, or not ours to look at.
        return b""
