"""Programs that are started, given so many seconds, and ended with everything they started. Nothing in a run waits without a limit.

Owns the tree of processes below the harness. A program that fails or takes too long is a `Failed`, which measures turn into a note.
"""

import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

# prctl(2): processes that lose their parent below us become our children, so that none gets away.
PR_SET_CHILD_SUBREAPER = 36
# A killed process is gone at once, unless the kernel is busy with it.
KILLED_SECONDS = 10.0
MOST_WORDS = 200
# Until a program that somebody else wrote listens.
LISTEN_SECONDS = 20.0
# How often somebody who watches is told that a program still works.
STILL_EVERY = 20.0


class Failed(Exception):
    """A program that failed or took too long; its text says which."""


def adopt_orphans() -> None:
    """Become the parent of every process below us that loses its own. Linux only; elsewhere nothing happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(pid: int) -> list[int]:
    """Every process below this one, children before grandchildren. Empty where there is no /proc."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(folder.name))
    found = list(children.get(pid, []))
    for child in found:
        found += children.get(child, [])
    return found


def end(process: "subprocess.Popen[bytes]") -> None:
    """Kill a program that was started in a session of its own, its group, and what it started in others."""
    below = descendants(process.pid)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for pid in below:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(KILLED_SECONDS)


def end_strays() -> int:
    """Kill whatever is still below the harness when a measure is over. How many there were."""
    _reap()
    strays = descendants(os.getpid())
    for pid in strays:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + KILLED_SECONDS
    while descendants(os.getpid()) and time.monotonic() < deadline:
        _reap()
        time.sleep(0.01)
    return len(strays)


def _reap() -> None:
    """Take leave of adopted processes that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def start(
    command: list[str],
    env: dict[str, str],
    *,
    cwd: Path,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
) -> "subprocess.Popen[bytes]":
    """In a session of its own, so that `end` finds its group."""
    return subprocess.Popen(
        command, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd, env=env, start_new_session=True
    )


def finished(
    command: list[str],
    env: dict[str, str],
    *,
    cwd: Path,
    patience: float,
    still: Callable[[float], None] = lambda passed: None,
    every: float = STILL_EVERY,
) -> str:
    """What a program printed. Raises Failed when it does not end in time or not with zero.

    While it works, `still` is told `every` so many seconds for how long it has.
    """
    process = start(command, env, cwd=cwd)
    try:
        out, err = _ended(process, patience, still, every)
    finally:
        # Also after its end: what it left behind may hold its output open, or go on working.
        end(process)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    if process.returncode:
        raise Failed(f"exit code {process.returncode}: {last_words(err or out)}")
    return out.decode("utf-8", "replace")


def _ended(
    process: "subprocess.Popen[bytes]", patience: float, still: Callable[[float], None], every: float
) -> tuple[bytes, bytes]:
    begun = time.monotonic()
    while (left := begun + patience - time.monotonic()) > 0:
        try:
            return process.communicate(timeout=min(left, every))
        except subprocess.TimeoutExpired:
            if left > every:
                still(time.monotonic() - begun)
    raise Failed(f"not done within {patience:g} s")


def line_from(descriptor: int, patience: float) -> bytes:
    """Everything up to a line's end, or to the end. Raises Failed when it does not come in time."""
    deadline = time.monotonic() + patience
    line = b""
    while not line.endswith(b"\n"):
        if not select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise Failed(f"no answer within {patience:g} s")
        piece = os.read(descriptor, 1 << 16)
        if not piece:
            break
        line += piece
    return line


def last_words(printed: bytes) -> str:
    """The last line of what a program had to say."""
    lines = printed.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].strip()[:MOST_WORDS] if lines else "it ended without a word"


def until_listening(port: int, process: "subprocess.Popen[bytes]", log: Path, patience: float = LISTEN_SECONDS) -> None:
    """Wait until a program that was started listens on a port. Raises Failed, with the last of what it wrote to its log."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise Failed(f"it ended: {last_words(log.read_bytes())}")
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return
        time.sleep(0.05)
    raise Failed(f"it did not listen within {patience:.0f} s")
