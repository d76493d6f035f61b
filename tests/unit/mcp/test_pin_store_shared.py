"""Pins, wherever they are kept: the same promises in memory, in files and in PostgreSQL."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import Raw
from msgspec.structs import replace

from openclaw.config.servers import ServerSpec
from openclaw.mcp.pin_store import PinFiles, Pins, PinStore
from openclaw.mcp.tools.pins import Pin
from parts.postgres import PostgresServer, fleet_at

SPEC = ServerSpec("web", transport="streamable-http", url="https://example.com/mcp", api_key="k-one")
OBJECT = Raw(b'{"type":"object"}')
PINS = Pins({"a": Pin("A.", OBJECT), "b": Pin("B.", OBJECT, title="Bee")}, ["d1"], "1.0")


@pytest.fixture(params=["memory", "files", pytest.param("postgres", marks=pytest.mark.real)])
async def pins(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[PinStore]:
    match request.param:
        case "memory":
            yield PinFiles()
        case "files":
            yield PinFiles(tmp_path)
        case _:
            server: PostgresServer = request.getfixturevalue("postgres")
            fleet = fleet_at(await server.new_database())
            yield fleet.pins
            await fleet.close()


async def test_a_server_that_nobody_saw_has_none(pins: PinStore) -> None:
    assert await pins.read(SPEC) == Pins()


async def test_what_is_seen_first_is_kept(pins: PinStore) -> None:
    assert await pins.add(SPEC, Pins(), PINS) == PINS
    more = Pins({**PINS.tools, "c": Pin("C.", OBJECT)}, [], "1.1")
    assert await pins.add(SPEC, PINS, more) == more
    assert await pins.read(SPEC) == more


async def test_a_pin_that_becomes_more_precise_is_replaced(pins: PinStore) -> None:
    await pins.add(SPEC, Pins(), PINS)
    titled = Pins({**PINS.tools, "a": Pin("A.", OBJECT, title="Ay")}, PINS.told, PINS.version)
    assert await pins.add(SPEC, PINS, titled) == titled


async def test_what_a_person_accepts_takes_the_place_of_what_was_there(pins: PinStore) -> None:
    await pins.add(SPEC, Pins(), PINS)
    accepted = Pins({**PINS.tools, "a": Pin("Another A.", OBJECT)}, [], "2.0")
    await pins.accept(SPEC, accepted)
    assert await pins.read(SPEC) == accepted


async def test_pins_outlive_a_changed_credential_but_not_another_address(pins: PinStore) -> None:
    await pins.add(SPEC, Pins(), PINS)
    assert await pins.read(replace(SPEC, api_key="k-two")) == PINS
    assert await pins.read(replace(SPEC, url="https://example.net/mcp")) == Pins()


async def test_an_entry_with_a_command_and_an_address_is_the_server_that_its_transport_reaches(pins: PinStore) -> None:
    """Pins of one address must not serve another because both entries keep the same unused command."""
    at_address = replace(SPEC, command="npx", args=("shop",))
    as_program = replace(at_address, transport="stdio")
    await pins.add(at_address, Pins(), PINS)

    assert await pins.read(replace(at_address, url="https://example.com/other")) == Pins()
    assert await pins.read(as_program) == Pins()
    assert await pins.read(SPEC) == PINS
