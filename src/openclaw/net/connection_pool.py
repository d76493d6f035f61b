"""Idle connections, kept for a moment and handed out again, newest first.

A connection idle for longer than `MAX_IDLE` is never reused: a server may be closing it at that very moment, and a POST on it could
then be neither known to be processed nor sent again. There is no limit on connections in use: no request waits for another one.
"""

import asyncio
from functools import partial
from typing import Final

from openclaw.net.http_connection import HttpConnection

# Node's servers close idle connections after 5 s; the usual default elsewhere is longer.
MAX_IDLE: Final = 4.0
# Enough for a server's calls in flight; more idle ones only hold descriptors.
MAX_IDLE_PER_ORIGIN: Final = 64


class Pool:
    def __init__(self, max_idle: float = MAX_IDLE) -> None:
        self._max_idle = max_idle
        # Asked for with the first connection that is kept, and once: it is a call of the system.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: dict[str, list[HttpConnection]] = {}
        self._lingering: set[HttpConnection] = set()
        self._reaper: asyncio.TimerHandle | None = None
        self._closed = False

    def take(self, origin: str) -> HttpConnection | None:
        """An idle connection that is still good as far as anybody can tell, else None."""
        idle = self._idle.get(origin)
        if not idle or self._loop is None:
            return None
        oldest = self._loop.time() - self._max_idle
        while idle:
            connection = idle.pop()
            if connection.idle_since > oldest and connection.is_good():
                return connection
            connection.abort()
        return None

    def put(self, origin: str, connection: HttpConnection) -> None:
        """Keep a connection whose exchange has ended."""
        idle = self._idle.get(origin)
        if idle is None:
            idle = self._idle[origin] = []
        if self._closed or len(idle) >= MAX_IDLE_PER_ORIGIN:
            connection.abort()
            return
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()
        connection.rest(loop.time())
        idle.append(connection)
        if self._reaper is None:
            self._reaper = loop.call_later(self._max_idle, self._reap)

    def give_back(self, origin: str, connection: HttpConnection) -> None:
        """An exchange is over: keep the connection if it can carry another one."""
        self._lingering.discard(connection)
        if connection.end():
            self.put(origin, connection)

    def linger(self, origin: str, connection: HttpConnection, patience: float) -> None:
        """Give a connection back once the rest of its answer has come, within `patience` seconds; nobody waits for it."""
        self._lingering.add(connection)
        connection.linger(patience, partial(self.give_back, origin, connection))

    def close(self) -> None:
        self._closed = True
        for connection in list(self._lingering):
            connection.abort()
        if self._reaper is not None:
            self._reaper.cancel()
            self._reaper = None
        for idle in self._idle.values():
            for connection in idle:
                connection.abort()
        self._idle.clear()

    def _reap(self) -> None:
        assert self._loop is not None  # whose timer this is
        oldest = self._loop.time() - self._max_idle
        self._reaper = None
        for origin, idle in list(self._idle.items()):
            fresh = [connection for connection in idle if connection.alive and connection.idle_since > oldest]
            for connection in idle:
                if connection not in fresh:
                    connection.abort()
            if fresh:
                self._idle[origin] = fresh
            else:
                del self._idle[origin]
        if self._idle:
            self._reaper = self._loop.call_later(self._max_idle, self._reap)
