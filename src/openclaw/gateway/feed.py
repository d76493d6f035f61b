"""What happens in the gateway, for everybody who watches: server states, calls, log lines, reloads.

Publishing never waits. A watcher that falls behind loses the oldest events and is told how many; nobody else notices.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from openclaw.content import to_json
from openclaw.log import JsonLine

# Events kept for one slow watcher: far more than a healthy one ever has waiting.
MAX_BEHIND = 1_000
# Event streams open at the same time; each costs little, and nobody needs more.
MAX_WATCHERS = 64


class FeedEvent(msgspec.Struct, frozen=True):
    """`data` is JSON text, made once for all watchers."""

    kind: str
    data: bytes


class Watcher:
    """One watcher's own queue."""

    def __init__(self, kinds: Collection[str]) -> None:
        self.is_closed = False
        self._kinds = kinds
        self._waiting: deque[FeedEvent] = deque()
        self._dropped = 0
        self._arrived = asyncio.Event()

    def take(self, event: FeedEvent) -> None:
        if self._kinds and event.kind not in self._kinds:
            return
        if len(self._waiting) >= MAX_BEHIND:
            self._waiting.popleft()
            self._dropped += 1
        self._waiting.append(event)
        self._arrived.set()

    def close(self) -> None:
        self.is_closed = True
        self._arrived.set()

    async def next(self, patience: float) -> FeedEvent | None:
        """The next event; None when none comes within so many seconds, or none will come any more (`is_closed`)."""
        try:
            async with asyncio.timeout(patience):
                while not self._waiting and not self.is_closed:
                    self._arrived.clear()
                    await self._arrived.wait()
        except TimeoutError:
            return None
        if self._dropped:
            missed, self._dropped = self._dropped, 0
            return FeedEvent("dropped", to_json({"events": missed}))
        return self._waiting.popleft() if self._waiting else None


class Feed:
    def __init__(self) -> None:
        self._watches: set[Watcher] = set()
        self._is_closed = False

    @property
    def watchers(self) -> int:
        return len(self._watches)

    def publish(self, kind: str, data: Mapping[str, Any]) -> None:
        """In the event loop only."""
        if self._watches:
            event = FeedEvent(kind, to_json(data))
            for watch in self._watches:
                watch.take(event)

    @contextmanager
    def watch(self, kinds: Collection[str] = ()) -> Iterator[Watcher]:
        """Events from now on; all kinds when none are named."""
        watch = Watcher(kinds)
        self._watches.add(watch)
        if self._is_closed:
            watch.close()
        try:
            yield watch
        finally:
            self._watches.discard(watch)

    def close(self) -> None:
        """Nothing will happen any more: watchers see what they have not seen yet, and then the end."""
        self._is_closed = True
        for watch in self._watches:
            watch.close()


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
