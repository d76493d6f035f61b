"""Nothing is started by a gateway whose turns others may have taken over: the step before every call of a tool and of a model.

Composed only where a fleet is configured; elsewhere nobody asks.
"""

from collections.abc import AsyncGenerator, Callable
from typing import Final

from openclaw.models.catalog import Candidate, TraceModel
from openclaw.models.provider import Done, ModelEvent, ModelRequest
from openclaw.tools.invoke import Fence

LOST_TOUCH: Final = "this gateway has lost touch with the database of its fleet, and another may have taken over."
_NOT_ASKED: Final = f"The model was not asked: {LOST_TOUCH} Try again in a moment."


def tool_fence(may_act: Callable[[], bool]) -> Fence:
    def fence() -> str | None:
        return None if may_act() else LOST_TOUCH

    return fence


def model_fence(may_act: Callable[[], bool], trace: TraceModel | None) -> TraceModel:
    """Around every request to a model, traced or not."""

    def fenced(
        candidate: Candidate, request: ModelRequest, answer: AsyncGenerator[ModelEvent, None]
    ) -> AsyncGenerator[ModelEvent, None]:
        if not may_act():
            return _refused(answer)
        return answer if trace is None else trace(candidate, request, answer)

    return fenced


async def _refused(answer: AsyncGenerator[ModelEvent, None]) -> AsyncGenerator[ModelEvent, None]:
    # It has not begun: nothing was sent.
    await answer.aclose()
    yield Done("error", error=_NOT_ASKED)
