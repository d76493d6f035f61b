"""The directory of runs, whoever reads it: the same promises to a gateway that is alone and to one of a fleet. What gateways know of each
other's runs is in tests/real/test_fleet_records.py."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from openclaw.agent.events import Notice, RunEnd, Sink
from openclaw.content import Usage
from openclaw.errors import UsageError
from openclaw.event_hub import EventHub
from openclaw.gateway.run_directory import OwnDirectory, RunDirectory
from openclaw.gateway.runs import Run, Runs
from openclaw.reply import Reply
from openclaw.run_state import RunState
from parts.postgres import PostgresServer, fleet_at
from parts.processes import HANG_GUARD

SESSION = "agent:main:x"
REPLY = Reply("", SESSION, "play/one")


@pytest.fixture(params=["alone", pytest.param("postgres", marks=pytest.mark.real)])
async def directory(request: pytest.FixtureRequest) -> AsyncIterator[RunDirectory]:
    if request.param == "alone":
        yield OwnDirectory()
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    fleet = fleet_at(await server.new_database())
    await fleet.begin()
    yield fleet.runs
    await fleet.close()


class LateAnswers(OwnDirectory):
    """Another directory, whose word on what was entered comes when it is let."""

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        self.entered = asyncio.Event()
        self.answer = asyncio.Event()

    async def claim(self, state: RunState) -> RunState | None:
        before = await self._directory.claim(state)
        self.entered.set()
        await self.answer.wait()
        return before

    def over(self, state: RunState) -> None:
        self._directory.over(state)


class Work:
    """What runs do: each waits until it is let go."""

    def __init__(self) -> None:
        self.begun = 0
        self.go_on = asyncio.Event()

    async def __call__(self, sink: Sink) -> Reply:
        self.begun += 1
        sink(Notice("first"))
        await self.go_on.wait()
        sink(RunEnd("done", Usage()))
        return REPLY


async def ended(run: Run) -> str:
    async with asyncio.timeout(HANG_GUARD):
        async for _ in run.events(0, HANG_GUARD):
            pass
    return run.state().reason


async def test_a_run_that_is_asked_for_again_and_at_once_is_begun_once(directory: RunDirectory) -> None:
    runs, work = Runs(EventHub(), directory), Work()
    begun = await asyncio.gather(*(runs.begin("mine", "main", SESSION, work, said={}) for _ in range(5)))
    assert {run.id for run in begun} == {"mine"}
    work.go_on.set()
    assert await ended(begun[0]) == "done"
    again = await runs.begin("mine", "main", SESSION, work, said={})
    assert (again, work.begun) == (begun[0], 1)


async def test_a_run_whose_caller_leaves_while_it_is_entered_is_begun_all_the_same(directory: RunDirectory) -> None:
    """Others are told of it from then on: whoever asks again under its id must find one that ends."""
    late, work = LateAnswers(directory), Work()
    runs = Runs(EventHub(), late)
    asking = asyncio.create_task(runs.begin("mine", "main", SESSION, work, said={}))
    await late.entered.wait()
    asking.cancel()
    late.answer.set()
    with pytest.raises(asyncio.CancelledError):
        await asking
    work.go_on.set()
    run = await runs.begin("mine", "main", SESSION, work, said={})
    assert (await ended(run), work.begun) == ("done", 1)
    await runs.finish(HANG_GUARD)


async def test_a_run_here_is_nobody_elses_and_is_listed_once(directory: RunDirectory) -> None:
    runs, work = Runs(EventHub(), directory), Work()
    run = await runs.begin("", "main", SESSION, work, said={})
    assert await directory.others() == []
    assert [state.run for state in await runs.states(SESSION)] == [run.id]
    assert await runs.states("agent:main:another") == []
    work.go_on.set()
    assert await ended(run) == "done"
    assert [(state.run, state.state, state.reason) for state in await runs.states()] == [(run.id, "over", "done")]
    await runs.finish(HANG_GUARD)


async def test_nobody_has_a_run_of_an_unknown_id_and_ending_one_is_harmless(directory: RunDirectory) -> None:
    runs, work = Runs(EventHub(), directory), Work()
    assert await directory.find("unknown") is None
    await directory.cancel("unknown")
    run = await runs.begin("other", "main", SESSION, work, said={})
    assert not run.is_over
    runs.cancel(run)
    assert await ended(run) == "cancelled"
    await runs.finish(HANG_GUARD)


async def test_an_id_that_nobody_should_use_is_refused_before_anybody_hears_of_it(directory: RunDirectory) -> None:
    runs, work = Runs(EventHub(), directory), Work()
    with pytest.raises(UsageError, match="The id of a run is at most"):
        await runs.begin("no/such", "main", SESSION, work, said={})
    assert (await runs.states(), work.begun) == ([], 0)
