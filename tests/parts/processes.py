"""Waiting for processes that are not our children, and counting what is left, without sleeping.

What the systems have for that differs: Linux a descriptor of a process, macOS a queue of events about it, Windows a handle.
"""

import os
import select
import subprocess
import sys
from pathlib import Path

if sys.platform == "win32":
    import _winapi

STDIO_SERVER = Path(__file__).parent / "stdio_server.py"

# Far longer than anything here may take, on the slowest machine: it only ends a test that hangs.
HANG_GUARD = 60.0
# Windows lists the open files of a process nowhere: as many numbers as there can be are tried.
_MOST_FILES = 2048


def server_command(*options: str) -> list[str]:
    """The stdio server of this folder. Without site packages it starts in 20 ms."""
    return [sys.executable, "-S", "-E", str(STDIO_SERVER), *options]


if sys.platform == "linux":

    def handle_of(pid: int) -> int:
        """A handle that keeps meaning this process, whoever gets its number later. Take it while the process surely lives."""
        return os.pidfd_open(pid)

elif sys.platform == "win32":

    def handle_of(pid: int) -> int:
        return _winapi.OpenProcess(_winapi.SYNCHRONIZE, False, pid)

else:
    # A queue is closed with its object.
    _queues: dict[int, select.kqueue] = {}

    def handle_of(pid: int) -> int:
        queue = select.kqueue()
        queue.control([select.kevent(pid, select.KQ_FILTER_PROC, select.KQ_EV_ADD, select.KQ_NOTE_EXIT)], 0)
        _queues[queue.fileno()] = queue
        return queue.fileno()


def wait_until_gone(*handles: int) -> None:
    """Until all of these processes have exited; fails the test when one does not. Closes the handles."""
    try:
        for handle in handles:
            assert _exits_within(handle, HANG_GUARD), "a process that should have been ended is still alive"
    finally:
        for handle in handles:
            _close(handle)


def is_alive(handle: int) -> bool:
    return not _exits_within(handle, 0)


def _exits_within(handle: int, seconds: float) -> bool:
    if sys.platform == "win32":
        return _winapi.WaitForSingleObject(handle, int(seconds * 1000)) == _winapi.WAIT_OBJECT_0
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _close(handle: int) -> None:
    if sys.platform == "win32":
        _winapi.CloseHandle(handle)
    elif sys.platform == "linux":
        os.close(handle)
    else:
        _queues.pop(handle).close()


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or waits only for init to collect it."""
    if sys.platform == "linux":
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except FileNotFoundError:
            return True
    elif sys.platform == "win32":
        try:
            handle = handle_of(pid)
        except OSError:
            return True
        ended = not is_alive(handle)
        _close(handle)
        return ended
    else:
        told = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
        return not told or told.startswith("Z")


def open_descriptors() -> set[str]:
    """What this process has open, by what it is."""
    found = set()
    for number in range(_MOST_FILES) if sys.platform == "win32" else map(int, os.listdir("/dev/fd")):
        try:
            status = os.fstat(number)
        except OSError:
            continue  # the one that lists the folder
        found.add(f"{number} {status.st_mode:o} {status.st_dev}:{status.st_ino}")
    return found
