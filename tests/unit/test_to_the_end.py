"""Work that comes to its end although whoever waits for it is cancelled."""

import asyncio

import pytest

from openclaw.to_the_end import ended, to_the_end


async def test_a_caller_that_nobody_cancels_gets_the_outcome() -> None:
    async def work() -> int:
        return 7

    async def fail() -> None:
        raise ValueError("no")

    assert await to_the_end(work()) == 7
    with pytest.raises(ValueError, match="no"):
        await to_the_end(fail())


@pytest.mark.parametrize("cancels", [1, 2, 3])
async def test_a_caller_is_cancelled_only_when_the_work_is_done_however_often_that_is_asked(cancels: int) -> None:
    go_on, begun, order = asyncio.Event(), asyncio.Event(), list[str]()

    async def work() -> None:
        begun.set()
        await go_on.wait()
        order.append("done")

    async def call() -> None:
        try:
            await to_the_end(work())
        finally:
            order.append("caller left")

    caller = asyncio.ensure_future(call())
    await begun.wait()
    for _ in range(cancels):
        caller.cancel()
        await asyncio.sleep(0)
    assert order == []
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert order == ["done", "caller left"]


async def test_a_failure_after_the_caller_was_cancelled_is_not_reported_as_forgotten() -> None:
    go_on, told = asyncio.Event(), list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: told.append(context))

    async def work() -> None:
        await go_on.wait()
        raise ValueError("too late")

    task = asyncio.ensure_future(work())
    waiting = asyncio.ensure_future(ended(task))
    go_on.set()
    await waiting
    assert isinstance(task.exception(), ValueError)
    del task
    assert told == []
