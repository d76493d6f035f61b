"""Starting a program that belongs to the person and outlives us: a browser, or a gateway.

Without a shell, in a session of its own, unmarked, so that neither we nor the guardian end it, and with nothing of ours on its streams.
Everything else is started by `spawn.py`.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from openclaw.daemon_thread import in_daemon_thread
from openclaw.errors import ProcessError
from openclaw.process.find_program import find_program

if sys.platform == "win32":
    from openclaw.process.batch_files import check_batch_file

    # No console of ours, and nothing of what is typed there.
    _APART = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
else:
    _APART = 0


class Detached:
    """A program that was started."""

    def __init__(self, popen: "subprocess.Popen[bytes]") -> None:
        self.pid = popen.pid
        self._popen = popen

    def ended(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._popen.poll()

    def wait(self) -> int:
        """Its exit code, once it has ended. Blocks: for a thread."""
        return self._popen.wait()


async def detach(argv: Sequence[str], *, env: Mapping[str, str], patience: float) -> int | None:
    """Start `argv`. The exit code when it ends within `patience` seconds, None when it runs on. Raises ProcessError."""
    started = start_detached(argv, env=env)
    try:
        # A browser that stays open does not keep us from leaving.
        async with asyncio.timeout(patience):
            return await in_daemon_thread(started.wait)
    except TimeoutError:
        return None


def start_detached(
    argv: Sequence[str], *, env: Mapping[str, str], output: int = subprocess.DEVNULL, cwd: Path | None = None
) -> Detached:
    """Start `argv` and leave it alone. `output` is a file descriptor for what it writes. Raises ProcessError."""
    program = find_program(argv[0], search_path=env.get("PATH", os.defpath), suffixes=env.get("PATHEXT"))
    if sys.platform == "win32":
        # A browser may be one, and an address has a `&`.
        check_batch_file(program, argv[1:])
    try:
        popen = subprocess.Popen(
            [program, *argv[1:]],
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=cwd,
            start_new_session=True,
            creationflags=_APART,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ProcessError(f"{program} cannot be started: {reason}.") from error
    return Detached(popen)
