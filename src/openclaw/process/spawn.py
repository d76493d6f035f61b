"""Starting a program, and ending all that came of it.

A child is started without a shell, in a session of its own, with the environment it is given and nothing else. Ending it means all that
came of it, also when the program itself left politely, and also when we are killed: what belongs together and how it is ended is the kin
of a child, `marked_kin.py` and on Windows `job_kin.py`. Reading and writing is `pipes.py`.
"""

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from openclaw.errors import ProcessError
from openclaw.process.find_program import NOT_FOUND, find_program

if sys.platform == "win32":
    from openclaw.process.batch_files import check_batch_file
    from openclaw.process.job_kin import CREATION_FLAGS, KILLED, Kin
else:
    from openclaw.process.marked_kin import CREATION_FLAGS, KILLED, Kin

_log = logging.getLogger(__name__)

# A server that has seen the end of its input gets this long to finish what it is doing.
EXIT_GRACE = 1.0
# And this long to do as they are asked: some flush caches or stop containers.
TERM_PATIENCE = 5.0
# Nothing outlives SIGKILL for long, but a process that forks without end has to be met more than once.
KILL_PATIENCE = 1.0
# How soon to look whether they are gone, and how long between looks in the end: each one reads all of /proc.
_PAUSE = 0.02
_LONGEST_PAUSE = 0.2
# Where the system tells nobody (`_told_of_exit`) a child is asked this often whether it has exited.
_POLL_PAUSE = 0.05

Stream = Literal["pipe", "null"]


class Process:
    """A child and its descendants. `stdin`, `stdout` and `stderr` are our ends of its pipes, for whoever takes them over."""

    def __init__(self, popen: "subprocess.Popen[bytes]", kin: Kin, streams: list[int | None]) -> None:
        self.pid = popen.pid
        self.stdin, self.stdout, self.stderr = streams
        self._popen = popen
        self._kin = kin
        self._loop = asyncio.get_running_loop()
        self._exit: asyncio.Future[int] = self._loop.create_future()
        self._ended = False
        self._handle = _told_of_exit(popen.pid)
        if self._handle is None:
            self._loop.call_later(_POLL_PAUSE, self._poll)
        else:
            self._loop.add_reader(self._handle, self._look)

    @property
    def returncode(self) -> int | None:
        """How the program itself ended: its exit code, or minus the signal; None while it runs."""
        return self._exit.result() if self._exit.done() else None

    def on_exit(self, callback: Callable[[int], None]) -> None:
        """Call back with the exit code once the program itself has exited."""
        self._exit.add_done_callback(lambda exit: callback(exit.result()))

    async def wait(self) -> int:
        """Until the program itself has exited. Its descendants may live on: see `end`."""
        return await asyncio.shield(self._exit)

    def leave(self, seconds: float) -> bool:
        """Let it run on without us for so many seconds, under a guardian of its own. False when that is not possible: then end it.

        Close its input first. What it writes is read by the guardian from now on, and thrown away.
        """
        if self._ended or self._exit.done() or self.stdout is None or self.stderr is None:
            return False
        if not self._kin.leave(seconds, self.stdout, self.stderr):
            return False
        self._ended = True
        self.on_exit(lambda _: _collect(self._popen))
        return True

    async def end(self, *, grace: float = EXIT_GRACE, patience: float = TERM_PATIENCE) -> int:
        """Wait `grace` seconds for all of them to leave, ask them to, wait `patience`, kill them. Returns the exit code.

        Close the program's input first, if it should leave by itself. Safe to call again; goes on when its caller is cancelled.
        """
        return await asyncio.shield(self._loop.create_task(self._end(grace, patience)))

    async def _end(self, grace: float, patience: float) -> int:
        if not self._ended and not await self._gone_within(grace):
            asked = self._kin.ask_to_leave()
            if not (asked and await self._gone_within(patience)):
                await self._kill()
        if not self._exit.done():
            # Stuck inside the kernel (a dead network disk, mostly): nobody can end it now, and nobody should wait for it.
            _log.warning("Process %d does not end, though it was killed; it will be collected when it does.", self.pid)
            self.on_exit(lambda _: self._reap())
            return KILLED
        self._reap()
        return self._exit.result()

    async def _kill(self) -> None:
        deadline = self._loop.time() + KILL_PATIENCE
        self._kin.kill()
        while not await self._gone_within(_PAUSE) and self._loop.time() < deadline:
            self._kin.kill()

    def _reap(self) -> None:
        if not self._ended:
            self._ended = True
            # Only now: until it is reaped its number, and so its group's, cannot pass to somebody else.
            self._popen.wait()
            self._kin.ended()

    async def _gone_within(self, seconds: float) -> bool:
        """Whether the program and everything it left behind are gone."""
        deadline = self._loop.time() + seconds
        pause = _PAUSE
        if not self._exit.done():
            await asyncio.wait([self._exit], timeout=seconds)
        while self._exit.done():
            if self._kin.are_gone():
                return True
            left = deadline - self._loop.time()
            if left <= 0:
                break
            await asyncio.sleep(min(pause, left))
            pause = min(pause * 2, _LONGEST_PAUSE)
        return False

    def _look(self) -> None:
        code = _exit_code(self._popen)
        if code is not None and not self._exit.done():
            self._exit.set_result(code)
            if self._handle is not None:
                self._loop.remove_reader(self._handle)
                os.close(self._handle)
                self._handle = None

    def _poll(self) -> None:
        self._look()
        if not self._exit.done():
            self._loop.call_later(_POLL_PAUSE, self._poll)


