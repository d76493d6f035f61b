"""Waiting for processes that are not our children, and counting what is left, without sleeping."""

import os
import select
import sys
from pathlib import Path

STDIO_SERVER = Path(__file__).parent / "stdio_server.py"

# Far longer than anything here may take, on the slowest machine: it only ends a test that hangs.
HANG_GUARD = 60.0


def server_command(*options: str) -> list[str]:
    """The stdio server of this folder. Without site packages it starts in 20 ms."""
    return [sys.executable, "-S", "-E", str(STDIO_SERVER), *options]


def handle_of(pid: int) -> int:
    """A handle that keeps meaning this process, whoever gets its number later. Take it while the process surely lives."""
    return os.pidfd_open(pid)


def wait_until_gone(*handles: int) -> None:
    """Until all of these processes have exited; fails the test when one does not. Closes the handles."""
    try:
        for handle in handles:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            assert poll.poll(HANG_GUARD * 1000), "a process that should have been ended is still alive"
    finally:
        for handle in handles:
            os.close(handle)


def is_alive(handle: int) -> bool:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return not poll.poll(0)


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or waits only for init to collect it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def open_descriptors() -> set[str]:
    """What this process has open, by what it is."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{name} {os.readlink(f'/proc/self/fd/{name}')}")
        except OSError:
            pass  # the one that lists the folder
    return found
