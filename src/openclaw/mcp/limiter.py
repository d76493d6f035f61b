"""A number of places, taken in turn: calls in flight on one server, starters at one time, servers running at all.

Taking a free place costs no suspension. Whoever leaves hands the place straight to the one who waits longest.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turnstile:
    def __init__(self, places: int, *, queue: int | None = None) -> None:
        """At most `places` inside, at most `queue` waiting (None: any number)."""
        self.places = places
        self._free = places
        self._queue = queue
        self._waiting: deque[asyncio.Future[None]] = deque()

    def try_enter(self) -> bool:
        """Take a place if one is free and nobody waits for it."""
        if self._free > 0:
            self._free -= 1
            return True
        return False

    @property
    def has_room(self) -> bool:
        return self._free > 0

    @property
    def inside(self) -> int:
        return self.places - self._free

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def is_full(self) -> bool:
        """Whether not even waiting is possible."""
        return self._free <= 0 and self._queue is not None and len(self._waiting) >= self._queue

    async def enter(self) -> None:
        """Take a place, waiting for one as long as it takes. Cancelling gives up the turn."""
        if self.try_enter():
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # The place was handed over in the same moment: pass it on.
                self.leave()
            elif turn in self._waiting:
                self._waiting.remove(turn)
            raise

    def leave(self) -> None:
        self._free += 1
        if self._waiting:
            self._admit()

    def resize(self, places: int) -> None:
        """Another number of places. Who is inside stays, also when there are fewer places now than are taken."""
        self._free += places - self.places
        self.places = places
        self._admit()

    def _admit(self) -> None:
        while self._free > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                self._free -= 1
                turn.set_result(None)

    @asynccontextmanager
    async def place(self, *, at_most: float, widens: bool = False) -> AsyncIterator[None]:
        """Hold a place for the body, but never longer than `at_most` seconds: who is slow goes on without one.

        With `widens` there are twice as many places from then on: many slow ones do not wait for each other in turn.
        """
        await self.enter()
        held = True

        def give_back() -> None:
            nonlocal held
            if held:
                held = False
                self.leave()

        def time_is_up() -> None:
            if widens:
                self.resize(2 * self.places)
            give_back()

        timer = asyncio.get_running_loop().call_later(at_most, time_is_up)
        try:
            yield
        finally:
            timer.cancel()
            give_back()
