"""The subscription of the newest revision, held open for as long as a connection lives: how such servers tell of changes.

Owns what is asked for (lists that may change, injected resources), asking anew when that changes or the server ends the stream, and the
pauses in between. What is heard arrives like any other notification: life.py acts on it.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from openclaw.errors import OpenClawError, RpcError
from openclaw.mcp.client import Client, offers
from openclaw.mcp.handlers import METHOD_NOT_FOUND
from openclaw.mcp.server.chatter import Chatter

# Between attempts, doubling up to the longest; a stream that lived longer than that counts as a success.
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0


class Subscription:
    """`uris` are the resources wanted now; `missed` is called when something may have changed unheard."""

    def __init__(
        self, client: Client, chatter: Chatter, uris: Callable[[], tuple[str, ...]], missed: Callable[[], None]
    ) -> None:
        self._client = client
        self._chatter = chatter
        self._uris = uris
        self._missed = missed
        self._changed = asyncio.Event()
        self._time = asyncio.get_running_loop().time

    def change(self) -> None:
        """Other resources are wanted now."""
        self._changed.set()

    async def run(self) -> None:
        """Listen until cancelled, or until the server turns out not to know how."""
        pause = FIRST_PAUSE
        while True:
            wanted = self._wanted()
            if not wanted:
                await self._changed.wait()
            self._changed.clear()
            if not wanted:
                continue
            started = self._time()
            try:
                if await self._listen(wanted):
                    continue
            except OpenClawError as error:
                if isinstance(error, RpcError) and error.code == METHOD_NOT_FOUND:
                    return
                self._chatter.note(logging.DEBUG, f"its subscription ended: {error}")
            if self._time() - started > LONGEST_PAUSE:
                pause = FIRST_PAUSE
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
            self._missed()

    async def _listen(self, wanted: Mapping[str, Any]) -> bool:
        """True when it ended because something else is wanted now."""
        stream = asyncio.create_task(self._client.listen(wanted))
        other = asyncio.create_task(self._changed.wait())
        try:
            await asyncio.wait((stream, other), return_when=asyncio.FIRST_COMPLETED)
            if stream.done():
                stream.result()
            return other.done()
        finally:
            stream.cancel()
            other.cancel()
            await asyncio.gather(stream, other, return_exceptions=True)

    def _wanted(self) -> dict[str, Any]:
        agreement = self._client.agreement
        wanted: dict[str, Any] = {
            f"{kind}ListChanged": True
            for kind in ("tools", "resources", "prompts")
            if offers(agreement, kind, "listChanged")
        }
        if (uris := self._uris()) and offers(agreement, "resources", "subscribe"):
            wanted["resourceSubscriptions"] = list(uris)
        return wanted
