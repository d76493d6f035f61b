"""Events of the engine, to everybody who wants to know.

A sink is called at once, in the event loop. A stream is for who reads at their own pace: one that falls too far behind loses the oldest
events, never the newest, and nobody else is held up by it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable

from openclaw.mcp.status import EngineEvent, EventSink

_log = logging.getLogger(__name__)

# Events kept for one slow reader: far more than a healthy one ever has waiting.
MAX_BEHIND = 1_000


class Broadcast:
    def __init__(self) -> None:
        self._sinks: list[EventSink] = []

    def subscribe(self, sink: EventSink) -> Callable[[], None]:
        """Call `sink` with every event from now on, until the returned function is called."""
        self._sinks.append(sink)
        return lambda: self._sinks.remove(sink) if sink in self._sinks else None

    async def stream(self) -> AsyncIterator[EngineEvent]:
        """Events from now on, without end."""
        waiting: deque[EngineEvent] = deque(maxlen=MAX_BEHIND)
        arrived = asyncio.Event()

        def take(event: EngineEvent) -> None:
            waiting.append(event)
            arrived.set()

        unsubscribe = self.subscribe(take)
        try:
            while True:
                await arrived.wait()
                arrived.clear()
                while waiting:
                    yield waiting.popleft()
        finally:
            unsubscribe()

    def send(self, event: EngineEvent) -> None:
        for sink in tuple(self._sinks):
            try:
                sink(event)
            except Exception:
                _log.exception("A subscriber of engine events failed.")
