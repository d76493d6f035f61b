"""An access token kept until shortly before it ends, and asked for once however many want it."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import msgspec

from openclaw.redact import remember, retire

# A token is not used in its last seconds: it could end on the way.
MARGIN = 30.0


class Token(msgspec.Struct, frozen=True):
    text: str
    # Seconds it is good for; None is for as long as it is accepted.
    seconds: float | None = None

    def __repr__(self) -> str:
        return "Token()"


class KeptToken:
    def __init__(self, obtain: Callable[[], Awaitable[Token]], clock: Callable[[], float] = time.monotonic) -> None:
        self._obtain = obtain
        self._clock = clock
        self._lock = asyncio.Lock()
        self._text = ""
        self._ends = 0.0

    async def get(self) -> str:
        async with self._lock:
            if not self._text or self._clock() >= self._ends:
                token = await self._obtain()
                retire(self._text)
                remember(token.text)
                seconds = float("inf") if token.seconds is None else token.seconds
                self._text, self._ends = token.text, self._clock() + seconds - MARGIN
            return self._text

    def forget(self, text: str) -> None:
        """`text` was refused. What has been obtained since stays."""
        if self._text == text:
            self._text = ""
