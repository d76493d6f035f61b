"""Running code that is not ours: with a deadline, and with every fault turned into a PluginFault.

A task that refuses to be cancelled is abandoned, and so is a thread that never ends (it dies with the process): nobody waits for them.
Code that blocks is no matter of a deadline: thread.py keeps it out of our loop.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from openclaw.daemon_thread import in_daemon_thread
from openclaw.log import one_line
from openclaw.plugins.contract import PluginFault, PluginHung
from openclaw.redact import redact

_T = TypeVar("_T")

# Seconds a cancelled task gets to clean up before it is abandoned.
GRACE_SECONDS = 1.0
# Enough of a foreign error's text to recognise it.
_SHOWN_ERROR = 300


async def bounded(call: Callable[[], Awaitable[_T]], seconds: float, what: str | None = None) -> _T:
    """Await what `call` gives. Raises PluginFault for whatever goes wrong, and CancelledError only when we are cancelled.

    `what` names the task: by it thread.py tells what a plugin is busy with.
    """
    task = asyncio.create_task(_fenced(call), name=what)
    task.add_done_callback(_look)
    try:
        in_time, _ = await asyncio.wait({task}, timeout=seconds)
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=GRACE_SECONDS)
    if not in_time:
        raise PluginHung(f"it did not finish within {seconds:g} s")
    if task.cancelled():
        raise PluginFault("it cancelled itself")
    return task.result()


async def in_thread(work: Callable[[], _T], seconds: float) -> _T:
    """Do blocking work in a thread that nobody has to wait for. Raises PluginFault for whatever goes wrong."""

    def fenced() -> _T | PluginFault:
        try:
            return work()
        except BaseException as error:
            # SystemExit too: a plugin does not decide when we end.
            return as_fault(error)

    try:
        async with asyncio.timeout(seconds):
            value = await in_daemon_thread(fenced)
    except TimeoutError:
        raise PluginHung(f"it did not finish within {seconds:g} s") from None
    if isinstance(value, PluginFault):
        raise value
    return value


async def _fenced(call: Callable[[], Awaitable[_T]]) -> _T:
    try:
        return await call()
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        # SystemExit too: a plugin does not decide when we end.
        raise as_fault(error) from error


def as_fault(error: BaseException) -> PluginFault:
    """What went wrong in foreign code, in words that can be shown."""
    if isinstance(error, PluginFault):
        return error
    text = one_line(str(error), _SHOWN_ERROR)
    return PluginFault(redact(f"{type(error).__name__}: {text}" if text else type(error).__name__))


def _look(task: "asyncio.Task[_T]") -> None:
    """So that the fault of an abandoned task is not reported as forgotten."""
    if not task.cancelled():
        task.exception()
