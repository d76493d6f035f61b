"""The calls of one server: those that run, those that wait for their turn, and what a connection has to know of them.

Reading resources and filling in prompts are calls too. What the engine asks for itself (lists, probes, injected resources) takes no turn:
a server that is busy with calls must still be seen to live.

A connection is not taken for dead while calls run on it, nor closed for being idle; for how long is said here.
"""

import asyncio

from openclaw.config.servers import ServerSpec
from openclaw.mcp.limiter import Turnstile

# Calls that may wait for a server that already runs as many as it may.
MAX_QUEUED = 1_000


class Workload:
    def __init__(self, spec: ServerSpec) -> None:
        self._time = asyncio.get_running_loop().time
        self.turns = Turnstile(spec.max_in_flight if spec.parallel_calls else 1, queue=MAX_QUEUED)
        # Loop time of the end of the last call, or of coming up.
        self.last_call = self._time()
        # Seconds that a call may stay without a sign of life: the most that any had.
        self.longest_call = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether anybody waits for an answer of the server."""
        return self.turns.inside > 0

    def try_enter(self, timeout: float) -> bool:
        """Begin a call that may stay `timeout` seconds without a sign of life, if it need not wait for its turn."""
        if timeout > self.longest_call:
            self.longest_call = timeout
        return self.turns.try_enter()

    async def enter(self, timeout: float, what: str) -> str:
        """Begin it after those that came before it. Why it did not begin, in a sentence about `what`; empty when it did."""
        turns = self.turns
        if turns.is_full:
            return f"The server is busy: {turns.inside} calls run and {turns.waiting} wait. Try again later."
        try:
            async with asyncio.timeout(timeout):
                await turns.enter()
        except TimeoutError:
            return f"{what} timed out after {round(timeout * 1000)}ms waiting for its turn."
        return ""

    def leave(self) -> float:
        """End it. The loop's time, at which it ended."""
        self.turns.leave()
        self.last_call = self._time()
        return self.last_call
