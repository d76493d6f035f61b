"""The calls of one server: those that run, those that wait for their turn, and what a connection has to know of them.

A connection is not taken for dead while calls run on it, nor closed for being idle; for how long is said here.
"""

import asyncio

from openclaw.config.servers import ServerSpec
from openclaw.mcp.turnstile import Turnstile

# Calls that may wait for a server that already runs as many as it may.
MAX_QUEUED = 1_000


class Workload:
    def __init__(self, spec: ServerSpec) -> None:
        self.turns = Turnstile(spec.max_in_flight if spec.parallel_calls else 1, queue=MAX_QUEUED)
        # What is done with the server beside calls: reading resources, filling in prompts, listing them.
        self.uses = 0
        # Loop time of the end of the last call or use, or of coming up.
        self.last_call = asyncio.get_running_loop().time()
        # Seconds that a call may stay without a sign of life: the most that any had.
        self.longest_call = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether anybody waits for an answer of the server."""
        return self.turns.inside > 0 or self.uses > 0
