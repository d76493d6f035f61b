"""A number of slots, handed out in order: calls in flight on one server, starters at one time, servers running at all.

Taking a free slot costs no suspension. Whoever releases one hands it straight to the one who waits longest.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Limiter:
    def __init__(self, slots: int, *, queue: int | None = None) -> None:
        """At most `slots` in use, at most `queue` waiting (None: any number)."""
        self.slots = slots
        self._free = slots
        self._queue = queue
        self._waiting: deque[asyncio.Future[None]] = deque()

    def try_acquire(self) -> bool:
        """Take a slot if one is free and nobody waits for it."""
        if self._free > 0:
            self._free -= 1
            return True
        return False

    @property
    def has_free(self) -> bool:
        return self._free > 0

    @property
    def in_use(self) -> int:
        return self.slots - self._free

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def is_full(self) -> bool:
        """Whether not even waiting is possible."""
        return self._free <= 0 and self._queue is not None and len(self._waiting) >= self._queue

    async def acquire(self) -> None:
        """Take a slot, waiting for one as long as it takes. Cancelling gives up the wait."""
        if self.try_acquire():
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                # The slot was handed over in the same moment: pass it on.
                self.release()
            elif waiter in self._waiting:
                self._waiting.remove(waiter)
            raise

    def release(self) -> None:
        self._free += 1
        if self._waiting:
            self._hand_out()

    def resize(self, slots: int) -> None:
        """Another number of slots. Those in use stay so, also when there are fewer now than are taken."""
        self._free += slots - self.slots
        self.slots = slots
        self._hand_out()

    def _hand_out(self) -> None:
        while self._free > 0 and self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                self._free -= 1
                waiter.set_result(None)

    @asynccontextmanager
    async def hold(self, *, at_most: float, widens: bool = False) -> AsyncIterator[None]:
        """Hold a slot for the body, but never longer than `at_most` seconds: who is slow goes on without one.

        With `widens` there are twice as many slots from then on: many slow ones do not wait for each other.
        """
        await self.acquire()
        held = True

        def give_back() -> None:
            nonlocal held
            if held:
                held = False
                self.release()

        def time_is_up() -> None:
            if widens:
                self.resize(2 * self.slots)
            give_back()

        timer = asyncio.get_running_loop().call_later(at_most, time_is_up)
        try:
            yield
        finally:
            timer.cancel()
            give_back()
