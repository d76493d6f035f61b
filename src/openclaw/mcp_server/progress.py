"""Progress of a request: what a waiting client is told, at most ten sentences a second, and one at least every ten seconds."""

import asyncio
from collections.abc import Callable

from msgspec import Raw

from openclaw.protocol.jsonrpc import encode_notification
from openclaw.protocol.peer import PROGRESS

# Seconds between two notifications.
LEAST_PAUSE = 0.1
# Clients that give up on a silent call wait for a minute, most of them.
LONGEST_SILENCE = 10.0


class CallProgress:
    """Progress of one request. Its steps are counted; how many there will be nobody knows."""

    def __init__(self, token: Raw, write: Callable[[bytes], None]) -> None:
        self._token = token
        self._write = write
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._last = self._started - LEAST_PAUSE
        self._steps = 0
        self._text = ""
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def tell(self, text: str) -> None:
        """Say this as soon as the pace allows; of several that come too fast the last is said."""
        if text != self._text and not self._closed:
            self._text = text
            self._at(self._last + LEAST_PAUSE, self._say)

    def close(self) -> None:
        """The request is over: nothing more is said about it."""
        self._closed = True
        self._cancel_timer()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _at(self, when: float, action: Callable[[], None]) -> None:
        self._cancel_timer()
        if when <= self._loop.time():
            action()
        else:
            self._timer = self._loop.call_at(when, action)

    def _say(self) -> None:
        self._send(self._text)

    def _remind(self) -> None:
        self._send(f"{self._text} ({self._loop.time() - self._started:.0f} s)")

    def _send(self, text: str) -> None:
        self._steps += 1
        self._last = self._loop.time()
        told = {"progressToken": self._token, "progress": self._steps, "message": text}
        self._write(encode_notification(PROGRESS, told))
        self._at(self._last + LONGEST_SILENCE, self._remind)
