"""A run that waits for a person: neither its time nor a tool's goes by meanwhile, and other calls go on."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from openclaw.content import ToolCall
from openclaw.conversation import Answer, Question, QuestionKind
from openclaw.standstill import PausingAsker, paused
from openclaw.tool import Invocation, ToolResult
from parts.stage import Script, Stage, calls, echo, ends, result, says, tool

# Nothing here takes this long unless it hangs.
GUARD = 30.0


@pytest.fixture
async def go_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let so many seconds of the event loop go by at once."""
    loop = asyncio.get_running_loop()
    time, ahead = loop.time, 0.0

    def now() -> float:
        return time() + ahead

    def go_by(seconds: float) -> None:
        nonlocal ahead
        ahead += seconds

    monkeypatch.setattr(loop, "time", now)
    return go_by


class Person:
    """Answers when `says` is called; `asked` is released once for every question."""

    def __init__(self) -> None:
        self.asked = asyncio.Semaphore(0)
        self._said = asyncio.Event()

    def can(self, kind: QuestionKind) -> bool:
        return True

    async def ask(self, question: Question) -> Answer:
        self.asked.release()
        await self._said.wait()
        return Answer("accept")

    def says(self) -> None:
        self._said.set()


async def asking(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
    answer = await invocation.conversation.asker.ask(Question("approval", "May I?"))
    return result(answer.action)


async def hanging(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
    await invocation.conversation.asker.ask(Question("approval", "May I?"))
    await asyncio.Event().wait()
    return result("never")


async def iterations() -> None:
    """Let what is due be done."""
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture
def person(stage: Stage) -> Person:
    stage.asker = person = Person()
    return person


async def test_the_time_of_a_run_and_of_a_tool_stands_still_while_a_person_thinks(
    stage: Stage, person: Person, go_by: Callable[[float], None]
) -> None:
    stage.tools = [tool("asking", asking, timeout=1.0)]
    run = asyncio.create_task(stage.run(Script([calls(ToolCall("1", "asking", {})), says("Done.")]), deadline=2.0))

    async with asyncio.timeout(GUARD + 10_000.0):
        await person.asked.acquire()
        go_by(10_000.0 - GUARD)
        await iterations()
        person.says()
        outcome = await run

    assert (outcome.reason, outcome.text) == ("done", "Done.")
    assert [end.result for end in ends(stage.events)] == [result("accept")]


@pytest.mark.parametrize(
    ("timeout", "ending"),
    [
        (3.0, "hanging did not finish within 3000 ms."),
        (None, "The call was stopped: the run's time was over."),
    ],
)
async def test_time_goes_on_after_the_answer(
    stage: Stage, person: Person, go_by: Callable[[float], None], timeout: float | None, ending: str
) -> None:
    stage.tools = [tool("hanging", hanging, timeout=timeout)]
    run = asyncio.create_task(stage.run(Script([calls(ToolCall("1", "hanging", {})), says("Done.")]), deadline=60.0))

    async with asyncio.timeout(GUARD + 10_000.0):
        await person.asked.acquire()
        go_by(1_000.0)
        await iterations()
        person.says()
        await iterations()
        assert not run.done()
        go_by(61.0 if timeout is None else timeout)
        await run

    assert [end.result for end in ends(stage.events)] == [ToolResult.error(ending)]


async def test_the_seconds_of_a_call_are_told_without_those_in_which_a_person_thought(
    stage: Stage, person: Person
) -> None:
    seconds = 0.0
    stage.clock = lambda: seconds

    async def asking_twice(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        nonlocal seconds
        seconds += 2.0
        # Approvals wait in line for the person first, and then for the answer: one wait within the other.
        async with paused(invocation.conversation.asker):
            await invocation.conversation.asker.ask(Question("approval", "May I?"))
        seconds += 3.0
        return result("done")

    stage.tools = [tool("asking", asking_twice)]
    run = asyncio.create_task(stage.run(Script([calls(ToolCall("1", "asking", {})), says("Done.")])))
    async with asyncio.timeout(GUARD):
        await person.asked.acquire()
        seconds += 1_000.0
        person.says()
        await run
    assert [end.seconds for end in ends(stage.events)] == [5.0]


async def test_what_a_server_asked_is_asked_no_more_once_its_call_is_over_and_costs_neither_its_time_nor_a_place(
    stage: Stage, person: Person
) -> None:
    seconds = 0.0
    stage.clock = lambda: seconds
    asked: list[asyncio.Task[Answer]] = []
    waited: list[float] = []

    async def answered_at_once(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        nonlocal seconds
        asker = invocation.conversation.asker
        assert isinstance(asker, PausingAsker)
        # By its connection, in a task of its own.
        asked.append(asyncio.create_task(asker.ask(Question("form", "Which?"))))
        await person.asked.acquire()
        seconds += 1_000.0
        waited.append(asker.waited)
        # And one that comes too late to be shown.
        asked.append(asyncio.create_task(asker.ask(Question("form", "Which?"))))
        return result("done")

    async def heard(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        return result(" ".join([(await one).why for one in asked]))

    stage.tools = [tool("asking", answered_at_once, timeout=None), tool("heard", heard)]
    script = Script([calls(ToolCall("1", "asking", {})), calls(ToolCall("2", "heard", {})), says("Done.")])
    async with asyncio.timeout(GUARD):
        await stage.run(script, parallel_calls=1)
    ended = ends(stage.events)
    assert ([end.seconds for end in ended], waited) == ([0.0, 0.0], [1_000.0])
    assert ended[1].result == result("withdrawn withdrawn")
    assert person.asked.locked()


async def test_so_are_those_of_a_call_that_another_call_makes_and_of_the_call_that_makes_it(
    stage: Stage, person: Person
) -> None:
    seconds = 0.0
    stage.clock = lambda: seconds

    async def outer(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        nonlocal seconds
        assert invocation.inner is not None
        said = await invocation.inner.call(ToolCall("inner", "asking", {}), "asking()")
        seconds += 3.0
        assert isinstance(invocation.conversation.asker, PausingAsker)
        assert invocation.conversation.asker.waited == 1_000.0
        return said

    stage.tools = [tool("outer", outer), tool("asking", asking)]
    run = asyncio.create_task(stage.run(Script([calls(ToolCall("1", "outer", {})), says("Done.")]), deadline=60.0))
    async with asyncio.timeout(GUARD):
        await person.asked.acquire()
        seconds += 1_000.0
        person.says()
        await run
    assert [(end.call.id, end.seconds) for end in ends(stage.events)] == [("inner", 0.0), ("1", 3.0)]


async def test_any_number_of_calls_that_wait_for_a_person_leave_room_for_others(stage: Stage, person: Person) -> None:
    stage.tools = [tool("asking", asking), tool("echo", echo)]
    waiting = [ToolCall(f"ask {number}", "asking", {}) for number in range(8)]
    reading = ToolCall("read", "echo", {"text": "hello"})
    ended = asyncio.Event()
    stage.on_event = lambda event: ended.set() if reading in [end.call for end in ends([event])] else None
    model = Script([calls(*waiting, reading), says("Done.")])
    run = asyncio.create_task(stage.run(model, parallel_calls=2))

    async with asyncio.timeout(GUARD):
        await ended.wait()
        for _ in waiting:
            await person.asked.acquire()
        assert [end.call for end in ends(stage.events)] == [reading]
        person.says()
        outcome = await run

    assert outcome.reason == "done"
    assert len(ends(stage.events)) == 9


async def test_no_more_calls_than_may_run_side_by_side_go_on_at_once_after_their_answers(
    stage: Stage, person: Person
) -> None:
    at_once, most = 0, 0

    async def work(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        nonlocal at_once, most
        await invocation.conversation.asker.ask(Question("approval", "May I?"))
        at_once += 1
        most = max(most, at_once)
        await iterations()
        at_once -= 1
        return result("worked")

    stage.tools = [tool("work", work)]
    wanted = [ToolCall(str(number), "work", {}) for number in range(6)]
    run = asyncio.create_task(stage.run(Script([calls(*wanted), says("Done.")]), parallel_calls=2))

    async with asyncio.timeout(GUARD):
        for _ in wanted:
            await person.asked.acquire()
        person.says()
        outcome = await run

    assert (outcome.reason, most) == ("done", 2)


async def test_a_run_that_is_cancelled_while_it_asks_ends_with_every_call_answered(
    stage: Stage, person: Person
) -> None:
    stage.tools = [tool("asking", asking)]
    run = asyncio.create_task(stage.run(Script([calls(ToolCall("1", "asking", {}), ToolCall("2", "asking", {}))])))

    async with asyncio.timeout(GUARD):
        await person.asked.acquire()
        await person.asked.acquire()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    assert [end.result for end in ends(stage.events)] == [ToolResult.error("The call was cancelled.")] * 2
