"""All that came of one child, on Linux and macOS: its process group, and everything that carries its mark.

Owns how they are known and struck. The guardian does the same when we cannot (`watch.py`, `guardian.py`). On Windows it is `job_kin.py`,
with the same methods.
"""

import logging
import os
import signal
import sys
from subprocess import Popen

from openclaw.process import guardian, watch

assert sys.platform != "win32"

_log = logging.getLogger(__name__)

# How a child is started besides: nothing that this system would need.
CREATION_FLAGS = 0
# What is told of a program that cannot be ended.
KILLED = -signal.SIGKILL


class Kin:
    """Made before the child is started, in a session of its own."""

    def __init__(self) -> None:
        self._watch = watch.watch()
        self._mark = self._watch.next_mark()
        self._group = 0
        # A gateway inside another one's server is found by both.
        self.variables = {guardian.VARIABLE: os.environ.get(guardian.VARIABLE, "") + self._mark}

    def began(self, child: "Popen[bytes]") -> None:
        self._group = child.pid
        self._watch.began(child.pid)

    def are_gone(self) -> bool:
        return not guardian.find(self._mark.encode(), (self._group,))

    def ask_to_leave(self) -> bool:
        """Whether there is a way to ask."""
        self._strike(signal.SIGTERM)
        return True

    def kill(self) -> None:
        self._strike(signal.SIGKILL)

    def leave(self, seconds: float, output: int, errors: int) -> bool:
        """Let them go on without us for so many seconds, under a guardian of their own. False when that is not possible."""
        try:
            self._watch.tend(self._mark, self._group, seconds, output, errors)
        except OSError as error:
            _log.warning("Process %d cannot be left to go on: %s", self._group, error)
            return False
        return True

    def ended(self) -> None:
        """All of them are gone, and the child's number may pass to somebody else."""
        self._watch.ended(self._group)

    def _strike(self, number: int) -> None:
        try:
            os.killpg(self._group, number)
        except OSError:
            pass
        guardian.strike(self._mark.encode(), (), number)
