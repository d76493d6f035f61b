"""The system's keychain for real: gnome-keyring, a Secret Service, on a bus of its own."""

import asyncio
import json
import shlex
import sys
from pathlib import Path

import pytest

from parts.auth_server import AuthServer
from parts.command_line import PROGRAM, Home, browser, parts_server
from parts.desktop_keychain import START, on_a_bus
from parts.leaks import files_under, found_in

pytestmark = pytest.mark.full

USER = Path(__file__).parent.parent / "parts" / "auth_keychain_user.py"
OPENCLAW = shlex.join(PROGRAM)


def test_the_key_survives_in_the_keychain_and_nowhere_else(tmp_path: Path) -> None:
    tokens, home = tmp_path / "tokens", tmp_path / "home"
    run = shlex.join([sys.executable, str(USER), str(tokens)])
    assert on_a_bus(home, f"{run} write", f"{run} read") == ["keychain: kept in the keychain"] * 2
    assert not (tokens / "key").exists()
    # Another session of the same person: the keyring is on the disk, locked by the password.
    assert on_a_bus(home, f"{run} read") == ["keychain: kept in the keychain"]


def test_another_persons_keychain_opens_nothing(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    run = shlex.join([sys.executable, str(USER), str(tokens)])
    on_a_bus(tmp_path / "home", f"{run} write")
    (said,) = on_a_bus(tmp_path / "other", f"{run} read")
    assert "which cannot be used: it is not there any more" in said


def test_a_locked_keychain_opens_nothing_and_is_named(tmp_path: Path) -> None:
    tokens, home = tmp_path / "tokens", tmp_path / "home"
    run = shlex.join([sys.executable, str(USER), str(tokens)])
    on_a_bus(home, f"{run} write")
    (said,) = on_a_bus(home, f"{run} read", begin=START)
    assert "a key in the system's keychain, which cannot be used: it is locked." in said
    assert on_a_bus(home, f"{run} read") == ["keychain: kept in the keychain"]


async def test_a_sign_in_is_kept_by_the_keychain_and_lasts_from_session_to_session(tmp_path: Path) -> None:
    async with AuthServer() as server:
        home = Home(tmp_path, mcp={"servers": {"files": {"url": server.url}}})
        home.environ["BROWSER"] = browser(tmp_path)
        call = f"{OPENCLAW} mcp call files__read"
        signed_in, called = await asyncio.to_thread(
            on_a_bus, home.folder, f"{OPENCLAW} mcp auth files", call, env=home.environ
        )
        assert (signed_in[:20], called) == ("Signed in to files. ", "read")
        assert await asyncio.to_thread(on_a_bus, home.folder, call, env=home.environ) == ["read"]
        assert json.loads((home.paths.tokens_dir / "store.json").read_text())["source"] == "keychain"
        assert not (home.paths.tokens_dir / "key").exists()
        assert len(server.secrets) >= 3
        # The keyring's own file among them, which only the password opens.
        assert found_in(server.secrets, files_under(tmp_path)) == []


def test_a_secret_in_the_keychain_reaches_the_server_that_names_it(tmp_path: Path) -> None:
    entry = parts_server(env={"API_TOKEN": "secret://keychain/weather/me"})
    home = Home(tmp_path, mcp={"servers": {"parts": entry}})
    lines = on_a_bus(
        home.folder,
        f"printf 'only in the keychain' | {shlex.quote(sys.executable)} -m keyring set weather me",
        f"{OPENCLAW} secrets check",
        f"{OPENCLAW} mcp call parts__environment",
        env=home.environ,
    )
    # The server repeats what it was given: it has the secret, and we show no byte of it.
    assert '"API_TOKEN": "[REDACTED]"' in lines[-1]
    assert not any("only in the keychain" in line for line in lines)
