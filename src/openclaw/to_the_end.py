"""Work that comes to its end although whoever waits for it is cancelled, however often: a write is done or not, never half known."""

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

T = TypeVar("T")


async def to_the_end(work: Awaitable[T]) -> T:
    """The outcome of `work`. When the caller is cancelled, work goes on to its end first, and only then the caller is."""
    done = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        await ended(done)
        raise


async def ended(work: "asyncio.Future[Any]") -> None:
    """Wait for the end of `work`, for a caller that was cancelled and may be again. What became of it can be asked of `work`."""
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError:
            continue
    if not work.cancelled():
        # Looked at, so that a failure nobody waits for any more is not reported as forgotten.
        work.exception()
