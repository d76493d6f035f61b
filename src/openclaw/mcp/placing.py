"""Where a server runs of which one process is enough for many gateways (`placement: "one"`): the contract of whoever decides that.

Without a fleet there is nobody to ask, and every server runs here. `fleet/placement.py` keeps the contract.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

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
