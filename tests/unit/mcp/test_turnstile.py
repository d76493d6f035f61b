"""Places taken in turn: bounded, fair, and never lost to a waiter that gave up."""

import asyncio

from openclaw.mcp.limiter import Turnstile


async def started(coroutine) -> asyncio.Task:
    task = asyncio.ensure_future(coroutine)
    await asyncio.sleep(0)
    return task


async def test_only_so_many_are_inside_and_the_rest_wait_their_turn() -> None:
    gate, order = Turnstile(2), []

    async def visit(number: int) -> None:
        await gate.enter()
        order.append(number)

    visits = [await started(visit(number)) for number in range(4)]
    assert order == [0, 1]
    gate.leave()
    await asyncio.sleep(0)
    assert order == [0, 1, 2]
    gate.leave()
    await asyncio.gather(*visits)
    assert order == [0, 1, 2, 3]


async def test_a_place_handed_over_cannot_be_snatched() -> None:
    gate = Turnstile(1)
    assert gate.try_enter()
    waiting = await started(gate.enter())
    gate.leave()
    assert not gate.try_enter()
    await waiting
    gate.leave()
    assert gate.try_enter()


async def test_it_is_full_when_every_place_and_the_whole_queue_are_taken() -> None:
    gate = Turnstile(1, queue=1)
    seen = [gate.is_full]
    gate.try_enter()
    seen.append(gate.is_full)
    waiting = await started(gate.enter())
    seen.append(gate.is_full)
    gate.leave()
    await waiting
    assert [*seen, gate.is_full] == [False, False, True, False]


async def test_a_waiter_that_gives_up_loses_no_place() -> None:
    gate = Turnstile(1)
    gate.try_enter()
    early, late = await started(gate.enter()), await started(gate.enter())
    early.cancel()
    await asyncio.gather(early, return_exceptions=True)
    gate.leave()
    # The place is already handed to `late` when it is cancelled.
    late.cancel()
    await asyncio.gather(late, return_exceptions=True)
    assert gate.try_enter()


async def test_a_place_freed_in_the_moment_a_waiter_gives_up_goes_to_the_next() -> None:
    gate = Turnstile(1)
    gate.try_enter()
    gone, next_ = await started(gate.enter()), await started(gate.enter())
    gone.cancel()
    gate.leave()
    await next_
    assert isinstance((await asyncio.gather(gone, return_exceptions=True))[0], asyncio.CancelledError)


async def test_who_is_slow_goes_on_without_its_place() -> None:
    gate, release = Turnstile(1), asyncio.Event()

    async def slow() -> None:
        async with gate.place(at_most=0.01):
            await release.wait()

    task = await started(slow())
    async with gate.place(at_most=60):
        release.set()
        await task
        assert not gate.try_enter()
    assert gate.try_enter()
    assert not gate.try_enter()


async def test_more_places_let_those_in_who_wait_and_fewer_put_nobody_out() -> None:
    gate = Turnstile(1)
    gate.try_enter()
    visits = [await started(gate.enter()) for _ in range(3)]
    gate.resize(3)
    await asyncio.gather(*visits[:2])
    assert (gate.inside, gate.waiting, gate.has_room) == (3, 1, False)
    gate.resize(1)
    assert (gate.inside, gate.waiting, gate.try_enter()) == (3, 1, False)
    for _ in range(3):
        assert not visits[2].done()
        gate.leave()
        await asyncio.sleep(0)
    await visits[2]
    assert (gate.inside, gate.waiting) == (1, 0)


async def test_who_uses_up_the_time_of_a_place_that_widens_lets_more_in_than_went() -> None:
    gate, inside = Turnstile(1), []

    async def stay(number: int) -> None:
        async with gate.place(at_most=0.01, widens=True):
            inside.append(number)
            await asyncio.Event().wait()

    visits = [await started(stay(number)) for number in range(4)]
    assert inside == [0]
    while len(inside) < 3:
        await asyncio.sleep(0)
    # One went and its place became two: both were taken in the same moment.
    assert inside[:3] == [0, 1, 2]
    for visit in visits:
        visit.cancel()
    await asyncio.gather(*visits, return_exceptions=True)
