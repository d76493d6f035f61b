"""What happens, told to everybody who asked for it: one hub for all parts of an engine.

An event is a typed value of the part it happened in (`mcp/events.py`, `security/audit.py`, `reply.py`, …). The hub numbers it, notes the
time and hands it to those who asked for its type: to a function at once, in the event loop; to a reader at its own pace. A function that
raises is logged, also one that sends what was held back; a reader that falls too far behind loses the oldest events, never the newest; in
both cases nobody else notices. What nobody asked for is not even numbered. Keeps nothing: who wants to look back keeps it.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from inspect import iscoroutinefunction
from typing import Any, Generic, TypeVar, overload

import msgspec

from openclaw.errors import UsageError

_log = logging.getLogger(__name__)

# Events kept for one slow reader: far more than a healthy one ever has waiting.
MAX_BEHIND = 1_000
_EVER = float("inf")

T = TypeVar("T")
U = TypeVar("U")
W = TypeVar("W")
V = TypeVar("V", covariant=True)


class Event(msgspec.Struct, Generic[V], frozen=True):
    """Something that happened. A later event has the greater `id`, also when it is one of a later process; `time` is seconds since 1970."""

    id: int
    time: float
    value: V


class EventReader(Generic[T]):
    """Events for somebody who reads at their own pace: `async for event in reader`, or `next`."""

    def __init__(self) -> None:
        self.is_closed = False
        self._waiting: deque[Event[T]] = deque()
        self._missed = 0
        self._arrived = asyncio.Event()

    def take(self, event: Event[T]) -> None:
        if len(self._waiting) >= MAX_BEHIND:
            self._waiting.popleft()
            self._missed += 1
        self._waiting.append(event)
        self._arrived.set()

    def close(self) -> None:
        """Nothing more will come: what has come can still be read."""
        self.is_closed = True
        self._arrived.set()

    async def next(self, patience: float = _EVER) -> Event[T] | None:
        """The next event; None when none comes within so many seconds, or none will come any more (`is_closed`)."""
        try:
            async with asyncio.timeout(None if patience == _EVER else patience):
                while not self._waiting and not self.is_closed:
                    self._arrived.clear()
                    await self._arrived.wait()
        except TimeoutError:
            return None
        return self._waiting.popleft() if self._waiting else None

    async def __aiter__(self) -> AsyncIterator[Event[T]]:
        while (event := await self.next()) is not None:
            yield event

    def missed(self) -> int:
        """How many events were lost before the one that `next` gave last, since this was asked the last time."""
        missed, self._missed = self._missed, 0
        return missed


_Sink = Callable[[Event[Any]], None]


class EventHub:
    """`clock` gives the seconds since 1970."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        # Microseconds: no process sends a million events a second for long, and so a later one goes on above.
        self._last = int(clock() * 1_000_000)
        self._subscriptions: list[tuple[_Sink, tuple[type, ...]]] = []
        # The same by type of event: what `send` looks at.
        self._sinks: dict[type, tuple[_Sink, ...]] = {}
        self._sinks_of_all: tuple[_Sink, ...] = ()
        self._flushes: list[Callable[[], None]] = []
        self._is_flushing = False
        self._readers: set[EventReader[Any]] = set()
        self._is_closed = False

    @property
    def last_id(self) -> int:
        """The id of the newest event."""
        return self._last

    def send(self, value: object) -> None:
        """Tell everybody who asked for events of this type. In the event loop only."""
        kind = type(value)
        if not self._sinks.get(kind, self._sinks_of_all):
            return
        if not self._is_flushing:
            self._flush()
        self._last += 1
        event = Event(self._last, self._clock(), value)
        for sink in self._sinks.get(kind, self._sinks_of_all):
            try:
                sink(event)
            except Exception:
                _log.exception("A subscriber of %s failed.", kind.__name__)

    def _flush(self) -> None:
        self._is_flushing = True
        try:
            for flush in self._flushes:
                try:
                    flush()
                except Exception:
                    _log.exception("Events that were held back could not be sent.")
        finally:
            self._is_flushing = False

    def has_subscribers(self, kind: type) -> bool:
        """Whether anybody would get an event of this type."""
        return bool(self._sinks.get(kind, self._sinks_of_all))

    # A type checker makes no union of several types by itself.
    @overload
    def subscribe(self, sink: Callable[[Event[T]], None], one: type[T], /) -> Callable[[], None]: ...
    @overload
    def subscribe(
        self, sink: Callable[[Event[T | U]], None], one: type[T], other: type[U], /
    ) -> Callable[[], None]: ...
    @overload
    def subscribe(
        self, sink: Callable[[Event[T | U | W]], None], one: type[T], other: type[U], third: type[W], /
    ) -> Callable[[], None]: ...
    @overload
    def subscribe(self, sink: Callable[[Event[T]], None], *types: type[T]) -> Callable[[], None]: ...
    def subscribe(self, sink: _Sink, *types: type[Any]) -> Callable[[], None]:
        """Call `sink` with every event of these types from now on, of all types when none are named, until the returned function is called.

        It must not block.
        """
        if not callable(sink) or iscoroutinefunction(sink):
            raise UsageError(
                "subscribe takes a plain function, which is called with each event.",
                hint="Write manager.events.subscribe(print), to begin with; `async for` goes through manager.events.reader().",
            )
        if not all(isinstance(kind, type) for kind in types):
            raise UsageError(
                "Events are chosen by their types, not by names.", hint="Write subscribe(function, StateChanged)."
            )
        subscription = (sink, types)
        self._subscriptions.append(subscription)
        self._sort()

        def unsubscribe() -> None:
            # By the object: the same function may be here twice.
            self._subscriptions = [one for one in self._subscriptions if one is not subscription]
            self._sort()

        return unsubscribe

    @overload
    def reader(self) -> AbstractContextManager[EventReader[object]]: ...
    @overload
    def reader(self, one: type[T], /) -> AbstractContextManager[EventReader[T]]: ...
    @overload
    def reader(self, one: type[T], other: type[U], /) -> AbstractContextManager[EventReader[T | U]]: ...
    @overload
    def reader(
        self, one: type[T], other: type[U], third: type[W], /
    ) -> AbstractContextManager[EventReader[T | U | W]]: ...
    @overload
    def reader(self, *types: type[T]) -> AbstractContextManager[EventReader[T]]: ...
    def reader(self, *types: type[Any]) -> AbstractContextManager[EventReader[Any]]:
        """Events of these types from now on, of all types when none are named."""
        return self._reader(*types)

    @contextmanager
    def _reader(self, *types: type[T]) -> Iterator[EventReader[T]]:
        reader: EventReader[T] = EventReader()
        unsubscribe = self.subscribe(reader.take, *types)
        self._readers.add(reader)
        if self._is_closed:
            reader.close()
        try:
            yield reader
        finally:
            self._readers.discard(reader)
            unsubscribe()

    def flush_before(self, flush: Callable[[], None]) -> None:
        """For a part that sends its events together, a moment late: `flush` sends them now, so that they come before what happens now."""
        self._flushes.append(flush)

    def close_readers(self) -> None:
        """We are stopping: readers see what they have not seen yet, and then the end. Functions are still called."""
        self._is_closed = True
        for reader in self._readers:
            reader.close()

    def _sort(self) -> None:
        self._sinks_of_all = tuple(sink for sink, types in self._subscriptions if not types)
        named = {kind for _, types in self._subscriptions for kind in types}
        self._sinks = {
            kind: tuple(sink for sink, types in self._subscriptions if not types or kind in types) for kind in named
        }
