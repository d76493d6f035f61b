"""Ends what we started. Run as a program it watches over a gateway, and does so when the gateway was killed; imported, the same
functions end one server.

Processes are known by a mark in their environment, which their children inherit, and by their process group. So nothing has to be
reported in time: a server spawned the moment before the gateway died is found like any other. A process that clears its
environment and leaves its group is out of reach. Standard library only, and little of it: this program starts with the first server.

    python -I -S guardian.py MARK    standard input: lines `+GROUP` and `-GROUP`; its end means that the gateway is gone, and after
                                     a line `.` that it has left nothing behind

    python -I -S guardian.py MARK GROUP SECONDS    its first two streams are the output and the errors of a program that may go on for so
                                     long, until it says something: a launcher that fills its cache after whoever needed it has left

Whoever starts it blocks the signals that are meant for everybody in sight: it has to outlive them from its first moment on.
"""

import os
import select
import signal
import sys
import time
from collections.abc import Collection

# There a job ends what is in it: job_kin.py.
assert sys.platform != "win32"

VARIABLE = "OPENCLAW_PROCESSES"

# All of it has to be over 5 s after the gateway's death. The servers see the end of their input at the same moment as we do:
# they get this long to leave by themselves, then until KILL_AFTER to obey SIGTERM.
TERM_AFTER = 0.5
KILL_AFTER = 3.0
GIVE_UP_AFTER = 4.5
# A child that was between fork and exec does not carry its mark yet.
SETTLE = 1.0
_PAUSE = 0.05

_PROC = "/proc"


def find(mark: bytes, groups: Collection[int] = ()) -> list[int]:
    """Living processes, ourselves excepted, that carry `mark` or belong to one of `groups`, or may yet turn out to. Empty where
    that cannot be told."""
    if os.path.isdir(f"{_PROC}/self"):
        candidates = (int(name) for name in os.listdir(_PROC) if name.isdigit())
        return [pid for pid in candidates if pid != os.getpid() and _is_ours(pid, mark, groups) is not False]
    return _find_with_ps(mark, groups)


def _is_ours(pid: int, mark: bytes, groups: Collection[int]) -> bool | None:
    """None in the middle of an exec: for a moment such a process has no environment, and so shows no mark."""
    try:
        state, group, has_memory, _ = _read_stat(pid)
        if state in (b"Z", b"X") or not has_memory:
            return False
        if group in groups:
            return True
        environment = _read_environment(pid)
        if not environment:
            if not _read_stat(pid)[3]:
                return None
            # It got one since we looked, or it is empty for good.
            environment = _read_environment(pid)
        return mark in environment
    except (OSError, ValueError, IndexError):
        # It is gone, or it is somebody else's.
        return False


def _read_environment(pid: int) -> bytes:
    with open(f"{_PROC}/{pid}/environ", "rb", buffering=0) as file:
        return file.readall()


def _read_stat(pid: int) -> tuple[bytes, int, bool, bool]:
    """State, group, whether it has memory of its own (the kernel's threads have none), whether its exec is over."""
    with open(f"{_PROC}/{pid}/stat", "rb", buffering=0) as file:
        # The name of the program stands in parentheses and may contain anything.
        fields = file.read(4096).rpartition(b")")[2].split()
    # By proc(5), counted from `state`: pgrp, vsize, endcode. Linux sets env_end twice, first to where the environment begins; endcode is
    # set when the environment is there.
    return fields[0], int(fields[2]), fields[20] != b"0", fields[24] != b"0"


def _find_with_ps(mark: bytes, groups: Collection[int]) -> list[int]:
    """Without /proc: what `ps` shows of our own processes, environment included."""
    shown = _output_of(["ps", "-axEww", "-o", "pid=,pgid=,stat=,command="])
    return [pid for pid in listed(shown, mark, groups) if pid != os.getpid()]


def listed(shown: bytes, mark: bytes, groups: Collection[int]) -> list[int]:
    """Which of the processes that `ps` shows (number, group, state, command with its environment) `find` means. Pure."""
    lines = [line.split(None, 3) for line in shown.splitlines()]
    return [
        int(line[0])
        for line in lines
        if len(line) == 4 and not line[2].startswith(b"Z") and (int(line[1]) in groups or mark in line[3])
    ]


def _output_of(command: list[str]) -> bytes:
    """Standard output of a program; nothing when it cannot be run. (`subprocess` would double the guardian's start-up time.)"""
    ours, theirs = os.pipe()
    try:
        pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, theirs, 1)])
    except OSError:
        os.close(theirs)
        os.close(ours)
        return b""
    os.close(theirs)
    with open(ours, "rb") as pipe:
        output = pipe.read()
    os.waitpid(pid, 0)
    return output


def strike(mark: bytes, groups: Collection[int], number: int) -> int:
    """Send a signal to all of them; how many there were."""
    found = find(mark, groups)
    for pid in found:
        try:
            if not _strike_held(pid, mark, groups, number):
                os.kill(pid, number)
        except OSError:
            pass
    return len(found)


def _strike_held(pid: int, mark: bytes, groups: Collection[int], number: int) -> bool:
    """The number may have passed to another process since we looked: hold it, look again, then send. False where numbers cannot be held:
    on other systems, before Linux 5.3, and in sandboxes that do not allow it. Raises OSError when the process is gone."""
    if sys.platform == "linux":
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            raise
        except OSError:
            return False
        try:
            if _is_ours(pid, mark, groups) is True:
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)
        return True
    else:
        return False


def end_all(mark: bytes, groups: Collection[int]) -> None:
    start = time.monotonic()
    while (elapsed := time.monotonic() - start) < GIVE_UP_AFTER:
        if elapsed < TERM_AFTER:
            alive = len(find(mark, groups))
        else:
            alive = strike(mark, groups, signal.SIGTERM if elapsed < KILL_AFTER else signal.SIGKILL)
        if not alive and elapsed >= SETTLE:
            return
        time.sleep(_PAUSE)


def _birth(pid: int) -> bytes:
    """When a process began, to know it again; empty when that cannot be told."""
    try:
        with open(f"{_PROC}/{pid}/stat", "rb", buffering=0) as file:
            return file.read(4096).rpartition(b")")[2].split()[19]
    except (OSError, IndexError):
        return b""


def tend(seconds: float) -> None:
    """Read and drop what a program writes, so that it does not block, until it ends, its time is up, or the server it fetched speaks."""
    deadline = time.monotonic() + seconds
    streams = [0, 1]
    while 0 in streams and (left := deadline - time.monotonic()) > 0:
        for stream in select.select(streams, [], [], left)[0]:
            said = os.read(stream, 65536)
            if stream == 0 or not said:
                streams.remove(stream)


def main() -> None:
    mark = sys.argv[1].encode()
    os.setsid()
    if len(sys.argv) > 2:
        os.closerange(3, 4096)
        tend(float(sys.argv[3]))
        end_all(mark, [int(sys.argv[2])])
        return
    os.closerange(3, 4096)
    os.chdir("/")
    groups: dict[int, bytes] = {}
    rest = b""
    while data := os.read(0, 65536):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            if line == b".":
                return
            group = int(line[1:])
            if line.startswith(b"+"):
                groups[group] = _birth(group)
            else:
                groups.pop(group, None)
    # A group whose leader's number belongs to somebody else by now is not ours.
    end_all(mark, [group for group, birth in groups.items() if _birth(group) in (birth, b"")])


if __name__ == "__main__":
    main()
