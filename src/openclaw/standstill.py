"""Waiting for a person costs nobody's time: limits that stand still, and places that are given back, while a question is open.

Owns how a time limit stands still, and the asker that has something do so and counts how long. What is asked, and of whom, is decided
elsewhere.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext, suppress

from openclaw.conversation import WITHDRAWN, Answer, Asker, Question, QuestionKind


class Standstill:
    """A limit of time that does not run while anybody waits: `with standstill.waiting():`. Several may wait at the same time."""

    def __init__(self, limit: asyncio.Timeout) -> None:
        self._limit = limit
        self._waiting = 0
        self._left: float | None = None

    @contextmanager
    def waiting(self) -> Iterator[None]:
        self._waiting += 1
        if self._waiting == 1:
            self._stop()
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._go_on()

    def _stop(self) -> None:
        until = self._limit.when()
        self._left = None if until is None else until - asyncio.get_running_loop().time()
        self._move(None)

    def _go_on(self) -> None:
        if self._left is not None:
            self._move(asyncio.get_running_loop().time() + self._left)

    def _move(self, when: float | None) -> None:
        # Its time was over before, or what it limits has ended: there is nothing left to stop.
        with suppress(RuntimeError):
            self._limit.reschedule(when)


class PausingAsker:
    """An asker that is inside of `pause()` while it waits for an answer. Whoever waits for more than that may be in there longer.

    `while_waiting` is entered with it, and so is what the asker behind this one pauses.
    """

    def __init__(
        self,
        asker: Asker,
        while_waiting: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._waited = 0.0
        self._asker = asker
        self._while_waiting = while_waiting
        self._clock = clock
        # How many wait at the same time, and since when.
        self._waiting = 0
        self._since = 0.0
        # The questions that are open.
        self._asking: set[asyncio.Future[Answer]] = set()
        self._is_over = False

    @property
    def waited(self) -> float:
        """How many seconds it was in there: also when it still is, since what a server asks may outlast the call that it belongs to."""
        return self._waited + (self._clock() - self._since if self._waiting else 0.0)

    def can(self, kind: QuestionKind) -> bool:
        return self._asker.can(kind)

    async def ask(self, question: Question) -> Answer:
        async with self.pause():
            # One sign-in is for all calls that wait for it.
            return await (self._asker.ask(question) if question.kind == "sign-in" else self._answer(question))

    async def _answer(self, question: Question) -> Answer:
        """What the person says, as long as the call that it is about goes on."""
        if self._is_over:
            return WITHDRAWN
        asking = asyncio.ensure_future(self._asker.ask(question))
        self._asking.add(asking)
        try:
            return await asking
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling() or asking in self._asking:
                raise
            return WITHDRAWN
        finally:
            self._asking.discard(asking)

    def end(self) -> None:
        """The call is over: what was asked about it is asked no more. A server may have answered the call and not waited for the person."""
        self._is_over = True
        open_ones, self._asking = self._asking, set()
        for asking in open_ones:
            asking.cancel()

    @asynccontextmanager
    async def pause(self) -> AsyncIterator[None]:
        async with self._while_waiting(), paused(self._asker):
            with self._counted():
                yield

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._waiting += 1
        if self._waiting == 1:
            self._since = self._clock()
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._waited += self._clock() - self._since


def paused(asker: Asker) -> AbstractAsyncContextManager[None]:
    """What is inside of this waits for the person of `asker`."""
    return asker.pause() if isinstance(asker, PausingAsker) else nullcontext()
