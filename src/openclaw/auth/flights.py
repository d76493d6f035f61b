"""One piece of work for all who ask for it at the same time, that goes on when they leave.

A renewal whose asker was cancelled must not be cut off: the authorization server may have replaced the refresh token already, and the new
one would be lost with the answer.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Flights:
    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[Any]] = {}

    async def join(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of `work`, or of the one that is under way under the same key."""
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(work(), name=f"auth-{key.partition(':')[0]}")
            task.add_done_callback(lambda done: self._landed(key, done))
        result: T = await asyncio.shield(task)
        return result

    async def close(self) -> None:
        """Wait for what is under way. Each piece is bounded by the deadlines of its requests."""
        if self._running:
            await asyncio.wait(list(self._running.values()))

    def _landed(self, key: str, task: "asyncio.Task[Any]") -> None:
        del self._running[key]
        if not task.cancelled():
            # Looked at, so that a failure nobody waits for any more is not reported as forgotten.
            task.exception()
