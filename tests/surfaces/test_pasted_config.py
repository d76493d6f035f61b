"""A config that was pasted together from other programs' files, as a person uses it."""

import json
from pathlib import Path

import pytest

from parts.command_line import Home, parts_server

ENTRY = {"env": {"KEY": "${input:key}"}, **parts_server()}


@pytest.fixture
def house(tmp_path: Path) -> Home:
    return Home(
        tmp_path,
        mcpServers={"good": parts_server(), "bad": ENTRY, "worse": 5, "off": {**parts_server(), "disabled": True}},
    )


async def test_a_bad_entry_is_named_with_file_and_line_and_the_others_work(house: Home) -> None:
    listed = await house.openclaw("mcp", "servers", "--json")
    states = {one["name"]: one["state"] for one in json.loads(listed.out)}
    called = await house.openclaw("mcp", "call", "good__echo", "text=hello")
    doctor = await house.openclaw("doctor")

    assert states == {"good": "ready", "bad": "failed", "worse": "failed", "off": "disabled"}
    assert (called.code, called.out.strip()) == (0, "hello")
    line = (house.state / "openclaw.json").read_text().split("\n").index('        "KEY": "${input:key}"') + 1
    where = f"openclaw.json:{line}:16: mcpServers.bad.env.KEY: ${{input:key}} is a word of another program, and means nothing here."
    assert where in doctor.out
    assert "mcpServers.worse: expected an object, found a number." in doctor.out
    assert "ok  Config: the servers under mcpServers are read as those under mcp.servers" in doctor.out
    assert doctor.code == 1


async def test_a_pasted_server_is_switched_on_off_and_removed_where_it_stands(house: Home) -> None:
    done = [
        (await house.openclaw("mcp", *words)).code
        for words in (("enable", "off"), ("disable", "good"), ("remove", "worse"))
    ]
    servers = json.loads((house.state / "openclaw.json").read_text())["mcpServers"]
    assert done == [0, 0, 0]
    assert (servers["off"]["disabled"], servers["good"]["enabled"], "worse" in servers) == (False, False, False)


async def test_a_change_that_would_make_a_server_bad_is_not_written(house: Home) -> None:
    before = (house.state / "openclaw.json").read_text()
    done = await house.openclaw("config", "set", "mcpServers.good.command", "5")
    assert done.code == 2
    assert "mcpServers.good.command: expected a text or a list of texts, found a number." in done.err
    assert (house.state / "openclaw.json").read_text() == before
