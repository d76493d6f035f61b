"""Requests of many connections that are made in one turn of the event loop, written a few at a time.

Owns when they are written: the first of a turn at once, those after it together. Each write may wake a server that has gone to sleep since
the one before, which costs us more than the write itself; several at once wake it once. What came of them the connections learn.
"""

import asyncio
from typing import Final

# Written together: enough to share what waking costs, few enough that the server has work while we prepare the next ones.
GATHER: Final = 8


class Outbox:
    def __init__(self) -> None:
        self._held: list[tuple[asyncio.Transport, bytes]] = []
        # Whether a request was written in this turn already.
        self._in_turn = False

    def write(self, transport: asyncio.Transport, data: bytes, loop: asyncio.AbstractEventLoop) -> None:
        if not self._in_turn:
            self._in_turn = True
            loop.call_soon(self._end_turn)
            transport.write(data)
            return
        self._held.append((transport, data))
        if len(self._held) >= GATHER:
            self._let_go()

    def _end_turn(self) -> None:
        self._in_turn = False
        self._let_go()

    def _let_go(self) -> None:
        held, self._held = self._held, []
        for transport, data in held:
            # Its caller may have left meanwhile: then it is not sent at all.
            if not transport.is_closing():
                transport.write(data)
