"""A gateway that has lost touch asks no model; tools are in tests/unit/tools/test_invoke.py."""

from collections.abc import AsyncGenerator

from openclaw.fleet.fence import LOST_TOUCH, model_fence, tool_fence
from openclaw.models.catalog import Candidate, Chain
from openclaw.models.provider import Done, ModelEvent, ModelRequest, TextDelta


class Answering:
    """A provider that notes when it is asked."""

    name = "test"
    asked = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self.asked += 1
        yield TextDelta("hello")
        yield Done("end")

    async def close(self) -> None: ...


async def said(chain: Chain) -> list[ModelEvent]:
    return [event async for event in chain.stream(ModelRequest("m", "", ()))]


async def test_a_model_is_not_asked_while_others_may_have_taken_over_and_is_again_afterwards() -> None:
    provider, alive = Answering(), [False]
    traced: list[str] = []

    def trace(
        candidate: Candidate, request: ModelRequest, answer: AsyncGenerator[ModelEvent, None]
    ) -> AsyncGenerator[ModelEvent, None]:
        traced.append(candidate.name)
        return answer

    candidates = [Candidate("test/a", provider, "a"), Candidate("test/b", provider, "b")]
    chain = Chain(candidates, model_fence(lambda: alive[0], trace))
    [refused] = await said(chain)
    assert isinstance(refused, Done)
    assert refused.error == f"The model was not asked: {LOST_TOUCH} Try again in a moment."
    assert (provider.asked, traced) == (0, [])

    alive[0] = True
    assert await said(chain) == [TextDelta("hello"), Done("end", model="test/a")]
    assert (provider.asked, traced) == (1, ["test/a"])
    assert await said(Chain(candidates, model_fence(lambda: True, None))) == [
        TextDelta("hello"),
        Done("end", model="test/a"),
    ]


def test_a_tool_is_refused_with_the_reason() -> None:
    assert (tool_fence(lambda: True)(), tool_fence(lambda: False)()) == (None, LOST_TOUCH)
