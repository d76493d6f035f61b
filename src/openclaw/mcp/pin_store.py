"""Pins: what a server's tools looked like when they were first seen, or when a person accepted them. The contract, and files of it.

Owns that the first who sees a tool decides what it looks like for everybody, until a person accepts another form. A small file a server
under the state directory, named by a digest of what identifies the server. One that cannot be read is no first sight: nothing of the
server is judged until a person has repaired or removed the file, which is never written over. One that cannot be written costs a warning.
Without a directory they are kept in the process alone. Those of several gateways are in `fleet/pins.py`. What a pin means is
`tools/pins.py`'s.
"""

import asyncio
import logging
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Raw

from openclaw.config.servers import ServerSpec
from openclaw.content import to_json
from openclaw.errors import StoreError
from openclaw.files import reason, replace
from openclaw.mcp.cache import identity
from openclaw.mcp.tools.pins import Pin

_log = logging.getLogger(__name__)
# Bumped when the meaning of a field changes: other files cannot be read then.
_FORMAT = 1
# To make very many pins at once would hold up everybody: beyond so many bytes it is done in a thread.
_LARGE = 256 * 1024


class Pins(msgspec.Struct):
    """`told` are forms of changes that were already announced; `version` is what the server called its own when all this was accepted."""

    tools: dict[str, Pin] = {}
    told: list[str] = []
    version: str = ""


class PinStore(Protocol):
    async def read(self, spec: ServerSpec) -> Pins:
        """Raises StoreError when nobody knows what they are: then no tool of the server can be judged."""
        ...

    async def add(self, spec: ServerSpec, before: Pins, after: Pins) -> Pins:
        """Keep what was found besides `before`. What holds from now on: where somebody else saw a tool first, theirs."""
        ...

    async def accept(self, spec: ServerSpec, pins: Pins) -> None:
        """A person trusts these. Raises StoreError when that cannot be kept for the others who share them."""
        ...


class _PinFile(msgspec.Struct):
    format: int
    server: str
    pins: Pins


class _RawPins(msgspec.Struct):
    """The same as bytes."""

    tools: dict[str, Raw] = {}
    told: list[str] = []
    version: str = ""


class _RawPinFile(msgspec.Struct):
    format: int
    pins: _RawPins


_pin_file = msgspec.json.Decoder(_RawPinFile)
_pin = msgspec.json.Decoder(Pin)


class PinFiles:
    """Those of one machine. The servers of a gateway are each listed by one task, so that no two add to the same file at once."""

    def __init__(self, directory: Path | None = None) -> None:
        self._folder = None if directory is None else directory / "pins"
        self._pins: dict[str, Pins] = {}

    async def read(self, spec: ServerSpec) -> Pins:
        if self._folder is None:
            return self._pins.get(identity(spec), Pins())
        path = self._folder / f"{identity(spec)}.json"
        try:
            data = path.read_bytes()
            return await asyncio.to_thread(pins_in, data) if len(data) > _LARGE else pins_in(data)
        except FileNotFoundError:
            return Pins()
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {reason(error)}.") from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise StoreError(
                f"{path} says what was trusted, and is damaged: {str(error).rstrip('.')}.",
                hint="Repair it, or remove it to trust the tools as they are now.",
            ) from None

    async def add(self, spec: ServerSpec, before: Pins, after: Pins) -> Pins:
        await self.accept(spec, after)
        return after

    async def accept(self, spec: ServerSpec, pins: Pins) -> None:
        if self._folder is None:
            self._pins[identity(spec)] = pins
            return
        file = _PinFile(_FORMAT, spec.name, pins)
        path = self._folder / f"{identity(spec)}.json"

        def write() -> None:
            replace(path, to_json(file))

        try:
            # A power cut must not leave half of what was trusted, and nobody waits for the disk meanwhile.
            await asyncio.to_thread(write)
        except StoreError as error:
            _log.warning("Nothing is remembered: %s", error)


def pins_in(data: bytes) -> Pins:
    """The pins of a file. Raises what msgspec raises for one that is damaged, or of another version."""
    file = _pin_file.decode(data)
    if file.format != _FORMAT:
        raise msgspec.ValidationError("it is of another version of this program")
    tools = {name: _pin.decode(raw) for name, raw in file.pins.tools.items()}
    return Pins(tools, file.pins.told, file.pins.version)
