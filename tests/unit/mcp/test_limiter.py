"""Slots handed out in order: bounded, fair, and never lost to a waiter that gave up."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from openclaw.mcp.limiter import Limiter

T = TypeVar("T")


async def started(coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    task = asyncio.create_task(coroutine)
    await asyncio.sleep(0)
    return task


async def test_only_so_many_are_in_use_and_the_rest_wait() -> None:
    limiter, order = Limiter(2), []

    async def visit(number: int) -> None:
        await limiter.acquire()
        order.append(number)

    visits = [await started(visit(number)) for number in range(4)]
    assert order == [0, 1]
    limiter.release()
    await asyncio.sleep(0)
    assert order == [0, 1, 2]
    limiter.release()
    await asyncio.gather(*visits)
    assert order == [0, 1, 2, 3]


async def test_a_slot_handed_over_cannot_be_snatched() -> None:
    limiter = Limiter(1)
    assert limiter.try_acquire()
    waiting = await started(limiter.acquire())
    limiter.release()
    assert not limiter.try_acquire()
    await waiting
    limiter.release()
    assert limiter.try_acquire()


async def test_it_is_full_when_every_slot_and_the_whole_queue_are_taken() -> None:
    limiter = Limiter(1, queue=1)
    seen = [limiter.is_full]
    limiter.try_acquire()
    seen.append(limiter.is_full)
    waiting = await started(limiter.acquire())
    seen.append(limiter.is_full)
    limiter.release()
    await waiting
    assert [*seen, limiter.is_full] == [False, False, True, False]


async def test_a_waiter_that_gives_up_loses_no_slot() -> None:
    limiter = Limiter(1)
    limiter.try_acquire()
    early, late = await started(limiter.acquire()), await started(limiter.acquire())
    early.cancel()
    await asyncio.gather(early, return_exceptions=True)
    limiter.release()
    # The slot is already handed to `late` when it is cancelled.
    late.cancel()
    await asyncio.gather(late, return_exceptions=True)
    assert limiter.try_acquire()


async def test_a_slot_freed_in_the_moment_a_waiter_gives_up_goes_to_the_next() -> None:
    limiter = Limiter(1)
    limiter.try_acquire()
    gone, next_ = await started(limiter.acquire()), await started(limiter.acquire())
    gone.cancel()
    limiter.release()
    await next_
    assert isinstance((await asyncio.gather(gone, return_exceptions=True))[0], asyncio.CancelledError)


async def test_who_is_slow_goes_on_without_its_slot() -> None:
    limiter, release = Limiter(1), asyncio.Event()

    async def slow() -> None:
        async with limiter.hold(at_most=0.01):
            await release.wait()

    task = await started(slow())
    async with limiter.hold(at_most=60):
        release.set()
        await task
        assert not limiter.try_acquire()
    assert limiter.try_acquire()
    assert not limiter.try_acquire()


async def test_more_slots_let_those_in_who_wait_and_fewer_put_nobody_out() -> None:
    limiter = Limiter(1)
    limiter.try_acquire()
    visits = [await started(limiter.acquire()) for _ in range(3)]
    limiter.resize(3)
    await asyncio.gather(*visits[:2])
    assert (limiter.in_use, limiter.waiting, limiter.has_free) == (3, 1, False)
    limiter.resize(1)
    assert (limiter.in_use, limiter.waiting, limiter.try_acquire()) == (3, 1, False)
    for _ in range(3):
        assert not visits[2].done()
        limiter.release()
        await asyncio.sleep(0)
    await visits[2]
    assert (limiter.in_use, limiter.waiting) == (1, 0)


async def test_who_uses_up_the_time_of_a_slot_that_widens_lets_more_in_than_went() -> None:
    limiter, inside = Limiter(1), []

    async def stay(number: int) -> None:
        async with limiter.hold(at_most=0.01, widens=True):
            inside.append(number)
            await asyncio.Event().wait()

    visits = [await started(stay(number)) for number in range(4)]
    assert inside == [0]
    while len(inside) < 3:
        await asyncio.sleep(0)
    # One went and its slot became two: both were taken in the same moment.
    assert inside[:3] == [0, 1, 2]
    for visit in visits:
        visit.cancel()
    await asyncio.gather(*visits, return_exceptions=True)
