"""Imported secrets in the system's keychain: gnome-keyring, on a bus of its own."""

import json
import shlex
from pathlib import Path

import pytest

from parts.command_line import PROGRAM, Home, parts_server
from parts.desktop_keychain import on_a_bus
from parts.leaks import files_under, found_in

pytestmark = pytest.mark.full

CANARY = "sk-live-CANARY0123456789abcdef"
OPENCLAW = shlex.join(PROGRAM)


def test_imported_secrets_are_in_the_keychain_and_nowhere_else(tmp_path: Path) -> None:
    home = Home(tmp_path)
    source = tmp_path / ".cursor" / "mcp.json"
    source.parent.mkdir()
    source.write_text(json.dumps({"mcpServers": {"parts": parts_server(env={"API_KEY": CANARY})}}))
    printed = on_a_bus(
        home.folder,
        f"{OPENCLAW} mcp import cursor --yes",
        f"{OPENCLAW} mcp call parts__echo text=hello --yes",
        f"{OPENCLAW} secrets check",
        env=home.environ,
    )
    assert "1 secret was put into the keychain. The other program's file still has it." in printed
    assert "hello" in printed
    assert "ok      secret://keychain/openclaw/parts/env/API_KEY" in printed
    assert found_in([CANARY], {"printed": "\n".join(printed).encode(), **files_under(home.state)}) == []
