"""Work that many ask for at the same time is done once."""

import asyncio

import pytest

from openclaw.single_flight import SingleFlight


class Work:
    """Ends when it is told to; counts how often it was begun and cut off."""

    def __init__(self) -> None:
        self.begun = self.cut = 0
        self.may_end = asyncio.Event()

    async def __call__(self) -> str:
        self.begun += 1
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cut += 1
            raise
        return "done"


async def asked(flights: SingleFlight[str], work: Work, times: int = 1) -> "list[asyncio.Task[str]]":
    tasks = [asyncio.create_task(flights.join("key", work)) for _ in range(times)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


@pytest.mark.parametrize("goes_on", [True, False])
async def test_all_who_ask_meanwhile_share_one_result_and_the_next_starts_afresh(goes_on: bool) -> None:
    flights, work = SingleFlight[str]("test", goes_on=goes_on), Work()
    tasks = await asked(flights, work, 3)
    work.may_end.set()
    assert await asyncio.gather(*tasks) == ["done"] * 3
    assert (await flights.join("key", work), work.begun) == ("done", 2)


@pytest.mark.parametrize("goes_on", [True, False])
async def test_one_who_leaves_takes_nothing_from_the_others(goes_on: bool) -> None:
    flights, work = SingleFlight[str]("test", goes_on=goes_on), Work()
    first, second = await asked(flights, work, 2)
    first.cancel()
    await asyncio.wait([first])
    work.may_end.set()
    assert (await second, work.begun, work.cut) == ("done", 1, 0)


async def test_work_that_goes_on_ends_although_everybody_left() -> None:
    flights, work = SingleFlight[str]("test", goes_on=True), Work()
    (only,) = await asked(flights, work)
    only.cancel()
    await asyncio.wait([only])
    work.may_end.set()
    await flights.close()
    assert (work.begun, work.cut) == (1, 0)


async def test_other_work_is_cut_off_when_nobody_is_left_and_the_next_starts_afresh() -> None:
    flights, work = SingleFlight[str]("test", goes_on=False), Work()
    (only,) = await asked(flights, work)
    only.cancel()
    await asyncio.wait([only])
    work.may_end.set()
    assert (await flights.join("key", work), work.begun, work.cut) == ("done", 2, 1)
