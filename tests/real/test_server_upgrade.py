"""A server from npm that was upgraded: said once for all its tools, and accepted with one command. No browser is started."""

import json
from pathlib import Path

import pytest

from parts.cache import node, npm_folder
from parts.program import Program

pytestmark = pytest.mark.real

BEFORE, NOW = "playwright-mcp-before", "@playwright/mcp"
SAID = (
    "10 tools are held back because calls valid before may fail (browser_console_messages, browser_evaluate, browser_fill_form, …) "
    "and 10 changed tools keep their old description since version 0.0.41 became "
)
COMMAND = "see and accept it: openclaw mcp trust browser"


def test_an_upgraded_server_from_npm_is_told_of_once_and_accepted_with_one_command(tmp_path: Path) -> None:
    person, package = Program.under(tmp_path), tmp_path / "package"
    server = {"command": node(), "args": [str(package / "cli.js")]}
    person.configure(json.dumps({"mcp": {"servers": {"browser": server}}}))
    package.symlink_to(npm_folder() / "node_modules" / BEFORE)
    assert person.run("mcp", "refresh").out == "browser: 21 tools\n"
    package.unlink()
    package.symlink_to(npm_folder() / "node_modules" / NOW)
    refreshed = person.run("mcp", "refresh").out
    assert refreshed.startswith(f"browser: 15 tools; {SAID}")
    assert refreshed.endswith(f"{COMMAND}\n")
    assert f"! {SAID}" in person.run("mcp", "servers").out
    found = person.run("mcp", "status", "browser", "--json").data
    assert [sum(change["held"] is held for change in found["changes"]) for held in (True, False)] == [10, 10]
    accepted = person.run("mcp", "trust", "browser", "--digest", found["changesDigest"])
    assert (accepted.code, accepted.out.splitlines()[-1]) == (0, "Accepted: 20 changed tools.")
    assert person.run("mcp", "refresh").out == "browser: 25 tools\n"
