"""Whether a gateway takes work, for load balancers: ready, or not and why.

Servers of agents are no reason: a turn goes on without one that is down, and says so. What is told is for anybody who asks, so it names
nothing of the config.
"""

import asyncio
import time
from typing import Final

import msgspec

from openclaw.app import App
from openclaw.errors import OpenClawError
from openclaw.single_flight import SingleFlight

# Seconds for which an answer holds: many may ask, and nobody has to show a token.
HOLDS: Final = 1.0
# The store of a gateway that works answers at once.
PATIENCE: Final = 2.0
# The id of no session.
_NOBODY: Final = "-"


class NotReady(msgspec.Struct, frozen=True):
    """One reason why a gateway takes no work."""

    code: str
    message: str


DRAINING: Final = NotReady("draining", "This gateway finishes what it has begun, and then stops.")


class Readiness:
    def __init__(self, app: App) -> None:
        self._app = app
        self._flights: SingleFlight[tuple[NotReady, ...]] = SingleFlight("ready", goes_on=True)
        self._known: tuple[NotReady, ...] = ()
        self._until = 0.0
        self._is_draining = False

    def begin_draining(self) -> None:
        """It is not ready from now on."""
        self._is_draining = True

    async def reasons(self) -> tuple[NotReady, ...]:
        """Why it is not ready; none when it is."""
        if self._is_draining:
            return (DRAINING,)
        if time.monotonic() >= self._until:
            self._known = await self._flights.join("", self._look)
            self._until = time.monotonic() + HOLDS
        return self._known

    async def _look(self) -> tuple[NotReady, ...]:
        fleet = self._app.engine.fleet
        if fleet is not None and not fleet.may_act():
            return (NotReady("fleet", "This gateway has lost touch with the database of its fleet."),)
        try:
            async with asyncio.timeout(PATIENCE):
                await self._app.store.key_of(_NOBODY)
        except (OpenClawError, TimeoutError):
            return (NotReady("store", "Conversations can be neither read nor kept."),)
        return ()
