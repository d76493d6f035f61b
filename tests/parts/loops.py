"""Tests that run on both event loops the product uses, and tests whose clock is in their own hands."""

import asyncio
import functools
import inspect
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest


def both_loops(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test once on asyncio's own loop, and once on uvloop where that is."""

    @functools.wraps(test)
    def run(new_loop: Callable[[], asyncio.AbstractEventLoop], **fixtures: Any) -> None:
        async def main() -> None:
            await test(**fixtures)

        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(main())

    own = inspect.signature(test)
    loop = inspect.Parameter("new_loop", inspect.Parameter.KEYWORD_ONLY)
    run.__signature__ = own.replace(parameters=[*own.parameters.values(), loop])  # type: ignore[attr-defined]
    factories = {"asyncio": asyncio.new_event_loop}
    if sys.platform != "win32":
        import uvloop

        factories["uvloop"] = uvloop.new_event_loop
    on_each: Callable[..., None] = pytest.mark.parametrize("new_loop", factories.values(), ids=factories)(run)
    return on_each


class ShiftedLoop(asyncio.SelectorEventLoop):
    """A loop whose clock can be moved on, so that an hour passes at once."""

    def __init__(self) -> None:
        super().__init__()
        self._shift = 0.0

    def time(self) -> float:
        return super().time() + self._shift

    async def pass_time(self, seconds: float) -> None:
        """Move the clock, and let everything that became due happen."""
        self._shift += seconds
        for _ in range(5):
            await asyncio.sleep(0)


def own_clock(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test on a ShiftedLoop, which it gets as `loop`."""

    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        async def main() -> None:
            await test(loop=asyncio.get_running_loop(), **fixtures)

        with asyncio.Runner(loop_factory=ShiftedLoop) as runner:
            runner.run(main())

    own = inspect.signature(test)
    kept = [parameter for name, parameter in own.parameters.items() if name != "loop"]
    run.__signature__ = own.replace(parameters=kept)  # type: ignore[attr-defined]
    return run
