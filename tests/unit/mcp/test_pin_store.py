"""Pins in files: private, of one server each, and no longer believed when they are damaged."""

from pathlib import Path

import pytest
from msgspec import Raw
from msgspec.structs import replace

from openclaw.config.servers import ServerSpec
from openclaw.errors import StoreError
from openclaw.mcp.pin_store import PinFiles, Pins
from openclaw.mcp.tools.pins import Pin
from parts.modes import PRIVATE_FILE

SPEC = ServerSpec("web", transport="streamable-http", url="https://example.com/mcp", api_key="k-one")
PINS = Pins({"a": Pin("A.", Raw(b'{"type":"object"}'))}, ["d1"])


@pytest.mark.requirement("002-5.2-memory")
async def test_files_are_private_and_hold_no_credential(tmp_path: Path) -> None:
    await PinFiles(tmp_path).add(SPEC, Pins(), PINS)
    (file,) = files(tmp_path)
    assert (file.parent.name, oct(file.stat().st_mode & 0o777)) == ("pins", oct(PRIVATE_FILE))
    assert b"k-one" not in file.read_bytes()


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"format": 99}', b"\xff" * 10])
async def test_a_damaged_file_is_no_first_sight_and_is_left_as_it_is(tmp_path: Path, damage: bytes) -> None:
    pins = PinFiles(tmp_path)
    await pins.add(SPEC, Pins(), PINS)
    (file,) = files(tmp_path)
    file.write_bytes(damage)
    with pytest.raises(StoreError, match=r"says what was trusted, and is damaged: .*remove it to trust the tools"):
        await pins.read(SPEC)
    assert (files(tmp_path), file.read_bytes()) == ([file], damage)
    file.unlink()
    assert await pins.read(SPEC) == Pins()


async def test_a_directory_that_cannot_be_written_costs_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    block(tmp_path / "file")
    pins = PinFiles(tmp_path / "file")
    assert await pins.add(SPEC, Pins(), PINS) == PINS
    assert "Nothing is remembered: " in caplog.text


async def test_very_many_pins_are_read_as_they_were_written(tmp_path: Path) -> None:
    many = Pins({f"tool-{number}": Pin("words " * 50, Raw(b'{"type":"object"}')) for number in range(2_000)})
    await PinFiles(tmp_path).accept(SPEC, many)
    assert await PinFiles(tmp_path).read(replace(SPEC, api_key="k-two")) == many


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def block(path: Path) -> None:
    path.write_text("in the way")
