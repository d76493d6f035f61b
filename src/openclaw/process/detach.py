"""Starting a program that belongs to the person and outlives us: a browser, or a gateway.

Without a shell, in a session of its own, unmarked, so that neither we nor the guardian end it, and with nothing of ours on its streams.
Everything else is started by `spawn.py`.
"""

import asyncio
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from openclaw.errors import ProcessError
from openclaw.process.program import find_program


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
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def tell(code: int) -> None:
        if not ended.done():
            ended.set_result(code)

    def wait() -> None:
        code = started.wait()
        try:
            loop.call_soon_threadsafe(tell, code)
        except RuntimeError:
            # The loop has ended meanwhile: nobody is waiting.
            pass

    # A daemon: a browser that stays open does not keep us from leaving.
    threading.Thread(target=wait, name="openclaw-detached", daemon=True).start()
    done, _ = await asyncio.wait([ended], timeout=patience)
    return ended.result() if done else None


def start_detached(
    argv: Sequence[str], *, env: Mapping[str, str], output: int = subprocess.DEVNULL, cwd: Path | None = None
) -> Detached:
    """Start `argv` and leave it alone. `output` is a file descriptor for what it writes. Raises ProcessError."""
    program = find_program(argv[0], search_path=env.get("PATH", os.defpath))
    try:
        popen = subprocess.Popen(
            [program, *argv[1:]],
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=cwd,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ProcessError(f"{program} cannot be started: {reason}.") from error
    return Detached(popen)
