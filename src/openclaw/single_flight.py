"""One piece of work for all who ask for it at the same time."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")


class _Flight(msgspec.Struct):
    """Work under way, and how many wait for it."""

    task: "asyncio.Task[Any]"
    waiting: int = 0

    def join(self) -> None:
        self.waiting += 1

    def leave(self) -> None:
        self.waiting -= 1


class SingleFlight(Generic[T]):
    """`goes_on`: whether work goes on when nobody waits for it any more; else it is cancelled."""

    def __init__(self, name: str, *, goes_on: bool) -> None:
        self._name = name
        self._goes_on = goes_on
        self._flights: dict[str, _Flight] = {}

    async def join(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of `work`, or of the one that is under way under the same key."""
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.create_task(work(), name=self._name))
            flight.task.add_done_callback(lambda done: self._landed(key, done))
        flight.join()
        try:
            # One caller that leaves takes nothing from the others.
            result: T = await asyncio.shield(flight.task)
            return result
        finally:
            flight.leave()
            if not (flight.waiting or self._goes_on or flight.task.done()):
                # Nobody is left to hear the answer. Whoever asks next starts afresh.
                del self._flights[key]
                flight.task.cancel()

    async def close(self) -> None:
        """Wait for what is under way."""
        if self._flights:
            await asyncio.wait([flight.task for flight in self._flights.values()])

    def _landed(self, key: str, task: "asyncio.Task[Any]") -> None:
        if key in self._flights and self._flights[key].task is task:
            del self._flights[key]
        if not task.cancelled():
            # Looked at, so that a failure nobody waits for any more is not reported as forgotten.
            task.exception()
