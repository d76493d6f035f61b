"""What happens in the gateway, for everybody who watches: server states, calls, log lines, reloads.

Publishing never waits. A watcher that falls behind loses the oldest events and is told how many; nobody else notices.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from typing import Any

import msgspec

from openclaw.log import JsonLine

# Events kept for one slow watcher: far more than a healthy one ever has waiting.
MAX_BEHIND = 1_000
# Event streams open at the same time; each costs little, and nobody needs more.
MAX_WATCHERS = 64


class Event(msgspec.Struct, frozen=True):
    """`data` is JSON text, made once for all watchers."""

    kind: str
    data: bytes


class Feed:
    def __init__(self) -> None:
        self._sinks: set[Callable[[Event], None]] = set()

    @property
    def watchers(self) -> int:
        return len(self._sinks)

    def publish(self, kind: str, data: Mapping[str, Any]) -> None:
        """In the event loop only."""
        if self._sinks:
            event = Event(kind, msgspec.json.encode(data))
            for sink in tuple(self._sinks):
                sink(event)

    async def watch(self, kinds: Collection[str] = ()) -> AsyncIterator[Event]:
        """Events from now on, without end; all kinds when none are named."""
        waiting: deque[Event] = deque()
        arrived = asyncio.Event()
        dropped = 0

        def take(event: Event) -> None:
            nonlocal dropped
            if kinds and event.kind not in kinds:
                return
            if len(waiting) >= MAX_BEHIND:
                waiting.popleft()
                dropped += 1
            waiting.append(event)
            arrived.set()

        self._sinks.add(take)
        try:
            while True:
                await arrived.wait()
                arrived.clear()
                if dropped:
                    missed, dropped = dropped, 0
                    yield Event("dropped", msgspec.json.encode({"events": missed}))
                while waiting:
                    yield waiting.popleft()
        finally:
            self._sinks.discard(take)


class LogToFeed(logging.Handler):
    """Log lines as events, cleaned and masked like every other line. Lines may come from any thread."""

    def __init__(self, feed: Feed, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._feed = feed
        self._loop = loop
        self.setFormatter(JsonLine(tracebacks=False))

    def emit(self, record: logging.LogRecord) -> None:
        if not self._feed.watchers:
            return
        try:
            line = msgspec.json.decode(self.format(record), type=dict[str, Any])
            self._loop.call_soon_threadsafe(self._feed.publish, "log", line)
        except Exception:
            # A watcher must not cost whoever logs anything.
            return
