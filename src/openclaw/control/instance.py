"""One gateway for each state directory, held by a lock that the system gives up when its holder dies.

The locked file says who holds it: process id, version, config, and when it started; and where its control socket is, on lines of their own,
so that the command-line stub needs no JSON to find it (config/plain_paths.py). It stays when the gateway ends, unlocked.
"""

import os
import time
from pathlib import Path
from types import TracebackType

import msgspec

from openclaw.config import plain_paths
from openclaw.config.paths import Paths
from openclaw.content import to_json
from openclaw.errors import OpenClawError, StoreError
from openclaw.files import make_directory
from openclaw.lock import take

# A process that only looks whether a gateway runs holds the lock for a moment.
_TRIES = 4
_PAUSE = 0.05


class Holder(msgspec.Struct, frozen=True):
    """The gateway that runs. `started` is in seconds since 1970."""

    pid: int
    version: str = ""
    started: float = 0.0
    config: str = ""


def lock_file(paths: Paths) -> Path:
    return Path(plain_paths.lock_file(str(paths.state_dir)))


def socket_of(paths: Paths) -> Path:
    """The control socket of the gateway that serves this state directory and config, wherever it was made."""
    return Path(plain_paths.named_socket(str(lock_file(paths)), str(paths.control_socket)))


class AlreadyRunningError(OpenClawError):
    def __init__(self, holder: Holder | None) -> None:
        who = f" (pid {holder.pid})" if holder else ""
        super().__init__(
            f"A gateway already runs on this state directory{who}.",
            hint="Stop it with `openclaw gateway stop`, or use another OPENCLAW_STATE_DIR.",
        )
        self.holder = holder


class Instance:
    """`with Instance(file, version=…, config=…, socket=…):` holds the place for as long as the block runs. Raises AlreadyRunningError."""

    def __init__(self, file: Path, *, version: str, config: str, socket: Path) -> None:
        self.holder = Holder(os.getpid(), version, time.time(), config)
        self._socket = socket
        self._file = file
        self._handle = -1

    def __enter__(self) -> "Instance":
        try:
            make_directory(self._file.parent)
            self._handle = os.open(self._file, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        except OSError as error:
            raise StoreError(f"The lock {self._file} cannot be made: {error.strerror}.") from error
        for _ in range(_TRIES):
            if take(self._handle):
                break
            time.sleep(_PAUSE)
        else:
            os.close(self._handle)
            raise AlreadyRunningError(_read(self._file))
        data = to_json(self.holder) + b"\n" + os.fsencode(self._socket)
        os.ftruncate(self._handle, 0)
        # Taking the lock may have moved it.
        os.lseek(self._handle, 0, os.SEEK_SET)
        os.write(self._handle, data)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.ftruncate(self._handle, 0)
        os.close(self._handle)


def holder(file: Path) -> Holder | None:
    """The gateway that runs on a state directory now; None when there is none."""
    try:
        handle = os.open(file, os.O_RDWR)
    except OSError:
        return None
    try:
        return None if take(handle) else _read(file)
    finally:
        os.close(handle)


def _read(file: Path) -> Holder | None:
    try:
        return msgspec.json.decode(file.read_bytes().partition(b"\n")[0], type=Holder)
    except (OSError, msgspec.DecodeError):
        # Its holder has the lock and has not said who it is yet.
        return None
