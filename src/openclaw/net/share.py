"""A fair share of the event loop for whoever has much to do in it: work for a few milliseconds, then let everything else run.

Reading from a peer that sends faster than we read never has to wait, and so would never let anybody else run.
"""

import asyncio
import time
from typing import Final

# Long enough that the changes between tasks cost nothing, short enough that nobody notices one.
SHARE: Final = 0.005


class Share:
    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until = time.perf_counter() + SHARE

    @property
    def is_used_up(self) -> bool:
        return time.perf_counter() >= self._until

    async def rest(self) -> None:
        """Let others run, if the share is used up."""
        if self.is_used_up:
            await asyncio.sleep(0)
            self._until = time.perf_counter() + SHARE
