"""Starting a program that belongs to the person and outlives us: a browser.

Without a shell, in a session of its own, unmarked, so that neither we nor the guardian end it, and with nothing of ours on its streams.
Everything else is started by `spawn.py`.
"""

import asyncio
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence

from openclaw.errors import ProcessError
from openclaw.process.program import find_program


async def detach(argv: Sequence[str], *, env: Mapping[str, str], patience: float) -> int | None:
    """Start `argv`. The exit code when it ends within `patience` seconds, None when it runs on. Raises ProcessError."""
    popen = _start(argv, env)
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def tell(code: int) -> None:
        if not ended.done():
            ended.set_result(code)

    def wait() -> None:
        code = popen.wait()
        try:
            loop.call_soon_threadsafe(tell, code)
        except RuntimeError:
            # The loop has ended meanwhile: nobody is waiting.
            pass

    # A daemon: a browser that stays open does not keep us from leaving.
    threading.Thread(target=wait, name="openclaw-detached", daemon=True).start()
    done, _ = await asyncio.wait([ended], timeout=patience)
    return ended.result() if done else None


def _start(argv: Sequence[str], env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    program = find_program(argv[0], search_path=env.get("PATH", os.defpath))
    try:
        return subprocess.Popen(
            [program, *argv[1:]],
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ProcessError(f"{program} cannot be started: {reason}.") from error
