"""Telling a server that hangs from one that is coming up, by its signs of life.

A program that starts computes, has others compute for it, or says something; one that does none of it for a while is waiting for
something that may never come. Of a remote server nothing is seen but its answers. Owns how long each kind may stay quiet. Decides
nothing about turns: arrivals.py does.
"""

import re
from collections.abc import Callable

import msgspec

from openclaw.config.servers import ServerSpec
from openclaw.process.activity import Activity, activity_of
from openclaw.transport.connection import Connection

# A program of ours that starts is busy nearly all of the time; this covers a pause for a file, a lock or a near neighbour.
IDLE = 0.25
# On this machine, but what it computes is not seen.
NEAR = 0.5
# On another continent: a handful of round trips.
FAR = 1.0
# Processor time is counted in hundredths of a second: more often would show little more.
LOOK_EVERY = 0.05
_NEAR_URL = r"https?://(?:localhost|127\.[\d.]+|\[::1\])(?:[:/]|$)"

Look = Callable[[int], Activity | None]


class Attempt(msgspec.Struct, eq=False):
    """An attempt to connect that is under way since `began` (loop time), and the connection, as soon as there is one to hear from."""

    began: float
    connection: Connection | None = None

    def opened(self, connection: Connection) -> None:
        self.connection = connection


class Signs:
    """What one server shows of itself while somebody waits for it. `look` is how its process is seen."""

    def __init__(self, spec: ServerSpec, *, look: Look = activity_of) -> None:
        self._look = look
        self._unheard = NEAR if re.match(_NEAR_URL, spec.url) else FAR
        self._seen: Activity | None = None
        self._seen_at = 0.0

    def quiet_at(self, attempt: Attempt | None, now: float, *, unseen: float) -> float:
        """Look at it. When it has been quiet for long enough, unless it shows itself before; `unseen` where nothing can be looked at."""
        if attempt is None:
            # It waits for its turn to start, which is our doing.
            return float("inf")
        connection = attempt.connection
        heard = attempt.began if connection is None else connection.last_heard
        pid = None if connection is None else connection.link.pid
        if pid is None:
            return heard + self._unheard
        activity = self._look(pid)
        if activity is None:
            return unseen
        if activity.is_busy or activity != self._seen:
            self._seen, self._seen_at = activity, now
        return max(heard, self._seen_at) + IDLE
