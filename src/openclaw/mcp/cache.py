"""What is remembered about a server between runs: how it was reached, and its tools as they were last offered.

A small file a server under the state directory, which may be deleted at any time. It is always this machine's own, also where several
gateways share everything else: it is only for the moments before the server has listed its tools, it is written after every list, and a
server may be reached differently from each machine. The file name is a digest of what identifies the server; a cache made with other
credentials is not used, for a server may show each account other tools. A file that cannot be read counts as absent and one that cannot
be written costs a warning: neither stops a server. Without a directory everything is remembered in the process alone. What was trusted
is `pin_store.py`'s.
"""

import hashlib
import logging
import os
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Raw

from openclaw.config.servers import ServerSpec
from openclaw.content import to_json
from openclaw.errors import StoreError
from openclaw.files import replace
from openclaw.mcp.tools.definition import RefusedTool
from openclaw.mcp.tools.pins import Change, Upgrade

_log = logging.getLogger(__name__)
# Bumped when the meaning of a field changes: older files are then ignored.
_FORMAT = 1
_SALT_BYTES = 16


class Remembered(msgspec.Struct, rename="camel"):
    """How a server was reached, and its tools as they were offered. `revision` is empty when it was never seen.

    `names` holds only the names that had to differ from the usual form. `overdue` says that it used up its connect timeout, and has not
    come up since; `fetching`, that a launcher which was still fetching it was left to go on without us.
    """

    revision: str = ""
    transport: str = ""
    offered: list[Raw] = []
    refusals: list[RefusedTool] = []
    changes: list[Change] = []
    has_resources: bool = False
    names: dict[str, str] = {}
    overdue: bool = False
    upgrade: Upgrade | None = None
    fetching: bool = False
    # Its skills as it listed them.
    skills: list[Raw] = []
    # Its tools for panels alone.
    hidden: list[Raw] = []
    # What it says about how to use it, clean and cut.
    instructions: str = ""


class _CacheFile(msgspec.Struct, rename="camel"):
    format: int
    salt: str
    account: str
    remembered: Remembered
    entry: str = ""


_cache_file = msgspec.json.Decoder(_CacheFile)


class ToolCache(Protocol):
    """Blocking, but small: read once a start and written when something changed."""

    def recall(self, spec: ServerSpec) -> Remembered:
        """What is known of this server; empty when it was never seen with these credentials."""
        ...

    def remember(self, spec: ServerSpec, remembered: Remembered) -> None: ...


class Cache:
    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self._remembered: dict[str, tuple[str, Remembered]] = {}

    def recall(self, spec: ServerSpec) -> Remembered:
        if self._directory is None:
            entry, remembered = self._remembered.get(_account(spec, ""), ("", Remembered()))
            return _of_entry(remembered, is_same=entry == _entry(spec, ""))
        file = self._read(spec)
        if file is None or file.format != _FORMAT or file.account != _account(spec, file.salt):
            return Remembered()
        return _of_entry(file.remembered, is_same=file.entry == _entry(spec, file.salt))

    def remember(self, spec: ServerSpec, remembered: Remembered) -> None:
        if self._directory is None:
            self._remembered[_account(spec, "")] = (_entry(spec, ""), remembered)
            return
        salt = os.urandom(_SALT_BYTES).hex()
        file = _CacheFile(_FORMAT, salt, _account(spec, salt), remembered, _entry(spec, salt))
        try:
            # What is lost in a power cut is learned again.
            replace(self._file(spec), to_json(file), durable=False)
        except StoreError as error:
            _log.warning("Nothing is remembered: %s", error)

    def _read(self, spec: ServerSpec) -> _CacheFile | None:
        """What the file holds; None when there is none, or it cannot be read."""
        path = self._file(spec)
        try:
            return _cache_file.decode(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            _log.warning("Ignoring %s: %s", path, error)
            return None

    def _file(self, spec: ServerSpec) -> Path:
        assert self._directory is not None
        return self._directory / "cache" / f"{identity(spec)}.json"


def identity(spec: ServerSpec) -> str:
    """The same server, whatever its credentials and settings: a name, who owns it, and where it is."""
    place = [spec.command, *spec.args, spec.cwd] if spec.facts.is_process else [spec.url]
    return _digest([spec.name, spec.owner, place], "")[:32]


def _account(spec: ServerSpec, salt: str) -> str:
    """The server and everything it may tell accounts apart by. Salted: it covers secret values."""
    return _digest([identity(spec), spec.env, spec.headers, spec.api_key, spec.auth], salt)


def _entry(spec: ServerSpec, salt: str) -> str:
    """All that the config says of the server, but for where it says so."""
    return _digest(msgspec.structs.replace(spec, where=""), salt)


def _of_entry(remembered: Remembered, *, is_same: bool) -> Remembered:
    """What holds for the entry as it is now: who changed it may have mended what made the server late."""
    return remembered if is_same else msgspec.structs.replace(remembered, overdue=False, fetching=False)


def _digest(value: object, salt: str) -> str:
    return hashlib.sha256(salt.encode() + to_json(value)).hexdigest()
