"""What is remembered about a server between runs: its revision, its tools, and what they looked like when first seen.

Two small files a server under the state directory: `cache/` may be deleted at any time, `pins/` holds what a person trusted. The
file name is a digest of what identifies the server; a cache made with other credentials is not used, for a server may show each
account other tools. A file that cannot be read counts as absent and one that cannot be written costs a warning: neither stops a
server. Without a directory everything is remembered in the process alone.
"""

import hashlib
import logging
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Raw

from openclaw.config.servers import ServerSpec
from openclaw.content import to_json
from openclaw.errors import StoreError
from openclaw.files import replace
from openclaw.mcp.tools.definition import RefusedTool
from openclaw.mcp.tools.pins import Change, Pin, Upgrade

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


class Pins(msgspec.Struct):
    """`told` are forms of changes that were already announced; `version` is what the server called its own when all this was accepted."""

    tools: dict[str, Pin] = {}
    told: list[str] = []
    version: str = ""


class _CacheFile(msgspec.Struct, rename="camel"):
    format: int
    salt: str
    account: str
    remembered: Remembered
    entry: str = ""


class _PinFile(msgspec.Struct):
    format: int
    server: str
    pins: Pins


class _RawPins(msgspec.Struct):
    """The same as bytes: to make very many pins at once would hold up everybody."""

    tools: dict[str, Raw] = {}
    told: list[str] = []
    version: str = ""

    def pins(self) -> Pins:
        return Pins({name: _pin.decode(raw) for name, raw in self.tools.items()}, self.told, self.version)


class _RawPinFile(msgspec.Struct):
    format: int
    pins: _RawPins


_cache_file = msgspec.json.Decoder(_CacheFile)
_pin_file = msgspec.json.Decoder(_RawPinFile)
_pin = msgspec.json.Decoder(Pin)


T = TypeVar("T")


class Cache:
    """Blocking, but small: a file is read once a start and written when something changed."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self._remembered: dict[str, tuple[str, Remembered]] = {}
        self._pins: dict[str, Pins] = {}

    def recall(self, spec: ServerSpec) -> Remembered:
        """What is known of this server; empty when it was never seen with these credentials."""
        if self._directory is None:
            entry, remembered = self._remembered.get(_account(spec, ""), ("", Remembered()))
            return _of_entry(remembered, is_same=entry == _entry(spec, ""))
        file = _read(self._file("cache", spec), _cache_file.decode)
        if file is None or file.format != _FORMAT or file.account != _account(spec, file.salt):
            return Remembered()
        return _of_entry(file.remembered, is_same=file.entry == _entry(spec, file.salt))

    def remember(self, spec: ServerSpec, remembered: Remembered) -> None:
        if self._directory is None:
            self._remembered[_account(spec, "")] = (_entry(spec, ""), remembered)
            return
        salt = secrets.token_hex(_SALT_BYTES)
        _write(
            self._file("cache", spec), _CacheFile(_FORMAT, salt, _account(spec, salt), remembered, _entry(spec, salt))
        )

    def pins(self, spec: ServerSpec) -> Pins:
        if self._directory is None:
            return self._pins.get(identity(spec), Pins())
        return _read(self._file("pins", spec), _pins_in) or Pins()

    def pin(self, spec: ServerSpec, pins: Pins) -> None:
        if self._directory is None:
            self._pins[identity(spec)] = pins
            return
        _write(self._file("pins", spec), _PinFile(_FORMAT, spec.name, pins))

    def _file(self, kind: str, spec: ServerSpec) -> Path:
        assert self._directory is not None
        return self._directory / kind / f"{identity(spec)}.json"


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


def _pins_in(data: bytes) -> Pins:
    file = _pin_file.decode(data)
    return file.pins.pins() if file.format == _FORMAT else Pins()


def _read(path: Path, decode: Callable[[bytes], T]) -> T | None:
    """What a file holds; None when there is none, or it cannot be read."""
    try:
        return decode(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        _log.warning("Ignoring %s: %s", path, error)
        return None


def _write(path: Path, value: object) -> None:
    try:
        # What is lost in a power cut is learned again.
        replace(path, to_json(value), durable=False)
    except StoreError as error:
        _log.warning("Nothing is remembered: %s", error)
