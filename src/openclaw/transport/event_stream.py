"""An event stream over HTTP that outlives its connections: reads events from one response after another, as one stream.

Owns the last event id, the server's `retry` time, and how long to wait before the next connection. Which request opens that
connection, and when to stop trying, is decided by the transports.
"""

import logging
from collections.abc import Callable
from typing import Final

from openclaw.errors import LinkLostError, ProtocolError
from openclaw.net.response import Response
from openclaw.net.share import Share
from openclaw.protocol.sse import SseEvent, SseParser

_log = logging.getLogger(__name__)

EVENT_STREAM: Final = "text/event-stream"
# The first pause when the server names none, doubled with each attempt that brought nothing.
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
# Enough to reach the longest pause.
MAX_DOUBLINGS: Final = 6
# A server may ask for longer pauses than our own, but a stream nobody reads for an hour is as good as closed.
LONGEST_RETRY: Final = 600.0
# Read at a time: a few hundred of the smallest events.
READ_BYTES: Final = 8 * 1024
# A longer event id is none: it would go into a header of every later request.
MAX_EVENT_ID: Final = 1024
# How long the end of a stream may take to arrive after the last event anybody wants, to use its connection again.
LINGER: Final = 1.0


class ExcessError(ProtocolError):
    """An event that somebody waits for is too large."""


class EventStream:
    """`deliver` gets the name and the data of each event; `enough` says that nothing more is wanted from the stream.

    An event larger than `max_event_bytes` is dropped and logged; where somebody waits for it (`fail_on_excess`) reading ends with a
    ProtocolError as soon as it is too large, not when it has come.
    """

    def __init__(
        self,
        deliver: Callable[[str, bytes], None],
        *,
        enough: Callable[[], bool],
        max_event_bytes: int,
        label: str,
        fail_on_excess: bool = False,
    ) -> None:
        self.last_event_id: str | None = None
        # Why the last response broke off, if it did.
        self.fault: LinkLostError | ProtocolError | None = None
        # Grows with every event that brings something: a message, or a new place to resume from.
        self.progress = 0
        self._deliver = deliver
        self._enough = enough
        self._max_event_bytes = max_event_bytes
        self._label = label
        self._fail_on_excess = fail_on_excess
        self._retry: float | None = None
        self.begin()

    def begin(self) -> None:
        """What comes from now on is of another response."""
        self.fault = None
        self._parser = SseParser(max_event_bytes=self._max_event_bytes, skipped=self._skipped)
        # Bytes since the last piece that ended an event.
        self._pending = 0

    def feed(self, received: bytes) -> None:
        """Deliver the events that end in these bytes. Raises ExcessError."""
        events = self._parser.feed(received)
        self._pending = 0 if events else self._pending + len(received)
        if self._pending > self._max_event_bytes and self._fail_on_excess:
            raise ExcessError(f"The answer of {self._label} is larger than {self._max_event_bytes} bytes.")
        self._take(events)

    async def read(self, response: Response, *, begun: bool = False) -> None:
        """Deliver events until this response ends, breaks off, or nothing more is wanted; then give the response up. `begun`: what came of
        it before was fed."""
        if not begun:
            self.begin()
        try:
            await self._follow(response)
        except ExcessError:
            response.close()
            raise
        except (LinkLostError, ProtocolError) as error:
            # Also one that is not HTTP any more: the next connection may go on where this one stopped.
            self.fault = error
            _log.debug("The event stream of %s broke off: %s", self._label, error)
        except BaseException:
            # Nobody waits any more, and the server is to know it now.
            response.close()
            raise
        if self._enough():
            response.release(LINGER)
        else:
            response.close()

    async def _follow(self, response: Response) -> None:
        """Read what came in small pieces, and let others run in between: a server may send faster than we read."""
        share = Share()
        async for received in response.chunks():
            for start in range(0, len(received), READ_BYTES):
                self.feed(received if len(received) <= READ_BYTES else received[start : start + READ_BYTES])
                if self._enough():
                    return
                await share.rest()

    def _take(self, events: list[SseEvent]) -> None:
        for event in events:
            if event.data or event.id not in (None, self.last_event_id):
                self.progress += 1
            self._stand_at(event.id)
            if event.retry is not None:
                self._retry = min(event.retry / 1000, LONGEST_RETRY)
            if event.data:
                self._deliver(event.event, event.data)

    def _stand_at(self, id: str | None) -> None:
        if id is not None and len(id) <= MAX_EVENT_ID:
            self.last_event_id = id

    @property
    def last_event_header(self) -> str | None:
        """The last event id as a header carries it: in UTF-8, whatever characters it has."""
        id = self.last_event_id
        return None if id is None else id.encode("utf-8").decode("latin-1")

    def pause(self, failures: int) -> float:
        """Seconds to wait before the next connection; `failures` counts those in a row that brought nothing."""
        own = min(FIRST_PAUSE * 2.0 ** min(failures, MAX_DOUBLINGS), LONGEST_PAUSE)
        if self._retry is None:
            return own
        return self._retry if failures == 0 else max(self._retry, own)

    def _skipped(self, reason: str) -> None:
        _log.warning("In the event stream of %s %s.", self._label, reason)
