"""Servers that ask a model: who has to agree, how often, and at what cost."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from openclaw.asking.samples import Sample, SampleRequest
from openclaw.asking.sampling import Sampling
from openclaw.config.servers import SamplingSpec, ServerSpec
from openclaw.content import Text
from openclaw.conversation import Answer, Conversation, Nobody, Question
from openclaw.errors import RpcError
from openclaw.tool import Invocation
from parts.clock import Clock
from parts.person import Person, agrees, declines

PARAMS = {"messages": [{"role": "user", "content": {"type": "text", "text": "Hello"}}], "maxTokens": 10}
ANSWER = {
    "role": "assistant",
    "content": {"type": "text", "text": "Hi."},
    "model": "local/fast",
    "stopReason": "endTurn",
}


def server(**sampling: Any) -> ServerSpec:
    return ServerSpec("shop", sampling=SamplingSpec(enabled=True, models=("local/fast",), **sampling))


class Model:
    def __init__(self, tokens: int = 7, error: str = "") -> None:
        self.asked: list[SampleRequest] = []
        self._answer = Sample((Text("Hi."),), "end", "local/fast", tokens, error)

    async def __call__(self, request: SampleRequest) -> Sample:
        self.asked.append(request)
        return self._answer


def call(asker: Any, session: str = "s") -> Invocation:
    return Invocation(Conversation("main", session, asker=asker), "c")


async def refused(answer: Any) -> tuple[int, str]:
    with pytest.raises(RpcError) as error:
        await answer
    return error.value.code, error.value.message


async def test_prompt_and_answer_are_both_shown_before_they_go_on(tmp_path: Path) -> None:
    model, person = Model(), Person(agrees)
    sampling = Sampling(model, tmp_path / "count.json")
    for _ in range(2):
        assert await sampling.create(server(), PARAMS, call(person)) == ANSWER
    prompt = "I want local/fast to answer this, with at most 10 tokens:\n[user] Hello"
    both = [
        Question("approval", prompt, "shop", "c"),
        Question("approval", "Let me have the model's answer:\nHi.", "shop", "c"),
    ]
    assert person.asked == both * 2


async def test_a_no_to_the_prompt_spends_nothing_and_a_no_to_the_answer_keeps_it_here(tmp_path: Path) -> None:
    model, made = Model(), call(Person(declines))
    sampling = Sampling(model, tmp_path / "count.json")
    assert await refused(sampling.create(server(), PARAMS, made)) == (-1, "User rejected sampling request")
    assert (model.asked, made.notes) == ([], ["The person did not let shop ask a model."])
    in_turn = iter([Answer("accept"), Answer("decline")])
    second = sampling.create(server(), PARAMS, call(Person(lambda _: next(in_turn))))
    assert await refused(second) == (-1, "User rejected sampling request")
    assert len(model.asked) == 1


async def test_where_nobody_can_agree_it_is_refused_and_not_called_a_no(tmp_path: Path) -> None:
    sampling = Sampling(Model(), tmp_path / "count.json")
    expected = (-32603, "Nobody was there to agree to the request.")
    assert await refused(sampling.create(server(), PARAMS, None)) == expected
    made = call(Nobody())
    assert await refused(sampling.create(server(), PARAMS, made)) == expected
    assert made.notes == ["shop wanted to ask a model, and nobody was there to agree to it."]


async def test_first_asks_once_for_each_conversation_and_never_never(tmp_path: Path) -> None:
    person, sampling = Person(agrees), Sampling(Model(), tmp_path / "count.json")
    one, other = call(person, "one"), call(person, "other")
    for made in (one, one, other, one):
        await sampling.create(server(approve="first"), PARAMS, made)
    assert len(person.asked) == 4
    # Another program under the same name is another server.
    another = structs.replace(server(approve="first", requests_per_minute=9), command="another")
    await sampling.create(another, PARAMS, one)
    assert len(person.asked) == 6
    person.asked.clear()
    for asker in (Nobody(), person):
        await sampling.create(server(approve="never", requests_per_minute=9), PARAMS, call(asker))
    assert person.asked == []


async def test_requests_are_counted_by_the_minute(tmp_path: Path) -> None:
    clock, spec = Clock(), server(approve="never", requests_per_minute=2)
    sampling = Sampling(Model(), tmp_path / "count.json", clock=clock)
    for _ in range(2):
        await sampling.create(spec, PARAMS, None)
    assert await refused(sampling.create(spec, PARAMS, None)) == (-32603, "More than 2 requests a minute.")
    clock.now += 60
    assert await sampling.create(spec, PARAMS, None) == ANSWER


async def test_tokens_are_counted_by_the_day_for_all_processes_and_what_is_under_way_counts(tmp_path: Path) -> None:
    day = ["2026-11-16"]
    spec = server(approve="never", tokens_per_day=23, requests_per_minute=100)
    one, other = (Sampling(Model(), tmp_path / "count.json", today=lambda: day[0]) for _ in range(2))
    # Seven are used of ten that each may use: the third does not fit any more.
    await one.create(spec, PARAMS, None)
    await other.create(spec, PARAMS, None)
    used_up = (-32603, "The 23 tokens of this day are used up.")
    assert await refused(one.create(spec, PARAMS, None)) == used_up
    day[0] = "2026-11-17"
    results = await asyncio.gather(*(one.create(spec, PARAMS, None) for _ in range(3)), return_exceptions=True)
    assert [isinstance(result, RpcError) for result in results] == [False, False, True]


async def test_a_model_that_fails_is_told_in_its_sentence(tmp_path: Path) -> None:
    sampling = Sampling(Model(error="local has no API key."), tmp_path / "count.json")
    made = sampling.create(server(approve="never"), PARAMS, None)
    assert await refused(made) == (-32603, "local has no API key.")


async def test_who_cancels_is_not_told_of_a_count_that_cannot_be_written_instead(tmp_path: Path) -> None:
    file = tmp_path / "count.json"
    begun = asyncio.Event()

    async def forever(request: SampleRequest) -> Sample:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    sampling = Sampling(forever, file)
    made = asyncio.ensure_future(sampling.create(server(approve="never"), PARAMS, None))
    await begun.wait()
    # No file can take its place.
    file.unlink()
    file.mkdir()
    made.cancel()
    with pytest.raises(asyncio.CancelledError):
        await made
