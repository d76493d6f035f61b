"""A gateway that is going to stop, and fails nobody: it finishes what it has begun, and takes nothing new.

Owns the order of it. First everybody can know (`/ready`), and what comes is still taken for a while: a balancer looks every few seconds.
Then turns and calls are begun no more, and whoever wants one is told so before anything was done. What runs goes on to its end, within a
limit; questions about it can be answered, and it can be watched and cancelled as before. Then the servers that it runs for all gateways are
handed over. The stop itself is gateway.py's.
"""

import asyncio
import logging
from typing import Final

from openclaw.app import App
from openclaw.gateway.command_runner import CommandRunner
from openclaw.gateway.http import HttpServer
from openclaw.gateway.readiness import Readiness
from openclaw.gateway.runs import Runs

_log = logging.getLogger(__name__)

# Seconds between two looks at what still runs.
_LOOK: Final = 0.05


class Draining:
    def __init__(self, app: App, readiness: Readiness, runner: CommandRunner, runs: Runs, http: HttpServer) -> None:
        self._app = app
        self._readiness = readiness
        self._runner = runner
        self._runs = runs
        self._http = http

    async def run(self, limit: float, grace: float) -> None:
        """Returns when nothing runs any more, or the limit is reached."""
        _log.info("The gateway drains: it finishes what it has begun, for up to %g s, and then stops.", limit)
        self._readiness.begin_draining()
        self._http.begin_draining()
        # Terminals do their work themselves, at no cost to anybody.
        self._runner.begin_no_more()
        try:
            async with asyncio.timeout(limit):
                await asyncio.sleep(grace)
                self._http.begin_no_more()
                while self._under_way():
                    await asyncio.sleep(_LOOK)
                if (placement := self._app.engine.placement) is not None:
                    await placement.hand_over()
        except TimeoutError:
            _log.warning("Not everything ended within %g s; what still runs is cut off.", limit)

    def _under_way(self) -> bool:
        return bool(self._app.turns or len(self._app.engine.running) or self._runs.under_way or self._http.at_work)
