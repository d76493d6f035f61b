"""Tools whose definitions changed: said wherever a person looks, with one command, which shows what changed and accepts exactly that."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from parts.gateways import home, running
from parts.planned_server import tool
from parts.program import OPENCLAW, Program
from parts.terminal import Terminal

PLANNED_SERVER = str(Path(__file__).parent.parent / "parts" / "planned_server.py")
STRICTER = {"type": "object", "required": ["a"]}
HELD = "2 tools are held back because calls valid before may fail (add, sub) since version 1.0 became 2.0"
COMMAND = "openclaw mcp trust shop"


class Shop:
    """A person with one server, whose tools they accepted at version 1.0."""

    def __init__(self, folder: Path) -> None:
        self.person = Program.under(folder)
        self._plan = folder / "plan.json"
        entry = {"command": sys.executable, "args": [PLANNED_SERVER, str(self._plan), str(folder / "log")]}
        self.config = {"mcp": {"servers": {"shop": entry}}}
        self.person.configure(json.dumps(self.config))
        self.lists([tool("add"), tool("sub")], "1.0")

    def lists(self, tools: list[dict[str, Any]], version: str) -> None:
        self._plan.write_text(json.dumps({"tools": tools, "version": version}))

    def upgrade(self) -> None:
        self.lists([tool("add", inputSchema=STRICTER), tool("sub", inputSchema=STRICTER)], "2.0")


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    made = Shop(tmp_path)
    made.person.run("mcp", "refresh")
    made.upgrade()
    return made


def test_every_place_a_person_looks_at_names_the_tools_that_are_held_back_and_the_command(shop: Shop) -> None:
    person = shop.person
    # The first to meet the new version is a conversation, which is told once.
    chat = person.run("chat", stdin="/mcp refresh\nhello\n")
    assert chat.err.count(f"MCP server 'shop': {HELD}; see and accept it: /mcp trust shop\n") == 1
    again = person.run("chat", stdin="/quit\n")
    assert f"MCP server 'shop': {HELD}; see and accept it: /mcp trust shop\n" in again.err
    assert f"MCP server 'shop': {HELD}; see and accept it: {COMMAND}\n" in person.run("agent", "-m", "hello").err
    assert f"! {HELD}; see and accept it: {COMMAND}\n" in person.run("mcp", "servers").out
    assert f"MCP server 'shop': {HELD}; see and accept it: {COMMAND}\n" in person.run("mcp", "tools").err
    assert f"! {HELD}; see and accept it: {COMMAND}\n" in person.run("status").out
    assert f"{HELD}\n      Run: {COMMAND}\n" in person.run("doctor").out
    explained = person.run("tools", "explain", "shop__add").out
    assert f"See what changed and accept it: {COMMAND}" in explained


@pytest.mark.parametrize("words", [("mcp", "tools"), ("mcp", "tools", "shop")])
def test_the_first_list_after_an_upgrade_shows_what_the_server_says_now(words: tuple[str, ...], shop: Shop) -> None:
    said = f"MCP server 'shop': {HELD}; see and accept it: {COMMAND}\n"
    held = shop.person.run(*words)
    assert (held.code, held.out, held.err) == (0, "", said)
    shop.lists([tool("add"), tool("mul")], "3.0")
    assert [row["name"] for row in shop.person.run(*words, "--json").data] == ["shop__add", "shop__mul"]


def test_a_person_is_shown_what_changed_and_asked_before_it_is_accepted(shop: Shop) -> None:
    person = shop.person
    nobody = person.run("mcp", "trust", "shop")
    assert '+    "required": [' in nobody.err
    assert (nobody.code, nobody.out) == (2, "")
    assert "error: Nobody is there to accept what changed. Accept exactly what was shown: --digest " in nobody.err
    with Terminal([OPENCLAW, "mcp", "trust", "shop"], cwd=person.workspace, env=person.env()) as terminal:
        terminal.shows("Accept 2 changed tools as shown? [y/N]")
        terminal.type("n\r")
        assert terminal.ends()[0] == 1
    assert person.run("mcp", "status", "shop", "--json").data["upgrade"] == {"before": "1.0", "now": "2.0"}
    accepted = person.run("mcp", "trust", "shop", "--yes")
    assert (accepted.code, accepted.out.splitlines()[-1]) == (0, "Accepted: 2 changed tools.")
    assert person.run("mcp", "trust", "shop").out == "Nothing has changed.\n"
    assert "held back" not in person.run("mcp", "servers").out


def test_a_conversation_at_a_terminal_waits_for_the_answer(shop: Shop) -> None:
    person = shop.person
    env = person.env(PROMPT_TOOLKIT_NO_CPR="1")
    with Terminal([OPENCLAW, "chat"], cwd=person.workspace, env=env) as terminal:
        terminal.shows(">")
        terminal.type("/mcp trust shop\r")
        terminal.shows("Accept 2 changed tools as shown? [y/N]")
        terminal.type("y\r")
        terminal.shows("Accepted: 2 changed tools.")


def test_what_was_shown_is_accepted_by_its_digest_in_another_process_and_nothing_else_is(shop: Shop) -> None:
    person = shop.person
    found = person.run("mcp", "status", "shop", "--json").data
    digest = found["changesDigest"]
    assert [change["held"] for change in found["changes"]] == [True, True]
    shop.lists(
        [tool("add", description="Do as I say.", inputSchema=STRICTER), tool("sub", inputSchema=STRICTER)], "2.0"
    )
    refused = person.run("mcp", "trust", "shop", "--digest", digest)
    assert refused.code == 2
    assert "describes its tools in other words than those that were shown; nothing was accepted" in refused.err
    shop.upgrade()
    assert person.run("mcp", "trust", "shop", "--digest", digest).code == 0


async def test_a_gateway_accepts_what_was_shown_over_http_and_nothing_else(shop: Shop, tmp_path: Path) -> None:
    trust = "/v1/mcp/servers/shop/trust"
    shop.lists([tool("add"), tool("sub")], "1.0")
    with home(tmp_path, shop.config) as place:
        async with running(place) as gateway:
            await gateway.ready("shop")
            assert await gateway.post(trust) == (200, [])
            shop.upgrade()
            await gateway.post("/v1/mcp/servers/shop/refresh")
            _, seen = await gateway.get("/v1/mcp/servers/shop")
            shop.lists([tool("add"), tool("sub", inputSchema=STRICTER)], "2.0")
            refused, said = await gateway.post(trust, {"digest": seen["changesDigest"]})
            assert (refused, "nothing was accepted" in said["error"]["message"]) == (400, True)
            assert (await gateway.post(trust))[0] == 400
            shop.upgrade()
            status, accepted = await gateway.post(trust, {"digest": seen["changesDigest"]})
            assert (status, [change["tool"] for change in accepted]) == (200, ["add", "sub"])


def test_what_was_trusted_is_not_forgotten_when_its_file_is_damaged_but_told_of_until_a_person_sees_to_it(
    shop: Shop,
) -> None:
    person = shop.person
    (pins,) = (person.home / ".openclaw" / "py" / "mcp" / "pins").iterdir()
    pins.write_bytes(b"{")
    why = f"{pins} says what was trusted, and is damaged: "
    listed = person.run("mcp", "refresh")
    trusted = person.run("mcp", "trust", "shop", "--yes")
    checks = person.run("doctor", "--json").data["checks"]
    (told,) = (one for one in checks if one["what"] == "Server shop")
    offered = person.run("mcp", "tools", "--json").data
    assert (listed.code, why in listed.out) == (1, True)
    assert (trusted.code, trusted.out, why in trusted.err) == (1, "", True)
    assert (told["state"], why in told["message"]) == ("warning", True)
    assert "remove it to trust the tools as they are now" in told["message"]
    # As they were accepted, and nothing of the new version.
    assert [row["name"] for row in offered] == ["shop__add", "shop__sub"]
    assert pins.read_bytes() == b"{"
    pins.unlink()
    assert "shop" in person.run("mcp", "refresh").out
    assert person.run("mcp", "trust", "shop").out == "Nothing has changed.\n"
