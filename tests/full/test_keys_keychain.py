"""Keys of model vendors in the system's keychain: gnome-keyring, on a bus of its own."""

import asyncio
import shlex
from pathlib import Path

import pytest

from parts.command_line import PROGRAM, Home
from parts.desktop_keychain import on_a_bus
from parts.leaks import files_under, found_in
from parts.model_servers import ChatServer

pytestmark = pytest.mark.full

OPENCLAW = shlex.join(PROGRAM)


async def test_a_stored_key_is_in_the_keychain_and_nowhere_else_until_it_is_removed(tmp_path: Path) -> None:
    async with ChatServer() as server:
        provider = {"baseUrl": server.url, "models": ["local-model"]}
        home = Home(tmp_path, models={"mode": "replace", "providers": {"house": provider}})
        given = home.folder / "given"
        given.write_text(server.key)
        printed = await asyncio.to_thread(
            on_a_bus,
            home.folder,
            f"{OPENCLAW} keys set house < {shlex.quote(str(given))}; rm {shlex.quote(str(given))}",
            f"{OPENCLAW} models test",
            f"{OPENCLAW} keys remove house",
            f"{OPENCLAW} models test || true",
            env=home.environ,
        )
        assert printed[0] == "The key of house is in the keychain."
        assert printed[1].startswith("ok  house/local-model answered in")
        assert printed[2] == "The key of house is forgotten."
        assert printed[3].startswith("failed  house/local-model: house asks for an API key (401)")
        assert found_in([server.key], {"printed": "\n".join(printed).encode(), **files_under(tmp_path)}) == []
        assert not (home.paths.data_dir / "secrets").exists()