def _collect(popen: "subprocess.Popen[bytes]") -> None:
    popen.wait()


def _told_of_exit(pid: int) -> int | None:
    """A descriptor that is readable when the child exits: no thread, and no SIGCHLD handler to fight over. None where there is none: on
    other systems, before Linux 5.3, in sandboxes that do not allow it, and when no descriptor is left."""
    if sys.platform == "linux":
        try:
            return os.pidfd_open(pid)
        except OSError:
            pass
    return None


def _exit_code(popen: "subprocess.Popen[bytes]") -> int | None:
    """How a child ended, without reaping it where the system allows."""
    if sys.platform == "win32" or not hasattr(os, "waitid"):
        return popen.poll()
    info = os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if info is None:
        return None
    status: int = info.si_status
    return status if info.si_code == os.CLD_EXITED else -status


def spawn(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str | Path | None = None,
    stdin: Stream = "pipe",
    stdout: Stream = "pipe",
    stderr: Stream | Literal["stdout"] = "pipe",
    not_found: str = NOT_FOUND,
) -> Process:
    """Start `argv`, in a running event loop. The program is looked up on the PATH of `env`. Raises ProcessError, which says `not_found`
    where there is no such program."""
    if cwd is not None and not os.path.isdir(cwd):
        raise ProcessError(f"The working directory {cwd} does not exist.", hint="Check `cwd`.")
    path, suffixes = env.get("PATH", os.defpath), env.get("PATHEXT")
    program = find_program(argv[0], search_path=path, cwd=cwd, suffixes=suffixes, not_found=not_found)
    if sys.platform == "win32":
        check_batch_file(program, argv[1:])
    ours: list[int | None] = []
    theirs: list[int] = []
    try:
        kin = Kin()
        for index, stream in enumerate((stdin, stdout, stderr)):
            _connect(index, stream, ours, theirs)
        popen = subprocess.Popen(
            [program, *argv[1:]],
            env={**env, **kin.variables},
            cwd=cwd,
            stdin=theirs[0],
            stdout=theirs[1],
            stderr=theirs[2],
            start_new_session=True,
            creationflags=CREATION_FLAGS,
        )
        kin.began(popen)
    except (OSError, ValueError) as error:
        for fd in ours:
            if fd is not None:
                os.close(fd)
        raise ProcessError(f"{program} cannot be started: {_why(error, program)}.") from error
    finally:
        for fd in set(theirs):
            os.close(fd)
    return Process(popen, kin, ours)


def _connect(index: int, stream: str, ours: list[int | None], theirs: list[int]) -> None:
    """Make one of the three standard streams. Pipes, not sockets: some programs open /dev/stdout by name."""
    if stream == "pipe":
        read, write = os.pipe()
        theirs.append(read if index == 0 else write)
        ours.append(write if index == 0 else read)
    elif stream == "stdout":
        theirs.append(theirs[1])
        ours.append(None)
    else:
        theirs.append(os.open(os.devnull, os.O_RDWR))
        ours.append(None)


def _why(error: OSError | ValueError, program: str) -> str:
    if isinstance(error, FileNotFoundError) and os.path.exists(program):
        return "its interpreter (first line) does not exist"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
