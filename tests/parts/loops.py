"""Tests that run on both event loops the product uses."""

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvloop


def both_loops(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test once on asyncio's own loop and once on uvloop."""

    @functools.wraps(test)
    def run(new_loop: Callable[[], asyncio.AbstractEventLoop], **fixtures: Any) -> None:
        async def main() -> None:
            await test(**fixtures)

        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(main())

    own = inspect.signature(test)
    loop = inspect.Parameter("new_loop", inspect.Parameter.KEYWORD_ONLY)
    run.__signature__ = own.replace(parameters=[*own.parameters.values(), loop])  # type: ignore[attr-defined]
    factories = [asyncio.new_event_loop, uvloop.new_event_loop]
    return pytest.mark.parametrize("new_loop", factories, ids=["asyncio", "uvloop"])(run)
