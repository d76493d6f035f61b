"""How long the event loop was kept from turning, measured in what this process computed meanwhile: a busy machine changes nothing."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

# Seconds between two looks.
LOOK = 0.002


class Stalls:
    """`worst` is the longest time, in seconds of computing, in which nobody else had a turn; `turns` counts the looks."""

    def __init__(self) -> None:
        self.worst = 0.0
        self.turns = 0

    async def watch(self) -> None:
        while True:
            before = time.process_time()
            await asyncio.sleep(LOOK)
            self.worst = max(self.worst, time.process_time() - before)
            self.turns += 1


@contextlib.asynccontextmanager
async def watched() -> AsyncIterator[Stalls]:
    stalls = Stalls()
    task = asyncio.create_task(stalls.watch())
    try:
        yield stalls
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
