"""Where a server runs when there are many gateways: the contracts of whoever decides that.

Of some servers one process is enough for all gateways (`placement: "one"`, which `fleet/placement.py` decides about). Those that a session
has for itself (`isolation: "session"`) run where the session is (`fleet/session_homes.py`). Without a fleet there is nobody to ask, and
every server runs here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from openclaw.config.servers import ServerSpec
from openclaw.transport.base import Transport


class Placed(msgspec.Struct, frozen=True, eq=False):
    """`elsewhere` leads to the gateway that runs the server; None: it runs here, until `over` is set."""

    elsewhere: Transport | None = None
    over: asyncio.Event = msgspec.field(default_factory=asyncio.Event)


# For as long as the context lasts the server runs where it says. Entering it may wait for another gateway to leave the server alone. Raises
# OpenClawError when nobody knows where it runs, or that gateway cannot be reached.
Place = Callable[[ServerSpec], AbstractAsyncContextManager[Placed]]

# Ends the servers that a session has for itself, and leaves its home. When they are in use they go on, unless they have to end.
EndServers = Callable[[str, bool], Awaitable[None]]


class SessionHomes(Protocol):
    """Which gateway runs the servers that a session has for itself. Sessions are named by their whole key."""

    def on_wanted(self, end: EndServers) -> None:
        """`end` is asked when a session goes on elsewhere; with true, when this gateway may run nothing any more."""
        ...

    async def enter(self, session: str) -> None:
        """Returns when they may run here: whoever ran them elsewhere has ended them. Raises StoreError when that takes too long."""
        ...

    async def leave(self, session: str, is_used: Callable[[], bool]) -> None:
        """None runs here any more, unless one was begun again meanwhile. Never raises."""
        ...
