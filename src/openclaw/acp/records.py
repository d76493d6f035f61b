"""What is known of each session of a client besides what was said in it: where it works, how it is called, how it is set.

Owns one small file for each, under the state directory, so that a session is found again by a process that never saw it. What was said is
the session store's. Nothing that a client gave its servers is kept: neither commands nor headers nor variables. Every call blocks.
"""

import hashlib
import logging
import time
from collections.abc import Container
from pathlib import Path

import msgspec

from openclaw.content import to_json
from openclaw.errors import StoreError
from openclaw.files import reason, replace

_log = logging.getLogger(__name__)

# Seconds for which a session is kept in which nothing was said, or whose conversation is gone: a client may open it again.
KEPT = 30 * 24 * 3600.0


class Record(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`id` is what the client calls it, `key` the whole key of its conversation. `updated` is seconds since 1970. `mode` and `model` are
    empty where nobody chose one."""

    id: str
    key: str
    agent: str
    cwd: str
    directories: tuple[str, ...] = ()
    client: str = ""
    title: str = ""
    updated: float = 0.0
    mode: str = ""
    model: str = ""


class Records:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, id: str) -> Record | None:
        return _read(self._path(id))

    def keep(self, record: Record) -> None:
        """Raises StoreError."""
        replace(self._path(record.id), to_json(record), durable=False)

    def forget(self, id: str) -> None:
        """Raises StoreError."""
        try:
            self._path(id).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"A session cannot be forgotten: {reason(error)}.") from None

    def prune(self, conversations: Container[str]) -> int:
        """Forget sessions of which nothing is left: their conversation is not among these, and nobody opened them for a month. How many."""
        gone = 0
        for path in self._paths():
            try:
                is_old = time.time() - path.stat().st_mtime > KEPT
                if is_old and ((record := _read(path)) is None or record.key not in conversations):
                    path.unlink(missing_ok=True)
                    gone += 1
            except OSError as error:
                _log.info("%s is not forgotten: %s", path.name, reason(error))
        return gone

    def all(self) -> list[Record]:
        """The newest first."""
        found = (_read(path) for path in self._paths())
        return sorted((one for one in found if one is not None), key=lambda one: one.updated, reverse=True)

    def _paths(self) -> list[Path]:
        try:
            return [path for path in self._folder.iterdir() if path.suffix == ".json"]
        except OSError:
            return []

    def _path(self, id: str) -> Path:
        # An id is a word of anybody's: it never becomes a path.
        return self._folder / f"{hashlib.sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"


def _read(path: Path) -> Record | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Record)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        _log.warning("%s cannot be read: %s", path.name, error)
        return None
