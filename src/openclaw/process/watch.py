"""Our side of the guardian: it is started before the first child, told of each process group, and restarted if it dies.

Owns the marks by which our children are known: one for this process, and one for each spawn. One guardian serves the whole
process, whoever spawns; it ends when we do, however that happens. What it does then is in `guardian.py`.
"""

import atexit
import logging
import os
import signal
import sys

from openclaw.process import guardian

assert sys.platform != "win32"

_log = logging.getLogger(__name__)

# Meant for everybody in sight; a guardian outlives them.
_BLOCKED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Watch:
    def __init__(self) -> None:
        self.owner = os.getpid()
        self._mark = os.urandom(8).hex()
        self._spawned = 0
        self._groups: set[int] = set()
        self._guardian: int | None = None
        self._pipe: int | None = None

    def next_mark(self) -> str:
        """The mark of the next child. The guardian is awake when this returns."""
        self._ensure()
        self._spawned += 1
        return f"{self._mark}.{self._spawned};"

    def began(self, group: int) -> None:
        self._groups.add(group)
        self._tell(b"+%d\n" % group)

    def ended(self, group: int) -> None:
        self._groups.discard(group)
        self._tell(b"-%d\n" % group)

    def tend(self, mark: str, group: int, seconds: float, output: int, errors: int) -> None:
        """Leave a child to a guardian of its own, which lets it go on for so long. Raises OSError."""
        actions = [
            (os.POSIX_SPAWN_DUP2, output, 0),
            (os.POSIX_SPAWN_DUP2, errors, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        command = [sys.executable, "-I", "-S", guardian.__file__, mark, str(group), str(seconds)]
        os.posix_spawn(sys.executable, command, {}, file_actions=actions, setsigmask=_BLOCKED)
        self.ended(group)

    def leave(self) -> None:
        """At the end of this process: with nothing left to end, the guardian need not look for it."""
        if self.owner == os.getpid() and not self._groups:
            self._tell(b".\n")

    def _ensure(self) -> None:
        if self._guardian is not None:
            try:
                if os.waitpid(self._guardian, os.WNOHANG) == (0, 0):
                    return
            except ChildProcessError:
                pass
            _log.warning("The guardian of our child processes died; starting another.")
            self._forget()
        self._start()
        for group in self._groups:
            self._tell(b"+%d\n" % group)

    def _start(self) -> None:
        theirs, ours = os.pipe()
        try:
            actions = [
                (os.POSIX_SPAWN_DUP2, theirs, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ]
            # No site packages and an empty environment: it starts quickly, and nothing can be smuggled into it.
            command = [sys.executable, "-I", "-S", guardian.__file__, f"{self._mark}."]
            self._guardian = os.posix_spawn(sys.executable, command, {}, file_actions=actions, setsigmask=_BLOCKED)
        except OSError as error:
            os.close(ours)
            _log.warning("No guardian for our child processes: %s. If we are killed, they may be left over.", error)
            return
        finally:
            os.close(theirs)
        os.set_blocking(ours, False)
        self._pipe = ours

    def _tell(self, line: bytes) -> None:
        if self._pipe is None:
            return
        try:
            os.write(self._pipe, line)
        except OSError:
            # Dead, or so slow that its pipe is full: it still finds everything by the mark.
            pass

    def _forget(self) -> None:
        if self._pipe is not None:
            os.close(self._pipe)
        self._guardian = self._pipe = None


_watches: list[Watch] = []


def watch() -> Watch:
    """The one of this process; a forked copy of us gets its own."""
    if not _watches or _watches[0].owner != os.getpid():
        _watches[:] = [Watch()]
        atexit.register(_watches[0].leave)
    return _watches[0]
